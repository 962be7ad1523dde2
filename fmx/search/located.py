"""Hits of reads whose positions are all located first: where the rows are not at hand, or in several parts.

The positions of all rows of some reads make a whole suffix array of their own, over intervals renumbered to
fit, so that hits.select chooses from it.  Rows stand in the order of the intervals, the parts one after the
other in each:

    interval     | read 0 part 0 | read 0 part 1 | its reverse part 0 | its reverse part 1 | read 1 ...
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..index.contracts import position_of, prefetch_position
from ..index.sampled_sa import FullSA
from . import hits
from .hits import Hits, Intervals

MOST = 1 << 17  # positions located at a time, or those of one read
_AHEAD = 16  # intervals whose rows are prefetched


class Locator(NamedTuple):
    """Looks up where rows of a part are, on the CPU; on a GPU: gpu_mapping.GpuLocator."""

    sa: Any
    layout: Any

    def locate(self, lo, size) -> np.ndarray:
        """Text positions, int64, of rows lo[i] to lo[i] + size[i] of a part, one i after the other."""
        found = np.empty(size.sum(), np.int64)
        _positions(self.sa, self.layout, lo, size, found)
        return found


@compiled
def _positions(sa, layout, lo, size, found):
    n = 0
    for i in range(size.size):
        ahead = i + _AHEAD
        if ahead < size.size and size[ahead] > 0:
            prefetch_position(sa, np.int64(lo[ahead]))
        for row in range(np.int64(lo[i]), np.int64(lo[i]) + size[i]):
            found[n] = position_of(sa, layout, row)
            n += 1


def select(parts, batch, span, policy) -> Hits:
    """The hits of reads span[0] to span[1] of a batch, as hits.select gives them for the whole text.

    ``parts``: of each part of the text a locator, its Intervals, and where it starts in the text.
    """
    locator, intervals, _ = parts[0]
    if len(parts) == 1 and isinstance(locator, Locator):  # the rows are at hand
        return hits.select(*locator, batch, intervals, span, policy)
    rows = slice(2 * span[0], 2 * span[1])
    lo = np.array([intervals.lo[rows] for _, intervals, _ in parts])
    size = np.array([intervals.hi[rows] for _, intervals, _ in parts]) - lo.astype(np.int64)
    total = size[:, 0::2].sum(axis=0) + size[:, 1::2].sum(axis=0)
    is_located = total <= policy.at_most
    ends = np.cumsum(np.where(is_located, total, 0))
    found, start = [], 0
    while start < total.size:
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + MOST, "right")))
        own = slice(2 * start, 2 * stop)
        sa, first = _locate(parts, lo[:, own], size[:, own] * np.repeat(is_located[start:stop], 2))
        intervals = _renumbered(first, size[:, own].sum(axis=0), span[0] + start, batch)
        reads = span[0] + start, span[0] + stop
        found.append(hits.select(sa, None, batch, intervals, reads, policy))
        start = stop
    return found[0] if len(found) == 1 else _joined(found)


def _locate(parts, lo, size):
    """(FullSA, first row of each interval in it) of the rows of the intervals, arrays [n_parts, n]."""
    ends = np.cumsum(size.T).reshape(size.T.shape).T
    located = np.empty(size.sum(), np.int64)
    for part, (locator, _, start) in enumerate(parts):
        own = locator.locate(lo[part], size[part])
        _spread(own, ends[part] - size[part], size[part], start, located)
    return FullSA(located), ends[0] - size[0]


@compiled
def _spread(own, first, size, start, located):
    """Put the positions of a part into their places, as positions of the text."""
    n = 0
    for i in range(size.size):
        for j in range(first[i], first[i] + size[i]):
            located[j] = start + np.int64(own[n])
            n += 1


def _renumbered(first, size, start, batch) -> Intervals:
    """Intervals of all reads of a batch, empty but for those from read ``start`` on that are given."""
    intervals = Intervals(*(np.zeros(2 * batch.length.size, np.int64) for _ in Intervals._fields))
    rows = slice(2 * start, 2 * start + first.size)
    intervals.lo[rows], intervals.hi[rows] = first, first + size
    return intervals


def _joined(found) -> Hits:
    """Hits of reads that follow each other."""
    n_hits = np.concatenate([np.diff(part.first) for part in found])
    rest = (np.concatenate(arrays) for arrays in zip(*(part[1:] for part in found), strict=True))
    return Hits(np.append(0, np.cumsum(n_hits)), *rest)
