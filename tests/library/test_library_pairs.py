"""Pairs from Python are those of the oracle, from files, lists and dicts, on any number of threads."""

import cases
import naive_pairs
import pytest
from naive import reverse_complement
from texts import numbered, random_letters

import fmx

LETTERS = random_letters(400, "pairs of the library")
CONTIGS = numbered([LETTERS + LETTERS[50:200], LETTERS[100:300]])
ONE = [LETTERS[i : i + 20] for i in range(0, 120, 10)]
TWO = [LETTERS[i : i + 15] for i in range(60, 180, 10)]


@pytest.fixture
def opened(index_of):
    return fmx.open(index_of(CONTIGS), threads=2)


def expected(one, two, limit=None, **rule) -> list:
    rows = []
    for i, mates in enumerate(zip(one, two, strict=True)):
        every = naive_pairs.proper_pairs(CONTIGS, *mates, **rule)
        for a, b, insert in every[:limit]:
            rows.append((i, a[0], a[1], b[1], a[2] == 1, b[2] == 1, abs(insert), len(every)))
    return rows


def test_proper_pairs(opened, tmp_path):
    two = [*map(reverse_complement, TWO)]
    names = [f"p{i}" for i in range(len(ONE))]
    for i, mates in ((1, ONE), (2, two)):
        records = [(f"{name}/{i}", read) for name, read in zip(names, mates, strict=True)]
        (tmp_path / f"{i}.fq").write_bytes(cases.fastq(records))
    wanted = expected(ONE, two)
    assert len({row[0] for row in wanted}) < len(wanted)
    dicts = dict(zip(names, ONE, strict=True)), dict(zip(names, two, strict=True))
    for one, other in ((tmp_path / "1.fq", tmp_path / "2.fq"), dicts):
        found = opened.search_pairs(one, other, k=None)
        assert found.dtype == fmx.PROPER_PAIR
        assert found.tolist() == wanted
        assert list(found.names["pair"]) == names
    for other, options, rule in (
        (two, {}, {"limit": 1}), (TWO, {"k": None, "orientation": "ff"}, {"orientation": "ff"}),
        (two, {"k": None, "min_insert": 70, "max_insert": 80}, {"least": 70, "most": 80}),
    ):  # fmt: skip
        assert opened.search_pairs(ONE, other, **options).tolist() == expected(ONE, other, **rule)
    assert opened.search_pairs([], []).tolist() == []


@pytest.mark.parametrize("strata", [False, True])
def test_proper_pairs_with_mismatches(strata, opened):
    one = [read[:5] + "A" + read[6:] for read in ONE]
    two = [read[:9] + "G" + read[10:] for read in map(reverse_complement, TWO)]
    found = opened.search_pairs(one, two, k=None, mismatches=2, strata=strata)
    assert found.dtype == fmx.NEAR_PROPER_PAIR
    rows = expected(one, two, mismatches=2, strata=strata)
    assert [row[:8] for row in found.tolist()] == rows
    for name, reads in (("1", one), ("2", two)):
        hits = [(row["contig"], row[f"position{name}"], int(row[f"reverse{name}"])) for row in found]
        assert found[f"mismatches{name}"].tolist() == [
            naive_pairs.compared(CONTIGS, reads[pair], hit)[0]
            for pair, hit in zip(found["pair"], hits, strict=True)
        ]
    assert set(found["mismatches1"].tolist()) == set(found["mismatches2"].tolist()) == {0, 1}
    with pytest.raises(ValueError, match=r"^strata must be False without mismatches"):
        opened.search_pairs(one, two, strata=True)
