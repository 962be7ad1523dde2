"""Memory-cooperative search on a GPU (Chacon et al. 2014, section 4.2): a group loads, each thread counts.

A thread has one end of a pattern's interval.  In each step the threads of a group show where their entries
are, bring in one member's entry after the other, a unit each, and then count alone, from shared memory:

    shared memory of a warp   | 32 addresses | entry of thread 0 | spare | ... | entry of thread 31 | spare |
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.primitives import load_unit
from ...compiler.warp import (
    UINT64,
    WARP,
    any_lane,
    cuda,
    is_odd,
    kernel,
    store_unit,
    sync_warp,
    thread_in_block,
    thread_index,
)
from ...index.contracts import address, share, units
from ...input.dna import symbol_before
from ..gpu.gpu_search import Launch
from .cuda_groups import begin_end, group_size, lanes_to_share, write

if TYPE_CHECKING:
    pass

SHARED_BYTES = 48 << 10  # what a block may have without asking


def prepare(query: Any) -> Launch:
    """How to launch the search of a query.  Raises UnsupportedError where the two do not go together."""
    n_units = lanes_to_share(query, "cuda_memory")
    n_bytes = 8 * WARP * (1 + 2 * (n_units + 1))
    n_warps = max(1, min(4, SHARED_BYTES // n_bytes))
    return Launch(memory_kernel, 2, n_warps * WARP, warp_bytes=n_bytes)


@kernel
def memory_kernel(query, patterns, intervals):
    """``intervals`` (zeros) of ``patterns``, by groups of a warp's threads, a thread for each end.

    Shared memory: 8 * WARP * (1 + 2 * (units + 1)) bytes a warp, as in the module's picture.
    """
    thread, own = thread_index(), np.int32(thread_in_block())
    layout, k, n_units = query.layout, np.int32(query.layout.k), np.int32(units(query.layout))
    size, stride = np.int32(group_size(n_units)), np.int32(2 * (n_units + 1))
    words = cuda.shared.array(0, UINT64)
    board = np.int32((own >> 5) * WARP * (1 + stride))  # of this warp
    lane = np.int32(own & (WARP - 1))
    base, member = np.int32(lane & ~(size - 1)), np.int32(lane & (size - 1))
    mine = np.int32(board + WARP + lane * stride)
    i = thread >> 1
    end, other, left, first, searching = begin_end(query, patterns, i, lane)
    n_ahead, ahead = np.int32(0), np.uint64(0)
    while any_lane(searching):
        c, offset, spot, surplus = np.int32(0), np.int32(0), np.int64(0), np.int64(0)
        if searching:
            c, left, ahead, n_ahead = symbol_before(patterns.words, first, left, k, ahead, n_ahead)
            spot, row, surplus = address(layout, np.int64(c), np.int64(end))
            offset = np.int32(row)
        words[board + lane] = np.uint64(spot)
        sync_warp()
        for j in range(0, size, 2):  # two at a time, so that two loads are under way
            this, that = np.int64(words[board + base + j]), np.int64(words[board + base + j + 1])
            to = np.int32(board + WARP + (base + j) * stride)
            for turn in range((n_units + size - 1) // size):
                part = np.int32(member + turn * size)
                if part < n_units:
                    a, b = load_unit(layout.entries, this + 2 * part)
                    x, y = load_unit(layout.entries, that + 2 * part)
                    store_unit(words, to + 2 * part, a, b)
                    store_unit(words, to + stride + 2 * part, x, y)
        sync_warp()
        if searching:
            end = np.uint32(-surplus)
            for part in range(n_units):
                a, b = load_unit(words, mine + 2 * part)
                end = np.uint32(end + share(layout, np.int32(part), a, b, c, offset))
            words[board + lane] = np.uint64(end)
        sync_warp()
        if searching:
            other = np.uint32(words[board + (lane ^ 1)])
            searching = left > 0 and end != other
        sync_warp()
    if not is_odd(lane) and i < patterns.length.size:
        write(intervals, i, end, other)
