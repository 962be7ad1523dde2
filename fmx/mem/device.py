"""The default matcher on a GPU: the windows, frames and comparisons of seeds.py, a thread for each.

    seek      a thread a window: its rows
    collect   a thread a row: the match there, if any, and a count for its window
              the host adds up the counts of windows
              a thread a row: its match goes to a place of its window
              the host sorts the matches of each window

The work that waits for memory is spread evenly however many rows a window has, and only what is a match comes
back.  One thread of the host uses the GPU at a time, while others parse, sort and format.
"""

from threading import Lock
from typing import NamedTuple

import numpy as np

from .. import device, jit_device
from ..errors import DeviceError
from ..jit import at, compiled
from ..jit_warp import atomic_add, kernel, thread_index
from ..sorting import find_run
from .contracts import Strands, collect, rows_at_once, seek
from .mummergpu import make_mummergpu
from .mummergpu_cuda import DeviceMummerGpu
from .order import put_in_order
from .seeds import (
    Seeds,
    extend,
    first_window,
    frame_of,
    lookup,
    make_seeds,
    may_match,
    n_windows,
    rows_of,
    step_of,
)
from .stages import Stages

GB = 10**9
N_THREADS = 128
ROWS = 1 << 24  # looked at, at a time
_ROW_BYTES = 24  # of buffers, for each of them
_RESERVE = 256 << 20  # memory of the device for its own purposes and for strands


class DeviceAnchors(NamedTuple):
    """Anchors, all windows of all strands; ``strands`` and ``place`` are on the device.

    ``place`` int64[2n], each window's strand and position.
    """

    strand: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    strands: Strands
    place: np.ndarray


class DeviceMatcher:
    """A matcher whose arrays are on a GPU.  Raises DeviceError."""

    def __init__(self, matcher: Seeds, number=0, memory=None):
        self.number, self.name = number, jit_device.open_device(number)
        self.lock, self.least, self.stages = Lock(), matcher.least, Stages()
        self._buffers: dict = {}
        with jit_device.errors():
            room = min(jit_device.free_bytes() - _RESERVE, memory or 2**63) - device.n_bytes(matcher)
            if room < _ROW_BYTES * (ROWS >> 6):
                raise DeviceError(
                    f"the index needs {device.n_bytes(matcher) / GB:.2f} GB of GPU memory and room for "
                    "results: raise --gpu-memory, free memory, or take --engine cpu"
                )
            self.n_rows = min(ROWS, room // _ROW_BYTES)
            self.host, self.seeds = matcher, self.stages.run("copy in", device.upload, matcher)

    def room(self, name, n, dtype):
        """An array of the device with n elements, kept for the next call."""
        held = self._buffers.get(name)
        if held is None or held.size < n:
            self._buffers.pop(name, None)
            held = self._buffers[name] = jit_device.empty(max(n, 1), dtype)
        return held[:n]

    def launch(self, kernel, n, *arguments):
        """Run a kernel by n threads."""
        if n:
            n_threads = jit_device.block_size(N_THREADS)
            launch = kernel[-(-n // n_threads), n_threads]
            self.stages.run("match", launch, self.seeds, *arguments)

    def bring(self, array):
        """An array of the host, on the device."""
        return self.stages.run("copy in", jit_device.to_device, array)

    def fetch(self, array):
        """An array of the device, on the host."""
        return self.stages.run("copy out", jit_device.to_host, array)


def make_matcher(index, options, number, memory):
    """The matcher of an algorithm and an opened index on a GPU, within ``memory`` bytes (None: all free)."""
    if options.algorithm == "mummergpu":
        return DeviceMummerGpu(make_mummergpu(index, options.least), number, memory)
    return DeviceMatcher(make_seeds(index, options.least), number, memory)


@rows_at_once.register(DeviceMatcher)
def _rows_at_once(matcher):
    return matcher.n_rows


@seek.register(DeviceMatcher)
def seek_on_device(matcher, strands):
    """All windows of all strands, and their rows."""
    first = np.zeros(strands.length.size + 1, np.int64)
    _count_windows(matcher.host, strands, first)
    n = int(first[-1])
    with matcher.lock, jit_device.errors():
        jit_device.use(matcher.number)
        there = matcher.stages.run("copy in", device.upload, strands)
        place, rows = jit_device.empty(2 * n, np.int64), matcher.room("rows", 2 * n, np.uint32)
        matcher.launch(seek_kernel, n, there, matcher.bring(first), place, rows)
        rows = matcher.fetch(rows)
    strand = np.repeat(np.arange(first.size - 1), np.diff(first))
    return DeviceAnchors(strand, rows[0::2], rows[1::2], there, place)


@collect.register(DeviceMatcher)
def collect_on_device(matcher, strands, anchors, start, stop, matches):
    """The matches of windows start to stop."""
    first = np.zeros(stop - start + 1, np.int64)
    np.cumsum(anchors.hi[start:stop].astype(np.int64) - anchors.lo[start:stop], out=first[1:])
    n_rows = int(first[-1])
    with matcher.lock, jit_device.errors():
        jit_device.use(matcher.number)
        keys, lengths = matcher.room("keys", n_rows, np.int64), matcher.room("lengths", n_rows, np.uint32)
        counts = matcher.room("counts", stop - start, np.uint32)
        jit_device.fill_zero(counts)
        lo, ends = matcher.bring(anchors.lo[start:stop]), matcher.bring(first)
        place = anchors.place[2 * start : 2 * stop]
        matcher.launch(compare_kernel, n_rows, anchors.strands, place, lo, ends, keys, lengths, counts)
        begins = np.zeros(stop - start + 1, np.int64)
        np.cumsum(matcher.fetch(counts), out=begins[1:])
        n = int(begins[-1])
        found_keys, found_lengths = matcher.room("found", n, np.int64), matcher.room("sizes", n, np.uint32)
        if n:
            jit_device.fill_zero(counts)
            there = matcher.bring(begins)
            matcher.launch(
                place_kernel, n_rows, ends, keys, lengths, counts, there, found_keys, found_lengths
            )
            matches.position[:n] = matcher.fetch(found_keys)
            matches.length[:n] = matcher.fetch(found_lengths)
    _order(anchors.strand[start:stop], begins, matches)
    return n


@compiled
def _count_windows(matcher, strands, first):
    """Running total of the windows of strands."""
    for i in range(strands.length.size):
        first[i + 1] = first[i] + n_windows(matcher, strands, i)


@compiled
def _order(strand, begins, matches):
    for j in range(strand.size):
        put_in_order(matches, begins[j], begins[j + 1], strand[j])


@kernel
def seek_kernel(matcher, strands, first, place, rows):
    """Rows of each window, in pairs; ``first`` int64[n_strands + 1] is the running total of windows."""
    j = thread_index()
    if 2 * j < place.size:
        i = find_run(first, j)
        position = (first_window(matcher, strands, i) + j - first[i]) * step_of(matcher)
        place[2 * j], place[2 * j + 1] = i, position
        lo, hi, by_prefix = lookup(matcher, strands, i, position)
        lo, hi = rows_of(matcher, lo, hi, by_prefix)
        rows[2 * j], rows[2 * j + 1] = np.uint32(lo), np.uint32(hi)


@kernel
def compare_kernel(matcher, strands, place, lo, first, keys, lengths, counts):
    """The match of each row, length 0 if there is none; ``first`` is the running total of rows."""
    c = thread_index()
    if c < keys.size:
        j = find_run(first, c)
        i, position = place[2 * j], place[2 * j + 1]
        text = np.int64(at(matcher.sa, np.int64(lo[j]) + c - first[j]))
        frame, outside = frame_of(matcher, strands, i, position)
        length = np.int64(0)
        if may_match(matcher, frame, outside, text):
            left, length = extend(matcher, strands, i, position, text)
            if length > 0:
                keys[c] = ((position - left) << 32) | (text - left)
                atomic_add(counts, j, np.uint32(1))
        lengths[c] = np.uint32(length)


@kernel
def place_kernel(matcher, first, keys, lengths, counts, begins, found_keys, found_lengths):
    """Let matches close ranks: those of window j from begins[j] on, in any order."""
    c = thread_index()
    if c < keys.size and lengths[c] > 0:
        j = find_run(first, c)
        to = begins[j] + np.int64(atomic_add(counts, j, np.uint32(1)))
        found_keys[to], found_lengths[to] = keys[c], lengths[c]
