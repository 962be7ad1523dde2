"""Reads and hits per contig or group, over all occurrences, in time proportional to these.

A read with NH occurrences, n of them in a contig, counts n / NH there, in millionths: whole numbers, whose
sum does not depend on the order of addition.
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
from ...machines.jobs import Pool
from .owners import N_LOCATED, Counted, Placed, distinct, placed, placed_matches

if TYPE_CHECKING:
    from ..hits import Intervals, LocatesRows
    from ..near.matches import NearMatches
    from .owners import Owners

COLUMNS = 5  # columns: reads, hits, reads that occur once, millionths of reads, reads that occur only here
UNITS = 10**6  # per read


class ReadCounter(Protocol):
    """Interface of what counts reads while they are mapped: Tally, Screen, or Together.

    To add one: write these methods. A Mapper calls ``add``, or ``add_matches`` for near matches, for each
    batch, from any thread. tests/search/test_mapper_protocols.py runs over all of them.
    """

    on_gpu: bool  # whether a GPU can count for it (gpu/gpu_hits.py)

    def add(
        self,
        locators: "Sequence[LocatesRows]",
        intervals: "Intervals",
        eligible: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        """Count the reads of a batch by the intervals of both strands in each part."""

    def add_matches(self, matches: "NearMatches", n: np.ndarray, weight: np.ndarray) -> None:
        """Count the reads of a batch by their near matches."""

    def clear(self) -> None:
        """Reset all counts."""


class OwnersCounter:
    """Base of ReadCounters of ``owners``, Tally and Screen: they locate ``n_located`` positions at a time."""

    def __init__(self, owners: "Owners", n_located: int = N_LOCATED) -> None:
        self.owners, self._n_located = owners, n_located

    def add(
        self,
        locators: "Sequence[LocatesRows]",
        intervals: "Intervals",
        eligible: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        """Count Intervals [n_parts, 2 * n_reads] of reads with ``eligible`` int64[n_reads] occurrences.

        ``weight`` int64[n_reads]: number of copies of each read.
        """
        bounds, reads = distinct(intervals, eligible, weight)
        self._count(self.places(locators, bounds), reads)

    def places(self, locators: "Sequence[LocatesRows]", bounds: tuple) -> Iterator[Placed]:
        """Yield the occurrences of reads with intervals ``bounds``, as owners.placed does."""
        return placed(self.owners, locators, bounds, self._n_located)

    def add_matches(self, matches: "NearMatches", n: np.ndarray, weight: np.ndarray) -> None:
        """Count the first ``n[r]`` NearMatches of each read r with its ``weight``; both int64[n_reads]."""
        self._count([placed_matches(matches, n)], Counted(weight, n))

    def _count(self, found: Iterable[Placed], reads: Counted) -> None:
        """Count reads by their occurrences."""
        raise NotImplementedError


class Tally(OwnersCounter):
    """Counts reads and hits of Owners; several threads may add at a time."""

    on_gpu = True

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
    def counting(self) -> Iterator[np.ndarray]:
        """Lend a table to this thread for counting."""
        table = self._tables.take()
        yield table
        self._tables.give_back(table)

    def unseen(self) -> np.ndarray:
        """Return the initial ``seen`` of ``note``."""
        return np.full((self._n, 2), -1, np.int64)

    def clear(self) -> None:
        """Reset all counts."""
        self._tables.idle.clear()

    def add_table(self, table: np.ndarray) -> None:
        """Add a table in the form of ``table``."""
        with self.counting() as own:
            own += table

    def _count(self, found: Iterable[Placed], reads: Counted) -> None:
        with self.counting() as table:
            seen = self.unseen()
            for each in found:
                _count(each, reads, self.owners.blocks, seen, table)


@inlined
def share_of(n, total):
    """Return the rounded UNITS of a read that has n of ``total`` occurrences with an owner."""
    return n * UNITS if total == 1 else (2 * n * UNITS + total) // (2 * total)


@inlined
def note(table, seen, owner, of_read, n):
    """Count n more occurrences of a read with an owner; ``of_read``: (number, weight, total occurrences).

    ``seen`` int64[n_owners, 2]: last read of each owner, and how many of its occurrences were counted there.
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
    """Count reads by their Placed occurrences."""
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


# A screen: number of reads by the combination of groups that they occur in.
#
# If each part of the text is one group, as with several indexes, intervals alone decide.

MOST = 63  # most groups: bits of a combination


class Screen(OwnersCounter):
    """Counts reads by the combination of Owners that they occur in; several threads may add at a time."""

    on_gpu = False

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

    def add_pairs(self, mates: Iterable[Iterable[Placed]], n: int) -> None:
        """Count n pairs by where mates 1 and mates 2 occur: a pair occurs wherever one of its mates does."""
        ones = np.ones(n, np.int64)
        self._count((each for places in mates for each in places), Counted(ones, ones))

    def _count(self, found: Iterable[Placed], reads: Counted) -> None:
        masks, weight = np.zeros(reads.weight.size, np.int64), reads.weight
        for each in found:
            _mark(each, self.owners.blocks, masks)
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


@compiled
def _mark(found, blocks, masks):
    """Set the bits of owners in ``masks`` int64[n_reads], by the Placed occurrences of reads."""
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
    """Several ReadCounters as one."""

    on_gpu = False

    def __init__(self, counters: "Sequence[Screen | Tally]") -> None:
        self.counters = counters

    def add(self, *given: Any) -> None:
        """Pass the arguments of Tally.add on to all."""
        for each in self.counters:
            each.add(*given)

    def add_matches(self, *given: Any) -> None:
        """Pass the arguments of Tally.add_matches on to all."""
        for each in self.counters:
            each.add_matches(*given)

    def clear(self) -> None:
        """Reset all counts."""
        for each in self.counters:
            each.clear()


def together(*counters: "Screen | Tally | None") -> "Together | Screen | Tally | None":
    """Return one ReadCounter for all that are not None; None if there is none."""
    there = [each for each in counters if each]
    return (Together(there) if there[1:] else there[0]) if there else None
