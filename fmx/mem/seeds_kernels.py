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

from ..compiler.functions import inlined
from ..compiler.primitives import at
from ..compiler.sorting import find_run
from ..compiler.warp import (
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
from ..machines import gpu
from .contracts import Strands
from .order import sort_pairs
from .windows import extend, first_window, frame_of, lookup, may_match, rows_of, step_of

BLOCK = gpu.block_size(128)  # windows of a block, a thread each
_TURN = 40  # bits of a number of rows; the turn is above them
ROW_BITS = (1 << _TURN) - 1


class BlocksOfWindows(NamedTuple):
    """n blocks of windows.  ``counters`` int64[2]: turns << 40 | rows, and matches.

    By block ``spans`` int64[2n], where its matches begin and how many they are, and ``total`` int64[n], its
    rows.  By turn ``block`` int64[n].  By turn and window ``running`` int64[n * BLOCK + 1], the rows of all
    windows before, ``place`` int64[n * BLOCK], strand << 32 | position, and ``row``, the first row.
    """

    counters: np.ndarray
    spans: np.ndarray
    total: np.ndarray
    block: np.ndarray
    running: np.ndarray
    place: np.ndarray
    row: np.ndarray


def table_sizes(n) -> tuple:
    """Numbers in the table of n blocks, up to the end of spans, of total, of running and of all."""
    return 2 + 2 * n, 2 + 3 * n, 3 + 4 * n + n * BLOCK, 3 + 4 * n + 3 * n * BLOCK


@inlined
def windows_of(table, n):
    """The BlocksOfWindows in an array: a kernel is launched the sooner the fewer arrays it is given."""
    a, size = 2 + 4 * n, n * BLOCK
    b = a + size + 1
    return BlocksOfWindows(
        table[:2], table[2 : 2 + 2 * n], table[2 + 2 * n : 2 + 3 * n], table[2 + 3 * n : a],
        table[a:b], table[b : b + size], table[b + size : b + 2 * size],
    )  # fmt: skip


@inlined
def strands_of(words, columns, n):
    """(n Strands, without row and offset, running total of their windows) in two arrays."""
    nothing = columns[:0]
    return Strands(
        words,
        columns[:n],
        columns[n : 2 * n],
        columns[2 * n : 3 * n],
        columns[3 * n : 4 * n],
        nothing,
        nothing,
    ), columns[4 * n : 5 * n + 1]


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
def widen_kernel(columns, wide, n):
    """Columns of strands, uint32, as the int64 that all code takes."""
    i = thread_index()
    if i < n:
        wide[i] = np.int64(columns[i])


@kernel
def seek_kernel(matcher, words, columns, n_strands, start, stop, table, n_blocks):
    """Rows of windows start to stop."""
    sums = cuda.shared.array(BLOCK, INT64)
    strands, first = strands_of(words, columns, n_strands)
    windows = windows_of(table, n_blocks)
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
    windows.place[k], windows.row[k] = (i << 32) | position, lo
    windows.running[k] = base + before
    if t == 0:
        block = (j - start) // BLOCK
        windows.block[turn], windows.total[block] = block, total
        if turn == n_blocks - 1:
            windows.running[k + BLOCK] = base + total


@kernel
def compare_kernel(matcher, words, columns, n_strands, table, n_blocks, most, keys, values):
    """The match of each row: its key, position << 32 | text, and value, strand << 32 | length or 0.

    Nothing is done, here and in gather_kernel, if there are more than ``most`` rows.
    """
    windows = windows_of(table, n_blocks)
    n_rows = windows.counters[0] & ROW_BITS
    if n_rows <= most:
        strands, _ = strands_of(words, columns, n_strands)
        for c in range(thread_index(), n_rows, grid_size()):
            k = find_run(windows.running, c)
            i, position = windows.place[k] >> 32, windows.place[k] & 0xFFFFFFFF
            text = np.int64(at(matcher.sa, windows.row[k] + c - windows.running[k]))
            frame, outside = frame_of(matcher, strands, i, position)
            value = np.int64(0)
            if may_match(matcher, frame, outside, text):
                left, length = extend(matcher, strands, i, position, text, step_of(matcher))
                if length > 0:
                    keys[c] = ((position - left) << 32) | (text - left)
                    value = (i << 32) | length
            values[c] = value


@kernel
def gather_kernel(table, n_blocks, most, keys, values, found_keys, found_values):
    """Let the matches of a block of windows close ranks, and sort those of each window."""
    counts = cuda.shared.array(BLOCK, UINT32)
    sums = cuda.shared.array(BLOCK, INT64)  # the simulator knows them apart by their lines
    windows = windows_of(table, n_blocks)
    if (windows.counters[0] & ROW_BITS) <= most:
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
