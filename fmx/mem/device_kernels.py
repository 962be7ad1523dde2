"""The kernels of the default matcher on a GPU: from windows to rows to matches, with no word from the host.

A block of threads has a block of windows.  It adds up their rows and takes its place among the rows of all by
one atomic addition that also counts the blocks, so that places ascend in the order of these *turns*:

    block of windows    0   1   2   3        turn      0   1   2   3
    rows                40  52  38  44       block     1   0   3   2
                                             running   0  52  92 136 (174)

and no running total over all windows is needed.  Matches take their places likewise; ``spans`` tells which
are a block's, so that the host, which reads them once, reads them in the order of the windows.
"""

from typing import NamedTuple

import numpy as np

from .. import jit_device
from ..jit import at
from ..jit_warp import (
    INT64,
    UINT32,
    atomic_add,
    cuda,
    device,
    grid_size,
    kernel,
    sync_block,
    thread_in_block,
    thread_index,
)
from ..sorting import find_run
from .order import sort_pairs
from .seeds import extend, first_window, frame_of, lookup, may_match, rows_of, step_of

BLOCK = jit_device.block_size(128)  # windows of a block, a thread each
_TURN = 40  # bits of a number of rows; the turn is above them
ROW_BITS = (1 << _TURN) - 1


class Windows(NamedTuple):
    """Blocks of windows: by turn ``block`` int64[n]; by turn and window ``place`` int64[n * BLOCK],
    strand << 32 | position, ``row`` uint32[n * BLOCK], the first row, and ``running`` int64[n * BLOCK + 1],
    rows of all windows before; by block ``total`` int64[n], its rows, and ``spans`` int64[2n], where its
    matches begin and how many they are.  ``counters`` int64[2]: turns << 40 | rows, and matches."""

    block: np.ndarray
    place: np.ndarray
    row: np.ndarray
    running: np.ndarray
    total: np.ndarray
    spans: np.ndarray
    counters: np.ndarray


@device
def add_up(sums, value):
    """(sum of the values of the threads of a block before this one, of all); ``sums`` is for its own use."""
    t, distance = thread_in_block(), 1
    sums[t] = value
    sync_block()
    while distance < BLOCK:
        more = sums[t - distance] if t >= distance else np.int64(0)
        sync_block()
        sums[t] += more
        sync_block()
        distance *= 2
    before, total = sums[t] - value, sums[BLOCK - 1]
    sync_block()
    return before, total


@kernel
def seek_kernel(matcher, strands, first, start, stop, windows):
    """Rows of windows start to stop; ``first`` int64[n_strands + 1] is the running total of windows."""
    sums = cuda.shared.array(BLOCK, INT64)
    t, j = thread_in_block(), start + thread_index()
    i = position = lo = hi = np.int64(0)
    if j < stop:
        i = np.int64(find_run(first, j))
        position = (first_window(matcher, strands, i) + j - first[i]) * step_of(matcher)
        lo, hi, by_prefix = lookup(matcher, strands, i, position)
        lo, hi = rows_of(matcher, lo, hi, by_prefix)
    before, total = add_up(sums, hi - lo)
    if t == 0:
        sums[0] = atomic_add(windows.counters, 0, np.int64(1 << _TURN) + total)
    sync_block()
    turn, base = sums[0] >> _TURN, sums[0] & ROW_BITS
    k = turn * BLOCK + t
    windows.place[k], windows.row[k] = (i << 32) | position, np.uint32(lo)
    windows.running[k] = base + before
    if t == 0:
        block = (j - start) // BLOCK
        windows.block[turn], windows.total[block] = block, total
        if turn == windows.block.size - 1:
            windows.running[k + BLOCK] = base + total


@kernel
def compare_kernel(matcher, strands, windows, keys, values):
    """The match of each row: its key, position << 32 | text, and value, strand << 32 | length or 0.

    Nothing is done, here and in gather_kernel, if there are more rows than ``keys`` has room for.
    """
    n_rows = windows.counters[0] & ROW_BITS
    if n_rows <= keys.size:
        for c in range(thread_index(), n_rows, grid_size()):
            k = find_run(windows.running, c)
            i, position = windows.place[k] >> 32, windows.place[k] & 0xFFFFFFFF
            text = np.int64(at(matcher.sa, np.int64(windows.row[k]) + c - windows.running[k]))
            frame, outside = frame_of(matcher, strands, i, position)
            value = np.int64(0)
            if may_match(matcher, frame, outside, text):
                left, length = extend(matcher, strands, i, position, text)
                if length > 0:
                    keys[c] = ((position - left) << 32) | (text - left)
                    value = (i << 32) | length
            values[c] = value


@kernel
def gather_kernel(windows, keys, values, found_keys, found_values):
    """Let the matches of a block of windows close ranks, and sort those of each window."""
    counts = cuda.shared.array(BLOCK, UINT32)
    sums = cuda.shared.array(BLOCK, INT64)  # the simulator knows them apart by their lines
    if (windows.counters[0] & ROW_BITS) <= keys.size:
        t, turn = thread_in_block(), thread_index() // BLOCK
        running = windows.running[turn * BLOCK : (turn + 1) * BLOCK + 1]
        counts[t] = 0
        sync_block()
        for c in range(running[0] + t, running[BLOCK], BLOCK):
            if values[c] != 0:
                atomic_add(counts, find_run(running, c), np.uint32(1))
        sync_block()
        n = np.int64(counts[t])
        before, total = add_up(sums, n)
        counts[t] = before
        if t == 0:
            sums[0] = atomic_add(windows.counters, 1, total)
            block = windows.block[turn]
            windows.spans[2 * block], windows.spans[2 * block + 1] = sums[0], total
        sync_block()
        base = sums[0]
        for c in range(running[0] + t, running[BLOCK], BLOCK):
            if values[c] != 0:
                to = base + np.int64(atomic_add(counts, find_run(running, c), np.uint32(1)))
                found_keys[to], found_values[to] = keys[c], values[c]
        sync_block()
        if n > 1:
            begin, row = base + before, running[t]
            our_keys, our_values = found_keys[begin : begin + n], found_values[begin : begin + n]
            sorted_keys, sorted_values = sort_pairs(
                our_keys, our_values, keys[row : row + n], values[row : row + n], 0, n
            )
            for j in range(n):
                our_keys[j], our_values[j] = sorted_keys[j], sorted_values[j]
