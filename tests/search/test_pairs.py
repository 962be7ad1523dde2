"""Pairs: their records are those of the oracle, whatever the genome, the rule, spans, threads and runs."""

import cases
import hypothesis.strategies as st
import naive
import naive_pairs
import pytest
import workflow
from cover import examples
from hypothesis import given
from naive_pairs import Rule
from output_of import without_program
from search.test_near import RUNS
from search.test_properties import genomes
from several import part_size_of
from texts import numbered, random_letters

from fmx.index.build import build_index
from fmx.index.fm_index import take
from fmx.index.plan import IndexOptions
from fmx.index.writer import MemoryIndex
from fmx.input import PairedFiles
from fmx.output.search_output import SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import MapOptions, Near, Pairing
from fmx.search.queries import near_words

QUALITY = "".join(chr(33 + i % 94) for i in range(200))
WAYS = {  # layout that is built, and how it is opened
    "verify": ("bvsfm-k2-d96", {"method": "verify"}),
    "backward": ("bvsfm-k2-d96", {"layout": "bvsfm-k2-d96"}),
    "sparse": ("sparse-k3-w2", {}),
}


def opened(contigs, way="verify", is_cut=False):
    """An index in memory with its text, in parts if ``is_cut``."""
    size = part_size_of(contigs) if is_cut else 2**32 - 2
    (layout, how), held = WAYS[way], MemoryIndex()
    build_index(cases.fasta(contigs), held, IndexOptions([layout], part_size=size))
    return take(held, **how)


def change(read, *places) -> str:
    """The read with the next base at some places."""
    changed = list(read)
    for i in places:
        changed[i] = "ACGT"["CGTA".index(read[i])] if read[i] in "ACGT" else "A"
    return "".join(changed)


@st.composite
def questions(draw):
    """(contigs, pairs): mates that lie near each other or anywhere, of one strand or both, some changed."""
    contigs = [(name, sequence) for name, sequence in draw(genomes()) if sequence]
    joined, pairs = "".join(sequence for _, sequence in contigs), []
    for i in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, len(joined) - 1))
        mates = []
        for _ in range(2):
            read = joined[start : start + draw(st.integers(1, 20))].replace(".", "N")
            if draw(st.booleans()):
                read = naive.reverse_complement(read)
            if draw(st.integers(0, 5)) == 0:
                read = read[:-1] + "N"
            elif read and draw(st.booleans()):
                read = change(read, *draw(st.lists(st.integers(0, len(read) - 1), max_size=3)))
            mates.append((read, QUALITY[: len(read)]))
            start = (start + draw(st.integers(0, 30))) % len(joined)
        pairs.append((f"r{i}", *mates))
    return contigs, pairs


RULES = st.builds(
    Rule, st.sampled_from(["fr", "rf", "ff"]), st.sampled_from([0, 0, 9]), st.sampled_from([9, 30, 500]),
    st.sampled_from([1, 2, None]), st.sampled_from([None, None, 1, 3]), st.booleans(),
    st.sampled_from([0, 1, 2]), st.booleans(),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder_of_this(tmp_path_factory):
    return tmp_path_factory.mktemp("pairs")


def records(folder, index, pairs, rule, seed=-1, counts=None, **options) -> list:
    """What a run writes, as lists of columns."""
    for i in (1, 2):
        text = "".join(f"@{pair[0]}/{i}\n{pair[i][0]}\n+\n{pair[i][1]}\n" for pair in pairs)
        (folder / f"{i}.fq").write_text(text)
    mismatches, strata = rule.near
    wanted = MapOptions(
        SelectionPolicy(rule.limit or ALL, rule.at_most or ALL, seed), pairing=Pairing(*rule.lie),
        near=Near(mismatches, strata=strata) if mismatches else None, **options,
    )  # fmt: skip
    files = PairedFiles((str(folder / "1.fq"),), (str(folder / "2.fq"),))
    tables = {"--counts": counts} if counts else {}
    output = SearchOutput(str(folder / "o.sam"), "sam", tables, unmapped=rule.unmapped, mismatches=mismatches)
    workflow.search(index, files, wanted, output)
    lines = without_program((folder / "o.sam").read_bytes()).decode().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("@")]


@given(
    questions(), RULES, st.sampled_from([1, 60, 200, 1 << 20]), st.sampled_from([1, 3]), st.booleans()
)  # fmt: skip
@examples(60)
def test_records_are_those_of_the_oracle(folder_of_this, question, rule, chunk_size, n_threads, is_cut):
    contigs, pairs = question
    index, options = opened(contigs, is_cut=is_cut), {"chunk_size": chunk_size, "n_threads": n_threads}
    assert records(folder_of_this, index, pairs, rule, **options) == naive_pairs.records(contigs, pairs, rule)


UNIT = random_letters(60, "near pairs")
REPEATS = numbered(
    [
        UNIT + random_letters(30, 1) + change(UNIT, 3, 40) + "N" * 9 + UNIT,
        "ACG" * 20 + change("ACG" * 9, 10),
        change(UNIT, 31) + UNIT[:20] + naive.reverse_complement(UNIT),
    ]
)
TANDEM = numbered(["A" * 60 + "N" * 9 + "A" * 40, "AC" * 50, random_letters(300, "pairs")])


def mates(one, two, name="r"):
    return name, (one, QUALITY[: len(one)]), (two, QUALITY[: len(two)])


def pairs_of_repeats() -> list:
    """Pairs of a repeat with 0 to 3 mismatches, one with one proper pair, and of tandem repeats."""
    once = REPEATS[0][1][50:90]
    made = [mates(change(once[:20], 4), naive.reverse_complement(once[15:]), "o")]
    for i, (a, b) in enumerate(
        [((), ()), ((2,), ()), ((), (5,)), ((2,), (5,)), ((2, 9), (5,)), ((1, 7), (3, 9))]
    ):
        one, two = change(UNIT[:18], *a), change(naive.reverse_complement(UNIT[30:52]), *b)
        made += [mates(one, two, f"u{i}"), mates(two, one, f"v{i}"), mates(one, one, f"w{i}")]
    made += [mates("ACGACGACG", "CGTCGTCGTCG", "t"), mates(change("ACGACGACG", 4), "CGTCGTCGTCG", "s")]
    made += [mates("N" * 12, UNIT[:18], "n"), mates(UNIT[:9] + "N" + UNIT[10:20], UNIT[:18], "m")]
    return [*made, mates("", UNIT[:18], "e"), mates("AC", "GT", "f"), mates("T" * 20, "A" * 30, "g")]


PAIRS = pairs_of_repeats()
OF_TANDEM = [mates("AAAAA", "TTTTTTT", "a"), mates("ACAC", "GTG", "b"), mates("AAAA", "CACA", "c")]
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
    assert records(folder, opened(REPEATS, way), pairs, rule) == expected


@pytest.mark.parametrize(
    ("contigs", "pairs", "rule"),
    [
        (REPEATS, PAIRS, EVERY[0]), (REPEATS, PAIRS, EVERY[1]), (TANDEM, OF_TANDEM, Rule("fr", 0, 40, None)),
        (TANDEM, OF_TANDEM, Rule("fr", 7, 500, 9)), (TANDEM, OF_TANDEM, Rule("ff", 0, 80, None)),
    ],
    ids=["near", "strata", "exact", "exact, limited", "exact, ff"],
)  # fmt: skip
def test_runs_of_any_size_give_the_same(contigs, pairs, rule, folder):
    """Also if one pair, or the mates of one, have more records than are made at a time."""
    index, expected = opened(contigs), naive_pairs.records(contigs, pairs, rule)
    assert len(expected) > (90 if rule.near[0] else 300 if rule.limit is None else 30)
    for sizes in RUNS:
        assert records(folder, index, pairs, rule, sizes=sizes) == expected


def test_few_occurrences_against_many(folder):
    """One mate occurs once, the other everywhere: only those near it are looked at."""
    unit = random_letters(40, "unit")
    contigs = numbered(
        ["A" * 300 + unit + "A" * 200, "A" * 400, "N" * 50 + "A" * 90 + unit + "N" * 20 + "A" * 30]
    )
    pairs = [mates(unit, "T" * 8), mates("A" * 9, naive.reverse_complement(unit)), mates("T" * 8, unit)]
    for way, least, most in (("fr", 0, 90), ("rf", 0, 90), ("ff", 0, 90), ("fr", 60, 61)):
        rule = Rule(way, least, most, None)
        assert records(folder, opened(contigs), pairs, rule) == naive_pairs.records(contigs, pairs, rule)


def test_by_strata_pairs_with_a_better_proper_pair_are_not_searched_again(folder, monkeypatch):
    """Pairs are searched with one mismatch per mate unless proper exactly, with two unless then with one."""
    plan, seen = near_words.plan, []

    def noted(sets, v, lookups):
        seen.append((v, int((sets.length[::2] > 0).sum())))
        return plan(sets, v, lookups)

    monkeypatch.setattr(near_words, "plan", noted)
    rule = Rule("fr", 0, 90, None, mismatches=2, strata=True)
    pairs = [pair for pair in PAIRS if pair[0] in ("u0", "u1", "u3", "u4")]
    assert records(folder, opened(REPEATS), pairs, rule) == naive_pairs.records(REPEATS, pairs, rule)
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
    records(folder, opened(REPEATS), PAIRS, rule, counts=str(folder / "c.tsv"))
    assert (folder / "c.tsv").read_text().splitlines()[1:] == naive.counts(REPEATS, listed)


@pytest.mark.parametrize("mismatches", [0, 1])
def test_pairs_are_drawn_evenly_within_the_last_stratum(mismatches, folder):
    """Better strata are reported whole; in the last one each proper pair is drawn as often, in order."""
    contigs, n, lie = numbered(["CCCCCACGTTAAAAAA" + "CAAA" * 6, "ACGTTAAAA"]), 500, ("fr", 0, 30)
    pairs, letters = [mates("ACGTT", "TTTT", f"r{i}") for i in range(n)], ("ACGTT", "TTTT")
    every = naive_pairs.proper_pairs(contigs, *letters, *lie, mismatches=mismatches)
    strata = [
        sum(naive_pairs.compared(contigs, *each)[0] for each in zip(letters, pair[:2], strict=True))
        for pair in every
    ]
    n_best = strata.count(0) if mismatches else 0
    allowed = [(f"c{a[0]}", a[1], insert) for a, _, insert in every]
    drawn = allowed[n_best : n_best + strata.count(mismatches)]
    assert n_best > 2 or not mismatches
    index, rule, size = opened(contigs), Rule(*lie, n_best + 2, mismatches=mismatches), n_best + 2
    lines = records(folder, index, pairs, rule, seed=5)
    assert lines == records(folder, index, pairs, rule, seed=5, chunk_size=900, n_threads=2)
    assert lines != records(folder, index, pairs, rule, seed=6)
    places = [(line[2], int(line[3]) - 1, int(line[8])) for line in lines if int(line[1]) & 64]
    assert len(places) == n * size
    times = dict.fromkeys(drawn, 0)
    for i in range(0, len(places), size):
        assert places[i : i + n_best] == allowed[:n_best]
        chosen = places[i + n_best : i + size]
        assert drawn.index(chosen[0]) < drawn.index(chosen[1])
        for place in chosen:
            times[place] += 1
    assert 0.4 * 2 * n / len(times) < min(times.values()) <= max(times.values()) < 2 * 2 * n / len(times)


def test_proper_pairs_take_time_by_their_mates(folder):
    """Two mates in 40,000 tandem places: the 4e8 proper pairs are counted without a look at each."""
    contigs = numbered(["A" * 20_000 + "N" + "A" * 20_000 + "G" + "A" * 20_000])
    pairs = [mates("A" * 30 + "C" + "A" * 9, "T" * 40)]
    (one, two) = records(folder, opened(contigs), pairs, Rule("fr", 0, 10**6, 1, mismatches=1))
    assert int(one[11][5:]) > 4 * 10**8
    assert (one[3], two[3], one[12:14]) == ("1", "1", ["HI:i:1", "NM:i:1"])
