"""The Python library refuses what it cannot mean: one TypeError or ValueError that names the argument."""

import math
from pathlib import Path

import cases
import naive
import numpy as np
import pytest
from texts import TEXTS, reads_of

import fmx

CONTIGS = TEXTS["repeats across separators"]
READS = reads_of(CONTIGS)
NO_NUMBER = [2.5, 2.0, math.nan, math.inf, "3", True, np.True_, [1], b"1", object()]


@pytest.fixture
def opened(index_of):
    return fmx.open(index_of(CONTIGS), threads=2)


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


def test_strands_of_locate_and_count(opened):
    for ask in (opened.locate, opened.count):
        refuses(lambda ask=ask, **given: ask(READS, **given), ValueError, "strands", "plus")


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


@pytest.mark.parametrize("threads", [0, -3, 2**70])
def test_threads_of_an_opening(threads, index_of):
    refuses(lambda **given: fmx.open(index_of(CONTIGS), **given), ValueError, "threads", threads)


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


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_names_that_no_file_has(path, reference):
    refuses(fmx.build, ValueError, "reference", path)
    refuses(fmx.open, ValueError, "path", path)
    refuses(lambda **given: fmx.build(reference, **given), ValueError, "path", path)


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


def test_a_file_of_reads_that_is_not_there_is_bad_input(opened, tmp_path):
    for path in ("nothing.fq", tmp_path / "nothing", "some/nothing"):
        with pytest.raises(fmx.InputError, match="nothing"):
            opened.search(path)


@pytest.mark.parametrize("bad", [None, 5, ["A"], np.array(["A"]), {}, math.nan], ids=repr)
def test_a_read_of_another_type(bad, opened):
    with pytest.raises(TypeError, match=r"^reads\[2\] must be str or bytes"):
        opened.search(["ACGT", "A", bad])


def test_a_read_that_is_no_ascii(opened):
    with pytest.raises(ValueError, match=r"^reads\[1\] must be ASCII"):
        opened.count(["ACGT", "ACG\u00c5"])
    with pytest.raises(ValueError, match=r"^reads\[0\] must be ASCII"):
        opened.count(["\udcff"])


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


def test_numbers_of_numpy_are_fine(opened):
    expected = opened.search(READS, k=3, at_most=4, seed=5).tolist()
    of_numpy = {name: np.uint8(n) for name, n in [("k", 3), ("at_most", 4), ("seed", 5)]}
    assert opened.search(READS, **of_numpy).tolist() == expected
    most = {"k": 2**62, "at_most": 2**62, "seed": 2**62}
    assert {row[0] for row in opened.search(READS, **most).tolist()} == set(opened.locate(READS)["read"])


def test_a_path_may_be_named_by_letters_alone(opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("reads").write_bytes(cases.fastq(enumerate(READS)))
    assert opened.count("reads").tolist() == opened.count(READS).tolist()


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
