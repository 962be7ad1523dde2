"""The default matcher on a GPU: the windows, frames and comparisons of seeds.py, a thread for each.

    host       packs the strands into pinned memory; one copy in
    seek       a thread a window: its rows
    compare    a thread a row: the match there, if any
    gather     a block of threads a block of windows: its matches together, sorted; two copies out
    host       hands them over in the order of the windows

The work that waits for memory is spread evenly however many rows a window has, and only what is a match
comes back.  The kernels follow each other without a word from the host: where windows have more rows than
there is room for, the later ones do nothing, and the host asks for fewer windows at a time.  Each thread of
the host takes a stream of its own (gpu_session.py), so that copies and packing for one overlap with another's
kernels.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..machines import gpu
from ..machines.gpu import memory_beside
from ..machines.gpu_session import Arrays, PinnedPool
from ..machines.threads import run_all, spans
from ..search.gpu import gpu_search
from .matches import Pairs
from .matching import slices
from .seeds_kernels import (
    BLOCK,
    ROW_BITS,
    Queries,
    Table,
    compare_kernel,
    gather_kernel,
    report_size,
    seek_kernel,
    table_size,
)
from .strands import empty_matches, take, words_of
from .windows import n_windows

if TYPE_CHECKING:
    from ..machines.gpu_session import GpuSession, GpuStream
    from .strands import Matches, Strands
    from .windows import Seeds

ROWS = 1 << 25  # looked at, at a time
_LEAST_ROWS = 1 << 18
N_STREAMS = 4  # at most
_ROW_BYTES = 64  # of a stream's buffers, for each of them and as many windows
BESIDE = _ROW_BYTES * _LEAST_ROWS  # bytes beside the index, at least
_RESIDENT = 2048  # threads of a multiprocessor
_MANY = 1 << 18  # matches that threads of the host share


class Found(NamedTuple):
    """Matches in pinned memory, ``arrays``: ``spans`` as in seeds_kernels.py, ``pairs`` as of gather."""

    spans: np.ndarray
    pairs: Pairs
    arrays: Arrays


class GpuSeeds:
    """The matcher ``host`` with its arrays on a GPU, for ``n_threads`` of the host.  Raises DeviceError."""

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


@slices.register(GpuSeeds)
def slices_of_gpu(matcher, strands, span=None):
    """The matches of windows span[0] to span[1], or all; where there is no room, of fewer at a time."""
    found, fewer = matcher.streams.run(_find, matcher, strands, span)
    if found is not None:
        matches = empty_matches(found.pairs.keys.size)
        _hand_over_all(found, matches, matcher.n_threads if matches.length.size > _MANY else 1)
        matcher.desks.give_back(found.arrays)
        if matches.length.size:
            yield matches
    for some in fewer:
        yield from slices_of_gpu(matcher, strands, some)


def _find(
    stream: "GpuStream", matcher: GpuSeeds, strands: "Strands", span: tuple[int, int] | None
) -> tuple[Found | None, list[tuple[int, int]] | tuple]:
    """(the Found matches of a span of windows, nothing), or (None, its shares) where it has too many rows."""
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
            its_pairs = Pairs(*(arrays(name, report[1], np.int64)[: report[1]] for name in Pairs._fields))
            if report[1]:
                stream.receive(found, its_pairs)
                stream.wait()
            return Found(report[2:], its_pairs, arrays), ()
        n_shares = wanted // n_rows + 1 if n > 1 else 1
        n_rows = wanted  # of a window by itself
    matcher.desks.give_back(arrays)
    return None, [(start + a, start + b) for a, b in spans(n, n_shares)]


def _launch(
    stream: "GpuStream", matcher: GpuSeeds, queries: Queries, span: tuple[int, int], n_rows: int
) -> tuple[Table, Pairs]:
    """Begin to find the matches of a span of windows: (Table, Pairs of the matches), on the GPU."""
    n_blocks = max(-(-(span[1] - span[0]) // BLOCK), 1)  # one has nothing to do where there are no windows
    table = Table(stream.there("table", table_size(n_blocks), np.int64), n_blocks, n_rows)
    pairs, found = (
        Pairs(*(stream.there(f"{name} of {of}", n_rows, np.int64) for name in Pairs._fields))
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
    """(Queries of strands on the GPU, the number of their windows)."""
    if stream.holds is None or stream.holds[0] is not strands:  # type: ignore[index]
        stream.holds, n, (base, words) = None, strands.first.size, words_of(strands)
        words = stream.send("words", stream.pack("words", [words]))
        with stream.clock.timed("copy in"):
            columns = stream.here("columns", 5 * n + 1, np.uint32)[: 5 * n + 1]
            n_of_all = _pack(matcher.host, strands, base, columns)
        stream.begin("copy in")  # the words are on their way meanwhile
        stream.holds = strands, Queries(words, stream.send("columns", columns), n), n_of_all
    return stream.holds[1:]  # type: ignore[index]


@compiled
def _pack(matcher, strands, base, columns):
    """Write the columns of Queries, whose words are those from ``base`` on; the number of all windows."""
    n, total, windows = strands.length.size, np.int64(0), np.int64(0)
    columns[4 * n] = 0
    for i in range(n):
        length, start, stop = strands.length[i], strands.start[i], strands.stop[i]
        same = i > 0 and length == strands.length[i - 1]  # as the read before, often
        if not (same and start == strands.start[i - 1] and stop == strands.stop[i - 1]):
            windows = n_windows(matcher, strands, i)
        total += windows
        columns[i], columns[n + i] = strands.first[i] - base, length
        columns[2 * n + i], columns[3 * n + i], columns[4 * n + i + 1] = start, stop, total
    return total


def _hand_over_all(found: Found, matches: "Matches", n_threads: int) -> None:
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
