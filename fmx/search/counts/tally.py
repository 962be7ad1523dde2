"""Reads and hits per contig or group, over all occurrences, in time proportional to these.

A read with NH occurrences, n of them in a contig, counts n / NH there, in millionths: whole numbers, whose
sum does not depend on the order of addition.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compiler.functions import by_type, compiled, inlined
from ...errors import UnsupportedError
from ...index.reference import STEP, contig_of, place_of
from ...machines.jobs import Pool
from ..pairs.proper import first_lists, partners, reach
from .owners import N_LOCATED, Counted, Placed, distinct, placed, placed_matches

if TYPE_CHECKING:
    from ..hits import Located, ReadRun
    from ..pairs.proper import Rule
    from .owners import Owners

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
    def counting(self) -> Iterator[np.ndarray]:
        """Lend a table to this thread for counting."""
        table = self._tables.take()
        yield table
        self._tables.give_back(table)

    def clear(self) -> None:
        """Reset all counts."""
        self._tables.idle.clear()

    def add_table(self, table: np.ndarray) -> None:
        """Add a table in the form of ``table``."""
        with self.counting() as own:
            own += table

    def add_pairs(
        self, lengths: tuple[np.ndarray, np.ndarray], lists: "tuple[Located, Located]", rule: "Rule",
        which: tuple[np.ndarray, np.ndarray], n_strata: int,
    ) -> None:  # fmt: skip
        """Count proper pairs, for both mates.

        ``lengths`` int64[...]: of both mates. ``lists``: after proper.prepare, with ``n_strata`` per strand.
        ``which``: number of proper pairs of each pair that count, and their mismatches, or -1 for any;
        int64[n].
        """
        with self.counting() as table:
            sums = TallyCounts(table, np.full((self._n, 2), -1, np.int64))
            _walk_pairs(lengths, lists, rule, which, n_strata, self.owners.of_contig, sums)

    def _count(self, places: Iterable[Placed], reads: Counted) -> None:
        with self.counting() as table:
            sums = TallyCounts(table, np.full((self._n, 2), -1, np.int64))
            for each in places:
                _walk(each, reads, self.owners.blocks, sums)


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


@compiled
def _walk_pairs(lengths, lists, rule, which, n_strata, owner_of, counts):
    """Note the owners of proper pairs (Tally.add_pairs)."""
    eligible, mismatches = which
    for r in range(eligible.size):
        if eligible[r] == 0:
            continue
        for swapped in range(2):
            first = first_lists(rule, r, swapped, n_strata)
            low, high = reach(rule, lengths[swapped][r], lengths[1 - swapped][r])
            left, right = lists[swapped], lists[1 - swapped]
            for i in range(n_strata):
                for j in range(n_strata):
                    if mismatches[r] >= 0 and i + j != mismatches[r]:
                        continue
                    a, b, begin, end = first[0] + i, first[1] + j, 0, 0
                    others = right.positions[right.lo[b] : right.hi[b]]
                    for key in left.positions[left.lo[a] : left.hi[a]]:
                        bounds = key + STEP * low, key + STEP * high
                        begin, end = partners(others, (begin, end), others.size, *bounds)
                        if begin < end:
                            of_pair = r, MATES, eligible[r]
                            note(counts, owner_of[contig_of(key)], of_pair, end - begin)


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
