"""Seed and verify as a GPU does it, compiled for the CPU: it finds what plain comparison finds."""

import functools

import numpy as np
import pytest
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from kept import compiled
from packed import pack
from texts import random_letters

from fmx.index.contracts import find, on_device
from fmx.index.reference import make_blocks
from fmx.index.tables import SeedTable, build_prefix_table, first_rows
from fmx.input.dna import pack_text
from fmx.input.reads import Patterns
from fmx.machines.jobs import ONE_CORE
from fmx.search.hits import Intervals
from fmx.search.queries.verify import Verify

OWN = 4  # symbols of a seed of the index
LENGTHS = (
    1,
    3,
    4,
    5,
    6,
    7,
    8,
    15,
    20,
    21,
    22,
    23,
    24,
    31,
    33,
    64,
    99,
    115,
    116,
    117,
    118,
    119,
    120,
    150,
    230,
)


@compiled
def find_all(query, patterns, intervals):
    for i in range(patterns.length.size):
        if patterns.length[i] > 0:
            lo, hi = find(query, patterns, i)
            if lo < hi:
                intervals.lo[i] = lo
                intervals.hi[i] = hi


@functools.cache
def rows_of(text) -> list:
    """The suffixes of a text in their order; a $ ends what is compared."""
    return sorted(range(len(text)), key=lambda i: text[i:])


def query_of(text, prefix_length=4):
    codes = np.array(["$ACGT".index(letter) for letter in text], np.uint8)
    ends = np.flatnonzero(codes == 0)
    starts = np.concatenate([[0], ends[:-1] + 1])
    blocks = make_blocks(starts, np.arange(starts.size), np.zeros_like(starts), ends - starts)
    sa = np.array(rows_of(text), np.uint32)
    seeds = SeedTable(first_rows(ONE_CORE, codes, sa, OWN), OWN)
    query = Verify(build_prefix_table(codes, prefix_length), seeds, sa, pack_text(codes), blocks)
    return on_device(query)


@functools.cache
def expected(text, sequences) -> list:
    rows, intervals = rows_of(text), []
    for sequence in sequences:
        found = [row for row, i in enumerate(rows) if text.startswith(sequence, i)] if sequence else []
        intervals.append((found[0], found[-1] + 1) if found else (0, 0))
    return intervals


def found(query, sequences) -> list:
    intervals = Intervals(*(np.zeros(len(sequences), np.uint32) for _ in Intervals._fields))
    find_all(query, Patterns(*pack(sequences)), intervals)
    return list(zip(intervals.lo.tolist(), intervals.hi.tolist(), strict=True))


def sequences_of(text) -> list:
    """Of all lengths: from beginning, middle and end of blocks, with a letter changed or added."""
    sequences = [""]
    for block in [block for block in text.split("$") if block][-30:]:
        for m in LENGTHS:
            for piece in (block[:m], block[-m:], block[len(block) // 2 :][:m]):
                sequences += [
                    piece,
                    f"{piece}A",
                    f"A{piece}",
                    f"{piece[:-1]}{'CGTA'['ACGT'.index(piece[-1])]}",
                ]
    return sequences


def repeats():
    """Copies of a unit with letters changed, so that runs of rows are wide for any number of symbols."""
    unit, copies = random_letters(260, "unit"), []
    for i in range(40):
        letters = list(unit)
        for j in range(i):
            letters[(i * i * 31 + 97 * j) % 260] = "ACGT"[(i + j) % 4]
        copies.append("".join(letters))
    return copies


TEXTS = {
    "one block": [random_letters(1500, 1)],
    "short blocks": [random_letters(1 + i % 40, i) for i in range(60)],
    "repeats": [*repeats()[:8], "".join(repeats()), random_letters(40, 2) * 9],
    "one letter": ["A" * 300, "A" * 21, "A" * 20, "A" * 5, "T" * 140, "T" * 22, "T" * 3],
    "ends alike": ["ACGTT" * 30 + "A" * i + "T" * (i % 3) for i in range(1, 25)],
}


@pytest.mark.parametrize("name", TEXTS)
def test_intervals_are_those_of_plain_comparison(name):
    text = "".join(f"{block}$" for block in TEXTS[name])
    sequences = sequences_of(text)
    assert found(query_of(text), sequences) == expected(text, tuple(sequences))


BLOCKS = st.lists(
    st.text("ACGT", min_size=1, max_size=60) | st.text("A", min_size=1, max_size=60), min_size=1
)


@examples(150)
@given(BLOCKS, st.data(), st.sampled_from([4, 5, 6]))
def test_any_text_and_any_pattern(blocks, data, prefix_length):
    joined = "".join(blocks)
    text = "".join(f"{block}$" for block in [*blocks, joined, joined[::-1]])
    sequences = [data.draw(st.text("ACGT", max_size=30))]
    for _ in range(6):
        i = data.draw(st.integers(0, len(joined) - 1))
        sequences.append(joined[i : i + data.draw(st.integers(1, 200))])
    assert found(query_of(text, prefix_length), sequences) == expected(text, tuple(sequences))
