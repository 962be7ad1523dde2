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

from ..compiler.functions import by_type, compiled, inlined
from ..errors import UnsupportedError
from ..index.disk import part_span
from ..index.reference import Blocks, blocks_by_group, groups_of, place_of
from ..machines.jobs import Pool, cuts, runs
from .hits import text_position

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from .hits import Candidates, Intervals, ReadRun


N_LOCATED = 1 << 17  # positions located at a time
_MANY = 64  # number of occurrences from which equal reads are looked for
COLUMNS = 5  # columns: reads, hits, reads that occur once, millionths of reads, reads that occur only here
UNITS = 10**6  # per read
MATES = 2  # for how many reads a pair counts
_NOWHERE = np.empty(0, np.int64)


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


class Placed(NamedTuple):
    """Occurrences of a run of reads, from read ``first`` on.

    ``size`` int64[n_parts, 2 * n_reads]: number of occurrences per part, forward and reverse. ``of_part``: as
    in Owners; where it is -1, ``positions`` int64 has those in the part from ``begins`` int64[n_parts] on, by
    read.
    """

    first: int
    size: np.ndarray
    of_part: np.ndarray
    begins: np.ndarray
    positions: np.ndarray


def _placed(first: int, size: np.ndarray, of_part: np.ndarray, positions: np.ndarray) -> Placed:
    n = size.sum(axis=1) * (of_part < 0)
    begins = np.cumsum(n) - n
    return Placed(first, np.ascontiguousarray(size), of_part, begins, positions)


def placed(
    owners: Owners, locators: Sequence, intervals: tuple[np.ndarray, np.ndarray], n_located: int = N_LOCATED
) -> Iterator[Placed]:
    """Yield Placed for runs of reads with ``intervals`` (lo, hi) int64[n_parts, 2 * n_reads].

    Each has at most ``n_located`` positions; a read with more is split into ranges of one part at a time.
    """
    lo, size = intervals[0], intervals[1] - intervals[0]
    of_part, to_locate = owners.of_part, np.flatnonzero(owners.of_part < 0).tolist()
    of_strands = sum((size[number] for number in to_locate), np.zeros(size.shape[1], np.int64))
    of_reads = of_strands[::2] + of_strands[1::2]
    for a, b in runs(of_reads, n_located):
        both = slice(2 * a, 2 * b)
        if of_reads[a:b].sum() <= n_located:
            located = [_NOWHERE, *(locators[i].locate(lo[i, both], size[i, both]) for i in to_locate)]
            positions = np.concatenate(located) if located[2:] else located[-1]
            yield _placed(a, size[:, both], of_part, positions)
            continue
        for part, owner in enumerate(of_part):
            here, begin = of_part[part : part + 1], lo[part, both]
            if owner >= 0:
                yield _placed(a, size[part : part + 1, both], here, _NOWHERE)
                continue
            for i, start, stop in cuts(size[part, both], n_located):
                n = np.zeros((1, 2), np.int64)
                n[0, i : i + start.size] = stop - start
                positions = locators[part].locate(begin[i : i + start.size] + start, stop - start)
                yield _placed(a, n, here, positions)


def placed_matches(matches: "Candidates", n: np.ndarray) -> Placed:
    """Return the first ``n[r]`` Candidates of each read r as Placed; ``n`` int64[n_reads]."""
    which = np.repeat(matches.first[:-1] - np.cumsum(n) + n, n) + np.arange(n.sum())
    size = np.zeros((n.size, 2), np.int64)
    size[:, 0] = n
    return _placed(0, size.reshape(1, -1), np.full(1, -1, np.int64), text_position(matches.keys[which]))


def distinct(intervals: "Intervals", eligible: np.ndarray, weight: np.ndarray) -> tuple:
    """Return (distinct intervals, number of reads that have each, and of their occurrences).

    These are (lo, hi) int64[n_parts, 2 * n], int64[n] and int64[n]. ``intervals``: Intervals
    [n_parts, 2 * n_reads] of reads with ``eligible`` int64[n_reads] occurrences; ``weight`` int64[n_reads]:
    number of copies of each read.
    """
    few, many = np.flatnonzero((eligible > 0) & (eligible < _MANY)), np.flatnonzero(eligible >= _MANY)
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
        """Count the reads of a ReadRun, each by ``eligible`` int64[n] of its occurrences."""
        if run.intervals is not None:
            bounds, weight, total = distinct(run.intervals, eligible, run.weight)
            self._count(placed(self.owners, run.locators, bounds, self._n_located), weight, total)
        if run.matches is not None:
            n = eligible * (np.diff(run.matches.first) > 0)
            self._count([placed_matches(run.matches, n)], run.weight, n)

    def places_of(self, mates: "Sequence[ReadRun]", eligible: Sequence[np.ndarray]) -> Iterator[Placed]:
        """Yield the places of reads, or of pairs: wherever a mate with ``eligible`` occurrences does."""
        for run, n in zip(mates, eligible, strict=True):
            if run.matches is not None:
                yield placed_matches(run.matches, n * (np.diff(run.matches.first) > 0))
            elif run.intervals is not None:
                lo, hi = (array.astype(np.int64) for array in run.intervals)
                bounds = lo, np.where(np.repeat(n > 0, 2), hi, lo)
                yield from placed(self.owners, run.locators, bounds, self._n_located)

    def _count(self, places: Iterable[Placed], weight: np.ndarray, total: np.ndarray) -> None:
        """Count reads by the places of their occurrences; int64[n]: copies of each read, and occurrences."""
        raise NotImplementedError


class Tally(OwnersCounter):
    """Counts reads and hits of Owners; several threads may add at a time."""

    def __init__(self, owners: "Owners", n_located: int = N_LOCATED) -> None:
        super().__init__(owners, n_located)
        self._n = len(owners.names)
        self._tables: Pool[np.ndarray] = Pool(self._new)  # one per thread that is counting

    def table(self) -> np.ndarray:
        """Return the COLUMNS of each owner, int64[n_owners, COLUMNS]; call it when no thread is counting."""
        return np.sum([self._new(), *self._tables.idle], axis=0)

    def _new(self) -> np.ndarray:
        return np.zeros((self._n, COLUMNS), np.int64)

    @contextmanager
    def counting(self) -> "Iterator[TallyCounts]":
        """Give this thread counts to add to."""
        table = self._tables.take()
        yield TallyCounts(table, np.full((self._n, 2), -1, np.int64))
        self._tables.give_back(table)

    def clear(self) -> None:
        """Reset all counts."""
        self._tables.idle.clear()

    def add_table(self, table: np.ndarray) -> None:
        """Add a table in the form of ``table``."""
        with self.counting() as counts:
            counts.table[:] += table

    def _count(self, places: Iterable[Placed], weight: np.ndarray, total: np.ndarray) -> None:
        with self.counting() as counts:
            for each in places:
                _walk(each, weight, total, self.owners.blocks, counts)


@by_type
def note(counts, owner, of_read, n):
    """Count n more occurrences of a read with an owner; ``of_read``: (number, weight, total occurrences)."""


class TallyCounts(NamedTuple):
    """Counts of a Tally: ``table`` int64[n_owners, COLUMNS].

    ``seen`` int64[n_owners, 2]: last read of each owner, or -1, and how many of its occurrences were counted.
    """

    table: np.ndarray
    seen: np.ndarray


class ScreenMasks(NamedTuple):
    """Counts of a Screen: ``masks`` int64[n_reads], with a bit for each owner."""

    masks: np.ndarray


@inlined
def share_of(n, total):
    """Return the rounded UNITS of a read that has n of ``total`` occurrences with an owner."""
    return n * UNITS if total == 1 else (2 * n * UNITS + total) // (2 * total)


@note.register(TallyCounts)
def _add_to_sums(sums, owner, of_read, n):
    read, weight, total = of_read
    table, seen = sums.table, sums.seen
    if seen[owner, 0] != read:
        seen[owner, 0], seen[owner, 1] = read, 0
        table[owner, 0] += weight
    met = seen[owner, 1]
    seen[owner, 1] = met + n
    table[owner, 1] += weight * n
    table[owner, 2] += weight * (total == 1)
    table[owner, 3] += weight * (share_of(met + n, total) - share_of(met, total))
    table[owner, 4] += weight * (met + n == total)


@note.register(ScreenMasks)
def _add_to_masks(masks, owner, of_read, n):
    masks.masks[of_read[0]] |= np.int64(1) << owner


class OwnersOfReads(NamedTuple):
    """The owners of reads as keys: number of the read * ``n_owners`` + number of the owner.

    ``keys`` int64[...]: the first ``n`` int64[1] are in use.
    """

    keys: np.ndarray
    n: np.ndarray
    n_owners: int


@note.register(OwnersOfReads)
def _add_key(owners, owner, of_read, n):
    key, last = of_read[0] * owners.n_owners + owner, owners.n[0] - 1
    if last < 0 or owners.keys[last] != key:
        owners.keys[last + 1] = key
        owners.n[0] += 1


@compiled
def _walk(places, weight, total, blocks, counts):
    """Note the owners of reads by their Placed occurrences."""
    for r in range(places.size.shape[1] // 2):
        read = places.first + r
        of_read = read, weight[read], total[read]
        for part in range(places.of_part.size):
            n, owner = places.size[part, 2 * r] + places.size[part, 2 * r + 1], places.of_part[part]
            if owner >= 0:
                if n > 0:
                    note(counts, owner, of_read, n)
                continue
            begin = places.begins[part]
            for j in range(begin, begin + n):
                note(counts, place_of(blocks, places.positions[j]).contig, of_read, 1)
            places.begins[part] = begin + n


# A screen: number of reads by the combination of groups that they occur in.
#
# If each part of the text is one group, as with several indexes, intervals alone decide.

MOST = 63  # most groups: bits of a combination


class Screen(OwnersCounter):
    """Counts reads by the combination of Owners that they occur in; several threads may add at a time."""

    def __init__(self, owners: "Owners", n_located: int = N_LOCATED) -> None:
        if len(owners.names) > MOST:
            raise UnsupportedError(
                f"a screen has at most {MOST} groups, but this index has {len(owners.names):,}: "
                "use --counts-by group, or larger groups"
            )
        super().__init__(owners, n_located)
        self._lock = threading.Lock()
        self._reads: Counter = Counter()

    def clear(self) -> None:
        """Reset all counts."""
        self._reads.clear()

    def add_pairs(self, mates: "Sequence[ReadRun]", eligible: Sequence[np.ndarray]) -> None:
        """Count the pairs of two Runs."""
        ones = np.ones(eligible[0].size, np.int64)
        self._count(self.places_of(mates, eligible), ones, ones)

    def _count(self, places: Iterable[Placed], weight: np.ndarray, total: np.ndarray) -> None:
        masks = np.zeros(weight.size, np.int64)
        for each in places:
            _walk(each, weight, total, self.owners.blocks, ScreenMasks(masks))
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
    return [i for i in range(MOST) if mask >> i & 1]


# One file of reads per owner.


class Demultiplexer(OwnersCounter):
    """Tells the destinations of reads and pairs: the owner that they occur in, with ``to_each`` all owners.

    Destinations are the numbers of owners, then one for reads with several owners, unless ``to_each``, and
    one for reads without any.
    """

    def __init__(self, owners: "Owners", to_each: bool, n_located: int = N_LOCATED) -> None:
        super().__init__(owners, n_located)
        self._to_each, self._n = to_each, len(owners.names)

    def keys(self, mates: "Sequence[ReadRun]", eligible: Sequence[np.ndarray], start: int) -> np.ndarray:
        """Return the keys of OwnersOfReads of a ReadRun, or two of mates, whose first read is ``start``.

        ``eligible`` int64[n] of each: numbers of occurrences.
        """
        parts, ones = [_NOWHERE], np.ones(eligible[0].size, np.int64)
        for each in self.places_of(mates, eligible):
            keys = np.empty(each.positions.size + each.size.size, np.int64)
            owners = OwnersOfReads(keys, np.zeros(1, np.int64), self._n)
            _walk(each, ones, ones, self.owners.blocks, owners)
            parts.append(keys[: owners.n[0]])
        return np.unique(np.concatenate(parts)) + start * self._n

    def destinations(self, keys: Sequence[np.ndarray], n_reads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (read, its destination), int64[n] both; in order of the reads for each destination.

        ``keys``: of all reads, in parts.
        """
        read, number = np.divmod(np.sort(np.concatenate([_NOWHERE, *keys])), self._n)
        n = np.bincount(read, minlength=n_reads)
        if not self._to_each:
            number[n[read] > 1] = self._n
            read, first = np.unique(read, return_index=True)
            number = number[first]
        nowhere = np.flatnonzero(n == 0)
        last = np.full(nowhere.size, self._n + (not self._to_each))
        return np.append(read, nowhere), np.append(number, last)
