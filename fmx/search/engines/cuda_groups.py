"""What engines of a GPU share that give a thread one end of an interval: a pattern has two units."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.functions import inlined
from ...compiler.warp import device, is_odd
from ...errors import UnsupportedError
from ...index.contracts import start, units

if TYPE_CHECKING:
    pass


@inlined
def group_size(n_units):
    """Threads of a group that shares entries of ``n_units`` units: a power of two from 2 to 16."""
    if n_units <= 2:
        return 2
    if n_units <= 4:
        return 4
    if n_units <= 8:
        return 8
    return 16


def lanes_to_share(query: Any, engine: str) -> int:
    """Units of an entry that a group shares.  Raises UnsupportedError where there is nothing to share."""
    if not start.knows(query):
        raise UnsupportedError(f"{engine} runs backward search only: take cuda_task, or --method backward")
    if units(query.layout) < 2:
        raise UnsupportedError(
            f"{engine} needs a layout with entries of 32 bytes or more: take cuda_task, or another --layout"
        )
    return units(query.layout)


@device
def begin_end(query, patterns, i, unit):
    """Where a thread begins with pattern i: (its end, the other, symbols to come, first word, searching)."""
    end, other, left, first = np.uint32(0), np.uint32(0), np.int32(0), np.int64(0)
    if i < patterns.length.size and patterns.length[i] > 0:
        first = patterns.first[i]
        lo, hi, to_come = start(query, patterns, i)
        left = np.int32(to_come)
        end, other = (np.uint32(hi), np.uint32(lo)) if is_odd(unit) else (np.uint32(lo), np.uint32(hi))
    return end, other, left, first, left > 0 and end != other


@device
def write(intervals, i, lo, hi):
    """Note an answer; the arrays hold zeros before, which is the empty one."""
    if lo < hi:
        intervals.lo[i] = np.uint32(lo)
        intervals.hi[i] = np.uint32(hi)
