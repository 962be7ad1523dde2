"""Counts of reads by the contigs or groups (owners) that they occur in: a Tally, or a Screen of combinations.

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
        own = blocks.contig[slice(*np.searchsorted(blocks.text_start, part_span(index.meta, number)))]
        of_part[number] = own[0] if (own == own[0]).all() else -1
    return Owners(names, lengths, blocks, of_part, of_contig)


class Counted(NamedTuple):
    """Reads to be counted: ``weight`` reads have the same occurrences, ``total`` of them; int64[n]."""

    weight: np.ndarray
    total: np.ndarray


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
    owners: Owners,
    locators: Sequence,
    intervals: tuple[np.ndarray, np.ndarray],
    n_located: int = N_LOCATED,
) -> Iterator[Placed]:
    """Yield Placed for runs of reads with ``intervals`` (lo, hi) int64[n_parts, 2 * n_reads].

    Each has at most ``n_located`` positions; a read with more is split into ranges of one part at a time.
    """
    lo, size = intervals[0], intervals[1] - intervals[0]
    of_part, to_locate = owners.of_part, np.flatnonzero(owners.of_part < 0).tolist()
    of_strands = sum((size[number] for number in to_locate), np.zeros(size.shape[1], np.int64))
    of_reads = of_strands[::2] + of_strands[1::2]
    for a, b in runs(of_reads, n_located):
        own = slice(2 * a, 2 * b)
        if of_reads[a:b].sum() <= n_located:
            found = [_NOWHERE]
            for number in to_locate:
                found.append(locators[number].locate(lo[number, own], size[number, own]))
            yield _placed(a, size[:, own], of_part, np.concatenate(found) if found[2:] else found[-1])
            continue
        for part, owner in enumerate(of_part):
            here, begin = of_part[part : part + 1], lo[part, own]
            if owner >= 0:
                yield _placed(a, size[part : part + 1, own], here, _NOWHERE)
                continue
            for i, start, stop in cuts(size[part, own], n_located):
                n = np.zeros((1, 2), np.int64)
                n[0, i : i + start.size] = stop - start
                positions = locators[part].locate(begin[i : i + start.size] + start, stop - start)
                yield _placed(a, n, here, positions)


def placed_matches(matches: "Candidates", n: np.ndarray) -> Placed:
    """Return the first ``n[r]`` Candidates of each read r as Placed; ``n`` int64[n_reads]."""
    positions, size = np.empty(n.sum(), np.int64), np.zeros((n.size, 2), np.int64)
    _positions_of(matches, n, positions)
    size[:, 0] = n
    return _placed(0, size.reshape(1, -1), np.full(1, -1, np.int64), positions)


def distinct(intervals: "Intervals", eligible: np.ndarray, weight: np.ndarray) -> tuple:
    """Return ((lo, hi), Counted): distinct intervals, int64[n_parts, 2 * n], and how many reads have each.

    ``intervals``: Intervals [n_parts, 2 * n_reads] of reads with ``eligible`` int64[n_reads] occurrences;
    ``weight`` int64[n_reads]: number of copies of each read.
    """
    many = np.flatnonzero(eligible >= _MANY)
    columns = [row.reshape(-1, 2)[many] for array in intervals for row in array]
    rows, which = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)
    n_few, n_parts = np.count_nonzero(eligible) - many.size, len(intervals.lo)
    bounds = np.empty((2, n_parts, 2 * (n_few + len(rows))), np.int64)
    reads = Counted(*(np.zeros(n_few + len(rows), np.int64) for _ in Counted._fields))
    _gather(intervals, eligible, weight, bounds, reads)
    bounds[:, :, 2 * n_few :] = rows.reshape(-1, 2, n_parts, 2).transpose(1, 2, 0, 3).reshape(2, n_parts, -1)
    np.add.at(reads.weight[n_few:], which.ravel(), weight[many])
    reads.total[n_few + which.ravel()] = eligible[many]
    return (bounds[0], bounds[1]), reads


@compiled
def _gather(intervals, eligible, weight, bounds, reads):
    """Fill in the intervals of reads with fewer than _MANY occurrences, one after the other."""
    n = 0
    for r in range(eligible.size):
        if 0 < eligible[r] < _MANY:
            reads.weight[n], reads.total[n] = weight[r], eligible[r]
            for part in range(bounds.shape[1]):
                for i in range(2):
                    bounds[0, part, 2 * n + i] = intervals.lo[part, 2 * r + i]
                    bounds[1, part, 2 * n + i] = intervals.hi[part, 2 * r + i]
            n += 1


@compiled
def _positions_of(matches, n, positions):
    """Write the positions of the first n[r] matches of each read, one after the other."""
    k = 0
    for r in range(n.size):
        for j in range(matches.first[r], matches.first[r] + n[r]):
            positions[k] = text_position(matches.keys[j])
            k += 1


COLUMNS = 5  # columns: reads, hits, reads that occur once, millionths of reads, reads that occur only here
UNITS = 10**6  # per read
MATES = 2  # for how many reads a pair counts


class OwnersCounter:
    """Base of what counts reads of ``owners``, Tally and Screen; up to ``n_located`` positions at a time."""

    def __init__(self, owners: "Owners", n_located: int = N_LOCATED) -> None:
        self.owners, self._n_located = owners, n_located

    def add(self, run: "ReadRun", eligible: np.ndarray) -> None:
        """Count the reads of a ReadRun, each by ``eligible`` int64[n] of its occurrences."""
        if run.intervals is not None:
            bounds, reads = distinct(run.intervals, eligible, run.weight)
            self._count(placed(self.owners, run.locators, bounds, self._n_located), reads)
        if run.matches is not None:
            n = eligible * (np.diff(run.matches.first) > 0)
            self._count([placed_matches(run.matches, n)], Counted(run.weight, n))

    def _count(self, places: Iterable[Placed], reads: Counted) -> None:
        """Count reads by the places of their occurrences."""
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

    def _count(self, places: Iterable[Placed], reads: Counted) -> None:
        with self.counting() as counts:
            for each in places:
                _walk(each, reads, self.owners.blocks, counts)


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


@compiled
def _walk(places, reads, blocks, counts):
    """Note the owners of reads by their Placed occurrences."""
    for r in range(places.size.shape[1] // 2):
        read = places.first + r
        of_read = read, reads.weight[read], reads.total[read]
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
        """Count the pairs of two Runs; a pair occurs wherever a mate with ``eligible`` occurrences does."""
        places: list[Iterable[Placed]] = []
        for run, n in zip(mates, eligible, strict=True):
            if run.matches is not None:
                places.append([placed_matches(run.matches, n)])
            elif run.intervals is not None:
                lo, hi = (array.astype(np.int64) for array in run.intervals)
                bounds = lo, np.where(np.repeat(n > 0, 2), hi, lo)
                places.append(placed(self.owners, run.locators, bounds, self._n_located))
        ones = np.ones(eligible[0].size, np.int64)
        self._count((each for of_mates in places for each in of_mates), Counted(ones, ones))

    def _count(self, places: Iterable[Placed], reads: Counted) -> None:
        masks, weight = np.zeros(reads.weight.size, np.int64), reads.weight
        for each in places:
            _walk(each, reads, self.owners.blocks, ScreenMasks(masks))
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
