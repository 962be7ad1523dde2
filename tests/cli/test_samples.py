"""Pairs: counts, --skip and --first."""

from collections import Counter

import cases
import naive
import pytest
from output_of import without_program
from texts import numbered, random_letters

UNIT = random_letters(300, "samples")
GENOME = numbered([UNIT, UNIT[:120] + "N" + UNIT[60:], "AC" * 40, random_letters(90, "one more")])
N = 30


def fragment(name, i) -> tuple:
    """Both mates of a pair: proper once or several times, apart, or of which one does not occur."""
    letters = GENOME[i % 4][1].replace("N", "")
    start = 7 * i % (len(letters) - 60)
    one, two = letters[start : start + 20], naive.reverse_complement(letters[start + 30 : start + 50])
    if i % 5 == 3:
        two = naive.reverse_complement(two)
    if i % 7 == 6:
        one = one[:9] + "N"
    return (f"{name}.{i}", one), (f"{name}.{i}", two)


@pytest.fixture
def home(folder):
    """Files of mates, apart and together."""
    for name in ("x", "xx", "y"):
        pairs = [fragment(name, i) for i in range(N)]
        for i in (0, 1):
            (folder / f"{name}_{i + 1}.fq").write_bytes(cases.fastq(pair[i] for pair in pairs))
        (folder / f"{name}.fq").write_bytes(cases.fastq(mate for pair in pairs for mate in pair))
    return folder


@pytest.fixture
def search(home, index_of, command):
    """A function: search with these arguments -> Result."""
    return lambda *arguments: command("search", "-q", "-x", index_of(GENOME), *arguments)


def records(data) -> list:
    lines = without_program(data).decode().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("@")]


PAIRS = ["-1", "x_1.fq,y_1.fq", "-2", "x_2.fq,y_2.fq"]


@pytest.mark.parametrize(("more", "at_most"), [([], 10**9), (["-m", "3", "-k", "1"], 3)])
def test_counts_are_those_of_all_records(more, at_most, search, home):
    hits = [r for r in records(search(*PAIRS, "-a").out) if not int(r[1]) & 4 and int(r[11][5:]) <= at_most]
    occurrences: dict = {}
    for record in hits:
        occurrences.setdefault((record[0], int(record[1]) & 64), []).append(record[2])
    assert max(map(len, occurrences.values())) > min(at_most - 1, 3)
    names = [name for name, _ in GENOME]
    expected = naive.counts(GENOME, [[(names.index(x),) for x in places] for places in occurrences.values()])
    search(*PAIRS, *(more or ["-a"]), "--counts", "c.tsv", "-o", "o.sam")
    assert (home / "c.tsv").read_text().splitlines()[1:] == expected
    assert Counter(record[1] for record in hits)["99"] > 3


@pytest.mark.parametrize("how", [PAIRS, ["--interleaved", "x.fq", "y.fq"]])
def test_just_these_pairs_are_mapped(how, search):
    every = records(search(*how).out)
    assert len(every) == 4 * N
    for skip, first in ((0, 1), (5, 30), (29, 1), (30, 4), (59, 9), (7, None)):
        words = [*(["--first", first] if first else []), *(["--skip", skip] if skip else []), "-t", 3]
        stop = None if first is None else 2 * (skip + first)
        assert records(search(*how, *words).out) == every[2 * skip : stop]


def test_damage_behind_the_last_pair_is_not_met(search, home):
    with open(home / "x_2.fq", "a") as file:
        file.write("@bad\nAC\n+\nI\n")
    for first, code in ((N, 0), (N + 1, 1)):
        result = search("-1", "x_1.fq", "-2", "x_2.fq", "--first", first, "-o", "o.sam")
        assert (result.code, f"x_2.fq: record {N + 1}: " in result.err) == (code, code == 1)


def test_pairs_are_counted_by_group(home, command):
    for name, letters in GENOME[:2]:
        (home / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    assert command("index", "-q", *(f"{name}.fa" for name, _ in GENOME[1::-1]), "-o", "two.fmx").code == 0
    tables = []
    for by in ("contig", "group"):
        words = [*PAIRS, "-o", "o.sam", "--counts", "c.tsv", "--counts-by", by]
        assert command("search", "-q", "-x", "two.fmx", *words).code == 0
        tables.append([line.split("\t") for line in (home / "c.tsv").read_text().splitlines()[1:]])
    assert [row[0] for row in tables[0]] == [name for name, _ in GENOME[1::-1]]
    assert min(int(row[2]) for row in tables[0]) > 10
    by_contig, by_group = ([[*row[2:4], row[-1]] for row in table] for table in tables)
    assert by_contig == by_group
