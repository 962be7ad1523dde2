"""A GPU as the host uses it: arrays, pinned memory, streams with their buffers, the memory budget, errors.

While one stream computes, the data of another are copied and the host packs and unpacks for a third.  This
module has no kernels, so `fmx pairwise` can be tested with simulated kernels and compiled CPU functions.
"""

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from queue import LifoQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler import SIMULATED, cuda_driver
from ..compiler.cuda_driver import (
    DeviceArray,
    address,
    copy,
    empty,
    fill_zero,
    free_bytes,
    mark,
    n_devices,
    n_multiprocessors,
    number,
    over,
    pinned,
    seconds_between,
    shared_bytes,
    stream,
    synchronize,
    use,
)
from ..compiler.kernels import check_compiler
from ..compiler.warp import WARP
from ..errors import DeviceError, LostDeviceError
from ..system import available_cores
from .jobs import run_all
from .progress import Clock

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["address", "n_multiprocessors", "shared_bytes"]  # for those who use a GPU
_LARGE, _PIECE = 1 << 25, 1 << 22  # bytes: arrays this large are copied by threads; size of a pinned buffer
_MOST_THREADS, _PIECES = 16, 16  # most threads that copy (more are not faster); fewest pieces per thread
_RESERVE = 512 << 20  # bytes left to the device and its libraries; if more, a twentieth of what is free


def memory_beside(memory: int, resident: int, least: int, what: str = "the index") -> int:
    """Return the bytes of ``memory`` beyond ``resident``.  Raises DeviceError if fewer than ``least``."""
    if memory - resident < least:
        raise DeviceError(
            f"{what} needs {(resident + least) / 1e9:.3g} GB of GPU memory with its buffers, and "
            f"{memory / 1e9:.3g} GB are available: raise --gpu-memory, free GPU memory, choose a smaller "
            "--layout, or use --engine cpu"
        )
    return memory - resident


def open_device(number: int = 0) -> str:
    """Select a GPU for this thread and return its name.  Raises DeviceError."""
    if SIMULATED:
        return "CUDA simulator"
    with errors():
        if not (n := n_devices()):
            raise DeviceError("no GPU that CUDA can use was found: check 'nvidia-smi', or use --engine cpu")
        needs, (major, minor) = cuda_driver.toolkit(), cuda_driver.driver_version()
        if major < needs:  # such a driver would reject the code later
            remedy = f"pip install '.[cuda{major}]' in a clone of fmx, or " if major == 12 else ""
            raise DeviceError(
                f"the GPU driver supports CUDA {major}.{minor}, but the installed packages need "
                f"CUDA {needs}: {remedy}install a newer driver"
            )
        if not 0 <= number < n:
            raise DeviceError(f"no GPU number {number}: this machine has {n}, counted from 0")
        use(number)
        check_compiler()
        return cuda_driver.device_name()


@contextmanager
def errors() -> Iterator[None]:
    """Turn errors of the CUDA driver into DeviceError or LostDeviceError with a message on what to do."""
    try:
        yield
    except DeviceError:
        raise
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        if "OUT_OF_MEMORY" in text:
            raise DeviceError(
                "the GPU's memory is full: stop other programs that use it, choose a smaller --layout, or "
                "use --engine cpu"
            ) from error
        if kind.startswith(("Cuda", "CUDA", "Nvvm", "NVVM", "NvJitLink")):
            reason = (text.splitlines() or [kind])[0]
            raise LostDeviceError(
                f"the GPU does not answer ({reason}): check 'nvidia-smi', start again, or use --engine cpu"
            ) from error
        raise


def block_size(n_threads: int) -> int:
    """Return the threads per block; in the simulator a warp, because its threads are Python threads."""
    return WARP if SIMULATED else n_threads


def to_device(value: Any) -> Any:
    """Copy an array, or a NamedTuple of arrays, to the device; return any other value unchanged."""
    copies: list[tuple[np.ndarray, DeviceArray]] = []
    copied = _allocated(value, copies)
    pieces = []
    for array, target in copies:
        if array.nbytes < _LARGE:
            copy(array, target)
            continue
        source, target = np.frombuffer(array, np.uint8), over(target, array.nbytes, np.uint8)
        pieces += [
            (source[i : i + _PIECE], target[i : min(i + _PIECE, source.size)])
            for i in range(0, source.size, _PIECE)
        ]
    if pieces:
        n_threads = min(available_cores(), _MOST_THREADS, -(-len(pieces) // _PIECES))
        run_all(_copy_pieces, [(iter(pieces), number())] * n_threads, n_threads)
    return copied


def _allocated(value: Any, copies: list[tuple[np.ndarray, DeviceArray]]) -> Any:
    """Allocate device arrays for ``value`` and append (host array, device array) pairs to ``copies``."""
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        target = empty(array.shape, array.dtype)
        copies.append((array, target))
        return target
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_allocated(item, copies) for item in value))
    return value


def _copy_pieces(pieces: Iterator[tuple[np.ndarray, DeviceArray]], number: int) -> None:
    """Copy pieces to the device until the iterator, which other threads share, is exhausted.

    Each piece goes through a pinned buffer: reading pages of a file, or memory that is not pinned, takes a
    thread longer than the transfer.
    """
    use(number)
    buffer, queue = pinned(_PIECE, np.uint8), stream()
    for source, target in pieces:
        piece = buffer[: source.size]
        np.copyto(piece, source)
        copy(piece, target, queue)
        synchronize(queue)


def words_of(array: DeviceArray) -> DeviceArray:
    """View a uint8 device array as uint32; trailing bytes that do not fill a word are left out."""
    return over(array, array.size >> 2, np.uint32)


def zeros(shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
    """Allocate a device array of zeros; ``shape`` is a number or a tuple."""
    array = empty(shape, dtype)
    fill_zero(array)
    return array


def to_host(array: DeviceArray, out: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
    """Copy a device array to host memory, into ``out`` if given."""
    return copy(array, np.empty(array.shape, array.dtype) if out is None else out, stream)


# Streams with their buffers, and the sessions that make them.


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
        self._block, self._at = empty(n_bytes, np.uint8), 0

    def __call__(self, n: int, dtype: "DTypeLike") -> DeviceArray:
        n += n >> 4
        start, self._at = self._at, self._at + n * np.dtype(dtype).itemsize
        self._at += -self._at % self._MULTIPLE
        if self._at > self._block.size:
            self._at = start
            return empty(n, dtype)
        return over(self._block[start : self._at], n, dtype)


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
            memory = pinned(n + (n >> 3), np.uint8)
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
        self.clock, self.handle, self._timed = clock, stream(), timed
        self.device_array = Arrays(Block(n_bytes) if n_bytes else empty)
        self.pinned_array = Arrays(pinned)
        self.holds: object = None  # whatever its owner keeps there
        self._marks: list = []

    def begin(self, stage: str) -> None:
        """Attribute the work given to the stream from now on to a stage."""
        if self._timed:
            self._marks.append((stage, mark(self.handle)))

    def pack(self, name: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Concatenate arrays of one dtype in pinned memory."""
        n, dtype = sum(array.size for array in arrays), arrays[0].dtype
        with self.clock.timed("copy in"):
            return np.concatenate(arrays, out=self.pinned_array(name, n, dtype)[:n])

    def send(self, name: str, packed: np.ndarray) -> DeviceArray:
        """Copy pinned memory to the device."""
        return copy(packed, self.device_array(name, packed.size, packed.dtype), self.handle)

    def receive(self, sources: "Iterable[DeviceArray]", targets: Iterable[np.ndarray]) -> None:
        """Copy device arrays into pinned arrays, as much as fits."""
        self.begin("copy out")
        for source, target in zip(sources, targets, strict=True):
            copy(source, target, self.handle)

    def launch(self, kernel: Any, n: int, block: int, *arguments: Any) -> None:
        """Launch a kernel with at least n threads in blocks of ``block``."""
        kernel[-(-n // block), block, self.handle](*arguments)

    def wait(self) -> None:
        """Wait for all work of the stream."""
        self.begin("")
        synchronize(self.handle)
        for (stage, start), (_, stop) in pairwise(self._marks):
            self.clock.add(stage, seconds_between(start, stop))
        self._marks.clear()


class GpuStreams:
    """The streams of a GPU; each is used by one host thread at a time."""

    def __init__(self, n: int, session: "GpuSession", timed: bool, at_once: int) -> None:
        self.n, self._session = n, session
        self._idle: LifoQueue[GpuStream] = LifoQueue()
        for _ in range(n):
            self._idle.put(GpuStream(session.clock, timed, at_once))

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``work(stream, ...)`` for an idle stream.  Raises DeviceError."""
        stream = self._idle.get()
        try:
            return self._session.run(work, stream, *arguments)
        finally:
            self._idle.put(stream)


class GpuSession:
    """The opened GPU ``number``: its ``name``, the ``memory`` that may be used in bytes, and a ``clock``.

    ``memory``: the limit set by the user, in bytes, or None; at most the free memory less a reserve.  Raises
    DeviceError if there is no such GPU.
    """

    def __init__(self, number: int = 0, memory: int | None = None) -> None:
        self.number, self.name, self.clock = number, open_device(number), Clock()
        with errors():
            free = free_bytes()
        spare = max(free - max(_RESERVE, free // 20), 0)
        self.memory = min(spare, memory or spare)

    def __str__(self) -> str:
        return f"GPU {self.number}, {self.name}"

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``work(...)``, run by this thread on this GPU.  Raises DeviceError."""
        use(self.number)
        with errors():
            return work(*arguments)

    def streams(
        self, most: int, resident: int = 0, n_bytes: int = 0, timed: bool = True, at_once: int = 0
    ) -> GpuStreams:
        """Create GpuStreams for host threads: at most ``most``, and as many as fit beside ``resident`` bytes.

        ``n_bytes``: what a stream may use, ``at_once`` of them allocated now; ``timed``: measure the stages
        of each stream.  Raises DeviceError.
        """
        n = min(most, memory_beside(self.memory, resident, n_bytes) // max(n_bytes, 1))
        return self.run(GpuStreams, n, self, timed, at_once)
