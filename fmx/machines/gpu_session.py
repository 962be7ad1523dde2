"""A GPU as a command uses it: how much memory there is for whom, and streams, each with its buffers.

While one stream computes, another's data are copied and the host packs and unpacks for a third.  It holds no
kernel, so that fmx pairwise can be tested with kernels of the simulator and compiled functions of the CPU.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from itertools import pairwise
from queue import LifoQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from . import gpu
from .gpu import memory_beside
from .progress import Clock
from .threads import Pool

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .gpu import DeviceArray

RESERVE = 512 << 20  # bytes left to the device and the libraries on it, or a twentieth of what is free


class Arrays:
    """Arrays by name and dtype, made anew, with an eighth more, only where a larger one is asked for.

    To allocate takes long on a GPU.  ``sizes`` {name: (n, dtype)}: what an array of that name has at least.
    """

    def __init__(
        self, make: Callable[[int, Any], Any], sizes: Mapping[str, tuple[int, Any]] | None = None
    ) -> None:
        self._make, self._sizes = make, sizes or {}
        self._held: dict[tuple[str, np.dtype], Any] = {}

    def __call__(self, name: str, n: int, dtype: "DTypeLike") -> Any:
        """The array of a name and dtype, of n elements or more."""
        key = name, np.dtype(dtype)
        held = self._held.get(key)
        if held is None or held.size < n:
            more = n >> 3 if self._held.pop(key, None) is not None else 0
            least, _ = self._sizes.get(name, (1, dtype))
            held = self._held[key] = self._make(max(n + more, least), dtype)
        return held


class PinnedPool(Pool[Arrays]):
    """Pinned Arrays for what comes back from a GPU."""

    def __init__(self) -> None:
        super().__init__(lambda: Arrays(gpu.pinned))


class GpuStream:
    """A stream; ``there``, Arrays of the device; ``here``, pinned Arrays of the host.

    ``clock`` is told what stages take there if the stream is ``timed``, which takes the host's time.
    """

    def __init__(self, clock: Clock, arrays: Mapping[str, tuple[int, Any]], timed: bool = True) -> None:
        self.clock, self.handle, self._timed = clock, gpu.stream(), timed
        self.there, self.here = Arrays(gpu.empty, arrays), Arrays(gpu.pinned, arrays)
        for name, (n, dtype) in arrays.items():
            self.there(name, n, dtype)  # at once, as long as there is memory; to pin the host's takes longer
        self.holds: object = None  # what its owner has left there
        self._marks: list = []

    def begin(self, stage: str) -> None:
        """What the stream is given from now on belongs to a stage."""
        if self._timed:
            self._marks.append((stage, gpu.mark(self.handle)))

    def pack(self, name: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Arrays of one type, one after the other, in pinned memory."""
        n, dtype = sum(array.size for array in arrays), arrays[0].dtype
        with self.clock.timed("copy in"):
            return np.concatenate(arrays, out=self.here(name, n, dtype)[:n])

    def send(self, name: str, packed: np.ndarray) -> "DeviceArray":
        """A copy on the device of what is in pinned memory."""
        return gpu.copy(packed, self.there(name, packed.size, packed.dtype), self.handle)

    def receive(self, sources: "Iterable[DeviceArray]", targets: Iterable[np.ndarray]) -> None:
        """Copy from arrays of the device what pinned arrays have room for."""
        self.begin("copy out")
        for source, target in zip(sources, targets, strict=True):
            gpu.copy(source, target, self.handle)

    def launch(self, kernel: Any, n: int, block: int, *arguments: Any) -> None:
        """Run a kernel by n threads or more, ``block`` in a block."""
        kernel[-(-n // block), block, self.handle](*arguments)

    def wait(self) -> None:
        """Wait until all is done that the stream was given."""
        self.begin("")
        gpu.synchronize(self.handle)
        for (stage, start), (_, stop) in pairwise(self._marks):
            self.clock.add(stage, gpu.seconds_between(start, stop))
        self._marks.clear()


class GpuStreams:
    """Some streams over one GPU, each used by one thread of the host at a time."""

    def __init__(
        self, n: int, session: "GpuSession", arrays: Mapping[str, tuple[int, Any]], timed: bool
    ) -> None:
        self.n, self.clock, self._session = n, session.clock, session
        self._idle: LifoQueue[GpuStream] = LifoQueue()
        self._own = threading.local()  # ``stream``: that which this thread uses now
        for _ in range(n):
            self._idle.put(session.stream(arrays, timed))

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """``work(stream, ...)`` with one that nobody uses, or with this thread's own.  Raises DeviceError."""
        if own := getattr(self._own, "stream", None):
            return work(own, *arguments)
        return self._session.run(self._run, work, *arguments)

    def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        stream = self._own.stream = self._idle.get()
        try:
            return work(stream, *arguments)
        finally:
            self._own.stream = None
            self._idle.put(stream)


class GpuSession:
    """The opened GPU ``number``, its ``name``, the ``memory`` of it that may be used, and a ``clock``.

    ``memory``: bytes that the user allows, or None; what is free is less, but for a reserve.  Raises
    DeviceError where there is no such GPU.
    """

    def __init__(self, number: int = 0, memory: int | None = None) -> None:
        self.number, self.name, self.clock = number, gpu.open_device(number), Clock()
        with gpu.errors():
            free = gpu.free_bytes()
        spare = max(free - max(RESERVE, free // 20), 0)
        self.memory = min(spare, memory or spare)

    def __str__(self) -> str:
        return f"GPU {self.number}, {self.name}"

    def share(self, part: int, whole: int) -> "GpuSession":
        """The same GPU, with a share of its memory as ``part`` is one of ``whole``."""
        own = copy(self)
        own.memory = self.memory * part // whole
        return own

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """``work(...)`` by this thread with this GPU.  Raises DeviceError."""
        gpu.use(self.number)
        with gpu.errors():
            return work(*arguments)

    def stream(self, arrays: Mapping[str, tuple[int, Any]] | None = None, timed: bool = True) -> GpuStream:
        """A stream of its owner alone."""
        return GpuStream(self.clock, arrays or {}, timed)

    def streams(
        self,
        most: int,
        resident: int = 0,
        arrays: Mapping[str, tuple[int, Any]] | None = None,
        n_bytes: int = 0,
        timed: bool = True,
    ) -> GpuStreams:
        """GpuStreams for threads of the host, ``most`` at most, as many as fit beside ``resident`` bytes.

        ``arrays`` {name: (n, dtype)}: buffers that each has at both ends at once; ``n_bytes``: what it may
        take besides; ``timed`` as of a GpuStream.  Raises DeviceError.
        """
        arrays = arrays or {}
        of_one = n_bytes + sum(n * np.dtype(dtype).itemsize for n, dtype in arrays.values())
        n = min(most, memory_beside(self.memory, resident, of_one) // max(of_one, 1))
        return self.run(GpuStreams, n, self, arrays, timed)
