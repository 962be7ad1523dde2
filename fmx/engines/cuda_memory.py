"""Memory-cooperative search on a GPU (Chacon et al. 2014, section 4.2): a group loads, each thread counts.

A thread has one end of a pattern's interval.  In each step the threads of a group show where their entries
are, bring in one member's entry after the other, a lane each, and then count alone, from shared memory:

    shared memory of a warp   | 32 addresses | entry of thread 0 | spare | ... | entry of thread 31 | spare |
"""

import numpy as np

from ..contracts import address, lanes, share, start
from ..device import Launch, group_size, run
from ..dna import symbols
from ..errors import UnsupportedError
from ..jit_warp import (
    UINT64,
    WARP,
    any_lane,
    cuda,
    is_odd,
    kernel,
    load_lane,
    sync_warp,
    thread_in_block,
    thread_index,
)

SHARED_BYTES = 48 << 10  # what a block may have without asking


def search(query, patterns):
    """The interval of every pattern, as the CPU engine gives it."""
    return run(prepare(query), query, patterns)


def prepare(query) -> Launch:
    """How to launch the search of a query.  Raises UnsupportedError where the two do not go together."""
    if not start.knows(query):
        raise UnsupportedError(
            "cuda_memory shares the loads of backward search, which this query is not: use cuda_task"
        )
    n_lanes = lanes(query.layout)
    if n_lanes < 2:
        raise UnsupportedError(
            "cuda_memory brings in entries of 32 bytes or more by several threads; those of this layout are "
            "for one: use cuda_task"
        )
    n_bytes = 8 * WARP * (1 + 2 * (n_lanes + 1))
    n_warps = max(1, min(4, SHARED_BYTES // n_bytes))
    return Launch(memory_kernel, 2, n_warps * WARP, shared_bytes=n_warps * n_bytes)


@kernel
def memory_kernel(query, patterns, intervals):
    thread, own = thread_index(), thread_in_block()
    layout, k, n_lanes = query.layout, np.int64(query.layout.k), np.int64(lanes(query.layout))
    size, stride = group_size(n_lanes), 2 * (n_lanes + 1)
    words = cuda.shared.array(0, UINT64)
    board = (own >> 5) * WARP * (1 + stride)  # of this warp
    entries = board + WARP
    lane = own & (WARP - 1)
    base, member = lane & ~(size - 1), lane & (size - 1)
    i = thread >> 1
    end = other = left = first = np.int64(0)
    if i < patterns.length.size and patterns.length[i] > 0:
        first = patterns.first[i]
        lo, hi, left = start(query, patterns, i)
        end, other = (hi, lo) if is_odd(lane) else (lo, hi)
    searching = left > 0 and end != other
    while any_lane(searching):
        c = word = offset = np.int64(0)
        if searching:
            left -= k
            c = np.int64(symbols(patterns.words, first, left, k))
            word, offset = address(layout, c, end)
        words[board + lane] = np.uint64(word)
        sync_warp()
        for j in range(size):
            source = np.int64(words[board + base + j])
            to = entries + (base + j) * stride
            for turn in range((n_lanes + size - 1) // size):
                part = member + turn * size
                if part < n_lanes:
                    a, b = load_lane(layout.entries, source + 2 * part)
                    words[to + 2 * part], words[to + 2 * part + 1] = a, b
        sync_warp()
        if searching:
            mine = entries + lane * stride
            end = np.int64(0)
            for part in range(n_lanes):
                end += share(layout, part, words[mine + 2 * part], words[mine + 2 * part + 1], c, offset)
            words[board + lane] = np.uint64(end)
        sync_warp()
        if searching:
            other = np.int64(words[board + (lane ^ 1)])
            searching = left > 0 and end != other
        sync_warp()
    if not is_odd(lane) and i < patterns.length.size and end < other:
        intervals.lo[i] = np.uint32(end)
        intervals.hi[i] = np.uint32(other)
