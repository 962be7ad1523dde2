"""Mapping with the index on a GPU: intervals and positions come from there, all else as on the CPU.

Each worker thread takes a Channel, a stream with buffers of its own, so that one chunk is copied while
another is searched and the host parses and formats the rest.  A chunk goes through in batches that fit:

    patterns -> pinned buffer -> device: search -> intervals
    rows of the reported reads -> device: locate -> positions, in the order of the rows

located.py chooses from the positions, so the output is that of the CPU, byte for byte.
"""

from dataclasses import replace
from queue import SimpleQueue

import numpy as np

from ..compiler.warp import kernel, thread_index
from ..errors import DeviceError
from ..index.contracts import lanes, position_of, start
from ..index.sampled_sa import FullSA
from ..input.reads import Patterns
from ..machines import gpu as jit_device
from . import engines, gpu_search, located
from .hits import Intervals
from .mapping import Mapper, Mapping, join, make_query

GB = 10**9
N_PATTERNS, N_WORDS = 1 << 18, 1 << 21  # of a batch
CHUNK_SIZE = 1 << 24  # bytes: fewer, larger pieces of work than on the CPU
N_CHANNELS = 2  # at least; one a worker thread if there are more
N_THREADS = 128
_RESERVE = 200 << 20  # memory of the device for its own purposes


@kernel
def locate_kernel(sa, layout, lo, first, start, positions):
    """Text positions of rows start, start + 1 ... of the intervals, one after the other.

    ``lo`` uint32[n] their first rows; ``first`` int64[n + 1] running total of their sizes.
    """
    j = thread_index()
    if j < positions.size:
        left, right = np.int64(0), np.int64(lo.size)
        while right - left > 1:
            middle = (left + right) >> 1
            if first[middle] <= start + j:
                left = middle
            else:
                right = middle
        positions[j] = position_of(sa, layout, np.int64(lo[left]) + start + j - first[left])


class Channel:
    """A stream and its buffers: pinned ones of the host, and their twins on the device."""

    def __init__(self, n_patterns=N_PATTERNS, n_words=N_WORDS):
        self.n_patterns, self.n_words = n_patterns, n_words
        self.stream = jit_device.stream()
        sizes = {
            "words": (n_words, np.uint64),
            "first": (n_patterns + 1, np.int64),
            "length": (n_patterns, np.int64),
            "lo": (n_patterns, np.uint32),
            "hi": (n_patterns, np.uint32),
            "positions": (2 * n_patterns, np.uint32),
        }
        self.host = {name: jit_device.pinned(*size) for name, size in sizes.items()}
        self.device = {name: jit_device.empty(*size) for name, size in sizes.items()}

    @staticmethod
    def n_bytes(n_patterns=N_PATTERNS, n_words=N_WORDS) -> int:
        """Memory of the device that a channel takes."""
        return 8 * n_words + (8 + 8 + 4 + 4 + 8) * n_patterns

    def send(self, name, values):
        """Copy values to the device; the array there."""
        n = values.size
        self.host[name][:n] = values
        return jit_device.copy(self.host[name][:n], self.device[name][:n], self.stream)

    def receive(self, name, n, into):
        """Copy the first n values from the device; they are in ``host`` once the stream is done."""
        jit_device.copy(self.device[name][:n], self.host[name][:n], self.stream)
        self.wait()
        into[:] = self.host[name][:n]

    def wait(self):
        """Wait until the device has done all that it was given in this stream."""
        jit_device.synchronize(self.stream)


class Gpu:
    """An opened GPU with room for an index, and the channels that the mappers of its parts share.

    ``memory``: a limit in bytes, or None.  Raises DeviceError.
    """

    def __init__(self, index, n_threads, number=0, memory=None):
        self.number = number
        self.name = jit_device.open_device(number)
        needed = sum(gpu_search.n_bytes((make_query(part), part.sa)) for part in index.parts)
        with jit_device.errors():
            room = min(jit_device.free_bytes() - _RESERVE, memory or 2**63)
            n_channels = _fitting(max(N_CHANNELS, n_threads), room, needed)
            self.all_channels = [Channel() for _ in range(n_channels)]
            self.channels: SimpleQueue = SimpleQueue()  # those that nobody uses
            for channel in self.all_channels:
                self.channels.put(channel)

    def with_channel(self, work, *arguments):
        """Call ``work(channel, ...)`` with a channel that nobody uses."""
        jit_device.use(self.number)
        with jit_device.errors():
            channel = self.channels.get()
            try:
                return work(channel, *arguments)
            finally:
                self.channels.put(channel)


def _fitting(n_channels, room, needed) -> int:
    """How many channels there is room for beside the index."""
    n = min(n_channels, (room - needed) // Channel.n_bytes())
    if n < 1:
        raise DeviceError(
            f"the index and its buffers need {(needed + Channel.n_bytes()) / GB:.2f} GB of GPU memory, "
            f"and there are {max(room, 0) / GB:.2f} GB: raise --gpu-memory, free memory, name a smaller "
            "--layout, or take --engine cpu"
        )
    return n


def make_mapper(index, options, n_tally, engine, gpu) -> Mapping:
    """What maps to an index on a Gpu; ``engine`` is one of engines.CUDA, or None for the best one.

    Raises DeviceError, UnsupportedError.
    """
    return join(index, [DeviceMapper(part, options, n_tally, engine, gpu) for part in index.parts])


class DeviceMapper(Mapper):
    """A Mapper whose query, suffix array and layout are on a Gpu."""

    def __init__(self, index, options, n_tally, engine, gpu):
        super().__init__(index, replace(options, chunk_size=max(options.chunk_size, CHUNK_SIZE)), n_tally)
        self.gpu, self.all_channels = gpu, gpu.all_channels
        self.launch = engines.prepare(engine or best_engine(self.query), self.query)
        with jit_device.errors():
            self.query = gpu_search.upload(self.query)
            self.sa = self._on_device(index.sa)
            self.layout = getattr(self.query, "layout", self.sa)

    def _on_device(self, sa):
        """The suffix array on the device, not twice if the query holds it."""
        held = getattr(self.query, "sa", None)
        return FullSA(held) if held is not None else gpu_search.upload(sa)

    def intervals(self, patterns):
        """Intervals of patterns, found by the device."""
        found = Intervals(*(np.zeros(patterns.length.size, np.uint32) for _ in Intervals._fields))
        self.gpu.with_channel(self._search, patterns, found)
        return found

    def _search(self, channel, patterns, found):
        ends = np.append(patterns.first[1:], patterns.words.size - 1)
        a = 0
        while a < patterns.length.size:
            most_words = patterns.first[a] + channel.n_words - 1
            b = min(a + channel.n_patterns, int(np.searchsorted(ends, most_words, "right")))
            if b == a:
                n_words = int(ends[a] - patterns.first[a])
                large = Channel(channel.n_patterns, n_words + 1)
                alone = _slice(patterns, a, a + 1, n_words)
                self._search(large, alone, Intervals(*(array[a : a + 1] for array in found)))
                a += 1
                continue
            piece = _slice(patterns, a, b, int(ends[b - 1] - patterns.first[a]))
            on_device = Patterns(*(channel.send(name, getattr(piece, name)) for name in Patterns._fields))
            intervals = Intervals(channel.device["lo"][: b - a], channel.device["hi"][: b - a])
            for array in intervals:
                jit_device.fill_zero(array, channel.stream)
            self.launch(self.query, on_device, intervals, channel.stream)
            for name in Intervals._fields:
                channel.receive(name, b - a, getattr(found, name)[a:b])
            a = b

    def select(self, batch, intervals, span):
        return located.select(self.parts_of(intervals), batch, span, self.options.policy)

    def locate(self, lo, size):
        """Text positions of rows lo[i] to lo[i] + size[i], one i after the other, looked up by the device."""
        first = np.append(0, np.cumsum(size))
        positions = np.empty(first[-1], np.uint32)
        self.gpu.with_channel(self._locate, np.ascontiguousarray(lo), first, positions)
        return positions

    def _locate(self, channel, lo, first, positions):
        size = 2 * channel.n_patterns
        for a in range(0, lo.size, channel.n_patterns):
            b = min(a + channel.n_patterns, lo.size)
            on_device = channel.send("lo", lo[a:b]), channel.send("first", first[a : b + 1] - first[a])
            for begin in range(int(first[a]), int(first[b]), size):
                n = min(size, int(first[b]) - begin)
                found = channel.device["positions"][:n]
                locate_kernel[-(-n // N_THREADS), N_THREADS, channel.stream](
                    self.sa, self.layout, *on_device, begin - int(first[a]), found
                )
                channel.receive("positions", n, positions[begin : begin + n])


def _slice(patterns, a, b, n_words):
    """Patterns a to b by themselves, and the word after them."""
    base = patterns.first[a]
    return Patterns(
        patterns.words[base : base + n_words + 1], patterns.first[a:b] - base, patterns.length[a:b]
    )


def best_engine(query) -> str:
    """The fastest engine for a query: threads alone up to 96 bytes, groups beyond (docs/engines.md)."""
    if not start.knows(query) or lanes(query.layout) == 0:
        return "cuda_task-naive16"
    return "cuda_task-improved" if lanes(query.layout) <= 6 else "cuda_full"
