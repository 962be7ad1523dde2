"""The default matcher on a GPU: the windows, frames and comparisons of seeds.py, a thread for each.

    seek      a thread a window: its rows
    collect   a thread a row: the match there, if any, and a count for its window
              a thread a row: its match goes to a place of its window
              a thread a window: sorts its matches

The work that waits for memory is spread evenly however many rows a window has, and only what is a match comes
back.  One thread of the host uses the GPU at a time, while others parse and format.
"""

from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from .. import device, jit_device
from ..errors import DeviceError
from ..jit import at, compiled
from ..jit_warp import atomic_add, kernel, thread_index
from ..sorting import find_run
from .contracts import Matches, Strands, collect, rows_at_once, seek
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
GROUP = 64  # windows whose rows are counted together
ROWS = 1 << 24  # looked at, at a time
_ROW_BYTES = 44  # of buffers, for each of them
_RESERVE = 256 << 20  # memory of the device for its own purposes and for strands


class DeviceAnchors(NamedTuple):
    """Anchors that stand for ``group`` windows each; the windows of all strands are on the device.

    ``lo`` and ``hi`` int64[n_groups] have the rows of a group between them, hi being their running total;
    ``strands`` Strands, ``place`` int64[2n] each window's strand and position, ``rows`` uint32[n] its first
    row and ``running`` int64[n + 1] the running total of rows.
    """

    lo: np.ndarray
    hi: np.ndarray
    group: int
    strands: Strands
    place: Any
    rows: Any
    running: Any


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

    def running_total(self, sizes, group, running):
        """Running total of ``sizes`` (uint32[n]) into ``running`` (int64[n + 1]), all on the device.

        Gives that of groups of sizes, from 0 on, in the host's memory.
        """
        n_groups = -(-sizes.size // group)
        totals = self.room("totals", n_groups, np.int64)
        self.launch(total_kernel, n_groups, sizes, group, totals)
        begins = np.zeros(n_groups + 1, np.int64)
        if n_groups:
            np.cumsum(self.fetch(totals), out=begins[1:])
        self.launch(running_kernel, n_groups, sizes, group, self.bring(begins), running)
        return begins

    def launch(self, kernel, n, *arguments):
        """Run a kernel by n threads."""
        if n:
            n_threads = jit_device.block_size(N_THREADS)
            self.stages.run("match", kernel[-(-n // n_threads), n_threads], *arguments)

    def bring(self, value):
        """An array of the host, or a NamedTuple of them, on the device."""
        return self.stages.run("copy in", device.upload, value)

    def fetch(self, array, out=None):
        """An array of the device, on the host."""
        return self.stages.run("copy out", jit_device.to_host, array, out)


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
        there = matcher.bring(strands._replace(row=first[:0], offset=first[:0]))  # the host's concern
        place, rows = jit_device.empty(2 * n, np.int64), jit_device.empty(n, np.uint32)
        sizes, running = matcher.room("sizes", n, np.uint32), jit_device.empty(n + 1, np.int64)
        matcher.launch(seek_kernel, n, matcher.seeds, there, matcher.bring(first), place, rows, sizes)
        for group in (GROUP, 1):  # one by one where windows have so many rows that a group is too large
            begins = matcher.running_total(sizes, group, running)
            if np.diff(begins).max(initial=0) <= matcher.n_rows:
                break
    return DeviceAnchors(begins[:-1], begins[1:], group, there, place, rows, running)


@collect.register(DeviceMatcher)
def collect_on_device(matcher, strands, anchors, start, stop, matches):
    """The matches of groups of windows start to stop."""
    if start == stop:
        return 0
    n_rows, base = int(anchors.hi[stop - 1] - anchors.lo[start]), int(anchors.lo[start])
    a, b = start * anchors.group, min(stop * anchors.group, anchors.rows.size)
    place, running = anchors.place[2 * a : 2 * b], anchors.running[a : b + 1]
    with matcher.lock, jit_device.errors():
        jit_device.use(matcher.number)
        keys, lengths = matcher.room("keys", n_rows, np.int64), matcher.room("lengths", n_rows, np.uint32)
        counts, begins = matcher.room("counts", b - a, np.uint32), matcher.room("begins", b - a + 1, np.int64)
        jit_device.fill_zero(counts)
        matcher.launch(
            compare_kernel, n_rows, matcher.seeds, anchors.strands, place, anchors.rows[a:b], running, base,
            keys, lengths, counts,
        )  # fmt: skip
        n = int(matcher.running_total(counts, GROUP, begins)[-1])
        found = Matches(*(matcher.room(name, n, np.int64) for name in Matches._fields))
        if n:
            jit_device.fill_zero(counts)
            matcher.launch(place_kernel, n_rows, running, base, keys, lengths, counts, begins, found)
            matcher.launch(order_kernel, b - a, place, begins, found)
            for there, here in zip(found, matches, strict=True):
                matcher.fetch(there, here[:n])
    return n


@compiled
def _count_windows(matcher, strands, first):
    """Running total of the windows of strands."""
    for i in range(strands.length.size):
        first[i + 1] = first[i] + n_windows(matcher, strands, i)


@kernel
def seek_kernel(matcher, strands, first, place, rows, sizes):
    """Rows of each window; ``first`` int64[n_strands + 1] is the running total of windows."""
    j = thread_index()
    if j < rows.size:
        i = find_run(first, j)
        position = (first_window(matcher, strands, i) + j - first[i]) * step_of(matcher)
        place[2 * j], place[2 * j + 1] = i, position
        lo, hi, by_prefix = lookup(matcher, strands, i, position)
        lo, hi = rows_of(matcher, lo, hi, by_prefix)
        rows[j], sizes[j] = np.uint32(lo), np.uint32(hi - lo)


@kernel
def total_kernel(sizes, group, totals):
    """The sum of each group of sizes."""
    g = thread_index()
    if g < totals.size:
        total = np.int64(0)
        for j in range(g * group, min((g + 1) * group, sizes.size)):
            total += np.int64(sizes[j])
        totals[g] = total


@kernel
def running_kernel(sizes, group, begins, running):
    """The running total of sizes; ``begins`` that of the groups, from 0 on."""
    g = thread_index()
    if g < begins.size - 1:
        total = begins[g]
        for j in range(g * group, min((g + 1) * group, sizes.size)):
            running[j] = total
            total += np.int64(sizes[j])
        if (g + 1) * group >= sizes.size:
            running[sizes.size] = total


@kernel
def compare_kernel(matcher, strands, place, rows, running, base, keys, lengths, counts):
    """The match of each row from the ``base``-th on, length 0 if there is none; their number by window."""
    c = thread_index()
    if c < keys.size:
        j = find_run(running, base + c)
        i, position = place[2 * j], place[2 * j + 1]
        text = np.int64(at(matcher.sa, np.int64(rows[j]) + base + c - running[j]))
        frame, outside = frame_of(matcher, strands, i, position)
        length = np.int64(0)
        if may_match(matcher, frame, outside, text):
            left, length = extend(matcher, strands, i, position, text, step_of(matcher))
            if length > 0:
                keys[c] = ((position - left) << 32) | (text - left)
                atomic_add(counts, j, np.uint32(1))
        lengths[c] = np.uint32(length)


@kernel
def place_kernel(running, base, keys, lengths, counts, begins, found):
    """Let matches close ranks: those of window j from begins[j] on, in any order."""
    c = thread_index()
    if c < keys.size and lengths[c] > 0:
        j = find_run(running, base + c)
        to = begins[j] + np.int64(atomic_add(counts, j, np.uint32(1)))
        found.position[to], found.length[to] = keys[c], np.int64(lengths[c])


@kernel
def order_kernel(place, begins, found):
    """Sort the matches of each window."""
    j = thread_index()
    if j < begins.size - 1 and begins[j] < begins[j + 1]:
        put_in_order(found, begins[j], begins[j + 1], place[2 * j])
