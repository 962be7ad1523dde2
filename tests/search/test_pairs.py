"""Pairs: their records are those of the oracle, whatever the genome, the rule, the spans and the threads."""

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
from search.test_properties import genomes
from texts import numbered, random_letters

from fmx.index import fm_index
from fmx.input import PairedFiles
from fmx.output.search_output import RecordOutput, SearchOutput
from fmx.search.hits import ALL, SelectionPolicy
from fmx.search.mapping import MapOptions, Pairing, RunSizes

QUALITY = "".join(chr(33 + i % 94) for i in range(200))


@st.composite
def questions(draw):
    """(contigs, pairs): mates that lie near each other or anywhere, of one strand or both, some changed."""
    contigs = [(name, sequence) for name, sequence in draw(genomes()) if sequence]
    joined = "".join(sequence for _, sequence in contigs)
    pairs = []
    for i in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, len(joined) - 1))
        mates = []
        for _ in range(2):
            read = joined[start : start + draw(st.integers(1, 20))].replace(".", "N")
            if draw(st.booleans()):
                read = naive.reverse_complement(read)
            if draw(st.integers(0, 5)) == 0:
                read = read[:-1] + "N"
            mates.append((read, QUALITY[: len(read)]))
            start = (start + draw(st.integers(0, 30))) % len(joined)
        pairs.append((f"r{i}", *mates))
    return contigs, pairs


RULES = st.builds(
    Rule, st.sampled_from(["fr", "rf", "ff"]), st.sampled_from([0, 0, 9]), st.sampled_from([9, 30, 500]),
    st.sampled_from([1, 2, None]), st.sampled_from([None, None, 1, 3]), st.booleans(),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder_of_this(tmp_path_factory):
    return tmp_path_factory.mktemp("pairs")


def text_of(pairs, i) -> bytes:
    """FASTQ of mates 1 (i = 1) or 2 of pairs."""
    return "".join(f"@{pair[0]}/{i}\n{pair[i][0]}\n+\n{pair[i][1]}\n" for pair in pairs).encode()


def records(folder, opened, pairs, rule, seed=-1, near=None, counts=None, **options) -> list:
    """What a run writes, as lists of columns."""
    for i in (1, 2):
        (folder / f"{i}.fq").write_bytes(text_of(pairs, i))
    policy = SelectionPolicy(rule.limit or ALL, rule.at_most or ALL, seed)
    wanted = MapOptions(policy, pairing=Pairing(*rule.lie), near=near, **options)
    files = PairedFiles((str(folder / "1.fq"),), (str(folder / "2.fq"),))
    output = RecordOutput(
        str(folder / "o.sam"), unmapped=rule.unmapped, mismatches=near.mismatches if near else 0
    )
    workflow.search(opened, files, wanted, SearchOutput(output, counts))
    lines = without_program((folder / "o.sam").read_bytes()).decode().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("@")]


def check(folder, contigs, pairs, rule, **options):
    opened = fm_index.load(cases.build(folder / "ref.fmx", contigs))
    assert records(folder, opened, pairs, rule, **options) == naive_pairs.records(contigs, pairs, rule)


@given(questions(), RULES, st.sampled_from([1, 60, 200, 1 << 20]), st.sampled_from([1, 3]))
@examples(40)
def test_records_are_those_of_the_oracle(folder_of_this, question, rule, chunk_size, n_threads):
    check(folder_of_this, *question, rule, chunk_size=chunk_size, n_threads=n_threads)


REPEATS = numbered(["A" * 60 + "N" * 9 + "A" * 40, "AC" * 50, random_letters(300, "pairs")])


def mates(one, two, name="r"):
    return name, (one, QUALITY[: len(one)]), (two, QUALITY[: len(two)])


MANY = [
    mates("AAAAA", "TTTTTTT", "a"),
    mates("ACAC", "GTG", "b"),
    mates("AAAA", "CACA", "c"),
    mates("", "AC", "d"),
]


@pytest.mark.parametrize("rule", [Rule("fr", 0, 40, None), Rule("fr", 7, 500, 9), Rule("ff", 0, 80, None)])
def test_many_pairs_in_slices(rule, folder):
    """More records of a pair, and of mates by themselves, than are made at a time."""
    expected = naive_pairs.records(REPEATS, MANY, rule)
    assert len(expected) > (30 if rule.limit else 300)
    check(folder, REPEATS, MANY, rule, sizes=RunSizes(hits=50))


def test_few_occurrences_against_many(folder):
    """One mate occurs once, the other everywhere: only those near it are looked at."""
    unit = random_letters(40, "unit")
    contigs = numbered(
        ["A" * 300 + unit + "A" * 200, "A" * 400, "N" * 50 + "A" * 90 + unit + "N" * 20 + "A" * 30]
    )
    pairs = [
        mates(unit, "T" * 8, "r0"),
        mates("A" * 9, naive.reverse_complement(unit), "r1"),
        mates("T" * 8, unit, "r2"),
    ]
    for rule in (
        Rule("fr", 0, 90, None),
        Rule("rf", 0, 90, None),
        Rule("ff", 0, 90, None),
        Rule("fr", 60, 61),
    ):
        check(folder, contigs, pairs, rule)


def test_pairs_are_drawn_evenly_and_alike(folder):
    """Of all proper pairs each is drawn as often, in order; spans and slices do not matter."""
    contigs, n = numbered(["A" * 30, "A" * 12]), 600
    pairs = [mates("AAA", "TTTT", f"r{i}") for i in range(n)]
    proper = naive_pairs.proper_pairs(contigs, "AAA", "TTTT", "fr", 0, 4)
    opened = fm_index.load(cases.build(folder / "ref.fmx", contigs))
    found = records(folder, opened, pairs, Rule("fr", 0, 4, 3), seed=5)
    assert found == records(folder, opened, pairs, Rule("fr", 0, 4, 3), seed=5, chunk_size=900, n_threads=2)
    assert found != records(folder, opened, pairs, Rule("fr", 0, 4, 3), seed=6)
    assert len(found) == 6 * n
    places = [
        (contigs.index((r[2], dict(contigs)[r[2]])), int(r[3]) - 1, int(r[8]))
        for r in found
        if int(r[1]) & 64
    ]
    allowed = [(a[0], a[1], insert) for a, _, insert in proper]
    times = [places.count(place) for place in allowed]
    assert sum(times) == 3 * n
    assert min(times) > 0.5 * 3 * n / len(allowed)
    assert max(times) < 1.6 * 3 * n / len(allowed)
    for i in range(0, len(places), 3):
        assert [allowed.index(place) for place in places[i : i + 3]] == sorted(
            {allowed.index(place) for place in places[i : i + 3]}
        )
