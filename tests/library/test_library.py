"""The Python library answers as the oracle does, for what it takes, and refuses the rest in one line."""

import itertools
import math
import subprocess
import sys

import cases
import naive
import numpy as np
import pytest
from conftest import ROOT
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from texts import TEXTS, reads_of

import fmx
from fmx import limits
from fmx.input import sequences as given_sequences
from fmx.input.reads import parse
from fmx.search.mapping import RunSizes

CONTIGS = TEXTS["repeats across separators"]
READS = reads_of(CONTIGS)


@pytest.fixture
def opened(index_of):
    return fmx.open(index_of(CONTIGS), threads=2)


def rows(reads, strands=(0, 1), limit=None) -> list:
    """What a search must return."""
    found = []
    for i, read in enumerate(reads):
        every = naive.locate(CONTIGS, read, strands)
        found += [(i, contig, place, bool(strand), len(every)) for contig, place, strand in every[:limit]]
    return found


def test_search_locate_and_count(opened):
    hits = opened.locate(READS)
    assert hits.dtype == fmx.HIT
    assert hits.tolist() == rows(READS)
    assert opened.search(READS).tolist() == rows(READS, limit=1)
    assert opened.search(READS, k=3).tolist() == rows(READS, limit=3)
    assert opened.search(READS, k=None, strands="forward").tolist() == rows(READS, [naive.FORWARD])
    assert opened.locate(READS, strands="reverse").tolist() == rows(READS, [naive.REVERSE])
    assert opened.count(READS).tolist() == [len(naive.locate(CONTIGS, read)) for read in READS]
    assert opened.count(READS).dtype == np.int64


def test_more_hits_than_are_located_at_a_time():
    n = RunSizes().hits + 1000
    opened = fmx.from_sequences({"a": "A" * (n + 4)})
    for read, how in (("AAAAA", {}), ("AACAA", {"mismatches": 1})):
        hits = opened.locate(["AAAAA", read, read], **how)
        assert hits["position"].tolist() == [*range(n)] * 3
        assert hits["read"].tolist() == [0] * n + [1] * n + [2] * n
        assert not hits["reverse"].any()


def test_nothing_asked_nothing_found(opened):
    for answer in (opened.search([]), opened.locate(["", "N", "NNNN"])):
        assert answer.size == 0
        assert answer.dtype == fmx.HIT
    assert opened.count([]).tolist() == []


def test_contigs_and_errors(opened, tmp_path):
    assert opened.contigs == [name for name, _ in CONTIGS]
    assert opened.lengths.tolist() == [len(sequence) for _, sequence in CONTIGS]
    with pytest.raises(ValueError, match="strands"):
        opened.search(["A"], strands="plus")
    with pytest.raises(fmx.InputError, match="record 2"):
        opened.search(["A", "A-C"])
    with pytest.raises(fmx.IndexFileError):
        fmx.open(tmp_path / "nothing.fmx")
    with pytest.raises(AttributeError):
        fmx.nothing  # noqa: B018


def test_build_names_the_index_after_the_reference(tmp_path):
    (tmp_path / "genome.fa").write_bytes(cases.fasta(CONTIGS))
    assert fmx.build(tmp_path / "genome.fa").locate(READS).tolist() == rows(READS)
    assert (tmp_path / "genome.fmx" / "meta.json").exists()


def test_an_index_in_memory_is_that_of_a_file(opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held = fmx.from_sequences(dict(CONTIGS), threads=2)
    assert held.path is None
    assert (held.contigs, held.lengths.tolist()) == (opened.contigs, opened.lengths.tolist())
    assert held.locate(READS).tolist() == rows(READS)
    query = [CONTIGS[0][1]]
    assert held.mem(query, min_length=4).tolist() == opened.mem(query, min_length=4).tolist() != []
    near = [index.locate(READS[:9], mismatches=1).tolist() for index in (held, opened)]
    assert near[0] == near[1] != []
    sampled = fmx.from_sequences([sequence for _, sequence in CONTIGS], sa_rate=4)
    assert sampled.locate(READS).tolist() == rows(READS)
    assert sampled.contigs == [str(i) for i in range(len(CONTIGS))]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(fmx.UnsupportedError, match="whole suffix array"):
        sampled.mem(query)


@pytest.mark.parametrize(
    ("sequences", "said"),
    [({}, "is empty"), ({"a": ""}, "contig a: it has no sequence"), ({"a": "NN"}, "has no A, C, G or T"),
     ({"*": "A"}, "is not allowed in SAM"), (["A", "C-"], "record 2")],
)  # fmt: skip
def test_sequences_that_are_no_reference(sequences, said):
    with pytest.raises(fmx.InputError, match=f"^given sequences: .*{said}"):
        fmx.from_sequences(sequences)


def test_the_example_runs(tmp_path):
    command = [sys.executable, ROOT / "docs" / "example.py", tmp_path]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == [
        "probe chr1 2 + of 2", "probe chr2 6 - of 2", "site chr2 0 + of 2", "site chr2 0 - of 2", "[2 2 0]",
        "[(0, 1, 18, 0.875, 8, 7)]",
    ]  # fmt: skip


# Sequences in a list, a generator or a dict, whatever they are cut into.


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


# Wrong arguments: one TypeError or ValueError that names the argument.

NO_NUMBER = [2.5, 2.0, math.nan, math.inf, "3", True, np.True_, [1], b"1", object()]


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "r.fa"
    path.write_bytes(cases.fasta(CONTIGS))
    return path


def refuses(work, error, name, value):
    with pytest.raises(error) as found:
        work(**{name: value})
    assert type(found.value) is error
    said = str(found.value)
    assert said.startswith(f"{name} must be ")
    assert "\n" not in said
    assert len(said) < 250


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("k", [0, -1, 2**62 + 1, 2**70, np.int64(0)]),
        ("at_most", [0, -1, 2**70]),
        ("seed", [-1, -3, 2**62 + 1, 2**70]),
        ("strands", ["plus", "", "Both"]),
    ],
)
def test_options_of_a_search(name, values, opened):
    def search(**given):
        opened.search(READS, **given)

    for value in values:
        refuses(search, ValueError, name, value)
    for value in NO_NUMBER if name != "strands" else [None, 1, ["both"], ("both",), {}, b"both"]:
        refuses(search, TypeError, name, value)


@pytest.mark.parametrize(
    ("name", "values"),
    [("threads", [0, -3, 1025, 2**70]), ("sa_rate", [0, -1, 4097]), ("prefix_length", [0, 3, 16, -4])],
)
def test_numbers_of_a_build(name, values, reference, tmp_path):
    def build(**given):
        fmx.build(reference, **given)

    for value in values:
        refuses(build, ValueError, name, value)
    for value in NO_NUMBER:
        refuses(build, TypeError, name, value)
    assert not (tmp_path / "r.fmx").exists()


def test_names(reference, index_of):
    def build(**given):
        fmx.build(reference, **given)

    def opens(**given):
        fmx.open(index_of(CONTIGS), **given)

    for value, error in [("gpu", ValueError), ("", ValueError), ("cuda_full", ValueError), (None, TypeError)]:
        refuses(build, error, "engine", value)
    for value, error in [("zzz", ValueError), ("", ValueError), (5, TypeError), (None, TypeError)]:
        refuses(opens, error, "method", value)
    for value, error in [(5, TypeError), ("", ValueError), ("bvsfm,", ValueError), (["bvsfm"], TypeError)]:
        refuses(build, error, "layout", value)
        if value != "bvsfm,":
            refuses(opens, error, "layout", value)
    with pytest.raises(fmx.UnsupportedError, match="zzz"):
        build(layout="zzz")
    with pytest.raises(fmx.UnsupportedError, match="zzz"):
        opens(layout="zzz")
    with pytest.raises(ValueError, match="sa_rate"):
        build(layout="auto", sa_rate=4)


@pytest.mark.parametrize("path", [5, 2.5, b"r.fa", ["r.fa"], True, object()])
def test_paths(path, reference):
    refuses(fmx.build, TypeError, "reference", [5] if isinstance(path, list) else path)
    refuses(fmx.open, TypeError, "path", path)
    refuses(lambda **given: fmx.build(reference, **given), TypeError, "path", path)


@pytest.mark.parametrize(
    "reads", [None, 5, 2.5, True, b"ACGT", bytearray(b"A"), {"ACGT"}, Ellipsis], ids=repr
)
def test_reads_that_are_none(reads, opened):
    asked = {"reads": opened.search, "patterns": opened.locate, "queries": opened.mem}
    for name, ask in asked.items():
        with pytest.raises(TypeError, match=rf"^{name} must be a path, or sequences"):
            ask(reads)


@pytest.mark.parametrize("reads", ["GATTACA", "acgt", ""])
def test_a_lone_read_is_not_taken_for_a_file(reads, opened):
    for name, ask in {"reads": opened.search, "patterns": opened.locate}.items():
        with pytest.raises(ValueError, match=rf"^{name} must be .* give \['"):
            ask(reads)


@pytest.mark.parametrize("bad", [None, 5, ["A"], np.array(["A"]), {}, math.nan], ids=repr)
def test_a_read_of_another_type(bad, opened):
    with pytest.raises(TypeError, match=r"^reads\[2\] must be str or bytes"):
        opened.search(["ACGT", "A", bad])


@pytest.mark.parametrize(
    "way",
    [tuple, iter, np.array, lambda reads: np.array(reads, "S"), lambda reads: np.array(reads, object),
     lambda reads: (read for read in reads), lambda reads: dict(enumerate(reads)).values(),
     lambda reads: map(str.encode, reads)],
    ids=["tuple", "iterator", "U array", "S array", "object array", "generator", "values", "map"],
)  # fmt: skip
def test_what_gives_reads_in_order_is_fine(way, opened):
    found = opened.count(way(READS))
    assert found.tolist() == [len(naive.locate(CONTIGS, read)) for read in READS]


def test_several_references_are_groups(reference, tmp_path):
    other, table = tmp_path / "s.fa", tmp_path / "groups.tsv"
    other.write_text(">other\nACGTT\n")
    names = [name for name, _ in CONTIGS]
    built = fmx.build([reference, other], tmp_path / "both.fmx", threads=2)
    assert (built.groups, built.group_of_contig.tolist()) == (["r", "s"], [0] * len(names) + [1])
    table.write_text("".join(f"{name}\tall\n" for name in names))
    built = fmx.build(reference, tmp_path / "one.fmx", groups=table)
    assert (built.groups, built.group_of_contig.tolist()) == (["all"], [0] * len(names))
    assert fmx.build(reference, tmp_path / "none.fmx").groups is None
    with pytest.raises(ValueError, match="path must be given for an index of several files"):
        fmx.build([reference, other])
    refuses(fmx.build, ValueError, "reference", [])
    refuses(lambda groups: fmx.build(reference, groups=groups), TypeError, "groups", 5)


# An argument has the bounds of the command's option.

ONE = ["ACGT"]
SAME_BOUNDS = [
    ("k", limits.COUNT, lambda index, n: index.search(ONE, k=n), "search -k {} r.fq"),
    ("at_most", limits.COUNT, lambda index, n: index.search(ONE, at_most=n), "search -m {} r.fq"),
    ("seed", limits.SEED, lambda index, n: index.search(ONE, seed=n), "search --seed {} r.fq"),
    ("mismatches", limits.MISMATCHES, lambda index, n: index.count(ONE, mismatches=n),
     "locate --mismatches {} r.fq"),
    ("min_length", limits.LENGTH, lambda index, n: index.mem(ONE, min_length=n), "mem -l {} r.fq"),
    ("max_insert", limits.INSERT, lambda index, n: index.search_pairs(ONE, ONE, max_insert=n),
     "search --max-insert {} -1 r.fq -2 r.fq"),
    ("threads", limits.THREADS, lambda index, n: fmx.open(index.path, threads=n), "search -t {} r.fq"),
    ("sa_rate", limits.SA_RATE, lambda index, n: fmx.from_sequences(ONE, sa_rate=n),
     "index --sa-rate {} r.fa"),
    ("prefix_length", limits.PREFIX_LENGTH,
     lambda index, n: fmx.from_sequences(ONE, prefix_length=n), "index --prefix-length {} r.fa"),
    ("gap", limits.SCORE, lambda index, n: fmx.pairwise(ONE, gap=n), "pairwise --gap {} r.fa"),
    ("iddef", limits.IDENTITIES, lambda index, n: fmx.pairwise(ONE, iddef=n), "pairwise --iddef {} r.fa"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "bounds", "ask", "line"), SAME_BOUNDS, ids=[each[0] for each in SAME_BOUNDS]
)
def test_both_refuse_what_is_out_of_bounds(name, bounds, ask, line, index_of, command, folder):
    index = fmx.open(index_of([("x", "ACGTACGT")]), threads=1)
    for value in (bounds[0] - 1, bounds[1] + 1):
        with pytest.raises(ValueError, match=rf"^{name} must be "):
            ask(index, value)
        done = command(*line.format(value).split())
        assert done.code == 2, done.err
        assert str(value) in done.err
