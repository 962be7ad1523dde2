"""Reads and hits of each contig, or group of contigs, over all occurrences, in time that grows with these.

A read with NH occurrences, n of them in a contig, counts n / NH there, in millionths: whole numbers, whose
sum is the same in whatever order they are added.  What is counted by, contigs or groups, are *owners*.

Patterns with many occurrences are short, so there are few of them: reads that occur at the same rows are
located once, however many they are.
"""

from collections import deque
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..index.reference import Blocks, place_of
from ..machines.portions import cuts, runs
from .candidates import position_in

_MANY = 64  # occurrences, from which on reads are looked at for being the same
_MOST = 1 << 17  # positions located at a time
COLUMNS = (
    5  # of a table: reads, hits, reads that occur once, millionths of reads, reads that occur nowhere else
)
UNITS = 10**6  # of a read


class Owners(NamedTuple):
    """Contigs or groups: ``names`` list of str; ``lengths`` int64[n] in bases; ``blocks`` Blocks, with the
    number of an owner in the place of a contig's."""

    names: list
    lengths: np.ndarray
    blocks: Blocks


def owners_of(reference, groups=None) -> Owners:
    """The Owners of a Reference: its contigs, or Groups of these."""
    if groups is None:
        return Owners(reference.names, reference.lengths, reference.blocks)
    lengths = np.zeros(len(groups.names), np.int64)
    np.add.at(lengths, groups.of_contig, reference.lengths)
    owner = groups.of_contig[reference.blocks.contig].astype(np.int64)
    return Owners(groups.names, lengths, reference.blocks._replace(contig=owner))


class Counted(NamedTuple):
    """Reads that are counted: how many have these occurrences, and how many these are, int64[n]."""

    weight: np.ndarray
    total: np.ndarray


class Tally:
    """Counts reads and hits of Owners, for several threads at a time."""

    def __init__(self, owners):
        self.owners, self._n = owners, len(owners.names)
        self._idle: deque = deque()  # one table for each thread that is counting

    def table(self) -> np.ndarray:
        """COLUMNS of each owner, int64[n_owners, COLUMNS]; while nobody is counting."""
        return np.sum([self._new(), *self._idle], axis=0)

    def _new(self):
        return np.zeros((self._n, COLUMNS), np.int64)

    @contextmanager
    def counting(self):
        """A table for this thread to count in."""
        try:
            table = self._idle.pop()
        except IndexError:
            table = self._new()
        yield table
        self._idle.append(table)

    def unseen(self) -> np.ndarray:
        """What ``note`` knows before the first read."""
        return np.full((self._n, 2), -1, np.int64)

    def clear(self) -> None:
        """Begin anew."""
        self._idle.clear()

    def add_table(self, table) -> None:
        """Count what a table as of ``table`` holds."""
        with self.counting() as own:
            own += table

    def add(self, locators, intervals, eligible, weight) -> None:
        """Count Intervals [n_parts, 2 * n_reads] of reads with ``eligible`` int64[n_reads] occurrences.

        ``weight`` int64[n_reads]: how many reads each stands for.
        """
        lo, hi, reads = _distinct(intervals, eligible, weight)
        with self.counting() as table:
            seen = self.unseen()
            for first, size, positions in _located(locators, lo, hi - lo, reads.total):
                self._count(positions, size, first, reads, seen, table)

    def add_matches(self, matches, n, weight) -> None:
        """Count the first ``n[r]`` of near_hits.Matches of each read r, int64[n_reads].

        ``weight`` as for ``add``.
        """
        positions, size = np.empty(n.sum(), np.int64), np.zeros((n.size, 2), np.int64)
        _positions_of(matches, n, positions)
        size[:, 0] = n
        with self.counting() as table:
            self._count(positions, size.reshape(1, -1), 0, Counted(weight, n), self.unseen(), table)

    def _count(self, positions, size, first, reads, seen, table):
        size = np.ascontiguousarray(size)  # or it would be compiled once more
        begins = np.cumsum(size.sum(axis=1))
        begins[1:], begins[0] = begins[:-1].copy(), 0
        _count(Sizes(size, begins, first), positions, reads, self.owners.blocks, seen, table)


class Sizes(NamedTuple):
    """Sizes of intervals of some reads from number ``first`` on: ``size`` int64[n_parts, 2 * n_reads].

    ``begins`` int64[n_parts]: where the positions of each part begin.
    """

    size: np.ndarray
    begins: np.ndarray
    first: int


def _located(locators, lo, size, total):
    """Yield (first read, sizes int64[n_parts, 2 * n], positions) for runs of reads with such intervals.

    ``lo``, ``size`` int64[n_parts, 2 * n_reads]; ``total`` int64[n_reads].  Positions are _MOST at most: a
    read with more of them comes by stretches of one part at a time.
    """
    for a, b in runs(total, _MOST):
        own = slice(2 * a, 2 * b)
        if total[a] <= _MOST:
            found = [x.locate(y[own], n[own]) for x, y, n in zip(locators, lo, size, strict=True)]
            yield a, size[:, own], np.concatenate(found) if len(found) > 1 else found[0]
            continue
        for locator, lo_here, n_here in zip(locators, lo[:, own], size[:, own], strict=True):
            for i, start, stop in cuts(n_here, _MOST):
                n = np.zeros((1, 2), np.int64)
                n[0, i : i + start.size] = stop - start
                yield a, n, locator.locate(lo_here[i : i + start.size] + start, stop - start)


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
    """UNITS of a read of which n of ``total`` occurrences are with an owner, to the nearest."""
    return n * UNITS if total == 1 else (2 * n * UNITS + total) // (2 * total)


@compiled
def _count(sizes, positions, reads, blocks, seen, table):
    """Count the positions of some reads, of which ``sizes`` are."""
    for r in range(sizes.size.shape[1] // 2):
        read = sizes.first + r
        of_read = read, reads.weight[read], reads.total[read]
        for part in range(sizes.size.shape[0]):
            n = sizes.begins[part]
            for _ in range(sizes.size[part, 2 * r] + sizes.size[part, 2 * r + 1]):
                note(table, seen, place_of(blocks, positions[n]).contig, of_read, 1)
                n += 1
            sizes.begins[part] = n


@inlined
def note(table, seen, owner, of_read, n):
    """Count n more occurrences with an owner of a read, (its number, weight, occurrences in all).

    ``seen`` int64[n_owners, 2]: the last read of each owner, and how often it was met there.
    """
    read, weight, total = of_read
    if seen[owner, 0] != read:
        seen[owner, 0], seen[owner, 1] = read, 0
        table[owner, 0] += weight
    met = seen[owner, 1]
    seen[owner, 1] = met + n
    table[owner, 1] += weight * n
    table[owner, 2] += weight * (total == 1)
    table[owner, 3] += weight * (share_of(met + n, total) - share_of(met, total))
    table[owner, 4] += weight * (met + n == total)


@compiled
def _positions_of(matches, n, positions):
    """The positions of the first n[r] matches of each read, one after the other."""
    k = 0
    for r in range(n.size):
        for j in range(matches.first[r], matches.first[r] + n[r]):
            positions[k] = position_in(matches.keys[j])
            k += 1
