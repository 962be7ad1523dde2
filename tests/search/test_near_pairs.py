"""Pairs with mismatches: their records are those of the oracle, by every way to search, by strata or not."""

import cases
import hypothesis.strategies as st
import naive
import naive_pairs
import pytest
from cover import examples
from hypothesis import given
from naive_pairs import Rule
from search.test_near import RUNS
from search.test_pairs import mates as pair_of
from search.test_pairs import questions, records
from several import part_size_of
from texts import numbered, random_letters

from fmx.index.build import build_index
from fmx.index.fm_index import take
from fmx.index.plan import IndexOptions
from fmx.index.writer import MemoryIndex
from fmx.search.hits import Near
from fmx.search.queries import near

WAYS = {  # layout that is built, and how it is opened
    "verify": ("bvsfm-k2-d96", {"method": "verify"}),
    "backward": ("bvsfm-k2-d96", {"layout": "bvsfm-k2-d96"}),
    "sparse": ("sparse-k3-w2", {}),
}


def opened(contigs, way="verify", is_cut=False):
    """An index in memory with its text, in parts if ``is_cut``."""
    size = part_size_of(contigs) if is_cut else 2**32 - 2
    (layout, how), held = WAYS[way], MemoryIndex()
    options = IndexOptions([layout], part_size=size)
    build_index(cases.fasta(contigs), held, options)
    return take(held, **how)


def found(folder, index, pairs, rule, **options) -> list:
    """What a run writes, as lists of columns."""
    return records(folder, index, pairs, rule, near=Near(rule.near[0], strata=rule.near[1]), **options)


@pytest.fixture(scope="module")
def folder_of_this(tmp_path_factory):
    return tmp_path_factory.mktemp("near_pairs")


def change(read, *places) -> str:
    """The read with the next base at some places."""
    changed = list(read)
    for i in places:
        changed[i] = "ACGT"["CGTA".index(read[i])] if read[i] in "ACGT" else "A"
    return "".join(changed)


@st.composite
def changed_questions(draw):
    """Contigs and pairs, some mates with one to three changed bases."""
    contigs, pairs = draw(questions())
    many = []
    for name, *mates in pairs:
        several = []
        for read, quality in mates:
            places = draw(st.lists(st.integers(0, len(read) - 1), max_size=3)) if read else []
            several.append((change(read, *places), quality))
        many.append((name, *several))
    return contigs, many


RULES = st.builds(
    Rule, st.sampled_from(["fr", "rf", "ff"]), st.sampled_from([0, 0, 9]), st.sampled_from([9, 30, 500]),
    st.sampled_from([1, 2, None]), st.sampled_from([None, None, 1, 3]), st.booleans(),
    st.sampled_from([1, 2]), st.booleans(),
)  # fmt: skip


@given(changed_questions(), RULES, st.sampled_from([1, 200, 1 << 20]), st.sampled_from([1, 3]), st.booleans())
@examples(40)
def test_records_are_those_of_the_oracle(folder_of_this, question, rule, chunk_size, n_threads, is_cut):
    contigs, pairs = question
    index = opened(contigs, is_cut=is_cut)
    expected = naive_pairs.records(contigs, pairs, rule)
    options = {"chunk_size": chunk_size, "n_threads": n_threads}
    assert found(folder_of_this, index, pairs, rule, **options) == expected


UNIT = random_letters(60, "near pairs")
REPEATS = numbered(
    [
        UNIT + random_letters(30, 1) + change(UNIT, 3, 40) + "N" * 9 + UNIT,
        "ACG" * 20 + change("ACG" * 9, 10),
        change(UNIT, 31) + UNIT[:20] + naive.reverse_complement(UNIT),
    ]
)


def pairs_of_repeats() -> list:
    """Pairs of a repeat with 0 to 3 mismatches, one with one proper pair, and of tandem repeats."""
    once = REPEATS[0][1][50:90]
    made = [pair_of(change(once[:20], 4), naive.reverse_complement(once[15:]), "o")]
    for i, (a, b) in enumerate(
        [((), ()), ((2,), ()), ((), (5,)), ((2,), (5,)), ((2, 9), (5,)), ((1, 7), (3, 9))]
    ):
        one, two = change(UNIT[:18], *a), change(naive.reverse_complement(UNIT[30:52]), *b)
        made += [pair_of(one, two, f"u{i}"), pair_of(two, one, f"v{i}"), pair_of(one, one, f"w{i}")]
    made += [pair_of("ACGACGACG", "CGTCGTCGTCG", "t"), pair_of(change("ACGACGACG", 4), "CGTCGTCGTCG", "s")]
    made += [pair_of("N" * 12, UNIT[:18], "n"), pair_of(UNIT[:9] + "N" + UNIT[10:20], UNIT[:18], "m")]
    return [*made, pair_of("", UNIT[:18], "e"), pair_of("AC", "GT", "f"), pair_of("T" * 20, "A" * 30, "g")]


PAIRS = pairs_of_repeats()
EVERY = [
    Rule("fr", 0, 90, None, mismatches=2), Rule("fr", 0, 90, 2, mismatches=2, strata=True),
    Rule("ff", 0, 500, None, mismatches=1), Rule("rf", 0, 70, 3, 5, False, mismatches=2),
    Rule("fr", 0, 500, None, 4, mismatches=2, strata=True), Rule("fr", 30, 60, 1, mismatches=1, strata=True),
]  # fmt: skip


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: f"{rule.lie} {rule.near}")
@pytest.mark.parametrize("way", WAYS)
def test_all_ways_find_the_same(way, rule, folder):
    pairs = PAIRS if way != "sparse" else [pair for pair in PAIRS if len(pair[1][0]) > 8 < len(pair[2][0])]
    expected = naive_pairs.records(REPEATS, pairs, rule)
    assert {tag for line in expected for tag in line if tag[:2] == "NM"} >= {"NM:i:0", "NM:i:1"}
    assert found(folder, opened(REPEATS, way), pairs, rule) == expected


@pytest.mark.parametrize("rule", EVERY[:2], ids=["all", "strata"])
def test_runs_of_any_size_give_the_same(rule, folder):
    index, expected = opened(REPEATS), naive_pairs.records(REPEATS, PAIRS, rule)
    assert len(expected) > 90
    for sizes in RUNS:
        assert found(folder, index, PAIRS, rule, sizes=sizes) == expected


def test_by_strata_pairs_with_a_better_proper_pair_are_not_searched_again(folder, monkeypatch):
    """Pairs are searched with one mismatch per mate unless proper exactly, with two unless then with one."""
    plan, seen = near.plan, []

    def noted(sets, v, lookups):
        seen.append((v, int((sets.length[::2] > 0).sum())))
        return plan(sets, v, lookups)

    monkeypatch.setattr(near, "plan", noted)
    rule = Rule("fr", 0, 90, None, mismatches=2, strata=True)
    pairs = [pair for pair in PAIRS if pair[0] in ("u0", "u1", "u3", "u4")]
    assert found(folder, opened(REPEATS), pairs, rule) == naive_pairs.records(REPEATS, pairs, rule)
    artificial, others = [(1, 1), (1, 1), (2, 1), (2, 1)], [(1, 3), (1, 3), (2, 2), (2, 2)]
    assert seen == artificial + others


@pytest.mark.parametrize("rule", [EVERY[0], EVERY[4], EVERY[5]], ids=["all", "strata, -m", "strata, -k"])
def test_counts_are_those_of_all_occurrences(rule, folder):
    """Of proper pairs, or else of mates; by strata those of the best one."""
    listed = []
    for _, (one, _), (two, _) in PAIRS:
        proper = naive_pairs.proper_pairs(REPEATS, one, two, *rule.lie, *rule.near)
        sides = [[pair[i] for pair in proper] for i in (0, 1)]
        if not proper:
            sides = [naive_pairs.occurrences(REPEATS, read, *rule.near) for read in (one, two)]
        listed += [side for side in sides if rule.at_most is None or len(side) <= rule.at_most]
    counts = str(folder / "c.tsv")
    found(folder, opened(REPEATS), PAIRS, rule, counts=counts)
    assert (folder / "c.tsv").read_text().splitlines()[1:] == naive.counts(REPEATS, listed)


def test_pairs_are_drawn_within_the_last_stratum(folder):
    """Better strata are reported whole; in the last one each proper pair is drawn as often."""
    contigs, n = numbered(["CCCCCACGTTAAAAAA" + "CAAA" * 6]), 500
    pairs = [pair_of("ACGTT", "TTTT", f"r{i}") for i in range(n)]
    lie = "fr", 0, 30
    every = naive_pairs.proper_pairs(contigs, "ACGTT", "TTTT", *lie, mismatches=1)
    strata = [
        sum(
            naive_pairs.compared(contigs, read, hit)[0]
            for read, hit in zip(("ACGTT", "TTTT"), pair[:2], strict=True)
        )
        for pair in every
    ]
    n_best = strata.count(0)
    assert n_best > 2
    assert strata.count(1) > 8
    index, rule = opened(contigs), Rule(*lie, n_best + 2, mismatches=1)
    lines = found(folder, index, pairs, rule, seed=5)
    assert lines == found(folder, index, pairs, rule, seed=5, chunk_size=900, n_threads=2)
    assert lines != found(folder, index, pairs, rule, seed=6)
    places = [(int(line[3]) - 1, int(line[8])) for line in lines if int(line[1]) & 64]
    allowed = [(a[1], insert) for a, _, insert in every]
    size = n_best + 2
    assert len(places) == n * size
    times = dict.fromkeys(allowed[n_best : n_best + strata.count(1)], 0)
    for i in range(0, len(places), size):
        assert places[i : i + n_best] == allowed[:n_best]
        for place in places[i + n_best : i + size]:
            times[place] += 1
    assert 0.4 * 2 * n / len(times) < min(times.values()) <= max(times.values()) < 2 * 2 * n / len(times)


def test_proper_pairs_take_time_by_their_mates(folder):
    """Two mates in 40,000 tandem places: the 4e8 proper pairs are counted without a look at each."""
    contigs = numbered(["A" * 20_000 + "N" + "A" * 20_000 + "G" + "A" * 20_000])
    pairs = [pair_of("A" * 30 + "C" + "A" * 9, "T" * 40, "r")]
    rule = Rule("fr", 0, 10**6, 1, mismatches=1)
    (one, two) = found(folder, opened(contigs), pairs, rule)
    assert int(one[11][5:]) > 4 * 10**8
    assert (one[3], two[3], one[12:14]) == ("1", "1", ["HI:i:1", "NM:i:1"])
