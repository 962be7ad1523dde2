"""A screen: in which groups reads occur, as numbers of reads by the combination of groups.

Of parts of the text that are one group, as those of several indexes are, intervals tell it alone.
"""

import threading
from collections import Counter

import numpy as np

from ..compiler.functions import compiled
from ..errors import UnsupportedError
from ..index.reference import place_of
from .owners import distinct, placed, placed_matches

MOST = 63  # groups: bits of a combination


class Screen:
    """Counts reads by the combination of Owners that they occur in, for several threads at a time."""

    def __init__(self, owners):
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

    def add(self, locators, intervals, eligible, weight) -> None:
        """As Tally.add."""
        bounds, reads = distinct(intervals, eligible, weight)
        self._count(placed(self.owners, locators, bounds), reads.weight)

    def add_pairs(self, found, eligible) -> None:
        """Count pairs: each occurs wherever one of its mates does.

        ``found``: what was Found of mates 1 and of mates 2; ``eligible`` int64[n]: how often each occurs.
        """
        masks = np.zeros(eligible[0].size, np.int64)
        for its, n in zip(found, eligible, strict=True):
            lo, hi = (array.astype(np.int64) for array in its.intervals)
            bounds = lo, np.where(np.repeat(n > 0, 2), hi, lo)
            for each in placed(self.owners, its.locators, bounds):
                _mark(each, self.owners.blocks, masks)
        self._note(masks, np.ones(masks.size, np.int64))

    def add_matches(self, matches, n, weight) -> None:
        """As Tally.add_matches."""
        self._count([placed_matches(matches, n)], weight)

    def _count(self, found, weight):
        masks = np.zeros(weight.size, np.int64)
        for each in found:
            _mark(each, self.owners.blocks, masks)
        self._note(masks, weight)

    def _note(self, masks, weight):
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


def _members(mask) -> list:
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
