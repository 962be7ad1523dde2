"""How pieces cover a pattern (queries/near.py): the cheapest Way, estimated from its words and their rows."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.primitives import at, popcount
from ...input.sets import set_at

MOST = 2  # mismatches
LONGEST = 64  # symbols of a piece: two packed words
STRETCH = (MOST + 1) * LONGEST  # symbols of a pattern that pieces are cut from
APART, TWO_ENDS, OVERLAPPING = range(3)
_LOOKUP, _ROW = 1.0, 0.4  # cost of looking up a word, and of comparing each of its rows
_LOOKUP_BOTH = 1.4  # cost of looking up both words of a pair in a sparse suffix array
_NEVER = np.inf
_EMPTY, _SPELLED, _ONCE, _TWICE, N_SUMS = range(5)  # columns of sums, see _add_symbol


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

    ``most``: mismatches in pieces. ``kind``: APART, TWO_ENDS or OVERLAPPING.
    """

    cost: float
    start: int
    stop: int
    most: int
    width: int
    kind: int


@lru_cache
def ways_of(v: int, lookups: Lookups) -> np.ndarray:
    """Return how patterns of single bases are cut: width and kind by length, int64[2 * n]."""
    ways = np.zeros(2 * (STRETCH + 1), np.int64)
    _fill_ways(v, lookups, np.zeros((STRETCH + 1, N_SUMS)), ways)
    return ways


@compiled
def _fill_ways(v, lookups, sums, ways):
    sums[0, _SPELLED] = 1.0
    for length in range(1, STRETCH + 1):
        _add_symbol(sums, length, np.uint64(1))
        way = _best(sums, (np.int64(0), np.int64(length)), v, lookups, _none())
        ways[2 * length], ways[2 * length + 1] = way.width, way.kind


@inlined
def way_of(ways, length, v):
    """Return the Way of a pattern of single bases, without its cost, by a result of ``ways_of``."""
    i = 2 * min(length, np.int64(STRETCH))
    return Way(0.0, np.int64(0), length, v, at(ways, i), at(ways, i + 1))


@inlined
def _none():
    return Way(_NEVER, np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(APART))


@inlined
def _cost(lookups, width):
    """Return the cost of a pair of words of ``width`` symbols, with its rows in a text without repeats."""
    rows = 2 * _ROW * lookups.n_text * 0.25**width
    if 0 < lookups.shortest <= width:
        return _LOOKUP_BOTH + rows
    return 2 * _LOOKUP + rows if lookups.any_length else _NEVER


@inlined
def _add_symbol(sums, n, own):
    """Fill row n of ``sums`` float64[.., N_SUMS]: for n symbols of a pattern, the last of which is ``own``.

    Columns: number of empty sets; words, with any base for an empty set; for one changed symbol, the sum of
    the other words per word; the sum of their squares.
    """
    bases = popcount(own)
    others = (4.0 - bases) / bases if bases > 0 else 0.0
    sums[n, _EMPTY] = sums[n - 1, _EMPTY] + (bases == 0)
    sums[n, _SPELLED] = sums[n - 1, _SPELLED] * (bases if bases > 0 else 4.0)
    sums[n, _ONCE], sums[n, _TWICE] = sums[n - 1, _ONCE] + others, sums[n - 1, _TWICE] + others * others


@inlined
def _n_words(sums, start, stop, changed):
    """Return the number of words of symbols ``start`` to ``stop`` with exactly ``changed`` of them changed.

    An empty set is always changed.
    """
    n, others = changed - (sums[stop, _EMPTY] - sums[start, _EMPTY]), sums[stop, _ONCE] - sums[start, _ONCE]
    twice = 0.5 * (others * others - (sums[stop, _TWICE] - sums[start, _TWICE]))
    factor = 0.0 if n < 0 else 1.0 if n == 0 else others if n == 1 else twice
    return factor * sums[stop, _SPELLED] / sums[start, _SPELLED]


@inlined
def _best(sums, span, v, lookups, best):
    """Return ``best`` or a cheaper Way to cover a span (start, stop), in a time linear in its length."""
    (start, stop), length = span, span[1] - span[0]
    share = min(length // (v + 1), np.int64(LONGEST))
    if share > 0:
        n = 0.0
        for j in range(v + 1):
            first = start + j * (length // (v + 1))
            n += _n_words(sums, first, first + share, 0)
        best = _cheaper(best, Way(n * _cost(lookups, share), start, stop, v, share, np.int64(APART)))
    for width in range(1, min(length, LONGEST) + 1):
        n, end, last = 0.0, start + width, stop - width
        most = v - max(np.int64(sums[last, _EMPTY] - sums[end, _EMPTY]), np.int64(0))  # in the two ends
        if most == 0:
            continue
        for changed in range(most):
            n += _n_words(sums, start, end, changed) + _n_words(sums, last, stop, changed)
        if last < end:  # the unchanged symbols before it are also spelled
            n += _n_words(sums, start, last, 0) * _n_words(sums, last, end, most)
        cost = _cost(lookups, width)
        best = _cheaper(best, Way(n * cost, start, stop, most, width, np.int64(TWO_ENDS)))
        if v == 2 and 2 * width <= length <= 3 * width:
            n, middle = _n_words(sums, last, stop, 0), (start + last) // 2
            for a, b in ((start, middle), (middle, last)):
                n += _n_words(sums, a, a + width, 0)
                n += _n_words(sums, a, b, 0) * _n_words(sums, b, a + width, 1)
            best = _cheaper(best, Way(n * cost, start, stop, v, width, np.int64(OVERLAPPING)))
    return best


@inlined
def _cheaper(best, way):
    return way if way.cost < best.cost else best


@inlined
def best_of_sets(sets, i, v, lookups, room):
    """Return the cheapest Way to cover a pattern of sets, from spans between symbols of more or fewer bases.

    The time is linear in the length of a pattern if it has a few such symbols, else quadratic. ``room``:
    (sums float64[STRETCH + 1, N_SUMS], starts int64[STRETCH + 1]).
    """
    sums, starts = room
    n = min(sets.length[i], np.int64(STRETCH))
    sums[0, _EMPTY], sums[0, _SPELLED], sums[0, _ONCE], sums[0, _TWICE] = 0.0, 1.0, 0.0, 0.0
    for j in range(n):
        _add_symbol(sums, j + 1, np.uint64(set_at(sets, i, j)))
        starts[j + 1] = -1
    for start in range(n):
        if start > 0 and sums[start, _SPELLED] == sums[start - 1, _SPELLED]:
            continue
        for stop in range(start + 1, n + 1):
            if stop < n and sums[stop, _SPELLED] == sums[stop + 1, _SPELLED]:
                continue
            length, other = stop - start, starts[stop - start]
            if other < 0 or _words_in(sums, start, length, n, v) < _words_in(sums, other, length, n, v):
                starts[length] = start
    best = _none()
    for length in range(1, n + 1):
        if starts[length] >= 0:
            start, most = starts[length], _most_in(sums, starts[length], length, n, v)
            best = _best(sums, (start, start + length), most, lookups, best)
    return best


@inlined
def _most_in(sums, start, length, n, v):
    """Return the most mismatches in a span, if n symbols have up to v: one at each empty set elsewhere."""
    return v - np.int64(sums[n, _EMPTY] - sums[start + length, _EMPTY] + sums[start, _EMPTY])


@inlined
def _words_in(sums, start, length, n, v):
    return _n_words(sums, start, start + length, _most_in(sums, start, length, n, v))
