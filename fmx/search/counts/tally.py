"""Reads and hits of each contig, or group of contigs, over all occurrences, in time that grows with these.

A read with NH occurrences, n of them in a contig, counts n / NH there, in millionths: whole numbers, whose
sum is the same in whatever order they are added.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...compiler.functions import compiled, inlined
from ...errors import UnsupportedError
from ...index.reference import place_of
from ...machines.threads import Pool
from .owners import Counted, Placed, distinct, placed, placed_matches

if TYPE_CHECKING:
    from ..hits import Intervals
    from ..near.matches import NearMatches
    from .owners import Owners

COLUMNS = (
    5  # of a table: reads, hits, reads that occur once, millionths of reads, reads that occur here alone
)
UNITS = 10**6  # of a read


class ReadCounter(Protocol):
    """Counts reads while they are mapped: a Tally, a Screen, both Together.

    To add one: write these; a Mapper calls ``add`` or, of near matches, ``add_matches`` for each batch, from
    any thread.  tests/search/test_mapper_protocols.py runs over all of them.
    """

    on_gpu: bool  # whether a GPU can count for it (gpu/gpu_hits.py)

    def add(
        self, locators: Sequence[Any], intervals: "Intervals", eligible: np.ndarray, weight: np.ndarray
    ) -> None:
        """Count the reads of a batch by the intervals of their two strands in each part."""

    def add_matches(self, matches: "NearMatches", n: np.ndarray, weight: np.ndarray) -> None:
        """Count the reads of a batch by their near matches."""

    def clear(self) -> None:
        """Begin anew."""


class Tally:
    """Counts reads and hits of Owners, for several threads at a time."""

    on_gpu = True

    def __init__(self, owners: "Owners") -> None:
        self.owners, self._n = owners, len(owners.names)
        self._tables: Pool[np.ndarray] = Pool(self._new)  # one for each thread that is counting

    def table(self) -> np.ndarray:
        """COLUMNS of each owner, int64[n_owners, COLUMNS]; while nobody is counting."""
        return np.sum([self._new(), *self._tables.idle], axis=0)

    def _new(self) -> np.ndarray:
        return np.zeros((self._n, COLUMNS), np.int64)

    @contextmanager
    def counting(self) -> Iterator[np.ndarray]:
        """A table for this thread to count in."""
        table = self._tables.take()
        yield table
        self._tables.give_back(table)

    def unseen(self) -> np.ndarray:
        """What ``note`` knows before the first read."""
        return np.full((self._n, 2), -1, np.int64)

    def clear(self) -> None:
        """Begin anew."""
        self._tables.idle.clear()

    def add_table(self, table: np.ndarray) -> None:
        """Count what a table as of ``table`` holds."""
        with self.counting() as own:
            own += table

    def add(
        self,
        locators: Sequence[Any],
        intervals: "Intervals",
        eligible: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        """Count Intervals [n_parts, 2 * n_reads] of reads with ``eligible`` int64[n_reads] occurrences.

        ``weight`` int64[n_reads]: how many reads each stands for.
        """
        bounds, reads = distinct(intervals, eligible, weight)
        self._count(placed(self.owners, locators, bounds), reads)

    def add_matches(self, matches: "NearMatches", n: np.ndarray, weight: np.ndarray) -> None:
        """Count the first ``n[r]`` of NearMatches of each read r, int64[n_reads], with its weight."""
        self._count([placed_matches(matches, n)], Counted(weight, n))

    def _count(self, found: Iterable[Placed], reads: Counted) -> None:
        with self.counting() as table:
            seen = self.unseen()
            for each in found:
                _count(each, reads, self.owners.blocks, seen, table)


@inlined
def share_of(n, total):
    """UNITS of a read of which n of ``total`` occurrences are with an owner, to the nearest."""
    return n * UNITS if total == 1 else (2 * n * UNITS + total) // (2 * total)


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
def _count(found, reads, blocks, seen, table):
    """Count reads by where they are Placed."""
    for r in range(found.size.shape[1] // 2):
        read = found.first + r
        of_read = read, reads.weight[read], reads.total[read]
        for part in range(found.of_part.size):
            n, owner = found.size[part, 2 * r] + found.size[part, 2 * r + 1], found.of_part[part]
            if owner >= 0:
                if n > 0:
                    note(table, seen, owner, of_read, n)
                continue
            begin = found.begins[part]
            for j in range(begin, begin + n):
                note(table, seen, place_of(blocks, found.positions[j]).contig, of_read, 1)
            found.begins[part] = begin + n


# A screen: in which groups reads occur, as numbers of reads by the combination of groups.
#
# Of parts of the text that are one group, as those of several indexes are, intervals tell it alone.

MOST = 63  # groups: bits of a combination


class Screen:
    """Counts reads by the combination of Owners that they occur in, for several threads at a time."""

    on_gpu = False

    def __init__(self, owners: "Owners") -> None:
        if len(owners.names) > MOST:
            raise UnsupportedError(
                f"a screen tells combinations of at most {MOST} groups, and these are {len(owners.names):,}: "
                "take --counts-by group, or larger groups"
            )
        self.owners, self._lock = owners, threading.Lock()
        self._reads: Counter = Counter()

    def clear(self) -> None:
        """Begin anew."""
        self._reads.clear()

    def add(
        self,
        locators: Sequence[Any],
        intervals: "Intervals",
        eligible: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        """As Tally.add."""
        bounds, reads = distinct(intervals, eligible, weight)
        self._count(placed(self.owners, locators, bounds), reads.weight)

    def add_pairs(self, found: Sequence[Any], eligible: Sequence[np.ndarray]) -> None:
        """Count pairs: each occurs wherever one of its mates does.

        ``found``: the SearchedBatch of mates 1 and that of mates 2; ``eligible`` int64[n]: how often each
        occurs.
        """
        masks = np.zeros(eligible[0].size, np.int64)
        for its, n in zip(found, eligible, strict=True):
            lo, hi = (array.astype(np.int64) for array in its.intervals)
            bounds = lo, np.where(np.repeat(n > 0, 2), hi, lo)
            for each in placed(self.owners, its.locators, bounds):
                _mark(each, self.owners.blocks, masks)
        self._note(masks, np.ones(masks.size, np.int64))

    def add_matches(self, matches: "NearMatches", n: np.ndarray, weight: np.ndarray) -> None:
        """As Tally.add_matches."""
        self._count([placed_matches(matches, n)], weight)

    def _count(self, found: Iterable[Placed], weight: np.ndarray) -> None:
        masks = np.zeros(weight.size, np.int64)
        for each in found:
            _mark(each, self.owners.blocks, masks)
        self._note(masks, weight)

    def _note(self, masks: np.ndarray, weight: np.ndarray) -> None:
        kinds, which = np.unique(masks, return_inverse=True)
        numbers = np.zeros(kinds.size, np.int64)
        np.add.at(numbers, which, weight)
        with self._lock:
            self._reads.update(dict(zip(kinds.tolist(), numbers.tolist(), strict=True)))

    def combinations(self) -> dict:
        """{names of groups: reads that occur in these and no others}: each group, then what else was seen."""
        names = self.owners.names
        single = [1 << i for i in range(len(names))]
        seen = sorted(self._reads.keys() - {0, *single}, key=lambda mask: (mask.bit_count(), _members(mask)))
        return {tuple(names[i] for i in _members(mask)): self._reads[mask] for mask in [*single, *seen]}


def _members(mask: int) -> list:
    return [i for i in range(MOST) if mask >> i & 1]


@compiled
def _mark(found, blocks, masks):
    """Set the bits of the owners in ``masks`` int64[n_reads] of reads, by where these are Placed."""
    for r in range(found.size.shape[1] // 2):
        mask = masks[found.first + r]
        for part in range(found.of_part.size):
            n, owner = found.size[part, 2 * r] + found.size[part, 2 * r + 1], found.of_part[part]
            if owner >= 0:
                if n > 0:
                    mask |= np.int64(1) << owner
                continue
            begin = found.begins[part]
            for j in range(begin, begin + n):
                mask |= np.int64(1) << place_of(blocks, found.positions[j]).contig
            found.begins[part] = begin + n
        masks[found.first + r] = mask


class Together:
    """Several that count reads, as one."""

    on_gpu = False

    def __init__(self, counters: "Sequence[Screen | Tally]") -> None:
        self.counters = counters

    def add(self, *given: Any) -> None:
        """As Tally.add."""
        for each in self.counters:
            each.add(*given)

    def add_matches(self, *given: Any) -> None:
        """As Tally.add_matches."""
        for each in self.counters:
            each.add_matches(*given)

    def clear(self) -> None:
        """Begin anew."""
        for each in self.counters:
            each.clear()


def together(*counters: "Screen | Tally | None") -> "Together | Screen | Tally | None":
    """Those that count reads as one; None if all are None."""
    there = [each for each in counters if each]
    return (Together(there) if there[1:] else there[0]) if there else None
