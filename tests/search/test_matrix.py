"""fmx locate --matrix: ten strains, in every form, as counting by hand gives it."""

import random

import cases
import naive
import numpy as np
import pytest
import strains
import workflow
from texts import numbered, random_letters

FILES = [f"{name}.fa{'.gz' * (i % 2)}" for i, name in enumerate(strains.NAMES)]


def by_hand(contigs, pattern) -> int:
    """Occurrences on both strands in contigs."""
    both = pattern, naive.reverse_complement(pattern)
    return sum(len(naive.find_all(letters, each)) for letters in contigs for each in both)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the strains, their index strains.fmx, and p.fa; its patterns; counts by hand."""
    folder = tmp_path_factory.mktemp("strains")
    strains.write(folder)
    options = workflow.IndexOptions(prefixed=True)
    workflow.build_index([folder / name for name in FILES], folder / "strains.fmx", options, 2)
    letters, rng = strains.strains(), random.Random("patterns")
    patterns = ["GATC", "G" * 15, "ACGTN", strains.CASSETTE[100:131]]
    for name in 3 * strains.NAMES:
        start = rng.randrange(len(letters[name]) - 40)
        patterns.append(letters[name][start : start + rng.choice([12, 21, 31])])
    (folder / "p.fa").write_bytes(cases.fasta((f"p{i}", each) for i, each in enumerate(patterns)))
    halves = [(x[: len(x) // 2], x[len(x) // 2 :]) for x in letters.values()]
    return folder, patterns, np.array([[by_hand(each, pattern) for each in halves] for pattern in patterns])


def table(head, names, rows) -> list:
    lines = ["\t".join(map(str, (name, *row))) for name, row in zip(names, rows, strict=True)]
    return ["\t".join([head, *strains.NAMES]), *lines]


def test_ten_strains_are_counted_as_by_hand(home, folder, command):
    place, patterns, counts = home
    assert len({tuple(row) for row in (counts > 0).tolist()}) > 8
    how = ["locate", "-q", "-x", place / "strains.fmx", place / "p.fa", "--matrix"]
    names = [f"p{i}" for i in range(len(patterns))]
    assert command(*how, "counts").out.decode().splitlines() == table("pattern", names, counts)
    assert command(*how, "presence", "-o", "m.Rtab").code == 0
    assert (folder / "m.Rtab").read_text().splitlines() == table("Gene", names, (counts > 0).astype(int))
    for kind, expected in (("counts", counts), ("presence", counts > 0)):
        assert command(*how, kind, "-o", "m.npz").code == 0
        with np.load("m.npz") as found:
            dense = np.zeros(found["shape"], found["data"].dtype)
            rows = np.repeat(np.arange(dense.shape[0]), np.diff(found["indptr"]))
            dense[rows, found["indices"]] = found["data"]
            assert (found["format"].item(), found["patterns"].tolist()) == (b"csr", names)
            assert found["groups"].tolist() == strains.NAMES
        np.testing.assert_array_equal(dense, expected)


def test_near_matches_parts_and_several_indexes_agree_with_a_naive_scan(folder, command):
    unit = random_letters(60, "matrix")
    contigs = numbered([unit, unit[10:] + random_letters(40, 1), random_letters(50, 2)])
    patterns = [unit[:20], unit[20:45], contigs[2][1][3:20], "ACGN", "AC"]
    (folder / "p.fa").write_bytes(cases.fasta((f"p{i}", each) for i, each in enumerate(patterns)))
    for name, sequence in contigs:
        (folder / f"{name}.fa").write_bytes(cases.fasta([(name, sequence)]))
        workflow.build_index(f"{name}.fa", f"{name}.fmx")
    files = [f"{name}.fa" for name, _ in contigs]
    workflow.build_index(files, "parts.fmx", workflow.IndexOptions(part_size=95))
    several = [word for name, _ in contigs for word in ("-x", f"{name}.fmx")]
    for v in (0, 1):
        rows = []
        for pattern in patterns:
            found = [place[1] for place in naive.near(contigs, pattern, v, iupac=True)]
            rows.append([found.count(contig) for contig in range(3)])
        expected = ["pattern\tc0\tc1\tc2"]
        expected += ["\t".join(map(str, (f"p{i}", *row))) for i, row in enumerate(rows)]
        for indexes in (["-x", "parts.fmx"], several):
            how = ["locate", "-q", *indexes, "p.fa", "--mismatches", v, "--iupac", "--matrix", "counts"]
            assert command(*how).out.decode().splitlines() == expected


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-o", "x.Rtab", "--matrix", "counts"], 2, "Rtab holds only 0 and 1: use --matrix presence"),
        (["--format", "bed", "--matrix", "counts"], 2, "the output can only be TSV, RTAB or NPZ"),
        (["--absent", "--matrix", "counts"], 2, "writes a line for each pattern: leave out --absent"),
        (["--format", "npz"], 2, "--format npz: with the other options, the output can only be SAM, TSV, "),
        (["-o", "x.bed", "--matrix", "counts"], 2, "the output can only be TSV, RTAB or NPZ, not .bed"),
        (["--pairs", "p.fa", "--matrix", "counts"], 2, "leave out -p and PATTERNS"),
        (["--matrix", "counts"], 1, "plain.fmx has no groups of contigs"),
    ],
)
def test_what_cannot_be_is_refused(arguments, code, message, folder, command):
    (folder / "p.fa").write_text(">p\nACGT\n")
    cases.build(folder / "plain.fmx", numbered(["ACGTACGT"]))
    result = command("locate", "-q", "-x", "plain.fmx", "p.fa", *arguments)
    assert (result.code, message in result.err) == (code, True), result.err
