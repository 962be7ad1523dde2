"""Ways to cut pieces (queries/ways.py): the words of the chosen one cost least, counted one by one."""

import itertools

import cases
import numpy as np
import pytest
from texts import random_letters

from fmx.compiler.functions import compiled
from fmx.input import sets
from fmx.search.mapping import BOTH
from fmx.search.queries import near
from fmx.search.queries.near import Pieces, plan_read
from fmx.search.queries.ways import (
    APART,
    LONGEST,
    OVERLAPPING,
    STRETCH,
    TWO_ENDS,
    Lookups,
    Way,
    n_plain_words,
)

LOOKUPS = [
    Lookups(4.0**9), Lookups(4.0**13, 0), Lookups(300.0), Lookups(4.0**6, 8), Lookups(4.0**12, 14),
    Lookups(4.0**8, 5, any_length=False), Lookups(2.0),
]  # fmt: skip


def sets_of(*patterns):
    batch = cases.batch_of(patterns)
    wanted = np.ones(len(patterns), np.bool_)
    return sets.make_sets(batch, 0, len(patterns), wanted, BOTH, sets.DEGENERATE)


@compiled
def _count_words(patterns, ways, v, found, n):
    for j in range(n.size):
        way = Way(0.0, ways[j, 0], ways[j, 1], ways[j, 2], ways[j, 3])
        plan_read(patterns, 0, way, v, found)
        n[j] = found.words[0]


def test_without_a_sparse_suffix_array_words_of_any_length_are_looked_up():
    assert Lookups(300.0) == (300.0, 0, True)


def cost(lookups, width, n):
    """Of n pairs of words: looking them up, at once or one by one, and the rows of random text."""
    rows = 2 * 0.4 * lookups.n_text * 0.25**width
    if lookups.shortest and width >= lookups.shortest:
        return n * (1.4 + rows)
    return n * (2 + rows) if lookups.any_length else np.inf


def least(patterns, ways, v, lookups):
    """The least cost of ways: (start, stop, width, kind)."""
    found = Pieces(np.empty(2 * near.MOST_PIECES * near.N_COLUMNS, np.int64), np.empty(1, np.int64))
    n = np.empty(len(ways), np.int64)
    _count_words(patterns, np.array(ways), v, found, n)
    return min(cost(lookups, width, words) for (_, _, width, _), words in zip(ways, n.tolist(), strict=True))


def chosen(patterns, v, lookups):
    """(cost, end of the last piece) of a plan for a pattern."""
    pieces = near.plan(patterns, v, lookups)
    first = pieces.columns.reshape(2, near.MOST_PIECES, near.N_COLUMNS)[0]
    first = first[first[:, near.LENGTH] > 0]
    width = int(first[0, near.LENGTH])
    return cost(lookups, width, int(pieces.words[0])), int((first[:, near.START] + width).max())


@pytest.mark.parametrize("lookups", LOOKUPS, ids=str)
@pytest.mark.parametrize("v", [0, 1, 2])
def test_patterns_of_bases_are_cut_in_the_cheapest_way(v, lookups):
    for length in [*range(v + 1, 45), *range(45, 230, 13), 63, 64, 65, 128, 129, 191, 192, 193]:
        patterns, share = sets_of(random_letters(length, length)), min(length // (v + 1), LONGEST)
        ways = [(0, length, share, APART)]
        for width in range(1, min(length, LONGEST) + 1 if v else 0):
            ways.append((0, length, width, TWO_ENDS))
            if v == 2 and 2 * width <= length <= 3 * width:
                ways.append((0, length, width, OVERLAPPING))
        expected = least(patterns, ways, v, lookups)
        if expected < np.inf:
            assert chosen(patterns, v, lookups)[0] == pytest.approx(expected), length


@pytest.mark.parametrize("lookups", [each for each in LOOKUPS if each.any_length], ids=str)
@pytest.mark.parametrize("v", [0, 1, 2])
@pytest.mark.parametrize(
    "pattern",
    ["NAC", "ACRGT", "KCGTACR", "ACGTNNRY", "RACGTACGTNA", "NNNNN", "ACGTRCCGATTAGC", "CNACGTNGATTC"],
)
def test_patterns_of_sets_are_cut_in_the_cheapest_way(pattern, v, lookups):
    patterns, ways = sets_of(pattern), []
    for start, stop in itertools.combinations(range(len(pattern) + 1), 2):
        share = (stop - start) // (v + 1)
        ways += [(start, stop, share, APART)] if share else []
        ways += [(start, stop, w, TWO_ENDS) for w in range(max(share, 1), stop - start + 1) if v]
    assert chosen(patterns, v, lookups)[0] == pytest.approx(least(patterns, ways, v, lookups))


def test_texts_of_all_sizes_have_their_cheapest_way():
    for n_text in 2.0 ** np.arange(2, 40):
        test_patterns_of_sets_are_cut_in_the_cheapest_way("KCGTACRA", 2, Lookups(float(n_text)))


@pytest.mark.parametrize("width", range(1, 6))
def test_words_with_changed_symbols_are_counted(width):
    n = [sum(x != "A" for x in word) for word in itertools.product("ACGT", repeat=width)]
    assert [n_plain_words(width, changed) for changed in range(3)] == [n.count(k) for k in range(3)]


@pytest.mark.parametrize("v", [0, 1, 2])
def test_pieces_of_sets_are_cut_from_the_first_symbols(v):
    """All but the last symbols of the stretch are any base."""
    for n_after in (0, 1, 9):
        pattern = "N" * (STRETCH - 6) + "ACGTAC" + "A" * n_after
        assert chosen(sets_of(pattern), v, Lookups(4.0**9))[1] == STRETCH
