"""What is seen of reads and added up: how many count for each guide, how many for none, and where."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled
from .assign import UNSURE
from .table import MANY, NONE

RECOMBINED = -4  # in place of a guide: guides of both mates, which are no pair of the library
READS, INEXACT = 0, 5  # of Tally.totals; between them the reads for each of NONE to RECOMBINED
N_TOTALS = 6
AT_ONCE = 1 << 22  # keys of pairs that are kept before they are added up
OFFSETS = 512  # those that are told apart; the last one stands for all from there on


class Tally(NamedTuple):
    """``counts`` int64[n] of reads by row; ``totals`` int64[N_TOTALS]; ``hits`` int64[4, OFFSETS]: counted
    reads by strand (of mates 2 in rows 2 and 3) and offset of their guide; ``left`` uint64[2, k]: keys of
    windows of unassigned reads, and of which: number of its file << 32 | number of the read in it; ``pairs``
    uint64[2, k]: keys of pairs, and how many of each, where rows are unknown.
    """

    counts: np.ndarray
    totals: np.ndarray
    hits: np.ndarray
    left: np.ndarray
    pairs: np.ndarray

    @classmethod
    def of_nothing(cls, n: int) -> "Tally":
        """One of n rows."""
        made = np.zeros(n, np.int64), np.zeros(N_TOTALS, np.int64), np.zeros((4, OFFSETS), np.int64)
        return cls(*made, np.empty((2, 0), np.uint64), np.empty((2, 0), np.uint64))

    def after(self, n_reads: list, most: int) -> "Tally":
        """The same, of reads that n_reads of each file stand before; left: those of the first ``most``."""
        keys, places = self.left
        places = places + np.array(n_reads, np.uint64)[(places >> np.uint64(32)).astype(np.int64)]
        is_first = (places & np.uint64(0xFFFFFFFF)) <= most
        return self._replace(left=np.stack([keys[is_first], places[is_first]]))

    @property
    def reads(self) -> int:
        return int(self.totals[READS])

    @property
    def assigned(self) -> int:
        return self.reads - sum(self.without(why) for why in (NONE, MANY, UNSURE, RECOMBINED))

    @property
    def inexact(self) -> int:
        return int(self.totals[INEXACT])

    def without(self, why: int) -> int:
        """Reads that count for no guide: ``why`` NONE, MANY, UNSURE or RECOMBINED."""
        return int(self.totals[-why])


class Sum:
    """Tallies of n rows added up."""

    def __init__(self, n: int) -> None:
        self._whole, self._n_pairs = Tally.of_nothing(n), 0
        self._left: list = []
        self._pairs: list = []

    def add(self, tally: Tally) -> None:
        for mine, more in zip(self._whole[:3], tally[:3], strict=True):
            mine += more
        self._left.append(tally.left)
        self._pairs.append(tally.pairs)
        self._n_pairs += tally.pairs.shape[1]
        if self._n_pairs > AT_ONCE:
            self._pairs = [_added(self._pairs)]
            self._n_pairs = 0

    def tally(self) -> Tally:
        """All of it."""
        left = np.concatenate([self._whole.left, *self._left], axis=1)
        return self._whole._replace(left=left, pairs=_added([self._whole.pairs, *self._pairs]))


def _added(pairs: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays of keys and their numbers as one, by key."""
    keys, n = np.concatenate(pairs, axis=1)
    found, place = np.unique(keys, return_inverse=True)
    total = np.zeros(found.size, np.uint64)
    np.add.at(total, place, n)
    return np.stack([found, total])


def unique_pairs(keys: np.ndarray) -> np.ndarray:
    """uint64[2, k]: different keys uint64[n], and how often each is there."""
    found, n = np.unique(keys, return_counts=True)
    return np.stack([found, n.astype(np.uint64)])


@compiled
def add_counts(guide, off, tally):
    """Add reads by ``guide`` int32[n], with ``off`` uint8[n] letters off."""
    for r in range(guide.size):
        if guide[r] >= 0:
            tally.counts[guide[r]] += 1
            tally.totals[INEXACT] += off[r]
        else:
            tally.totals[-np.int64(guide[r])] += 1
    tally.totals[READS] += guide.size


@compiled
def add_hits(guide, assigned, mate, hits):
    """Add where the guides of mates number ``mate`` (0 or 1) are, of reads with a ``guide`` int32[n]."""
    for r in range(guide.size):
        if guide[r] >= 0 and assigned.guide[r] >= 0:
            row, offset = (
                2 * mate + np.int64(assigned.reverse[r]),
                min(np.int64(assigned.begin[r]), OFFSETS - 1),
            )
            hits[row, offset] += 1
