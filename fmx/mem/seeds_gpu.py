"""The default matcher on a GPU: the windows, frames and comparisons of seeds.py, a thread for each.

    host       packs the strands into pinned memory; one copy in
    seek       a thread a window: its rows
    compare    a thread a row: the match there, if any
    gather     a block of threads a block of windows: its matches together, sorted; two copies out
    host       hands them over in the order of the windows

The work that waits for memory is spread evenly however many rows a window has, and only what is a match
comes back.  The kernels follow each other without a word from the host: where windows have more rows than
there is room for, the later ones do nothing, and the host cuts the windows into slices.  Each thread of the
host takes a flight of its own (gpu_session.py), so that copies and packing for one overlap with another's
kernels.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..machines import gpu
from ..machines.gpu_memory import room_beside
from ..machines.gpu_session import Desks, Rooms
from ..machines.threads import run_all, spans
from ..search import gpu_search
from .contracts import Matches, Strands, collect, rows_at_once, seek
from .mummergpu import make_mummergpu
from .mummergpu_gpu import DeviceMummerGpu
from .seeds import make_seeds
from .seeds_kernels import (
    BLOCK,
    ROW_BITS,
    compare_kernel,
    gather_kernel,
    seek_kernel,
    table_sizes,
    widen_kernel,
    windows_of,
)
from .segments import words_of
from .windows import n_windows

ROWS = 1 << 25  # looked at, at a time
_LEAST_ROWS = 1 << 18
N_FLIGHTS = 4  # at most
_ROW_BYTES = 64  # of a flight's buffers, for each of them and as many windows
_RESIDENT = 2048  # threads of a multiprocessor
_MANY = 1 << 18  # matches that threads of the host share
_BY_ROW = "keys", "values", "found keys", "found values"


class Found(NamedTuple):
    """Matches in the pinned memory of ``rooms``; the rest as in device_kernels.py."""

    spans: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    rooms: Rooms


class DeviceAnchors(NamedTuple):
    """Anchors that stand for windows ``window[a]`` to ``window[a + 1]`` each.

    Either one for all, and ``found`` [Found] has their matches; or ``found`` is empty and they are sought
    when they are collected, from the rows of blocks of windows.  ``lo``, ``hi`` int64[n]: running total.
    """

    lo: np.ndarray
    hi: np.ndarray
    window: np.ndarray
    found: list


class DeviceMatcher:
    """A matcher whose arrays are on a GPU, for ``n_threads`` of the host.  Raises DeviceError."""

    def __init__(self, matcher, session, n_threads=1):
        self.host, self.least, self.clock, self.n_threads = matcher, matcher.least, session.clock, n_threads
        room = room_beside(session.memory, gpu_search.n_bytes(matcher), _ROW_BYTES * _LEAST_ROWS)
        n_flights = max(1, min(n_threads, N_FLIGHTS, room // (_ROW_BYTES * ROWS)))
        self.n_rows = min(ROWS, room // n_flights // _ROW_BYTES)
        self.n_windows = max(self.n_rows // BLOCK, 1) * BLOCK
        self.flights, self.desks = session.flights(n_flights), Desks()
        with gpu.errors():
            self.resident = gpu.n_multiprocessors() * _RESIDENT
            with self.clock.timed("copy in"):
                self.seeds = gpu_search.upload(matcher)
        nothing = np.zeros(0, np.int64)  # kernels must not be compiled by several threads at once
        seek_on_device(self, Strands(np.zeros(1, np.uint64), *[nothing] * 6))


def make_matcher(index, options, session):
    """The matcher of an algorithm and an opened index on the GPU of a GpuSession."""
    if options.algorithm == "mummergpu":
        return DeviceMummerGpu(make_mummergpu(index, options.least), session, options.n_threads)
    return DeviceMatcher(make_seeds(index, options.least), session, options.n_threads)


@rows_at_once.register(DeviceMatcher)
def _rows_at_once(matcher):
    return matcher.n_rows


@seek.register(DeviceMatcher)
def seek_on_device(matcher, strands):
    """The matches of all windows, or where there is no room for them the rows of blocks of windows."""
    return matcher.flights.run(_seek, matcher, strands)


def _seek(flight, matcher, strands):
    there, n = _bring(flight, matcher, strands)
    if n <= matcher.n_windows:
        found = _find(flight, matcher, there, 0, n, matcher.n_rows)
        if found:
            ends = np.array([0, found.keys.size])
            return DeviceAnchors(ends[:-1], ends[1:], np.array([0, n]), [found])
    window, rows = _count_rows(flight, matcher, there, n)
    ends = np.append(0, np.cumsum(rows))
    return DeviceAnchors(ends[:-1], ends[1:], window, [])


@collect.register(DeviceMatcher)
def collect_on_device(matcher, strands, anchors, start, stop, matches):
    """The matches of anchors start to stop."""
    if start == stop:
        return 0
    try:
        found = anchors.found.pop()
    except IndexError:
        n_rows = max(int(anchors.hi[stop - 1] - anchors.lo[start]), matcher.n_rows)
        span = int(anchors.window[start]), int(anchors.window[stop])
        found = matcher.flights.run(_collect, matcher, strands, *span, n_rows)
    _hand_over_all(found, matches, matcher.n_threads if found.keys.size > _MANY else 1)
    matcher.desks.give_back(found.rooms)
    return found.keys.size


def _collect(flight, matcher, strands, start, stop, n_rows):
    return _find(flight, matcher, _bring(flight, matcher, strands)[0], start, stop, n_rows)


def _bring(flight, matcher, strands):
    """((words, columns, number) of strands as kernels take them, the number of their windows)."""
    if flight.holds is None or flight.holds[0] is not strands:
        flight.holds, n, (base, words) = None, strands.first.size, words_of(strands)
        words = flight.send("words", flight.pack("words", [words]))
        with flight.clock.timed("copy in"):
            narrow = flight.here("columns", 5 * n + 1, np.uint32)[: 5 * n + 1]
            n_of_all = _pack(matcher.host, strands, base, narrow)
        flight.begin("copy in")  # the words are on their way meanwhile
        sent, columns = flight.send("columns", narrow), flight.there("wide", narrow.size, np.int64)
        flight.begin("match")
        flight.launch(widen_kernel, narrow.size, BLOCK, sent, columns, narrow.size)
        flight.holds = strands, (words, columns, n), n_of_all
    return flight.holds[1:]


def _find(flight, matcher, there, start, stop, n_rows):
    """The Found matches of windows start to stop, or None where these have more than ``n_rows`` rows."""
    n_blocks = _blocks(start, stop)
    size, *_, whole = table_sizes(n_blocks)
    table = flight.there("table", whole, np.int64)
    keys, values, *found = (flight.there(name, n_rows, np.int64) for name in _BY_ROW)
    rooms = matcher.desks.take()
    report = rooms("report", size, np.int64)[:size]
    _seek_rows(flight, matcher, there, start, stop, table)
    n_threads = min(n_rows, matcher.resident)
    flight.launch(
        compare_kernel, n_threads, BLOCK, matcher.seeds, *there, table, n_blocks, n_rows, keys, values
    )
    flight.launch(gather_kernel, n_blocks * BLOCK, BLOCK, table, n_blocks, n_rows, keys, values, *found)
    flight.receive([table], [report])
    flight.wait()
    if report[0] & ROW_BITS > n_rows:
        matcher.desks.give_back(rooms)
        return None
    n = int(report[1])
    columns = rooms("keys", n, np.int64)[:n], rooms("values", n, np.int64)[:n]
    if n:
        flight.receive(found, columns)
        flight.wait()
    return Found(report[2:], *columns, rooms)


def _blocks(start, stop):
    """Blocks of threads for windows start to stop; one of them has nothing to do where there are none."""
    return max(-(-(stop - start) // BLOCK), 1)


def _seek_rows(flight, matcher, there, start, stop, table):
    """Begin to seek the rows of windows start to stop."""
    n_blocks = _blocks(start, stop)
    flight.begin("match")
    gpu.fill_zero(table, flight.stream, 2)
    flight.launch(seek_kernel, n_blocks * BLOCK, BLOCK, matcher.seeds, *there, start, stop, table, n_blocks)


def _count_rows(flight, matcher, there, n):
    """(borders of anchors, most matches of each): blocks of windows, or windows where these have many rows.

    An anchor counts at least its windows, so that those of a slice have room.
    """
    borders, most = [], []
    for start in range(0, n, matcher.n_windows):
        stop = min(start + matcher.n_windows, n)
        n_blocks, step = _blocks(start, stop), BLOCK
        table = flight.there("table", table_sizes(n_blocks)[-1], np.int64)
        _seek_rows(flight, matcher, there, start, stop, table)
        flight.wait()
        _, short, long, _ = table_sizes(n_blocks)
        with flight.clock.timed("copy out"):
            sizes = windows_of(gpu.copy(table, np.empty(short, np.int64)), n_blocks).total
        if sizes.max() > matcher.n_rows:
            windows = windows_of(gpu.copy(table, np.empty(long, np.int64)), n_blocks)
            by_block = np.empty((n_blocks, BLOCK), np.int64)
            by_block[windows.block] = np.diff(windows.running).reshape(by_block.shape)
            sizes, step = by_block.ravel()[: stop - start], 1
        borders.append(np.arange(start, stop, step))
        most.append(np.maximum(sizes, step))
    return np.concatenate([*borders, [n]]), np.concatenate(most)


@compiled
def _pack(matcher, strands, base, columns):
    """Write what strands_of (device_kernels.py) takes, from word ``base`` on; the number of all windows."""
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


def _hand_over_all(found, matches, n_threads):
    """Write matches in the order of the blocks of windows, by several threads."""
    ends = np.append(0, np.cumsum(found.spans[1::2]))
    work = [
        (found.spans[2 * a : 2 * b], found.keys, found.values,
         Matches(*(column[ends[a] : ends[b]] for column in matches)))
        for a, b in spans(ends.size - 1, n_threads)
    ]  # fmt: skip
    run_all(_hand_over, work, n_threads)


@compiled
def _hand_over(spans, keys, values, matches):
    n = 0
    for block in range(spans.size >> 1):
        begin = spans[2 * block]
        for j in range(begin, begin + spans[2 * block + 1]):
            key, value = keys[j], values[j]
            matches.strand[n], matches.length[n] = value >> 32, value & 0xFFFFFFFF
            matches.position[n], matches.text[n] = key >> 32, key & 0xFFFFFFFF
            n += 1
