"""The CPU engine: one thread searches many patterns in turn, so that their memory accesses overlap.

Patterns are taken in groups of N_SLOTS. A round takes one step of every pattern of the group, and each step
prefetches what the next one reads (sequence interleaving and software prefetch, Langarita et al. 2020, 4.5).
Slots are refilled when three in four are free. So the patterns of a group stay in the same kind of step,
which helps branch prediction more than refilling slots one by one, and the few patterns that take long do not
wait for memory alone.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.functions import compiled, inlined
from ...index.contracts import HI, LO, N_STATE, PATTERN, advance, begin
from ..hits import Intervals

if TYPE_CHECKING:
    from ...input.reads import Patterns

N_SLOTS = 64


def search(query: Any, patterns: "Patterns", n_slots: int = N_SLOTS) -> Intervals:
    """Return the interval of every pattern, (0, 0) if it does not occur or cannot be searched."""
    intervals = Intervals(*(np.empty(patterns.length.size, np.uint32) for _ in Intervals._fields))
    state = np.zeros((n_slots, N_STATE), np.int64)
    _search(query, patterns, intervals, state)
    return intervals


@compiled
def _search(query, patterns, intervals, state):
    i, n_patterns, n_slots, n_active = 0, patterns.length.size, state.shape[0], 0
    intervals.lo[:], intervals.hi[:] = 0, 0
    while i < n_patterns or n_active > 0:
        while n_active < n_slots and i < n_patterns:
            if patterns.length[i] > 0:
                begin(query, patterns, i, state, n_active)
                n_active += 1
            i += 1
        n_awaited = n_slots >> 2 if i < n_patterns else 0
        while n_active > n_awaited:
            n_active = _advance_all(query, patterns, intervals, state, n_active)


@inlined
def _advance_all(query, patterns, intervals, state, n_active):
    """Take one step of each active slot, move unfinished ones to the front, and return their number."""
    n_kept = 0
    for slot in range(n_active):
        if advance(query, patterns, state, slot):
            i, lo, hi = state[slot, PATTERN], state[slot, LO], state[slot, HI]
            if lo < hi:
                intervals.lo[i] = lo
                intervals.hi[i] = hi
            continue
        if n_kept < slot:
            for column in range(N_STATE):
                state[n_kept, column] = state[slot, column]
        n_kept += 1
    return n_kept
