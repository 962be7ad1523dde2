"""The CPU engine: one thread answers many patterns in turn, so that their memory accesses overlap.

Each of N_SLOTS slots holds one pattern under way; a round takes one step in every slot, and each step has
prefetched what the next one reads (sequence interleaving and software prefetch, Langarita et al. 2020, 4.5).
"""

import numpy as np

from ..contracts import HI, LO, N_STATE, PATTERN, advance, begin
from ..hits import Intervals
from ..jit import compiled, inlined

N_SLOTS = 32


def search(query, patterns, n_slots=N_SLOTS) -> Intervals:
    """The interval of every pattern (Patterns), empty (0, 0) where it does not occur or is not searchable."""
    intervals = Intervals(*(np.zeros(patterns.length.size, np.uint32) for _ in Intervals._fields))
    state = np.zeros((n_slots, N_STATE), np.int64)
    _search(query, patterns, intervals, state)
    return intervals


@inlined
def _load(query, patterns, i, state, slot):
    """Begin the next searchable pattern from i on; the index after it, or -1 if there is none."""
    while i < patterns.length.size:
        if patterns.length[i] > 0:
            begin(query, patterns, i, state, slot)
            return i + 1
        i += 1
    return -1


@compiled
def _search(query, patterns, intervals, state):
    n_active = coming = 0
    while n_active < state.shape[0] and coming >= 0:
        coming = _load(query, patterns, coming, state, n_active)
        n_active += coming >= 0
    while n_active > 0:
        slot = 0
        while slot < n_active:
            if advance(query, patterns, state, slot):
                i, lo, hi = state[slot, PATTERN], state[slot, LO], state[slot, HI]
                if lo < hi:
                    intervals.lo[i] = lo
                    intervals.hi[i] = hi
                if coming >= 0:
                    coming = _load(query, patterns, coming, state, slot)
                if coming < 0:
                    n_active -= 1
                    for column in range(N_STATE):
                        state[slot, column] = state[n_active, column]
                    continue
            slot += 1
