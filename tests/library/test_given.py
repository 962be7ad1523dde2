"""Sequences in a list, a generator or a dict are searched as those of a file, whatever they are cut into."""

import itertools

import cases
import pytest
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from texts import TEXTS, reads_of

import fmx
from fmx.input import sequences as given_sequences
from fmx.input.reads import parse

CONTIGS = TEXTS["repeats across separators"]
READS = reads_of(CONTIGS)


@pytest.fixture
def opened(index_of):
    return fmx.open(index_of(CONTIGS), threads=2)


def parsed(sequences, size, **how) -> list:
    """(number, name, letters) of what chunks hold."""
    found = []
    for span in given_sequences.plan("reads", sequences, size, **how):
        chunk = span.read()
        batch = parse(chunk)
        for r in range(batch.length.size):
            name, letters = (
                batch.data[start[r] : start[r] + length[r]].tobytes().decode()
                for start, length in ((batch.name_start, batch.name_length), (batch.start, batch.length))
            )
            found.append((chunk.number + r, name, letters))
    return found


letters = st.text("ACGTNacgu", max_size=30)


@examples(30)
@given(
    st.lists(st.one_of(letters, letters.map(str.encode)), max_size=200), st.sampled_from([1, 7, 100, 1 << 20])
)
def test_chunks_of_any_size_hold_all(sequences, size):
    as_text = [each if isinstance(each, str) else each.decode() for each in sequences]
    assert parsed(sequences, size) == [(i, "", each) for i, each in enumerate(as_text, 1)]
    numbered = parsed(iter(sequences), size, is_numbered=True)
    assert numbered == [(i, str(i - 1), each) for i, each in enumerate(as_text, 1)]
    named = {f"read{i} of some": each for i, each in enumerate(sequences)}
    assert parsed(named, size) == [(i, f"read{i - 1}", each) for i, each in enumerate(as_text, 1)]


def test_a_generator_is_not_read_far_ahead(opened):
    taken = 0

    def endless():
        nonlocal taken
        for taken in itertools.count(1):
            yield READS[taken % len(READS)] * 1000

    chunks = opened.search_chunks(endless())
    first = next(chunks)
    chunks.close()
    assert first.dtype == fmx.HIT
    assert 0 < taken < 10**6


@pytest.mark.parametrize("bad", ["A C", "A\tC", "A\nC", "A\r", "A\n>x\nC", ">A", "A-C", "A\n", "\n", "A,C"])
def test_what_is_more_than_letters_is_named(bad, opened):
    for reads in (["A", bad, "C"], [b"A", bad.encode()], ["A", bad.encode()], {"a": "A", "b": bad}):
        with pytest.raises(fmx.InputError, match=r"^given reads: record 2: .*not a base"):
            opened.search(reads)


def test_names_of_a_dict_are_those_of_fasta(opened):
    for name, said in [("a\nb", "line end"), ("a\x01", "printable"), ("@a", "starts with '@'")]:
        with pytest.raises(fmx.InputError, match=f"record 1: .*{said}"):
            opened.search({name: "ACGT"})
    with pytest.raises(TypeError, match=r"^reads must have names \(str\) as keys, not 5$"):
        opened.search({5: "ACGT"})


def test_draws_are_those_of_a_file_with_the_same_names(opened, tmp_path):
    records = [(str(i), read) for i, read in enumerate(READS)]
    (tmp_path / "r.fq").write_bytes(cases.fastq(records))
    for seed in (0, 7):
        wanted = opened.search(tmp_path / "r.fq", seed=seed).tolist()
        assert opened.search(READS, seed=seed).tolist() == wanted
        assert opened.search(dict(records), seed=seed).tolist() == wanted
