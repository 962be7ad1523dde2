"""A GPU as a command uses it: its memory, streams with their buffers, what kernels report, jobs it does.

While one stream computes, another's data are copied and the host packs and unpacks for a third.  Running
totals are made by a block of threads in one launch: CUDA's library would serve one thread of the host at a
time, and cost each command its import.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import pairwise
from queue import LifoQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler import kernels
from ..compiler.warp import INT64, cuda, grid_size, kernel, sync_block, thread_in_block, thread_index
from . import gpu
from .gpu import memory_beside
from .jobs import ONE_CORE, Backend, do
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


_SUM_THREADS = 1024
_SLOTS = 32


class KernelReport:
    """Numbers that kernels write for the host, zeros at first: ``there`` and ``here`` int64, of a stream."""

    def __init__(self, stream: "GpuStream") -> None:
        self._stream = stream
        self.there, self.here = (arrays("report", _SLOTS, np.int64) for arrays in (stream.there, stream.here))
        gpu.fill_zero(self.there, stream.handle)

    def __getitem__(self, slot: int) -> int:
        """A number as it was when they were read last."""
        return int(self.here[slot])

    def read(self) -> None:
        """Wait for all that the stream was given, and for the numbers."""
        self._stream.receive([self.there], [self.here])
        self._stream.wait()


@kernel
def add_up_kernel(sizes, n, report, slot):
    """sizes[i] = sizes[0] + ... + sizes[i - 1], in place for 0 <= i <= n; ``sizes`` int64[n + 1 or more].

    ``report[slot]`` (int64) gets the last.  One block, 8 bytes of shared memory a thread.
    """
    own, n_threads = thread_in_block(), grid_size()
    stretch = (n + n_threads - 1) // n_threads
    start, stop = min(own * stretch, n), min((own + 1) * stretch, n)
    total = 0
    for i in range(start, stop):
        total += sizes[i]
    sums = cuda.shared.array(0, INT64)
    sums[own] = total
    sync_block()
    reach = 1
    while reach < n_threads:
        before = sums[own - reach] if own >= reach else 0
        sync_block()
        sums[own] += before
        sync_block()
        reach *= 2
    before = sums[own] - total
    for i in range(start, stop):
        size = sizes[i]
        sizes[i] = before
        before += size
    if own == n_threads - 1:
        sizes[n] = report[slot] = before


def add_up(stream: "GpuStream", sizes: "DeviceArray", n: int, report: KernelReport, slot: int) -> None:
    """Turn the first n ``sizes`` (int64 on the device) into their running totals, one more of them.

    ``slot`` of the KernelReport gets the total.
    """
    n_threads = gpu.block_size(_SUM_THREADS)
    add_up_kernel[1, n_threads, stream.handle, 8 * n_threads](sizes, n, report.there, slot)


# The jobs of jobs.py on a GPU: a stretch is a thread's, so that no step needs a kernel of its own.

_N_THREADS = 256
_THREADS_OF_A_MULTIPROCESSOR = 2048


@kernel
def do_kernel(job, n, size):
    """Stretch i of a job, ``size`` things of n, by thread i."""
    stretch = thread_index()
    start = stretch * size
    if start < n:
        do(job, stretch, start, min(start + size, n))


def run(job: Any, n: int, size: int = 1) -> None:
    """Do all n things of a job on the GPU that this thread uses, ``size`` by a thread."""
    if n:
        n_threads = gpu.block_size(_N_THREADS)
        do_kernel[-(-n // size // n_threads), n_threads](job, np.int64(n), np.int64(size))


class Gpu(Backend):
    """The GPU of a GpuSession, of which ``memory`` bytes may be used."""

    empty, zeros, run = staticmethod(gpu.empty), staticmethod(gpu.zeros), staticmethod(run)
    take, to_host = staticmethod(gpu.take), staticmethod(gpu.to_host)
    synchronize, errors = staticmethod(gpu.synchronize), staticmethod(gpu.errors)

    def __init__(self, session: "GpuSession") -> None:
        """Raises DeviceError where there is no package that sorts on it."""
        kernels.cccl()  # here, not amid the work
        self.name, self.memory, self.number = str(session), session.memory, session.number

    def pieces(self, array: "np.ndarray | DeviceArray", n: int) -> Iterator[np.ndarray]:
        """Of an array of the GPU or of the host, for any thread, through pinned memory."""
        if isinstance(array, np.ndarray):
            yield from ONE_CORE.pieces(array, n)
            return
        gpu.use(self.number)
        buffer = gpu.pinned(min(n, array.size), array.dtype)
        for i in range(0, max(array.size, 1), n):
            m = min(n, array.size - i)
            yield gpu.to_host(array[i : i + m], buffer[:m])

    def stretch_size(self, n: int, multiple: int = 1) -> int:
        """Things of a stretch, a multiple of ``multiple``, such that n things keep every thread busy."""
        n_threads = 1 if gpu.SIMULATED else gpu.n_multiprocessors() * _THREADS_OF_A_MULTIPROCESSOR
        return max(-(-n // n_threads // multiple), 1) * multiple

    def sort_pairs(
        self,
        keys: "DeviceArray",
        values: "DeviceArray",
        spare_keys: "DeviceArray",
        spare_values: "DeviceArray",
        n_bits: int,
    ) -> "tuple[DeviceArray, DeviceArray]":
        """(keys, values), uint64 and uint32, sorted by keys below 2^n_bits: in these arrays or the spare."""
        return kernels.sort_pairs(keys, values, spare_keys, spare_values, n_bits, gpu.empty)
