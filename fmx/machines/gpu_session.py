"""A GPU as a command uses it: its memory budget, and streams with their buffers.

While one stream computes, the data of another are copied and the host packs and unpacks for a third.  This
module has no kernels, so `fmx pairwise` can be tested with simulated kernels and compiled CPU functions.
"""

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from queue import LifoQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from . import gpu
from .gpu import memory_beside
from .progress import Clock

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .gpu import DeviceArray

RESERVE = 512 << 20  # bytes left to the device and its libraries; if more, a twentieth of what is free


class Arrays:
    """Arrays by name and dtype, replaced only when a larger one is requested, with an eighth to spare.

    Allocation is slow on a GPU.
    """

    def __init__(self, make: Callable[[int, Any], Any]) -> None:
        self._make = make
        self._arrays: dict[tuple[str, np.dtype], Any] = {}

    def __call__(self, name: str, n: int, dtype: "DTypeLike") -> Any:
        """Return the array of a name and dtype, with at least n elements."""
        key = name, np.dtype(dtype)
        array = self._arrays.get(key)
        if array is None or array.size < n:
            more = n >> 3 if self._arrays.pop(key, None) is not None else 0
            array = None  # its memory may be needed
            array = self._arrays[key] = self._make(max(n + more, 1), dtype)
        return array


class Block:
    """Makes device arrays from one block of ``n_bytes``; once it is full, allocates them one by one.

    The driver keeps all threads waiting while it allocates for one.  Arrays have some room to spare: the next
    chunk may be a little larger.
    """

    _MULTIPLE = 256  # of bytes, where arrays begin

    def __init__(self, n_bytes: int) -> None:
        self._block, self._at = gpu.empty(n_bytes, np.uint8), 0

    def __call__(self, n: int, dtype: "DTypeLike") -> "DeviceArray":
        n += n >> 4
        start, self._at = self._at, self._at + n * np.dtype(dtype).itemsize
        self._at += -self._at % self._MULTIPLE
        if self._at > self._block.size:
            self._at = start
            return gpu.empty(n, dtype)
        return gpu.over(self._block[start : self._at], n, dtype)


class PinnedBuffers:
    """Makes pinned arrays of bytes, for any thread; memory is used again once no view of it is left."""

    def __init__(self) -> None:
        self._spare: deque[np.ndarray] = deque()
        self._used: set[int] = set()

    def __call__(self, n: int, dtype: Any = np.uint8) -> np.ndarray:
        """Return an array of n bytes or more."""
        memory = None
        with suppress(IndexError):
            memory = self._spare.pop()
        if memory is None or memory.size < n:
            memory = gpu.pinned(n + (n >> 3), np.uint8)
        array = np.asarray(memory.data)  # over a memoryview: its views have it as base, not ``memory``
        self._used.add(id(array))
        weakref.finalize(array, self._give_back, id(array), memory).atexit = False
        return array

    def owns(self, view: np.ndarray) -> bool:
        """Return whether this is a view of one of these arrays."""
        return id(view.base) in self._used

    def _give_back(self, number: int, memory: np.ndarray) -> None:
        self._used.discard(number)
        self._spare.append(memory)


class GpuStream:
    """A stream; ``device_array`` and ``pinned_array`` are Arrays of the device and of pinned host memory.

    If the stream is ``timed``, ``clock`` records how long stages take on the device; this costs some host
    time.  ``n_bytes`` of the device are allocated at once.
    """

    def __init__(self, clock: Clock, timed: bool = True, n_bytes: int = 0) -> None:
        self.clock, self.handle, self._timed = clock, gpu.stream(), timed
        self.device_array = Arrays(Block(n_bytes) if n_bytes else gpu.empty)
        self.pinned_array = Arrays(gpu.pinned)
        self.holds: object = None  # whatever its owner keeps there
        self._marks: list = []

    def begin(self, stage: str) -> None:
        """Attribute the work given to the stream from now on to a stage."""
        if self._timed:
            self._marks.append((stage, gpu.mark(self.handle)))

    def pack(self, name: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Concatenate arrays of one dtype in pinned memory."""
        n, dtype = sum(array.size for array in arrays), arrays[0].dtype
        with self.clock.timed("copy in"):
            return np.concatenate(arrays, out=self.pinned_array(name, n, dtype)[:n])

    def send(self, name: str, packed: np.ndarray) -> "DeviceArray":
        """Copy pinned memory to the device."""
        return gpu.copy(packed, self.device_array(name, packed.size, packed.dtype), self.handle)

    def receive(self, sources: "Iterable[DeviceArray]", targets: Iterable[np.ndarray]) -> None:
        """Copy device arrays into pinned arrays, as much as fits."""
        self.begin("copy out")
        for source, target in zip(sources, targets, strict=True):
            gpu.copy(source, target, self.handle)

    def launch(self, kernel: Any, n: int, block: int, *arguments: Any) -> None:
        """Launch a kernel with at least n threads in blocks of ``block``."""
        kernel[-(-n // block), block, self.handle](*arguments)

    def wait(self) -> None:
        """Wait for all work of the stream."""
        self.begin("")
        gpu.synchronize(self.handle)
        for (stage, start), (_, stop) in pairwise(self._marks):
            self.clock.add(stage, gpu.seconds_between(start, stop))
        self._marks.clear()


class GpuStreams:
    """The streams of a GPU; each is used by one host thread at a time."""

    def __init__(self, n: int, session: "GpuSession", timed: bool, at_once: int) -> None:
        self.n, self.clock, self._session = n, session.clock, session
        self._idle: LifoQueue[GpuStream] = LifoQueue()
        self._thread = threading.local()  # ``stream``: the one that this thread uses now
        for _ in range(n):
            self._idle.put(session.stream(timed, at_once))

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``work(stream, ...)`` for an idle stream, or the one this thread holds.  Raises
        DeviceError."""
        if stream := getattr(self._thread, "stream", None):
            return work(stream, *arguments)
        return self._session.run(self._run, work, *arguments)

    def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        stream = self._thread.stream = self._idle.get()
        try:
            return work(stream, *arguments)
        finally:
            self._thread.stream = None
            self._idle.put(stream)


class GpuSession:
    """The opened GPU ``number``: its ``name``, the ``memory`` that may be used in bytes, and a ``clock``.

    ``memory``: the limit set by the user, in bytes, or None; at most the free memory less a reserve.  Raises
    DeviceError if there is no such GPU.
    """

    def __init__(self, number: int = 0, memory: int | None = None) -> None:
        self.number, self.name, self.clock = number, gpu.open_device(number), Clock()
        with gpu.errors():
            free = gpu.free_bytes()
        spare = max(free - max(RESERVE, free // 20), 0)
        self.memory = min(spare, memory or spare)

    def __str__(self) -> str:
        return f"GPU {self.number}, {self.name}"

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``work(...)``, run by this thread on this GPU.  Raises DeviceError."""
        gpu.use(self.number)
        with gpu.errors():
            return work(*arguments)

    def stream(self, timed: bool = True, at_once: int = 0) -> GpuStream:
        """Create a stream for one owner, which allocates ``at_once`` bytes of the device."""
        return GpuStream(self.clock, timed, at_once)

    def streams(
        self, most: int, resident: int = 0, n_bytes: int = 0, timed: bool = True, at_once: int = 0
    ) -> GpuStreams:
        """Create GpuStreams for host threads: at most ``most``, and as many as fit beside ``resident`` bytes.

        ``n_bytes``: what a stream may use, ``at_once`` of them allocated now; ``timed``: measure the stages
        of each stream.  Raises DeviceError.
        """
        n = min(most, memory_beside(self.memory, resident, n_bytes) // max(n_bytes, 1))
        return self.run(GpuStreams, n, self, timed, at_once)
