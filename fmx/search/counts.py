"""Counts of reads by the contigs or groups (owners) that they occur in: a Tally, or a Screen of combinations.

A Demultiplexer tells for each read which these are.

A read with NH occurrences, n of them in a contig, counts n / NH there, in millionths: whole numbers, whose
sum does not depend on the order of addition. Counting takes time proportional to the occurrences.

Patterns with many occurrences are short, so few of them differ: reads that occur at the same rows are located
once. A part of the text that has a single owner is not located at all.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..errors import UnsupportedError
from ..index.disk import part_span
from ..index.reference import Blocks, blocks_by_group, groups_of, place_of
from ..machines.jobs import Pool, cuts, runs
from .hits import text_position

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from .hits import Candidates, Intervals, ReadRun


N_LOCATED = 1 << 17  # positions located at a time
_FREQUENT = 64  # number of occurrences from which equal reads are looked for
COLUMNS = 5  # columns: reads, hits, reads that occur once, millionths of reads, reads that occur only here
UNITS = 10**6  # per read
MATES = 2  # for how many reads a pair counts


class Owners(NamedTuple):
    """Contigs or groups.

    ``names``; ``lengths`` int64[n]: bases. ``blocks``: Blocks, with numbers of owners instead of contigs.
    ``of_part`` int64[n_parts]: the owner of a whole part of the text, or -1. ``of_contig`` int64[n_contigs].
    """

    names: Sequence[str]
    lengths: np.ndarray
    blocks: Blocks
    of_part: np.ndarray
    of_contig: np.ndarray


def owners_of(index: "FMIndex | JoinedIndex", by_group: bool = False) -> Owners:
    """Return the contigs of an FMIndex or JoinedIndex, or its groups.

    Raises UnsupportedError if there are no groups.
    """
    reference = index.reference
    blocks, names, lengths = reference.blocks, reference.names, reference.lengths
    of_contig = np.arange(len(names))
    if by_group:
        groups = groups_of(index)
        names, lengths = groups.names, np.zeros(len(groups.names), np.int64)
        of_contig = np.asarray(groups.of_contig, np.int64)
        np.add.at(lengths, of_contig, reference.lengths)
        blocks = blocks_by_group(reference)
    of_part = np.full(len(index.parts), -1, np.int64)
    for number in range(of_part.size):
        inside = blocks.contig[slice(*np.searchsorted(blocks.text_start, part_span(index.meta, number)))]
        of_part[number] = inside[0] if (inside == inside[0]).all() else -1
    return Owners(names, lengths, blocks, of_part, of_contig)


class Occurrences(NamedTuple):
    """Occurrences of reads, sorted by ``read``: ``n`` of them with an ``owner``; int64[m] each."""

    read: np.ndarray
    owner: np.ndarray
    n: np.ndarray


def _in_rows(
    owners: Owners, locators: Sequence, intervals: tuple[np.ndarray, np.ndarray], n_located: int = N_LOCATED
) -> Iterator[Occurrences]:
    """Yield the Occurrences of reads with ``intervals`` (lo, hi) int64[n_parts, 2 * n_reads].

    At most ``n_located`` positions are located at a time; a read with more is divided.
    """
    lo, size = intervals[0], intervals[1] - intervals[0]
    to_locate = size[owners.of_part < 0].sum(axis=0)

    def of_run(a: int, b: int) -> Iterator[Occurrences]:
        for part, owner in enumerate(owners.of_part):
            n = size[part, 2 * a : 2 * b]
            if owner >= 0:
                n = n[::2] + n[1::2]
                (which,) = np.nonzero(n)
                yield Occurrences(a + which, np.full(which.size, owner), n[which])
                continue
            for i, start, stop in cuts(n, n_located):
                begin = 2 * a + i
                rows = lo[part, begin : begin + start.size] + start
                read = np.repeat(np.arange(begin, begin + start.size) >> 1, stop - start)
                yield _at_positions(owners, read, locators[part].locate(rows, stop - start))

    for a, b in runs(to_locate[::2] + to_locate[1::2], n_located):
        if b == a + 1:
            yield from of_run(a, b)
        elif pieces := list(of_run(a, b)):
            columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
            order = np.argsort(columns[0], kind="stable") if pieces[1:] else slice(None)
            yield Occurrences(*(column[order] for column in columns))


def _at_positions(owners: Owners, read: np.ndarray, positions: np.ndarray) -> Occurrences:
    """Return the Occurrences of reads at text positions, int64[m] both."""
    owner = np.empty(read.size, np.int64)
    _find_owners(owners.blocks, positions, owner)
    return Occurrences(read, owner, np.ones(read.size, np.int64))


@compiled
def _find_owners(blocks, positions, owner):
    for i in range(positions.size):
        owner[i] = place_of(blocks, positions[i]).contig


def _in_matches(owners: Owners, matches: "Candidates", n: np.ndarray) -> Occurrences:
    """Return the first ``n[r]`` Candidates of each read r, int64[n_reads]."""
    read = np.repeat(np.arange(n.size), n)
    which = np.repeat(matches.first[:-1] - np.cumsum(n) + n, n) + np.arange(read.size)
    return _at_positions(owners, read, text_position(matches.keys[which]))


def _distinct(intervals: "Intervals", eligible: np.ndarray, weight: np.ndarray) -> tuple:
    """Return (distinct intervals, number of reads that have each, and of their occurrences).

    These are (lo, hi) int64[n_parts, 2 * n], int64[n] and int64[n]. ``intervals``: Intervals
    [n_parts, 2 * n_reads] of reads with ``eligible`` int64[n_reads] occurrences; ``weight`` int64[n_reads]:
    number of copies of each read.
    """
    few, many = np.flatnonzero((eligible > 0) & (eligible < _FREQUENT)), np.flatnonzero(eligible >= _FREQUENT)
    rows = [row.reshape(-1, 2) for array in intervals for row in array]
    columns = np.concatenate([row[many] for row in rows], axis=1)
    _, first, which = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    reads = np.concatenate((few, many[first]))
    weights = np.concatenate((weight[few], np.zeros(first.size, np.int64)))
    np.add.at(weights[few.size :], which.ravel(), weight[many])
    bounds = np.array([row[reads].ravel() for row in rows], np.int64).reshape(2, len(rows) // 2, -1)
    return (bounds[0], bounds[1]), weights, eligible[reads]


class OwnersCounter:
    """Base of what counts reads of ``owners``, Tally and Screen; up to ``n_located`` positions at a time."""

    def __init__(self, owners: "Owners", n_located: int = N_LOCATED) -> None:
        self.owners, self._n_located = owners, n_located

    def add(self, run: "ReadRun", eligible: np.ndarray) -> None:
        """Count reads, each by ``eligible`` int64[n] of its occurrences."""
        if run.intervals is not None:
            bounds, weight, total = _distinct(run.intervals, eligible, run.weight)
            self._count(_in_rows(self.owners, run.locators, bounds, self._n_located), weight, total)
        if run.matches is not None:
            n = eligible * (np.diff(run.matches.first) > 0)
            self._count([_in_matches(self.owners, run.matches, n)], run.weight, n)

    def occurrences_of(
        self, mates: "Sequence[ReadRun]", eligible: Sequence[np.ndarray]
    ) -> Iterator[Occurrences]:
        """Yield the occurrences of reads, or of pairs: those of mates with ``eligible`` occurrences."""
        for run, n in zip(mates, eligible, strict=True):
            if run.matches is not None:
                yield _in_matches(self.owners, run.matches, n * (np.diff(run.matches.first) > 0))
            elif run.intervals is not None:
                lo, hi = (array.astype(np.int64) for array in run.intervals)
                bounds = lo, np.where(np.repeat(n > 0, 2), hi, lo)
                yield from _in_rows(self.owners, run.locators, bounds, self._n_located)

    def _count(self, occurrences: Iterable[Occurrences], weight: np.ndarray, total: np.ndarray) -> None:
        """Count reads by their occurrences; int64[n]: copies of each read, and occurrences."""
        raise NotImplementedError


class Tally(OwnersCounter):
    """Counts reads and hits of Owners; several threads may add at a time."""

    def __init__(self, owners: "Owners", n_located: int = N_LOCATED) -> None:
        super().__init__(owners, n_located)
        self._n = len(owners.names)
        self._tables = Pool(self._new)  # one per thread that is counting

    def table(self) -> np.ndarray:
        """Return the COLUMNS of each owner, int64[n_owners, COLUMNS]; call it when no thread is counting."""
        return np.sum([self._new(), *self._tables.idle], axis=0)

    def _new(self) -> np.ndarray:
        return np.zeros((self._n, COLUMNS), np.int64)

    @contextmanager
    def counting(self) -> "Iterator[TallyCounts]":
        """Give this thread counts to add to."""
        table = self._tables.get()
        yield TallyCounts(table, np.full((self._n, 2), -1, np.int64))
        self._tables.put(table)

    def clear(self) -> None:
        """Reset all counts."""
        self._tables.idle.clear()

    def _count(self, occurrences: Iterable[Occurrences], weight: np.ndarray, total: np.ndarray) -> None:
        with self.counting() as counts:
            for each in occurrences:
                _note_all(each, weight, total, counts)


class TallyCounts(NamedTuple):
    """Counts of a Tally: ``table`` int64[n_owners, COLUMNS].

    ``seen`` int64[n_owners, 2]: last read of each owner, or -1, and how many of its occurrences were counted.
    """

    table: np.ndarray
    seen: np.ndarray


@inlined
def share_of(n, total):
    """Return the rounded UNITS of a read that has n of ``total`` occurrences with an owner."""
    return n * UNITS if total == 1 else (2 * n * UNITS + total) // (2 * total)


@inlined
def note(counts, owner, of_read, n):
    """Count n more occurrences of a read with an owner; ``of_read``: (number, weight, total occurrences)."""
    read, weight, total = of_read
    table, seen = counts.table, counts.seen
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
def _note_all(occurrences, weight, total, counts):
    """Note Occurrences of reads with ``weight`` copies and ``total`` occurrences, int64[n_reads] both."""
    for i in range(occurrences.read.size):
        r = occurrences.read[i]
        note(counts, occurrences.owner[i], (r, weight[r], total[r]), occurrences.n[i])


# A screen: number of reads by the combination of groups that they occur in.
#
# If each part of the text is one group, as with several indexes, intervals alone decide.

_MOST_GROUPS = 63  # most groups: bits of a combination


class Screen(OwnersCounter):
    """Counts reads by the combination of Owners that they occur in; several threads may add at a time."""

    def __init__(self, owners: "Owners", n_located: int = N_LOCATED) -> None:
        if len(owners.names) > _MOST_GROUPS:
            raise UnsupportedError(
                f"a screen has at most {_MOST_GROUPS} groups, but this index has {len(owners.names):,}: "
                "use --counts FILE --counts-by group without --screen, or larger groups"
            )
        super().__init__(owners, n_located)
        self._lock = threading.Lock()
        self._reads: Counter = Counter()

    def clear(self) -> None:
        """Reset all counts."""
        self._reads.clear()

    def add_pairs(self, mates: "Sequence[ReadRun]", eligible: Sequence[np.ndarray]) -> None:
        """Count pairs of mates."""
        ones = np.ones(eligible[0].size, np.int64)
        self._count(self.occurrences_of(mates, eligible), ones, ones)

    def _count(self, occurrences: Iterable[Occurrences], weight: np.ndarray, total: np.ndarray) -> None:
        masks = np.zeros(weight.size, np.int64)
        for each in occurrences:
            starts = np.flatnonzero(np.diff(each.read, prepend=-1))
            masks[each.read[starts]] |= np.bitwise_or.reduceat(1 << each.owner, starts)
        kinds, which = np.unique(masks, return_inverse=True)
        numbers = np.zeros(kinds.size, np.int64)
        np.add.at(numbers, which, weight)
        with self._lock:
            self._reads.update(dict(zip(kinds.tolist(), numbers.tolist(), strict=True)))

    def combinations(self) -> dict:
        """Return {names of groups: number of reads in exactly these}, single groups first."""
        names = self.owners.names
        single = [1 << i for i in range(len(names))]
        seen = sorted(self._reads.keys() - {0, *single}, key=lambda mask: (mask.bit_count(), _members(mask)))
        return {tuple(names[i] for i in _members(mask)): self._reads[mask] for mask in [*single, *seen]}


def _members(mask: int) -> list:
    return [i for i in range(_MOST_GROUPS) if mask >> i & 1]


# One file of reads per owner.


class Demultiplexer(OwnersCounter):
    """Tells the destinations of reads and pairs: the owner that they occur in, with ``to_each`` all owners.

    Destinations are the numbers of owners, then one for reads with several owners, unless ``to_each``, and
    one for reads without any.
    """

    def __init__(self, owners: "Owners", to_each: bool, n_located: int = N_LOCATED) -> None:
        super().__init__(owners, n_located)
        self._to_each, self._n = to_each, len(owners.names)

    def keys(self, mates: "Sequence[ReadRun]", eligible: Sequence[np.ndarray]) -> np.ndarray:
        """Return the keys of a run of reads, or two of mates: number of the read * owners + its owner.

        ``eligible`` int64[n] of each: numbers of occurrences.
        """
        start, occurrences = mates[0].start, self.occurrences_of(mates, eligible)
        keys = [np.unique((start + each.read) * self._n + each.owner) for each in occurrences]
        return np.unique(np.concatenate([np.empty(0, np.int64), *keys]))

    def destinations(self, keys: Sequence[np.ndarray], n_reads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (read, its destination), int64[n] both; in order of the reads for each destination.

        ``keys``: of all reads, in parts.
        """
        read, number = np.divmod(np.sort(np.concatenate([np.empty(0, np.int64), *keys])), self._n)
        n = np.bincount(read, minlength=n_reads)
        if not self._to_each:
            number[n[read] > 1] = self._n
            read, first = np.unique(read, return_index=True)
            number = number[first]
        nowhere = np.flatnonzero(n == 0)
        last = np.full(nowhere.size, self._n + (not self._to_each))
        return np.append(read, nowhere), np.append(number, last)
