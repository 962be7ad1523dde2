"""The kernels of the default matcher on a GPU: from windows to rows to matches, with no word from the host.

A block of threads has a block of windows.  It adds up their rows and takes its place among the rows of all by
one atomic addition that also counts the blocks, so that places ascend in the order of these *turns*:

    block of windows    0   1   2   3        turn      0   1   2   3
    rows                40  52  38  44       block     1   0   3   2
                                             running   0  52  92 136 (174)

and no running total over all windows is needed.  Matches take their places likewise; ``spans`` tells which
are a block's, so that the host, which reads them once, reads them in the order of the windows.  Where there
are more rows than room for them, compare and gather do nothing.
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
from .matches import Pairs, sort_pairs
from .strands import Strands
from .windows import extend, first_window, frame_of, lookup, may_match, rows_of, step_of

BLOCK = gpu.block_size(128)  # windows of a block, a thread each
_TURN = 40  # bits of a number of rows; the turn is above them
ROW_BITS = (1 << _TURN) - 1


class Queries(NamedTuple):
    """Strands as they go to a GPU: ``words`` uint64 of ``n`` strands, and ``columns`` uint32[5n + 1].

    The columns are first, length, start and stop (contracts.Strands), and the running total of windows.
    """

    words: np.ndarray
    columns: np.ndarray
    n: int


class Table(NamedTuple):
    """What kernels tell each other of ``n`` blocks of windows, with room for ``most`` rows.

    ``numbers`` int64 is one array, for a kernel is launched the sooner the fewer it is given;
    sections_of tells its sections.
    """

    numbers: np.ndarray
    n: int
    most: int


class Sections(NamedTuple):
    """The sections of a Table of n blocks.  ``counters`` int64[2]: turns << 40 | rows, and matches.

    By block ``spans`` int64[2n], where its matches begin and how many they are.  By turn ``block`` int64[n].
    By turn and window ``running`` int64[n * BLOCK + 1], the rows of all windows before, ``place``
    int64[n * BLOCK], strand << 32 | position, and ``row``, the first row.
    """

    counters: np.ndarray
    spans: np.ndarray
    block: np.ndarray
    running: np.ndarray
    place: np.ndarray
    row: np.ndarray


def report_size(n: int) -> int:
    """Numbers of a table of n blocks that the host reads: counters and spans."""
    return 2 + 2 * n


def table_size(n: int) -> int:
    """Numbers in a table of n blocks."""
    return 3 + 3 * n + 3 * n * BLOCK


@inlined
def sections_of(table):
    """The Sections of a table."""
    numbers, n, size = table.numbers, table.n, table.n * BLOCK
    a = 2 + 3 * n
    b = a + size + 1
    return Sections(
        numbers[:2], numbers[2 : 2 + 2 * n], numbers[2 + 2 * n : a],
        numbers[a:b], numbers[b : b + size], numbers[b + size : b + 2 * size],
    )  # fmt: skip


@inlined
def strands_of(queries):
    """Queries as Strands without row and offset."""
    n, columns = queries.n, queries.columns
    return Strands(
        queries.words, columns[:n], columns[n : 2 * n], columns[2 * n : 3 * n], columns[3 * n : 4 * n],
        columns[:0], columns[:0],
    )  # fmt: skip


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
def seek_kernel(matcher, queries, start, stop, table):
    """Rows of windows start to stop: a thread a window, a block of threads a block of windows.

    ``matcher`` Seeds, ``queries`` Queries, ``table`` Table whose counters are 0.
    """
    sums = cuda.shared.array(BLOCK, INT64)
    strands, sections = strands_of(queries), sections_of(table)
    first = queries.columns[4 * queries.n : 5 * queries.n + 1]
    t, j = thread_in_block(), start + thread_index()
    i = position = lo = hi = np.int64(0)
    if j < stop:
        i = np.int64(find_run(first, j))
        position = (first_window(matcher, strands, i) + j - first[i]) * step_of(matcher)
        lo, hi = lookup(matcher, strands, i, position)
        lo, hi = rows_of(matcher, lo, hi)
    before, total = add_up(sums, hi - lo)
    if t == 0:
        sums[0] = atomic_add(sections.counters, 0, np.int64(1 << _TURN) + total)
    sync_block()
    turn, base = sums[0] >> _TURN, sums[0] & ROW_BITS
    k = turn * BLOCK + t
    sections.place[k], sections.row[k] = (i << 32) | position, lo
    sections.running[k] = base + before
    if t == 0:
        sections.block[turn] = (j - start) // BLOCK
        if turn == table.n - 1:
            sections.running[k + BLOCK] = base + total


@kernel
def compare_kernel(matcher, queries, table, pairs):
    """The match of each row, by any number of threads, each of which takes rows in turn.

    ``pairs`` Pairs of a row: position << 32 | text, and strand << 32 | length, or 0 where there is none.
    """
    sections = sections_of(table)
    n_rows = sections.counters[0] & ROW_BITS
    if n_rows <= table.most:
        strands = strands_of(queries)
        for c in range(thread_index(), n_rows, grid_size()):
            k = find_run(sections.running, c)
            i, position = sections.place[k] >> 32, sections.place[k] & 0xFFFFFFFF
            text = np.int64(at(matcher.sa, sections.row[k] + c - sections.running[k]))
            frame, outside = frame_of(matcher, strands, i, position)
            value = np.int64(0)
            if may_match(matcher, frame, outside, text):
                left, length = extend(matcher, strands, i, position, text, step_of(matcher))
                if length > 0:
                    pairs.keys[c] = ((position - left) << 32) | (text - left)
                    value = (i << 32) | length
            pairs.values[c] = value


@kernel
def gather_kernel(table, pairs, found):
    """Let the matches of a block of windows close ranks, and sort those of each window.

    A block of threads a block of windows, a thread a window; from ``pairs`` into ``found``, both Pairs.
    """
    counts = cuda.shared.array(BLOCK, UINT32)
    sums = cuda.shared.array(BLOCK, INT64)  # the simulator knows them apart by their lines
    sections = sections_of(table)
    if (sections.counters[0] & ROW_BITS) <= table.most:
        t, turn = thread_in_block(), thread_index() // BLOCK
        running = sections.running[turn * BLOCK : (turn + 1) * BLOCK + 1]
        counts[t] = 0
        sync_block()
        for c in range(running[0] + t, running[BLOCK], BLOCK):
            if pairs.values[c] != 0:
                atomic_add(counts, find_run(running, c), np.uint32(1))
        sync_block()
        n = np.int64(counts[t])
        before, total = add_up(sums, n)
        counts[t] = before
        if t == 0:
            sums[0] = atomic_add(sections.counters, 1, total)
            block = sections.block[turn]
            sections.spans[2 * block], sections.spans[2 * block + 1] = sums[0], total
        sync_block()
        base = sums[0]
        for c in range(running[0] + t, running[BLOCK], BLOCK):
            if pairs.values[c] != 0:
                to = base + np.int64(atomic_add(counts, find_run(running, c), np.uint32(1)))
                found.keys[to], found.values[to] = pairs.keys[c], pairs.values[c]
        sync_block()
        if n > 1:
            begin, row = base + before, running[t]
            ours = Pairs(found.keys[begin : begin + n], found.values[begin : begin + n])
            other = Pairs(pairs.keys[row : row + n], pairs.values[row : row + n])
            in_order = sort_pairs(ours, other, 0, n)
            for j in range(n):
                ours.keys[j], ours.values[j] = in_order.keys[j], in_order.values[j]
