"""How pieces cover a pattern (queries/near.py): the cheapest Way, estimated from its words and their rows."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.primitives import at, popcount

MOST = 2  # mismatches
LONGEST = 64  # symbols of a piece: two packed words
STRETCH = LONGEST  # symbols of a pattern of sets that pieces are cut from
APART, TWO_ENDS, OVERLAPPING = range(3)
_LOOKUP, _ROW = 1.0, 0.4  # cost of looking up a word, and of comparing each of its rows
_LOOKUP_BOTH = 1.4  # cost of looking up both words of a pair in a sparse suffix array
_NEVER = 1e300
_LONGEST_WAY = (MOST + 1) * LONGEST  # symbols; longer patterns are cut as these are


class Lookups(NamedTuple):
    """Which words can be looked up in a text of ``n_text`` symbols (float).

    ``shortest``: symbols of the shortest word that a sparse suffix array finds, 0 without one.
    ``any_length``: whether another method finds shorter words.
    """

    n_text: float
    shortest: int = 0
    any_length: bool = True


class Way(NamedTuple):
    """How pieces of ``width`` symbols cover symbols ``start`` to ``stop`` of a pattern.

    ``kind``: APART, TWO_ENDS or OVERLAPPING.
    """

    cost: float
    start: int
    stop: int
    width: int
    kind: int


@lru_cache
def ways_of(v: int, lookups: Lookups) -> np.ndarray:
    """Return how patterns of single bases are cut: width and kind by length, int64[2 * n]."""
    ways = np.zeros(2 * (_LONGEST_WAY + 1), np.int64)
    _fill_ways(v, lookups, ways)
    return ways


@compiled
def _fill_ways(v, lookups, ways):
    for length in range(1, _LONGEST_WAY + 1):
        way = _best_plain(np.int64(length), v, lookups)
        ways[2 * length], ways[2 * length + 1] = way.width, way.kind


@inlined
def way_of(ways, length):
    """Return the Way of a pattern of single bases, without its cost, by a result of ``ways_of``."""
    i = 2 * min(length, np.int64(_LONGEST_WAY))
    return Way(0.0, np.int64(0), length, at(ways, i), at(ways, i + 1))


@inlined
def _cost(lookups, width):
    """Return the cost of a pair of words of ``width`` symbols, with its rows in a text without repeats."""
    rows = 2 * _ROW * lookups.n_text * 0.25**width
    if 0 < lookups.shortest <= width:
        return _LOOKUP_BOTH + rows
    return 2 * _LOOKUP + rows if lookups.any_length else _NEVER


@inlined
def n_plain_words(width, n):
    """Return the number of words with exactly n (0 to 2) of ``width`` symbols changed."""
    return np.int64(1) if n == 0 else 3 * width if n == 1 else 9 * width * (width - 1) // 2


@inlined
def _best_plain(length, v, lookups):
    """Return the cheapest Way to cover a pattern of single bases."""
    share = min(length // (v + 1), np.int64(LONGEST))
    cost = (v + 1) * _cost(lookups, share) if share > 0 else _NEVER
    best = Way(cost, np.int64(0), length, share, np.int64(APART))
    if v > 0:
        for width in range(1, min(length, LONGEST) + 1):
            n, shared, kind = 0.0, max(2 * width - length, np.int64(0)), np.int64(TWO_ENDS)
            for changed in range(v):
                n += 2 * n_plain_words(width, changed)
            n += n_plain_words(shared, v)
            if v == 2 and 2 * width <= length <= 3 * width:
                n, kind = 3.0 + n_plain_words(3 * width - length, 1), np.int64(OVERLAPPING)
            cost = n * _cost(lookups, width)
            if cost < best.cost:
                best = Way(cost, np.int64(0), length, np.int64(width), kind)
    return best


@inlined
def best_of_sets(sets, i, v, lookups, counts):
    """Return the cheapest Way to cover a pattern of sets.

    ``counts[a, w, e]``: number of words of w symbols from symbol a on, with e of them changed.
    """
    length, first = min(sets.length[i], np.int64(STRETCH)), sets.first[i]
    for a in range(length):
        counts[a, 0, 0], counts[a, 0, 1], counts[a, 0, 2] = 1.0, 0.0, 0.0
        for w in range(1, length - a + 1):
            bases = np.float64(popcount(np.uint64(sets.sets[first + a + w - 1])))
            before, now = counts[a, w - 1], counts[a, w]
            now[0] = before[0] * bases
            now[1] = before[1] * bases + before[0] * (4 - bases)
            now[2] = before[2] * bases + before[1] * (4 - bases)
    best = Way(_NEVER, np.int64(0), length, np.int64(0), np.int64(APART))
    for a in range(length):
        for b in range(a + 1, length + 1):
            share = (b - a) // (v + 1)
            if share > 0:
                cost = 0.0
                for j in range(v + 1):
                    cost += counts[a + j * share, share, 0] * _cost(lookups, share)
                if cost < best.cost:
                    best = Way(cost, np.int64(a), np.int64(b), np.int64(share), np.int64(APART))
            if v > 0:
                for w in range(max(1, share), b - a + 1):
                    n, shared = 0.0, 2 * w - (b - a)
                    for changed in range(v):
                        n += counts[a, w, changed] + counts[b - w, w, changed]
                    if shared > 0:  # the unchanged symbols around it are also spelled
                        n += counts[b - w, shared, v] * counts[a, w - shared, 0]
                    cost = n * _cost(lookups, w)
                    if cost < best.cost:
                        best = Way(cost, np.int64(a), np.int64(b), np.int64(w), np.int64(TWO_ENDS))
    return best
