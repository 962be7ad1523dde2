"""The default matcher on a GPU: the windows, frames and comparisons of seeds.py, a thread for each.

    host       packs the strands into pinned memory; one copy in
    seek       a thread a window: its rows
    compare    a thread a row: the match there, if any
    gather     a block of threads a block of windows: its matches together, sorted; two copies out
    host       hands them over in the order of the windows

The work that waits for memory is spread evenly however many rows a window has, and only what is a match
comes back.  The kernels follow each other without a word from the host: where windows have more rows than
there is room for, the later ones do nothing, and the host cuts the windows into slices.  Each thread of the
host takes a flight of its own (flight.py), so that copies and packing for one overlap with another's kernels.
"""

from typing import NamedTuple

import numpy as np

from .. import device, jit_device
from ..errors import DeviceError
from ..jit import compiled
from .contracts import Strands, collect, rows_at_once, seek
from .device_kernels import BLOCK, ROW_BITS, Windows, compare_kernel, gather_kernel, seek_kernel
from .flight import Flights, Rooms, flights_for
from .mummergpu import make_mummergpu
from .mummergpu_cuda import DeviceMummerGpu
from .seeds import make_seeds, n_windows
from .segments import words_of
from .stages import Stages

GB = 10**9
ROWS = 1 << 24  # looked at, at a time
N_FLIGHTS = 4  # at most
_ROW_BYTES = 64  # of a flight's buffers, for each of them and as many windows
_RESERVE = 256 << 20  # memory of the device for its own purposes and for strands
_RESIDENT = 2048  # threads of a multiprocessor


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

    def __init__(self, matcher, number=0, memory=None, n_threads=1):
        self.name = jit_device.open_device(number)
        self.host, self.least, self.stages = matcher, matcher.least, Stages()
        with jit_device.errors():
            room = min(jit_device.free_bytes() - _RESERVE, memory or 2**63) - device.n_bytes(matcher)
            if room < _ROW_BYTES * (ROWS >> 6):
                raise DeviceError(
                    f"the index needs {device.n_bytes(matcher) / GB:.2f} GB of GPU memory and room for "
                    "results: raise --gpu-memory, free memory, or take --engine cpu"
                )
            n_flights = max(1, min(flights_for(n_threads, N_FLIGHTS), room // (_ROW_BYTES * ROWS)))
            self.n_rows = min(ROWS, room // n_flights // _ROW_BYTES)
            self.n_windows = max(self.n_rows // BLOCK, 1) * BLOCK
            self.flights, self.results = Flights(n_flights, self.stages, number), []
            with self.stages.timed("copy in"):
                self.seeds = device.upload(matcher)


def make_matcher(index, options, number, memory):
    """The matcher of an algorithm and an opened index on a GPU, within ``memory`` bytes (None: all free)."""
    if options.algorithm == "mummergpu":
        return DeviceMummerGpu(make_mummergpu(index, options.least), number, memory, options.n_threads)
    return DeviceMatcher(make_seeds(index, options.least), number, memory, options.n_threads)


@rows_at_once.register(DeviceMatcher)
def _rows_at_once(matcher):
    return matcher.n_rows


@seek.register(DeviceMatcher)
def seek_on_device(matcher, strands):
    """The matches of all windows, or where there is no room for them the rows of blocks of windows."""
    return matcher.flights.run(_seek, matcher, strands)


def _seek(flight, matcher, strands):
    there, first, n = _bring(flight, matcher, strands)
    if n <= matcher.n_windows:
        found = _find(flight, matcher, there, first, 0, n, matcher.n_rows)
        if found:
            ends = np.array([0, found.keys.size])
            return DeviceAnchors(ends[:-1], ends[1:], np.array([0, n]), [found])
    window, rows = _count_rows(flight, matcher, there, first, n)
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
    n = _hand_over(found.spans, found.keys, found.values, matches)
    matcher.results.append(found.rooms)
    return n


def _collect(flight, matcher, strands, start, stop, n_rows):
    there, first, _ = _bring(flight, matcher, strands)
    return _find(flight, matcher, there, first, start, stop, n_rows)


def _bring(flight, matcher, strands):
    """(Strands on the device, running total of their windows there, number of windows)."""
    if flight.holds is None or flight.holds[0] is not strands:
        base, words = words_of(strands)
        first, windows = strands.first - base, np.zeros(strands.first.size + 1, np.int64)
        _count_windows(matcher.host, strands, windows)
        columns = (words, first, strands.length, strands.start, strands.stop, windows)
        *brought, running = flight.send(columns)
        nothing = brought[1][:0]
        flight.holds = strands, Strands(*brought, nothing, nothing), running, int(windows[-1])
    return flight.holds[1:]


def _start(flight, matcher, there, first, start, stop):
    """Begin to seek the rows of windows start to stop; the Windows."""
    n_blocks = -(-(stop - start) // BLOCK)
    n = n_blocks * BLOCK
    report = flight.there("report", 2 + 2 * n_blocks, np.int64)
    windows = Windows(
        flight.there("block", n_blocks, np.int64),
        flight.there("place", n, np.int64),
        flight.there("row", n, np.uint32),
        flight.there("running", n + 1, np.int64),
        flight.there("total", n_blocks, np.int64),
        report[2:],
        report[:2],
    )
    flight.begin("match")
    jit_device.fill_zero(windows.counters, flight.stream)
    flight.launch(seek_kernel, n, BLOCK, matcher.seeds, there, first, start, stop, windows)
    return windows


def _take_rooms(matcher):
    """Pinned Rooms that nobody uses."""
    try:
        return matcher.results.pop()
    except IndexError:
        return Rooms(jit_device.pinned)


def _find(flight, matcher, there, first, start, stop, n_rows):
    """The Found matches of windows start to stop, or None where these have more than ``n_rows`` rows."""
    rooms = _take_rooms(matcher)
    n_blocks = -(-(stop - start) // BLOCK)
    report = rooms("report", 2 + 2 * n_blocks, np.int64)
    report[:] = 0
    arrays = [
        flight.there(name, n_rows, np.int64) for name in ("keys", "values", "found keys", "found values")
    ]
    if n_blocks:
        windows = _start(flight, matcher, there, first, start, stop)
        resident = jit_device.n_multiprocessors() * _RESIDENT
        flight.launch(
            compare_kernel, min(n_rows, resident), BLOCK, matcher.seeds, there, windows, *arrays[:2]
        )
        flight.launch(gather_kernel, n_blocks * BLOCK, BLOCK, windows, *arrays)
        flight.begin("copy out")
        jit_device.copy(flight.there("report", report.size, np.int64), report, flight.stream)
    flight.wait()
    if report[0] & ROW_BITS > n_rows:
        matcher.results.append(rooms)
        return None
    n = int(report[1])
    found = Found(report[2:], rooms("keys", n, np.int64), rooms("values", n, np.int64), rooms)
    if n:
        flight.begin("copy out")
        for source, target in zip(arrays[2:], found[1:3], strict=True):
            jit_device.copy(source[:n], target, flight.stream)
        flight.wait()
    return found


def _count_rows(flight, matcher, there, first, n):
    """(borders of anchors, most matches of each): blocks of windows, or windows where these have many rows.

    An anchor counts at least its windows, so that those of a slice have room.
    """
    borders, most = [], []
    for start in range(0, n, matcher.n_windows):
        stop = min(start + matcher.n_windows, n)
        windows = _start(flight, matcher, there, first, start, stop)
        flight.wait()
        with flight.timed("copy out"):
            sizes, step = jit_device.to_host(windows.total), BLOCK
            if sizes.max() > matcher.n_rows:
                blocks, running = jit_device.to_host(windows.block), jit_device.to_host(windows.running)
                by_block = np.empty((blocks.size, BLOCK), np.int64)
                by_block[blocks] = np.diff(running).reshape(by_block.shape)
                sizes, step = by_block.ravel()[: stop - start], 1
        borders.append(np.arange(start, stop, step))
        most.append(np.maximum(sizes, step))
    return np.concatenate([*borders, [n]]), np.concatenate(most)


@compiled
def _count_windows(matcher, strands, first):
    """Running total of the windows of strands; reads are often as long as the one before."""
    n = 0
    for i in range(strands.length.size):
        j = max(i - 1, 0)
        same = strands.length[i] == strands.length[j]
        same &= (strands.start[i] == strands.start[j]) & (strands.stop[i] == strands.stop[j])
        if i == 0 or not same:
            n = n_windows(matcher, strands, i)
        first[i + 1] = first[i] + n


@compiled
def _hand_over(spans, keys, values, matches):
    """Write matches in the order of the blocks of windows; their number."""
    n = 0
    for block in range(spans.size >> 1):
        begin = spans[2 * block]
        for j in range(begin, begin + spans[2 * block + 1]):
            key, value = keys[j], values[j]
            matches.strand[n], matches.length[n] = value >> 32, value & 0xFFFFFFFF
            matches.position[n], matches.text[n] = key >> 32, key & 0xFFFFFFFF
            n += 1
    return n
