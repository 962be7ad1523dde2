"""What is seen of reads and added up: how many count for each guide, how many for none, and where."""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled
from .assign import UNSURE
from .table import MANY, NONE

RECOMBINED = -4  # in place of a guide: guides of both mates, which are no pair of the library
READS, INEXACT = 0, 5  # of Tally.totals; between them the reads for each of NONE to RECOMBINED
N_TOTALS = 6
OFFSETS = 512  # those that are told apart; the last one stands for all from there on


class Tally(NamedTuple):
    """``counts`` int64[n] of reads by guide; ``totals`` int64[N_TOTALS]; ``hits`` int64[4, OFFSETS]: counted
    reads by strand (of mates 2 in rows 2 and 3) and offset of their guide; ``left`` uint64: keys of windows
    of unassigned reads."""

    counts: np.ndarray
    totals: np.ndarray
    hits: np.ndarray
    left: np.ndarray

    @classmethod
    def of_nothing(cls, n, left=()) -> "Tally":
        """One of n guides."""
        made = np.zeros(n, np.int64), np.zeros(N_TOTALS, np.int64), np.zeros((4, OFFSETS), np.int64)
        return cls(*made, np.array(left, np.uint64))

    @property
    def reads(self) -> int:
        return int(self.totals[READS])

    @property
    def assigned(self) -> int:
        return self.reads - sum(self.without(why) for why in (NONE, MANY, UNSURE, RECOMBINED))

    @property
    def inexact(self) -> int:
        return int(self.totals[INEXACT])

    def without(self, why) -> int:
        """Reads that count for no guide: ``why`` NONE, MANY, UNSURE or RECOMBINED."""
        return int(self.totals[-why])


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
