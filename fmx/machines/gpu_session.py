"""What one piece of work on a GPU takes: a stream, buffers at both ends, and the time of each stage.

While one flight computes, another's data are copied and the host packs and unpacks for a third.
"""

import time
from contextlib import contextmanager
from itertools import pairwise
from queue import LifoQueue

import numpy as np

from . import gpu


class Rooms:
    """Arrays by name, made anew only where a larger one is asked for: to allocate takes long on a GPU."""

    def __init__(self, make):
        self._make, self._held = make, {}

    def __call__(self, name, n, dtype):
        """The array of a name, of n elements or more."""
        held = self._held.get(name)
        if held is None or held.size < n:
            self._held.pop(name, None)
            held = self._held[name] = self._make(max(n, 1), dtype)
        return held


class Desks:
    """Pinned Rooms for what comes back, each with one thread of the host, as many as are needed."""

    def __init__(self):
        self._idle: list = []

    def take(self) -> Rooms:
        try:
            return self._idle.pop()
        except IndexError:
            return Rooms(gpu.pinned)

    def give_back(self, rooms):
        self._idle.append(rooms)


class Flight:
    """A stream; ``there``, Rooms of the device; ``here``, pinned Rooms of the host."""

    def __init__(self, stages):
        self.stages, self.stream = stages, gpu.stream()
        self.there, self.here = Rooms(gpu.empty), Rooms(gpu.pinned)
        self.holds: object = None  # what its owner has left there
        self._marks: list = []

    @contextmanager
    def timed(self, stage):
        """Count the time that the host spends within to a stage."""
        start = time.perf_counter()
        yield
        self.stages.add(stage, time.perf_counter() - start)

    def begin(self, stage):
        """What the stream is given from now on belongs to a stage."""
        self._marks.append((stage, gpu.mark(self.stream)))

    def pack(self, name, arrays):
        """Arrays of one type, one after the other, in pinned memory."""
        n, dtype = sum(array.size for array in arrays), arrays[0].dtype
        with self.timed("copy in"):
            return np.concatenate(arrays, out=self.here(name, n, dtype)[:n])

    def send(self, name, packed):
        """A copy on the device of what is in pinned memory."""
        return gpu.copy(packed, self.there(name, packed.size, packed.dtype), self.stream)

    def receive(self, sources, targets):
        """Copy from arrays of the device what pinned arrays have room for."""
        self.begin("copy out")
        for source, target in zip(sources, targets, strict=True):
            gpu.copy(source, target, self.stream)

    def launch(self, kernel, n, block, *arguments):
        """Run a kernel by n threads or more, ``block`` in a block."""
        kernel[-(-n // block), block, self.stream](*arguments)

    def wait(self):
        """Wait until all is done that the stream was given."""
        self.begin("")
        gpu.synchronize(self.stream)
        for (stage, start), (_, stop) in pairwise(self._marks):
            self.stages.add(stage, gpu.seconds_between(start, stop))
        self._marks.clear()


def flights_for(n_threads, most) -> int:
    """How many flights serve threads of the host; the CUDA simulator runs one kernel at a time."""
    return 1 if gpu.SIMULATED else min(n_threads, most)


class Flights:
    """Some flights over one GPU, each used by one thread of the host at a time."""

    def __init__(self, n, stages, number):
        self._number, self._idle = number, LifoQueue()
        for _ in range(n):
            self._idle.put(Flight(stages))

    def run(self, work, *arguments):
        """``work(flight, ...)`` with one that nobody uses.  Raises DeviceError."""
        gpu.use(self._number)
        with gpu.errors():
            flight = self._idle.get()
            try:
                return work(flight, *arguments)
            finally:
                self._idle.put(flight)
