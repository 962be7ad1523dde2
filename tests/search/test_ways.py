"""Ways to cut pieces (queries/near_words.py): the words of the chosen one cost least, counted one by one."""

import itertools
import os
import subprocess
import sys

import cases
import numpy as np
import pytest
from cached import compiled
from texts import random_letters

from fmx.dna import DEGENERATE, PLAIN
from fmx.input import sets
from fmx.search.mapping import BOTH
from fmx.search.queries import near_words
from fmx.search.queries.near_words import (
    APART,
    LONGEST,
    MOST_SYMBOLS,
    OVERLAPPING,
    TWO_ENDS,
    Lookups,
    Pieces,
    Way,
    plan_read,
)

LOOKUPS = [
    Lookups(4.0**9), Lookups(4.0**13, 0), Lookups(300.0), Lookups(4.0**6, 8), Lookups(4.0**12, 14),
    Lookups(4.0**8, 5, any_length=False), Lookups(2.0),
]  # fmt: skip


def sets_of(*patterns, table=DEGENERATE):
    batch = cases.batch_of(patterns)
    wanted = np.ones(len(patterns), np.bool_)
    return sets.make_sets(batch, 0, len(patterns), wanted, BOTH, table)


@compiled
def _count_words(patterns, ways, found, n):
    for j in range(n.size):
        way = Way(0.0, ways[j, 0], ways[j, 1], ways[j, 2], ways[j, 3], ways[j, 4])
        found.columns[:], found.n_words[0] = 0, 0
        plan_read(patterns, 0, way, found)
        n[j] = found.n_words[0]


def cost(lookups, width, n):
    """Of n pairs of words: looking them up, at once or one by one, and the rows of random text."""
    rows = 2 * 0.4 * lookups.n_text * 0.25**width
    if lookups.shortest and width >= lookups.shortest:
        return n * (1.4 + rows)
    return n * (2 + rows) if lookups.any_length else np.inf


def ways_of_span(start, stop, v) -> list:
    """All ways to cover a span with v mismatches: (start, stop, v, width, kind)."""
    length = stop - start
    share = min(length // (v + 1), LONGEST)
    ways = [(start, stop, v, share, APART)] if share else []
    for width in range(1, min(length, LONGEST) + 1 if v else 0):
        ways.append((start, stop, v, width, TWO_ENDS))
        if v == 2 and 2 * width <= length <= 3 * width:
            ways.append((start, stop, v, width, OVERLAPPING))
    return ways


def spans_of(length):
    return itertools.combinations(range(length + 1), 2)


def least(patterns, ways, lookups):
    """The least cost of ways: (start, stop, mismatches, width, kind)."""
    found = Pieces(
        np.empty((2, near_words.MOST_PIECES, near_words.N_COLUMNS), np.int64), np.empty(1, np.int64)
    )
    n = np.empty(len(ways), np.int64)
    _count_words(patterns, np.array(ways), found, n)
    return min(cost(lookups, way[3], words) for way, words in zip(ways, n.tolist(), strict=True))


def chosen(patterns, v, lookups):
    """(cost, end of the last piece) of a plan for a pattern."""
    pieces = near_words.plan(patterns, v, lookups)
    first = pieces.columns[0][pieces.columns[0, :, near_words.LENGTH] > 0]
    width = int(first[0, near_words.LENGTH])
    return cost(lookups, width, int(pieces.n_words[0])), int((first[:, near_words.START] + width).max())


@pytest.mark.parametrize("lookups", LOOKUPS, ids=str)
@pytest.mark.parametrize("v", [0, 1, 2])
def test_patterns_of_bases_are_cut_in_the_cheapest_way(v, lookups):
    for length in [*range(v + 1, 45), *range(45, 230, 13), 63, 64, 65, 128, 129, 191, 192, 193]:
        patterns = sets_of(random_letters(length, length))
        expected = least(patterns, ways_of_span(0, length, v), lookups)
        if expected < np.inf:
            assert chosen(patterns, v, lookups)[0] == pytest.approx(expected), length


@pytest.mark.parametrize("lookups", [each for each in LOOKUPS if each.any_length], ids=str)
@pytest.mark.parametrize("v", [0, 1, 2])
@pytest.mark.parametrize(
    "pattern",
    ["NAC", "ACRGT", "KCGTACR", "ACGTNNRY", "RACGTACGTNA", "NNNNN", "ACGTRCCGATTAGC", "CNACGTNGATTC"],
)
def test_patterns_of_sets_are_cut_in_a_cheap_way(pattern, v, lookups):
    """The cheapest way of all spans costs more than two thirds of it; all of it without mismatches."""
    patterns = sets_of(pattern)
    ways = [way for span in spans_of(len(pattern)) for way in ways_of_span(*span, v)]
    expected = least(patterns, ways, lookups)
    assert expected * 0.999 < chosen(patterns, v, lookups)[0] < expected * (1.5 if v else 1.001)


@pytest.mark.parametrize("lookups", [each for each in LOOKUPS if each.any_length], ids=str)
@pytest.mark.parametrize(
    ("v", "holes"),
    [(1, (0,)), (1, (17,)), (1, (33,)), (2, (8,)), (2, (17,)), (2, (9, 20)), (2, (0, 1)), (2, (16, 33))],
)
def test_reads_with_n_are_cut_in_the_cheapest_way(v, holes, lookups):
    """Of all spans; an N outside of a span leaves one mismatch fewer in it."""
    for length in (34, 35, 61):
        letters = list(random_letters(length, length))
        for hole in holes:
            letters[hole] = "N"
        patterns, ways = sets_of("".join(letters), table=PLAIN), []
        for start, stop in spans_of(length):
            ways += ways_of_span(start, stop, v - sum(not start <= hole < stop for hole in holes))
        assert chosen(patterns, v, lookups)[0] < least(patterns, ways, lookups) * 1.001


# Lines of Python that planning takes: argv has triples of a table, a pattern and mismatches.
_COUNT_STEPS = """
import sys
from fmx import dna
from test_ways import Lookups, near_words, sets_of
def trace(frame, event, argument):
    global n
    n += event == "line" and frame.f_code.co_filename.endswith("near_words.py")
    return trace
for table, pattern, v in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3]):
    patterns, n = sets_of(pattern, table=getattr(dna, table)), 0
    near_words.ways_of(int(v), Lookups(1e8))
    sys.settrace(trace)
    near_words.plan(patterns, int(v), Lookups(1e8))
    sys.settrace(None)
    print(n)
"""
STEPS = {  # (table, form of a pattern, mismatches): growth of steps with four times the length
    ("PLAIN", "N--", 1): 4, ("PLAIN", "-N-", 2): 4, ("PLAIN", "-NN", 2): 4, ("PLAIN", "N-N", 2): 4,
    ("DEGENERATE", "RNB", 2): 16, ("DEGENERATE", "-R-", 1): 16,
}  # fmt: skip


def test_steps_to_plan_grow_with_the_length_of_reads_with_n_and_its_square_with_sets():
    words = []
    for (table, form, v), n in itertools.product(STEPS, (15, 60)):
        parts = (x * n if table != "PLAIN" else x + "A" * (n - 1) for x in form)
        words += [table, "".join(parts).replace("-", "A"), str(v)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    how = {"env": environment, "capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", _COUNT_STEPS, *words], **how)
    steps = list(map(int, done.stdout.split()))
    for (case, growth), short, long in zip(STEPS.items(), steps[::2], steps[1::2], strict=True):
        assert 0 < long < 1.1 * growth * short, case
        assert growth > 4 or long < 100 * 180, case


@pytest.mark.parametrize("v", [0, 1, 2])
def test_pieces_of_sets_are_cut_from_the_first_symbols(v):
    """All but the last symbols of the stretch are any base."""
    for n_after in (0, 1, 9):
        pattern = "N" * (MOST_SYMBOLS - 6) + "ACGTAC" + "A" * n_after
        assert chosen(sets_of(pattern), v, Lookups(4.0**9))[1] == MOST_SYMBOLS
