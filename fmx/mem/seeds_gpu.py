"""The default matcher on a GPU: windows, frames and comparisons as in seeds.py, one thread per item.

    host       packs the strands into pinned memory; one copy in
    seek       one thread per window: its rows
    compare    one thread per row: the match there, if any
    gather     one block of threads per block of windows: collects and sorts its matches; two copies out
    host       returns the matches in the order of the windows

The work that waits for memory is spread evenly however many rows a window has, and only matches are copied
back. A block of threads handles a block of windows. It adds up their rows and reserves their place among all
rows by one atomic addition that also counts the blocks, so places ascend in the order of these *turns*:

    block of windows    0   1   2   3        turn      0   1   2   3
    rows                40  52  38  44       block     1   0   3   2
                                             running   0  52  92 136 (174)

No prefix sum over all windows is needed. Places of matches are reserved in the same way; ``spans`` records
the place of each block, so that the host reads the matches once, in the order of the windows.

The kernels follow each other without the host. If windows have more rows than there is room for, compare and
gather do nothing, and the host starts again with fewer windows. Each thread of the host has its own stream
(gpu_session.py), so copies and packing for one overlap with another's kernels.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
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
from ..machines.gpu import memory_beside
from ..machines.gpu_session import Arrays, PinnedPool
from ..machines.jobs import run_all, spans
from ..search.gpu import gpu_search
from .matches import KeyValues, sort_pairs
from .strands import Strands, empty_matches, take, words_of
from .windows import extend, first_window, frame_of, lookup, may_match, n_windows, rows_of, step_of

BLOCK = gpu.block_size(128)  # windows of a block, one thread each
_TURN = 40  # bits of a number of rows; the turn is above them
ROW_BITS = (1 << _TURN) - 1


class Queries(NamedTuple):
    """Strands in the form for a GPU: ``words`` uint64 of ``n`` strands, and ``columns`` uint32[5n + 1].

    The columns are first, length, start and stop (strands.Strands), and prefix sums of windows.
    """

    words: np.ndarray
    columns: np.ndarray
    n: int


class BlockTable(NamedTuple):
    """Results that kernels share for ``n`` blocks of windows, with room for ``most`` rows.

    ``numbers`` int64 is one array, because a kernel with fewer arguments is launched faster; sections_of
    splits it.
    """

    numbers: np.ndarray
    n: int
    most: int


class Sections(NamedTuple):
    """The sections of a BlockTable of n blocks. ``counters`` int64[2]: turns << 40 | rows, and matches.

    By block: ``spans`` int64[2n], where its matches begin and their number. By turn: ``block`` int64[n]. By
    turn and window: ``running`` int64[n * BLOCK + 1], the rows of all preceding windows; ``place`` int64[n *
    BLOCK], strand << 32 | position; ``row``, the first row.
    """

    counters: np.ndarray
    spans: np.ndarray
    block: np.ndarray
    running: np.ndarray
    place: np.ndarray
    row: np.ndarray


def report_size(n: int) -> int:
    """Return the size of the part of a table of n blocks that the host reads: counters and spans."""
    return 2 + 2 * n


def table_size(n: int) -> int:
    """Return the size of a table of n blocks."""
    return 3 + 3 * n + 3 * n * BLOCK


@inlined
def sections_of(table):
    """Return the Sections of a table."""
    numbers, n, size = table.numbers, table.n, table.n * BLOCK
    a = 2 + 3 * n
    b = a + size + 1
    return Sections(
        numbers[:2], numbers[2 : 2 + 2 * n], numbers[2 + 2 * n : a],
        numbers[a:b], numbers[b : b + size], numbers[b + size : b + 2 * size],
    )  # fmt: skip


@inlined
def strands_of(queries):
    """Return Queries as Strands without row and offset."""
    n, columns = queries.n, queries.columns
    return Strands(
        queries.words, columns[:n], columns[n : 2 * n], columns[2 * n : 3 * n], columns[3 * n : 4 * n],
        columns[:0], columns[:0],
    )  # fmt: skip


@device
def add_up(sums, value):
    """Return (sum over the preceding threads of a block, sum over all); ``sums`` is scratch."""
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
    """Find the rows of windows start to stop: a thread per window, a block of threads per block of windows.

    ``matcher``: Seeds. ``queries``: Queries. ``table``: BlockTable whose counters are 0.
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
    """Find the match of each row; any number of threads take rows in turn.

    ``pairs``: KeyValues per row: position << 32 | text, and strand << 32 | length, or 0 without a match.
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
                left, length = extend(matcher, strands, i, position, text, step_of(matcher), matcher.sa.size)
                if length > 0:
                    pairs.keys[c] = ((position - left) << 32) | (text - left)
                    value = (i << 32) | length
            pairs.values[c] = value


@kernel
def gather_kernel(table, pairs, found):
    """Move the matches of each block of windows together, and sort those of each window.

    One block of threads per block of windows, one thread per window; from ``pairs`` into ``found``, both
    KeyValues.
    """
    counts = cuda.shared.array(BLOCK, UINT32)
    sums = cuda.shared.array(BLOCK, INT64)  # the simulator distinguishes the two arrays by their lines
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
            ours = KeyValues(found.keys[begin : begin + n], found.values[begin : begin + n])
            other = KeyValues(pairs.keys[row : row + n], pairs.values[row : row + n])
            in_order = sort_pairs(ours, other, 0, n)
            for j in range(n):
                ours.keys[j], ours.values[j] = in_order.keys[j], in_order.values[j]


# The host's side.

if TYPE_CHECKING:
    from ..machines.gpu_session import GpuSession, GpuStream
    from .strands import Matches, Strands
    from .windows import Seeds

ROWS = 1 << 25  # rows that are compared at a time
_LEAST_ROWS = 1 << 18
N_STREAMS = 4  # at most
_ROW_BYTES = 64  # of a stream's buffers, per row and per window
BESIDE = _ROW_BYTES * _LEAST_ROWS  # least bytes besides the index
_RESIDENT = 2048  # threads of a multiprocessor
_MANY = 1 << 18  # matches from which on several threads of the host share the work


class GpuMatches(NamedTuple):
    """Matches in pinned memory, ``arrays``: ``spans`` as in Sections, ``pairs`` as from gather_kernel."""

    spans: np.ndarray
    pairs: KeyValues
    arrays: Arrays


class GpuSeeds:
    """The matcher ``host`` with its arrays on a GPU, for ``n_threads`` of the host. Raises DeviceError."""

    def __init__(self, host: "Seeds", session: "GpuSession", n_threads: int = 1) -> None:
        self.host, self.least, self.clock, self.n_threads = host, host.least, session.clock, n_threads
        room = memory_beside(session.memory, gpu_search.n_bytes(host), BESIDE)
        n_streams = max(1, min(n_threads, N_STREAMS, room // (_ROW_BYTES * ROWS)))
        self.n_rows = min(ROWS, room // n_streams // _ROW_BYTES)
        self.n_windows = max(self.n_rows // BLOCK, 1) * BLOCK
        self.streams, self.desks = session.streams(n_streams), PinnedPool()
        with gpu.errors():
            self.resident = gpu.n_multiprocessors() * _RESIDENT
            with self.clock.timed("copy in"):
                self.seeds = gpu_search.upload(host)

    def slices(self, strands: "Strands", span: tuple[int, int] | None = None) -> Iterator["Matches"]:
        """Yield the Matches of windows span[0] to span[1], or of all.

        Splits the span if there is not enough room.
        """
        found, fewer = self.streams.run(_find, self, strands, span)
        if found is not None:
            matches = empty_matches(found.pairs.keys.size)
            _hand_over_all(found, matches, self.n_threads if matches.length.size > _MANY else 1)
            self.desks.give_back(found.arrays)
            if matches.length.size:
                yield matches
        for some in fewer:
            yield from self.slices(strands, some)


def _find(
    stream: "GpuStream", matcher: GpuSeeds, strands: "Strands", span: tuple[int, int] | None
) -> tuple[GpuMatches | None, list[tuple[int, int]] | tuple]:
    """Return (GpuMatches of a span of windows, ()), or (None, smaller spans) if it has too many rows."""
    queries, n_of_all = _bring(stream, matcher, strands)
    start, stop = span or (0, n_of_all)
    n, n_rows = stop - start, matcher.n_rows
    n_shares, arrays = -(-n // matcher.n_windows), matcher.desks.take()
    while n_shares <= 1:
        table, found = _launch(stream, matcher, queries, (start, stop), n_rows)
        report = arrays("report", report_size(table.n), np.int64)[: report_size(table.n)]
        stream.receive([table.numbers], [report])
        stream.wait()
        wanted = int(report[0] & ROW_BITS)
        if wanted <= n_rows:
            its_pairs = KeyValues(
                *(arrays(name, report[1], np.int64)[: report[1]] for name in KeyValues._fields)
            )
            if report[1]:
                stream.receive(found, its_pairs)
                stream.wait()
            return GpuMatches(report[2:], its_pairs, arrays), ()
        n_shares = wanted // n_rows + 1 if n > 1 else 1
        n_rows = wanted  # of a single window
    matcher.desks.give_back(arrays)
    return None, [(start + a, start + b) for a, b in spans(n, n_shares)]


def _launch(
    stream: "GpuStream", matcher: GpuSeeds, queries: Queries, span: tuple[int, int], n_rows: int
) -> tuple[BlockTable, KeyValues]:
    """Launch the search of a span of windows; return (BlockTable, KeyValues of the matches), on the GPU."""
    n_blocks = max(-(-(span[1] - span[0]) // BLOCK), 1)  # the block has nothing to do if there are no windows
    table = BlockTable(stream.there("table", table_size(n_blocks), np.int64), n_blocks, n_rows)
    pairs, found = (
        KeyValues(*(stream.there(f"{name} of {of}", n_rows, np.int64) for name in KeyValues._fields))
        for of in ("rows", "matches")
    )
    stream.begin("match")
    gpu.fill_zero(table.numbers, stream.handle, 2)
    stream.launch(seek_kernel, n_blocks * BLOCK, BLOCK, matcher.seeds, queries, *span, table)
    n_threads = min(n_rows, matcher.resident)
    stream.launch(compare_kernel, n_threads, BLOCK, matcher.seeds, queries, table, pairs)
    stream.launch(gather_kernel, n_blocks * BLOCK, BLOCK, table, pairs, found)
    return table, found


def _bring(stream: "GpuStream", matcher: GpuSeeds, strands: "Strands") -> tuple[Queries, int]:
    """Return (Queries of strands on the GPU, number of their windows)."""
    if stream.holds is None or stream.holds[0] is not strands:  # type: ignore[index]
        stream.holds, n, (base, words) = None, strands.first.size, words_of(strands)
        words = stream.send("words", stream.pack("words", [words]))
        with stream.clock.timed("copy in"):
            columns = stream.here("columns", 5 * n + 1, np.uint32)[: 5 * n + 1]
            n_of_all = _pack(matcher.host, strands, base, columns)
        stream.begin("copy in")  # the words are copied meanwhile
        stream.holds = strands, Queries(words, stream.send("columns", columns), n), n_of_all
    return stream.holds[1:]  # type: ignore[index]


@compiled
def _pack(matcher, strands, base, columns):
    """Write the columns of Queries with the words from ``base`` on; return the number of all windows."""
    n, total, windows = strands.length.size, np.int64(0), np.int64(0)
    columns[4 * n] = 0
    for i in range(n):
        length, start, stop = strands.length[i], strands.start[i], strands.stop[i]
        same = i > 0 and length == strands.length[i - 1]  # often, as for the preceding read
        if not (same and start == strands.start[i - 1] and stop == strands.stop[i - 1]):
            windows = n_windows(matcher, strands, i)
        total += windows
        columns[i], columns[n + i] = strands.first[i] - base, length
        columns[2 * n + i], columns[3 * n + i], columns[4 * n + i + 1] = start, stop, total
    return total


def _hand_over_all(found: GpuMatches, matches: "Matches", n_threads: int) -> None:
    """Write matches in the order of the blocks of windows, by several threads."""
    ends = np.append(0, np.cumsum(found.spans[1::2]))
    work = [
        (found.spans[2 * a : 2 * b], found.pairs, take(matches, slice(ends[a], ends[b])))
        for a, b in spans(ends.size - 1, n_threads)
    ]
    run_all(_hand_over, work, n_threads)


@compiled
def _hand_over(spans, pairs, matches):
    n = 0
    for block in range(spans.size >> 1):
        begin = spans[2 * block]
        for j in range(begin, begin + spans[2 * block + 1]):
            key, value = pairs.keys[j], pairs.values[j]
            matches.strand[n], matches.length[n] = value >> 32, value & 0xFFFFFFFF
            matches.position[n], matches.text[n] = key >> 32, key & 0xFFFFFFFF
            n += 1
