"""Sorting rows that are still tied by their ranks, on all cores: the last step of buckets.py.

A row's rank is the first row of its group of tied rows.  In rounds that double h, each group is sorted by the
rank of the suffix h further on, so that rows still tied share 2 h symbols (Larsson and Sadakane 2007, "Faster
suffix sorting").  No thread writes ranks while others read them: in a round, the keys of many groups are made
first, then these groups are sorted.

    rows    0 1 2 3 4 5 6 7
    bits    0 0 1 0 0 1 1 0     tied with the row before: two groups, rows 1 to 2 and 4 to 6
    rank    0 1 1 3 4 4 4 7     of the suffixes of these rows
"""

from typing import NamedTuple

import numpy as np

from ....compiler.functions import compiled, inlined
from ....compiler.primitives import at, prefetch, trailing_zeros
from ....compiler.sorting import sort
from ....machines.jobs import Array, run_all

_AHEAD = 32  # rows between prefetching a rank and writing it


class Ties(NamedTuple):
    """Which of the rows from ``start`` to ``stop`` are tied with the row before: ``bits`` uint64, low first.

    Groups end within these rows; ``n`` rows are in groups.
    """

    start: int
    stop: int
    bits: Array
    n: int = 0


class Ranked(NamedTuple):
    """``sa`` and ``rank`` uint32[n]: for each position, the rank of its suffix."""

    sa: Array
    rank: Array


def no_ties(start: int, stop: int) -> Ties:
    """Return Ties of some rows, none of them tied."""
    return Ties(start, stop, np.zeros((stop - start) // 64 + 1, np.uint64))


def sort_ties(sa: Array, ties: Array, h: int, n_threads: int) -> np.ndarray:
    """Finish sorting ``sa`` (uint32[n]); the rows in ``ties`` share h symbols or more."""
    if not any(some.n for some in ties):
        return sa
    ranked = Ranked(sa, np.empty(sa.size, np.uint32))
    run_all(_rank, [(ranked, some) for some in ties], n_threads)
    while ties := [some for some in ties if some.n]:
        batches: list = [[]]  # of about a quarter of the rows: their keys take 8 bytes each
        for some in ties:
            if sum(other.n for other in batches[-1]) >= sa.size // 4:
                batches.append([])
            batches[-1].append(some)
        ties = []
        for batch in batches:
            keys = [np.empty(some.n, np.uint64) for some in batch]
            work = [(ranked, *pair) for pair in zip(batch, keys, strict=True)]
            run_all(_look_further, [(*arguments, h) for arguments in work], n_threads)
            left = run_all(_sort_groups, work, n_threads)
            ties += [some._replace(n=n) for some, n in zip(batch, left, strict=True)]
            del keys, work  # before those of the next batch are made
        h *= 2
    return sa


@inlined
def tie(ties, row):
    """Mark a row as tied with the one before."""
    i = np.uint64(row - ties.start)
    ties.bits[i >> np.uint64(6)] |= np.uint64(1) << (i & np.uint64(63))


@inlined
def _is_tied(ties, row):
    """Return whether a row, or the one after the last, is tied with the one before."""
    i = np.uint64(row - ties.start)
    return (at(ties.bits, i >> np.uint64(6)) >> (i & np.uint64(63))) & np.uint64(1) != 0


@inlined
def _next_group(ties, row):
    """Return (first row, row after the last) of the first group from a row on; (stop, stop) if none."""
    i = row - ties.start
    word = i >> 6
    bits = (at(ties.bits, word) >> np.uint64(i & 63)) << np.uint64(i & 63)
    while bits == 0:
        word += 1
        if word >= ties.bits.size:
            return ties.stop, ties.stop
        bits = at(ties.bits, word)
    second = ties.start + (word << 6) + trailing_zeros(bits)
    stop = second + 1
    while _is_tied(ties, stop):
        stop += 1
    return second - 1, stop


@compiled
def _rank(ranked, ties):
    """Write the rank of each suffix of these rows."""
    first = ties.start
    for row in range(ties.start, ties.stop):
        if row + _AHEAD < ties.stop:
            prefetch(ranked.rank, np.int64(at(ranked.sa, row + _AHEAD)))
        if not _is_tied(ties, row):
            first = row
        ranked.rank[at(ranked.sa, row)] = first


@compiled
def _look_further(ranked, ties, keys, h):
    """Write ``keys`` uint64: for each row in a group the rank of the suffix h further on, and its position.

    Ranks count from 1; 0 is the rank beyond the end of the text.
    """
    j = np.int64(0)
    row, stop = _next_group(ties, ties.start)
    while row < ties.stop:
        for tied in range(row, stop):
            position = np.int64(at(ranked.sa, tied))
            further = np.uint64(0)
            if position + h < ranked.sa.size:
                further = np.uint64(at(ranked.rank, position + h)) + np.uint64(1)
            keys[j] = further << np.uint64(32) | np.uint64(position)
            j += 1
        row, stop = _next_group(ties, stop)


@compiled
def _sort_groups(ranked, ties, keys):
    """Sort each group by its ``keys``; return the number of rows that are still in groups."""
    n_tied = j = np.int64(0)
    row, stop = _next_group(ties, ties.start)
    while row < ties.stop:
        m = stop - row
        of_group = keys[j : j + m]
        sort(of_group, m)
        first = row
        for i in range(m):
            position = at(of_group, i) & np.uint64(0xFFFFFFFF)
            if i > 0 and at(of_group, i) >> np.uint64(32) != at(of_group, i - 1) >> np.uint64(32):
                bit = np.uint64(row + i - ties.start)
                ties.bits[bit >> np.uint64(6)] &= ~(np.uint64(1) << (bit & np.uint64(63)))
                n_tied += row + i - first if row + i - first > 1 else 0
                first = row + i
            ranked.sa[row + i] = position
            ranked.rank[position] = first
        n_tied += stop - first if stop - first > 1 else 0
        j += m
        row, stop = _next_group(ties, stop)
    return n_tied
