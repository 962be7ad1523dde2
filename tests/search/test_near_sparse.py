"""Near matches by a sparse suffix array: those of a naive scan, and the bytes that other methods write."""

import cases
import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st
from output_of import without_program
from test_near import ask, change
from test_sparse import in_memory, sequences_of_pieces
from texts import numbered, random_letters

from fmx.errors import UnsupportedError
from fmx.search.hits import Near


def changed(sequence, *places, by="N") -> str:
    """A sequence with other letters at some places."""
    return "".join(by if i in places else x for i, x in enumerate(sequence))


@given(
    st.lists(sequences_of_pieces.filter(bool), min_size=1, max_size=3), st.integers(1, 3), st.integers(1, 6),
    st.data(),
)  # fmt: skip
def test_any_reference(sequences, half, w, data):
    contigs, k = numbered(sequences), 2 * half + 1
    if not naive.text_of(contigs):
        return
    joined, reads = "".join(sequences), []
    for _ in range(5):
        start = data.draw(st.integers(0, len(joined)))
        read = joined[start : start + data.draw(st.integers(k + w - 1, 4 * (k + w)))]
        read = changed(
            read, *data.draw(st.lists(st.integers(0, 40), max_size=2)), by=data.draw(st.sampled_from("ACGTN"))
        )
        reads += [read, naive.reverse_complement(read.replace("N", "A"))]
    reads = [read for read in [*reads, "ACGTTGCA" * 2] if len(read) >= k + w - 1]
    index = in_memory(contigs, k, w)
    for v in (1, 2):
        assert ask(index, reads, Near(v)) == [naive.near(contigs, read, v) for read in reads]


@pytest.mark.parametrize("others", [(), ("bvsfm-k2-d96",)], ids=["alone", "with a layout"])
@pytest.mark.parametrize("length", [36, 40, 50, 71, 72, 73, 90, 100, 107, 108, 150])
def test_mismatches_anywhere_in_reads_of_any_length(length, others):
    """Each pair of places, in both halves of the overlaps of pieces, on either strand."""
    text = random_letters(400, length)
    contigs = numbered([random_letters(50, 1) + text, naive.reverse_complement(text[:200]) + "N" + text[5:]])
    index, reads = in_memory(contigs, 21, 16, *others), []
    step = max(length // 9, 1)
    for i in range(0, length, step):
        for j in range(i, length, step + 1):
            reads.append(changed(text[20 : 20 + length], i, j))
    reads = reads if length > 71 else reads[:4]
    expected = [naive.near(contigs, read, 2) for read in reads]
    assert all(expected)
    assert ask(index, reads, Near(2)) == expected
    assert ask(index, reads, Near(1)) == [[hit for hit in found if hit[0] < 2] for found in expected]


def test_three_overlapping_pieces_catch_every_pair_of_mismatches():
    text = random_letters(60, "pieces")
    index, reads = in_memory(numbered([text]), 7, 6), []
    for length in (24, 29, 30, 35, 36):
        reads += [change(change(text[9 : 9 + length], i), j) for i in range(length) for j in range(i + 1)]
    assert ask(index, reads, Near(2)) == [naive.near(numbered([text]), read, 2) for read in reads]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of sparse.fmx, both.fmx and verify.fmx of the same contigs, and reads of them."""
    folder = tmp_path_factory.mktemp("near_sparse")
    repeat = random_letters(300, "repeat")
    contigs = [
        random_letters(500, i) + changed(repeat, 9 * i, 200 - i, by="A") + random_letters(80, -i)
        for i in range(6)
    ]
    contigs = numbered([*contigs, contigs[0][:200] + "N" + contigs[1][300:] + "A" * 90])
    cases.build(folder / "sparse.fmx", contigs, ["sparse"])
    cases.build(folder / "both.fmx", contigs, ["sparse", "bvsfm-k2-d96"])
    cases.build(folder / "verify.fmx", contigs)
    found = [
        changed(sequence[i : i + 80], i % 80, i % 31) for _, sequence in contigs for i in range(0, 800, 37)
    ]
    found = [naive.reverse_complement(x) if i % 3 else x for i, x in enumerate(found) if len(x) > 60]
    found += ["N" * 80, random_letters(80, "none"), "ACGTN" * 12, "A" * 70, changed("A" * 70, 33, by="C")]
    (folder / "r.fq").write_bytes(cases.fastq((f"r{i}", x) for i, x in enumerate(found)))
    (folder / "mates.fq").write_bytes(
        cases.fastq((f"r{i}", x) for i, x in enumerate([found[-1], *found[:-1]]))
    )
    (folder / "short.fq").write_bytes(cases.fastq((f"r{i}", x[:30]) for i, x in enumerate(found)))
    return folder


COMMANDS = [
    ("search", "r.fq"), ("search", "-a", "r.fq"), ("search", "-k", "3", "--seed", "5", "r.fq"),
    ("search", "-m", "2", "r.fq"), ("search", "-a", "--strata", "r.fq"), ("search", "--forward-only", "r.fq"),
    ("search", "-t", "3", "-a", "r.fq"), ("search", "--counts", "/dev/stdout", "r.fq", "-o", "/dev/null"),
    ("search", "--reverse-only", "-a", "--format", "tsv", "r.fq"), ("search", "--collapse", "r.fq"),
    ("search", "--trim5", "3", "-a", "r.fq"), ("locate", "--format", "bed", "r.fq"),
    ("search", "-1", "r.fq", "-2", "mates.fq", "--ff", "-a"),
    ("search", "-1", "r.fq", "-2", "mates.fq", "--ff", "--strata", "--format", "tsv"),
]  # fmt: skip


@pytest.mark.parametrize("v", ["1", "2"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_commands_write_the_same(arguments, v, folders, command, monkeypatch):
    monkeypatch.chdir(folders)
    first, *rest = arguments
    done = [
        command(first, "-q", "-x", f"{x}.fmx", "--mismatches", v, *rest) for x in ("sparse", "both", "verify")
    ]
    assert [(each.code, each.err) for each in done] == [(0, "")] * 3
    assert len({without_program(each.out) for each in done}) == 1
    assert done[0].out.count(b"\n") > 5


def test_shorter_reads_are_found_by_another_method(folders, command, monkeypatch):
    monkeypatch.chdir(folders)
    how = "search", "-q", "--mismatches", 2, "-a", "short.fq", "-x"
    assert without_program(command(*how, "both.fmx").out) == without_program(command(*how, "verify.fmx").out)


@pytest.mark.parametrize(("arguments", "wrong"), [
    (("search", "--mismatches", "1", "short.fq"), "r0 has 30 bases, but this index finds only sequences of"),
    (("locate", "--iupac", "-p", "ACGTR" * 8), "build it again with --layout sparse-k21-w16,bvsfm-k2-d96"),
    (("locate", "--iupac", "--method", "sparse", "-p", "ACGTR"), "--method sparse finds near matches of"),
    (("search", "--mismatches", "1", "--engine", "cuda", "r.fq"), "no GPU search with mismatches"),
])  # fmt: skip
def test_what_it_cannot_do_is_refused(arguments, wrong, folders, command, monkeypatch):
    monkeypatch.chdir(folders)
    first, *rest = arguments
    done = command(first, "-q", "-x", "sparse.fmx", *rest)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert wrong in done.err


def test_words_that_are_too_long_are_refused():
    index = in_memory(numbered([random_letters(500, "x")]), 31, 64)
    with pytest.raises(UnsupportedError, match="finds only strings of 94 bases or more"):
        ask(index, [random_letters(200, "y")], Near(1))
