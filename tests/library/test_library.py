"""The Python library answers as the oracle does, for what it takes, and refuses the rest in one line."""

import gc
import itertools
import math
import os
import runpy
import sys
from functools import partial
from pathlib import Path

import cases
import naive
import naive_pairs
import numpy as np
import pytest
from conftest import ROOT
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from texts import TEXTS, numbered, random_letters, reads_of

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
    for answer in (opened.search([]), opened.locate(["", "N", "NNNN"])):
        assert (answer.size, answer.dtype) == (0, fmx.HIT)
    assert opened.count([]).tolist() == []


def test_more_hits_than_are_located_at_a_time():
    n = RunSizes().hits + 1000
    opened = fmx.from_sequences({"a": "A" * (n + 4)})
    for read, how in (("AAAAA", {}), ("AACAA", {"mismatches": 1})):
        hits = opened.locate(["AAAAA", read, read], **how)
        assert hits["position"].tolist() == [*range(n)] * 3
        assert hits["read"].tolist() == [0] * n + [1] * n + [2] * n
        assert not hits["reverse"].any()


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


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["example.py", str(tmp_path)])
    runpy.run_path(str(ROOT / "docs" / "example.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [
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


# Pairs are those of the oracle, from files, lists and dicts, on any number of threads.

LETTERS = random_letters(400, "pairs of the library")
PAIRED = numbered([LETTERS + LETTERS[50:200], LETTERS[100:300]])
ONE = [LETTERS[i : i + 20] for i in range(0, 120, 10)]
TWO = [LETTERS[i : i + 15] for i in range(60, 180, 10)]


@pytest.fixture
def paired(index_of):
    return fmx.open(index_of(PAIRED), threads=2)


def expected_pairs(one, two, limit=None, **rule) -> list:
    rows = []
    for i, mates in enumerate(zip(one, two, strict=True)):
        every = naive_pairs.proper_pairs(PAIRED, *mates, **rule)
        for a, b, insert in every[:limit]:
            rows.append((i, a[0], a[1], b[1], a[2] == 1, b[2] == 1, abs(insert), len(every)))
    return rows


def test_proper_pairs(paired, tmp_path):
    two = [*map(naive.reverse_complement, TWO)]
    names = [f"p{i}" for i in range(len(ONE))]
    for i, mates in ((1, ONE), (2, two)):
        records = [(f"{name}/{i}", read) for name, read in zip(names, mates, strict=True)]
        (tmp_path / f"{i}.fq").write_bytes(cases.fastq(records))
    wanted = expected_pairs(ONE, two)
    assert len({row[0] for row in wanted}) < len(wanted)
    dicts = dict(zip(names, ONE, strict=True)), dict(zip(names, two, strict=True))
    for one, other in ((tmp_path / "1.fq", tmp_path / "2.fq"), dicts):
        found = paired.search_pairs(one, other, k=None)
        assert found.dtype == fmx.PROPER_PAIR
        assert found.tolist() == wanted
        assert list(found.names["pair"]) == names
    for other, options, rule in (
        (two, {}, {"limit": 1}), (TWO, {"k": None, "orientation": "ff"}, {"orientation": "ff"}),
        (two, {"k": None, "min_insert": 70, "max_insert": 80}, {"least": 70, "most": 80}),
    ):  # fmt: skip
        assert paired.search_pairs(ONE, other, **options).tolist() == expected_pairs(ONE, other, **rule)
    assert paired.search_pairs([], []).tolist() == []


@pytest.mark.parametrize("strata", [False, True])
def test_proper_pairs_with_mismatches(strata, paired):
    one = [read[:5] + "A" + read[6:] for read in ONE]
    two = [read[:9] + "G" + read[10:] for read in map(naive.reverse_complement, TWO)]
    found = paired.search_pairs(one, two, k=None, mismatches=2, strata=strata)
    assert found.dtype == fmx.NEAR_PROPER_PAIR
    rows = expected_pairs(one, two, mismatches=2, strata=strata)
    assert [row[:8] for row in found.tolist()] == rows
    for name, reads in (("1", one), ("2", two)):
        hits = [(row["contig"], row[f"position{name}"], int(row[f"reverse{name}"])) for row in found]
        assert found[f"mismatches{name}"].tolist() == [
            naive_pairs.compared(PAIRED, reads[pair], hit)[0]
            for pair, hit in zip(found["pair"], hits, strict=True)
        ]
    assert set(found["mismatches1"].tolist()) == set(found["mismatches2"].tolist()) == {0, 1}
    with pytest.raises(ValueError, match=r"^strata must be False without mismatches"):
        paired.search_pairs(one, two, strata=True)


# Wrong arguments: one TypeError or ValueError that names the argument.

NO_NUMBER = [2.5, 2.0, math.nan, math.inf, "3", True, np.True_, [1], b"1", object()]


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "r.fa"
    path.write_bytes(cases.fasta(CONTIGS))
    return path


NO_PATH = [5, 2.5, b"r.fa", True, object()]
WRONG = [  # argument, wrong values, values of wrong types
    ("search", "strands", ["plus", "", "Both"], [None, 1, ["both"], ("both",), {}, b"both"]),
    ("build", "engine", ["gpu", "", "cuda_full"], [None]),
    ("build", "layout", ["", "bvsfm,"], [5, ["bvsfm"]]),
    ("build", "reference", [[]], [*NO_PATH, [5]]),
    ("build", "path", [], [*NO_PATH, ["r.fa"]]),
    ("build", "groups", [], [5]),
    ("open", "method", ["zzz", ""], [5, None]),
    ("open", "layout", [""], [5, ["bvsfm"]]),
    ("open", "path", [], [*NO_PATH, ["r.fa"]]),
    ("pairwise", "identity", [-0.1, 97, math.nan], ["0.9", True, None]),
    ("pairwise", "engine", ["gpu"], []),
    ("pairwise", "other", ["ACGT"], [7]),
]


@pytest.mark.parametrize(("function", "name", "values", "others"), WRONG)
def test_a_wrong_argument_is_named(function, name, values, others, reference, index_of, tmp_path):
    index = fmx.open(index_of(CONTIGS))
    asks = {
        "search": partial(index.search, reads=READS), "build": partial(fmx.build, reference=reference),
        "open": partial(fmx.open, path=index.path), "pairwise": partial(fmx.pairwise, sequences=READS),
    }  # fmt: skip
    for value, kind in [*((x, ValueError) for x in values), *((x, TypeError) for x in others)]:
        with pytest.raises(kind) as error:
            asks[function](**{name: value})
        words = str(error.value)
        assert (type(error.value), words.startswith(f"{name} must be ")) == (kind, True)
        assert len(words.splitlines()) == 1
        assert len(words) < 250
    assert not (tmp_path / "r.fmx").exists()


def test_layouts_that_do_not_exist_or_that_contradict(reference, index_of):
    for ask, path in ((fmx.build, reference), (fmx.open, index_of(CONTIGS))):
        with pytest.raises(fmx.UnsupportedError, match="zzz"):
            ask(path, layout="zzz")
    with pytest.raises(ValueError, match="sa_rate"):
        fmx.build(reference, layout="auto", sa_rate=4)


def test_reads_of_wrong_types_are_named(opened):
    asks = {"reads": opened.search, "patterns": opened.locate, "queries": opened.mem}
    for name, ask in asks.items():
        for reads in (None, 5, 2.5, True, b"ACGT", bytearray(b"A"), {"ACGT"}, Ellipsis):
            with pytest.raises(TypeError, match=rf"^{name} must be a path, or sequences"):
                ask(reads)
        for read in ("GATTACA", "acgt", ""):  # not the name of a file
            with pytest.raises(ValueError, match=rf"^{name} must be .* give \['"):
                ask(read)
    for bad in (None, 5, ["A"], np.array(["A"]), {}, math.nan):
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
    assert fmx.build(reference).groups is None
    assert fmx.open(tmp_path / "r.fmx").locate(READS).tolist() == rows(READS)
    with pytest.raises(ValueError, match="path must be given for an index of several files"):
        fmx.build([reference, other])


# An argument has the bounds of the command's option.

SAME_BOUNDS = [
    ("search", "k", limits.COUNT, "search -k {} r.fq"),
    ("search", "at_most", limits.COUNT, "search -m {} r.fq"),
    ("search", "seed", limits.SEED, "search --seed {} r.fq"),
    ("count", "mismatches", limits.MISMATCHES, "locate --mismatches {} r.fq"),
    ("mem", "min_length", limits.LENGTH, "mem -l {} r.fq"),
    ("search_pairs", "max_insert", limits.INSERT, "search --max-insert {} -1 r.fq -2 r.fq"),
    ("open", "threads", limits.THREADS, "search -t {} r.fq"),
    ("from_sequences", "sa_rate", limits.SA_RATE, "index --sa-rate {} r.fa"),
    ("from_sequences", "prefix_length", limits.PREFIX_LENGTH, "index --prefix-length {} r.fa"),
    ("pairwise", "gap", limits.SCORE, "pairwise --gap {} r.fa"),
    ("pairwise", "iddef", limits.IDENTITIES, "pairwise --iddef {} r.fa"),
]


@pytest.mark.parametrize(("function", "name", "bounds", "line"), SAME_BOUNDS)
def test_both_refuse_what_is_out_of_bounds_and_no_numbers(function, name, bounds, line, index_of, command):
    index = fmx.open(index_of([("x", "ACGTACGT")]), threads=1)
    positional = {"open": [index.path], "search_pairs": [["ACGT"], ["ACGT"]]}.get(function, [["ACGT"]])
    ask = partial(getattr(index, function, getattr(fmx, function, None)), *positional)
    for value in NO_NUMBER:
        with pytest.raises(TypeError, match=rf"^{name} must be "):
            ask(**{name: value})
    for value in (bounds[0] - 1, np.int64(bounds[0]) - 1, bounds[1] + 1, 2**70):
        with pytest.raises(ValueError, match=rf"^{name} must be "):
            ask(**{name: value})
    for value in (bounds[0] - 1, bounds[1] + 1):
        done = command(*line.format(value).split())
        assert done.code == 2, done.err
        assert str(value) in done.err


# A closed index releases its memory and files, and refuses searches.

CALLS = [
    lambda index: index.search(READS), lambda index: index.search_chunks(READS),
    lambda index: index.search_pairs(READS, READS), lambda index: index.locate(READS),
    lambda index: index.locate(READS, mismatches=1), lambda index: index.count(READS),
    lambda index: index.mem(READS), lambda index: index.__enter__(),
]  # fmt: skip


def is_mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_files_are_given_back(index_of):
    path = index_of(CONTIGS)
    with fmx.open(path, method="backward", threads=1) as index:
        hits = index.locate(READS)
        wanted = index.locate(READS, mismatches=1).tolist()  # which opens it with the text
        index.mem(READS)  # and with the suffix array
        assert is_mapped(path)
    gc.collect()
    assert not is_mapped(path)
    assert hits.names["contig"][hits["contig"]]
    assert list(zip(index.contigs, index.lengths, strict=True)) == [(name, len(x)) for name, x in CONTIGS]
    with fmx.open(path, threads=1) as again:
        assert again.locate(READS, mismatches=1).tolist() == wanted


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_call_that_fails_leaves_no_file_open(opened, tmp_path):
    (bad := tmp_path / "bad.fq").write_bytes(b"@r\nACGT\n+\nII\n")
    gc.disable()  # no cycle of a traceback holds one
    try:
        for ask in (opened.locate, opened.count, opened.mem, lambda path: opened.search_pairs(path, bad)):
            with pytest.raises(fmx.InputError, match=r"bad.fq: record 1: "):
                ask(bad)
        files = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    finally:
        gc.enable()
    assert str(bad) not in files


def test_a_closed_index_says_so(index_of):
    for index in (fmx.open(index_of(CONTIGS), threads=1), fmx.from_sequences(dict(CONTIGS))):
        assert repr(index).endswith("bases>")
        index.close()
        index.close()
        assert repr(index).endswith("bases, closed>")
        for call in CALLS:
            with pytest.raises(ValueError, match=r"^the index is closed: open it again"):
                call(index)
