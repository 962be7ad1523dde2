"""Reads and hits of each contig, over all occurrences, in time that grows with the occurrences.

A read with NH occurrences, n of them in a contig, counts n / NH there, in millionths: whole numbers, whose
sum is the same in whatever order they are added.

Patterns with many occurrences are short, so there are few of them: reads that occur at the same rows are
located once, however many they are.
"""

from collections import deque
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..index.reference import place_of
from ..machines.portions import cuts
from .candidates import position_in

_MANY = 64  # occurrences, from which on reads are looked at for being the same
_MOST = 1 << 17  # positions located at a time
COLUMNS = 4  # of a table: reads, hits, unique reads, and millionths of reads
UNITS = 10**6  # of a read


class Counted(NamedTuple):
    """Reads that are counted: how many have these occurrences, and how many these are, int64[n]."""

    weight: np.ndarray
    total: np.ndarray


class Tally:
    """Counts reads and hits of each contig of a reference, for several threads at a time."""

    def __init__(self, reference):
        self._blocks, self._n_contigs = reference.blocks, len(reference.names)
        self._idle: deque = deque()  # one table for each thread that is counting

    def table(self) -> np.ndarray:
        """COLUMNS of each contig, int64[n_contigs, COLUMNS]; while nobody is counting."""
        return np.sum([self._new(), *self._idle], axis=0)

    def _new(self):
        return np.zeros((self._n_contigs, COLUMNS), np.int64)

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

    def add(self, locators, intervals, eligible, weight) -> None:
        """Count Intervals [n_parts, 2 * n_reads] of reads with ``eligible`` int64[n_reads] occurrences.

        ``weight`` int64[n_reads]: how many reads each stands for.
        """
        try:
            table = self._idle.pop()
        except IndexError:
            table = self._new()
        lo, hi, reads = _distinct(intervals, eligible, weight)
        seen = np.full((self._n_contigs, 2), -1, np.int64)
        for locator, lo_here, n_here in zip(locators, lo, hi - lo, strict=True):  # a contig is in one part
            for i, start, stop in cuts(n_here, _MOST):
                n = stop - start
                positions = locator.locate(lo_here[i : i + n.size] + start, n)
                _count(positions, n, i, reads, self._blocks, seen, table)
        self._idle.append(table)

    def add_matches(self, matches, n, weight) -> None:
        """Count the first ``n[r]`` of near_hits.Matches of each read r, int64[n_reads], with its weight."""
        try:
            table = self._idle.pop()
        except IndexError:
            table = self._new()
        positions, size = np.empty(n.sum(), np.int64), np.zeros((n.size, 2), np.int64)
        _positions_of(matches, n, positions)
        size[:, 0] = n
        seen = np.full((self._n_contigs, 2), -1, np.int64)
        _count(positions, size.ravel(), 0, Counted(weight, n), self._blocks, seen, table)
        self._idle.append(table)


def _distinct(intervals, eligible, weight):
    """(lo, hi, Counted): int64[n_parts, 2 * n] intervals, and the reads that have just these."""
    reads = np.flatnonzero(eligible)
    columns = [row.reshape(-1, 2)[reads] for array in intervals for row in array]
    rows = np.concatenate(columns, axis=1).astype(np.int64)
    many = eligible[reads] >= _MANY
    repeated, which = np.unique(rows[many], axis=0, return_inverse=True)
    n_times = np.zeros(repeated.shape[0], np.int64)
    np.add.at(n_times, which.ravel(), weight[reads[many]])
    rows = np.concatenate([rows[~many], repeated])
    weight = np.append(weight[reads[~many]], n_times)
    lo, hi = rows.reshape(-1, 2, len(intervals.lo), 2).transpose(1, 2, 0, 3).reshape(2, len(intervals.lo), -1)
    return lo, hi, Counted(weight, (hi - lo).sum(axis=0).reshape(-1, 2).sum(axis=1))


@inlined
def share_of(n, total):
    """UNITS of a read of which n of ``total`` occurrences are in a contig, to the nearest."""
    return n * UNITS if total == 1 else (2 * n * UNITS + total) // (2 * total)


@compiled
def _count(positions, size, first, reads, blocks, seen, table):
    """Count positions of intervals from ``first`` on, two a read.

    ``seen`` int64[n_contigs, 2]: the last read of each contig, and how often it was met there.
    """
    n = 0
    for i in range(size.size):
        read = (first + i) >> 1
        weight, total = reads.weight[read], reads.total[read]
        for _ in range(size[i]):
            contig = place_of(blocks, positions[n]).contig
            if seen[contig, 0] != read:
                seen[contig, 0], seen[contig, 1] = read, 0
                table[contig, 0] += weight
            met = seen[contig, 1]
            seen[contig, 1] = met + 1
            table[contig, 1] += weight
            table[contig, 2] += weight * (total == 1)
            table[contig, 3] += weight * (share_of(met + 1, total) - share_of(met, total))
            n += 1


@compiled
def _positions_of(matches, n, positions):
    """The positions of the first n[r] matches of each read, one after the other."""
    k = 0
    for r in range(n.size):
        for j in range(matches.first[r], matches.first[r] + n[r]):
            positions[k] = position_in(matches.keys[j])
            k += 1
