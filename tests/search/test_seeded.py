"""Seed and verify as a GPU does it, compiled for the CPU: it finds what plain comparison finds."""

import functools

import numpy as np
from cached import compiled
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from packed import pack

from fmx.index.contracts import find, on_device
from fmx.index.reference import make_blocks
from fmx.index.tables import SeedTable, build_prefix_table, first_rows
from fmx.input.dna import pack_text
from fmx.input.reads import Patterns
from fmx.machines.jobs import ONE_CORE
from fmx.search.hits import Intervals
from fmx.search.queries.verify import Verify

OWN = 4  # symbols of a seed of the index


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


UNITS = st.builds(lambda unit, n: unit * n, st.text("ACGT", min_size=1, max_size=9), st.integers(1, 40))
BLOCKS = st.lists(st.text("ACGT", min_size=1, max_size=60) | UNITS, min_size=1)


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
