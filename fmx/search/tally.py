"""Reads and hits of each contig, over all occurrences, in time that grows with the occurrences.

Patterns with many occurrences are short, so there are few of them: reads that occur at the same rows are
located once, however many they are.
"""

from collections import deque

import numpy as np

from ..compiler.functions import compiled
from ..index.reference import place_of
from ..machines.portions import cuts

_MANY = 64  # occurrences, from which on reads are looked at for being the same
_MOST = 1 << 17  # positions located at a time


class Tally:
    """Counts (reads, hits) of each contig of a reference, for several threads at a time."""

    def __init__(self, reference):
        self._blocks, self._n_contigs = reference.blocks, len(reference.names)
        self._idle: deque = deque()  # one table for each thread that is counting

    def table(self) -> np.ndarray:
        """(reads, hits) of each contig, int64[n_contigs, 2]; while nobody is counting."""
        return np.sum([np.zeros((self._n_contigs, 2), np.int64), *self._idle], axis=0)

    def clear(self) -> None:
        """Begin anew."""
        self._idle.clear()

    def add_table(self, table) -> None:
        """Count what a table as of ``table`` holds."""
        try:
            table = self._idle.pop() + table
        except IndexError:
            table = table.copy()
        self._idle.append(table)

    def add(self, locators, intervals, eligible) -> None:
        """Count Intervals [n_parts, 2 * n_reads] of reads with ``eligible`` int64[n_reads] occurrences."""
        try:
            table = self._idle.pop()
        except IndexError:
            table = np.zeros((self._n_contigs, 2), np.int64)
        lo, hi, weight = _distinct(intervals, eligible)
        seen = np.full(self._n_contigs, -1, np.int64)
        for locator, lo_here, n_here in zip(locators, lo, hi - lo, strict=True):  # a contig is in one part
            for i, start, stop in cuts(n_here, _MOST):
                n = stop - start
                positions = locator.locate(lo_here[i : i + n.size] + start, n)
                _count(positions, n, i, weight, self._blocks, seen, table)
        self._idle.append(table)


def _distinct(intervals, eligible):
    """(lo, hi, weight): int64[n_parts, 2 * n] intervals, and int64[n] how many reads have just these."""
    reads = np.flatnonzero(eligible)
    columns = [row.reshape(-1, 2)[reads] for array in intervals for row in array]
    rows = np.concatenate(columns, axis=1).astype(np.int64)
    many = eligible[reads] >= _MANY
    repeated, n_times = np.unique(rows[many], axis=0, return_counts=True)
    rows = np.concatenate([rows[~many], repeated])
    weight = np.append(np.ones(rows.shape[0] - n_times.size, np.int64), n_times)
    lo, hi = rows.reshape(-1, 2, len(intervals.lo), 2).transpose(1, 2, 0, 3).reshape(2, len(intervals.lo), -1)
    return lo, hi, weight


@compiled
def _count(positions, size, first, weight, blocks, seen, table):
    """Count positions of intervals from ``first`` on, two a read; ``seen``: last read of each contig."""
    n = 0
    for i in range(size.size):
        read = (first + i) >> 1
        for _ in range(size[i]):
            contig = place_of(blocks, positions[n]).contig
            table[contig, 0] += weight[read] * (seen[contig] != read)
            table[contig, 1] += weight[read]
            seen[contig] = read
            n += 1
