"""A GPU as the host uses it: arrays, streams, pinned memory, events, and driver errors as messages."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from ..compiler import cuda_driver
from ..compiler.cuda import SIMULATED, WARP, check_compiler, driver
from ..errors import DeviceError, LostDeviceError
from ..system import available_cores
from .jobs import run_all

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..compiler.cuda_driver import CudaArray


def memory_beside(memory: int, resident: int, least: int, what: str = "the index") -> int:
    """Return the bytes of ``memory`` beyond ``resident``.  Raises DeviceError if fewer than ``least``."""
    if memory - resident < least:
        raise DeviceError(
            f"{what} needs {(resident + least) / 1e9:.3g} GB of GPU memory with its buffers, and "
            f"{memory / 1e9:.3g} GB are available: raise --gpu-memory, free GPU memory, choose a smaller "
            "--layout, or use --engine cpu"
        )
    return memory - resident


# In the CUDA simulator, device memory is host memory.


# An array in GPU memory: a CudaArray, or a NumPy array in the simulator.  The NamedTuples that kernels
# take may be in host or device memory and declare their fields as np.ndarray, so this cannot be its own type.
DeviceArray: TypeAlias = Any
_LARGE, _PIECE = 1 << 25, 1 << 22  # bytes: arrays this large are copied by threads; size of a pinned buffer
_MOST_THREADS, _PIECES = 16, 16  # most threads that copy (more are not faster); fewest pieces per thread


def open_device(number: int = 0) -> str:
    """Select a GPU for this thread and return its name.  Raises DeviceError."""
    if SIMULATED:
        return "CUDA simulator"
    with errors():
        if not (n := n_devices()):
            raise DeviceError("no GPU that CUDA can use was found: check 'nvidia-smi', or use --engine cpu")
        _check_driver()
        if not 0 <= number < n:
            raise DeviceError(f"no GPU number {number}: this machine has {n}, counted from 0")
        use(number)
        check_compiler()
        return driver.device_name()


def _check_driver() -> None:
    """Raise DeviceError if the driver is older than the CUDA packages: it would reject their code later."""
    needs, (major, minor) = driver.toolkit(), driver.driver_version()
    if major < needs:
        remedy = f"pip install '.[cuda{major}]' in a clone of fmx, or " if major == 12 else ""
        raise DeviceError(
            f"the GPU driver supports CUDA {major}.{minor}, but the installed packages need "
            f"CUDA {needs}: {remedy}install a newer driver"
        )


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
            said = (text.splitlines() or [kind])[0]
            raise LostDeviceError(
                f"the GPU does not answer ({said}): check 'nvidia-smi', start again, or use --engine cpu"
            ) from error
        raise


def _no_method(array: np.ndarray) -> NoReturn:
    raise AttributeError("an array of the device has no such method (compiler/cuda_driver.py)")


class _Simulated(np.ndarray):
    """A device array in the simulator, without the methods that an array on a GPU lacks."""

    astype = copy = reshape = tolist = transpose = property(_no_method)


def block_size(n_threads: int) -> int:
    """Return the threads per block; in the simulator a warp, because its threads are Python threads."""
    return WARP if SIMULATED else n_threads


def _with_room(allocate: "Callable[[], CudaArray]") -> "CudaArray":
    """Return ``allocate()``; if memory is full, collect garbage and try once more.

    The first launch of a kernel compiles it and leaves the frames of its callers, with their arrays, in
    reference cycles.
    """
    try:
        return allocate()
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error):
            raise
    gc.collect()
    return allocate()


def take(value: Any) -> Any:
    """Copy an array, or a NamedTuple of arrays, to the device; return any other value unchanged."""
    copies: list[tuple[np.ndarray, DeviceArray]] = []
    made = _with_places(value, copies)
    pieces = []
    for array, there in copies:
        if array.nbytes < _LARGE:
            copy(array, there)
            continue
        here, target = np.frombuffer(array, np.uint8), _bytes_of(there)
        pieces += [
            (here[i : i + _PIECE], target[i : min(i + _PIECE, here.size)])
            for i in range(0, here.size, _PIECE)
        ]
    if pieces:
        n_threads = min(available_cores(), _MOST_THREADS, -(-len(pieces) // _PIECES))
        run_all(_copy_pieces, [(iter(pieces), number())] * n_threads, n_threads)
    return made


def _with_places(value: Any, copies: list[tuple[np.ndarray, DeviceArray]]) -> Any:
    """Allocate device arrays for ``value`` and append (host array, device array) pairs to ``copies``."""
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        there = empty(array.shape, array.dtype)
        copies.append((array, there))
        return there
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with_places(item, copies) for item in value))
    return value


def _copy_pieces(pieces: Iterator[tuple[np.ndarray, DeviceArray]], number: int) -> None:
    """Copy pieces to the device until the iterator, which other threads share, is exhausted.

    Each piece goes through a pinned buffer: reading pages of a file, or memory that is not pinned, takes a
    thread longer than the transfer.
    """
    use(number)
    buffer, queue = pinned(_PIECE, np.uint8), stream()
    for source, target in pieces:
        here = buffer[: source.size]
        np.copyto(here, source)
        copy(here, target, queue)
        synchronize(queue)


def _bytes_of(array: DeviceArray) -> DeviceArray:
    """View the memory of a device array as uint8."""
    return np.frombuffer(array, np.uint8) if SIMULATED else cuda_driver.over(array, array.nbytes, np.uint8)


def empty(shape: int | tuple[int, ...], dtype: "DTypeLike") -> DeviceArray:
    """Allocate an uninitialised device array; ``shape`` is a number or a tuple."""
    if SIMULATED:
        return np.empty(shape, dtype).view(_Simulated)
    return _with_room(lambda: cuda_driver.empty(shape, dtype))


def address(array: DeviceArray) -> int:
    """Return the address of a device array in device memory."""
    return array.ctypes.data if SIMULATED else array.address


def over(array: DeviceArray, n: int, dtype: "DTypeLike") -> DeviceArray:
    """View the memory of a uint8 device array as n elements of another dtype."""
    if SIMULATED:
        return array[: n * np.dtype(dtype).itemsize].view(dtype)
    return cuda_driver.over(array, n, dtype)


def words_of(array: DeviceArray) -> DeviceArray:
    """View a uint8 device array as uint32; trailing bytes that do not fill a word are left out."""
    return over(array, array.size >> 2, np.uint32)


def zeros(shape: int | tuple[int, ...], dtype: "DTypeLike") -> DeviceArray:
    """Allocate a device array of zeros; ``shape`` is a number or a tuple."""
    array = empty(shape, dtype)
    fill_zero(array)
    return array


def fill_zero(array: DeviceArray, stream: Any = 0, n: int | None = None) -> None:
    """Write zeros into a device array, or into its first n elements."""
    if SIMULATED:
        array[:n] = 0
    elif array.size:
        size = array.nbytes if n is None else n * array.dtype.itemsize
        driver.fill_zero(array.address, size, stream)


def to_host(array: DeviceArray, out: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
    """Copy a device array to host memory, into ``out`` if given."""
    if SIMULATED:
        if out is None:
            return np.array(array)
        out[:] = array
        return out
    out = np.empty(array.shape, array.dtype) if out is None else out
    cuda_driver.download(array, out, stream)
    return out


def copy(source: DeviceArray, target: DeviceArray, stream: Any = 0) -> DeviceArray:
    """Copy as much as fits into the host array, from or to the device; return ``target``.

    The host array must be pinned for the copy to overlap other work.  Faster than slicing a device array.
    """
    if SIMULATED:
        n = min(source.size, target.size)
        target[:n] = source[:n]
    elif isinstance(target, np.ndarray):
        cuda_driver.download(source, target, stream)
    else:
        cuda_driver.upload(source, target, stream)
    return target


def use(number: int) -> None:
    """Select a GPU for this thread."""
    if not SIMULATED:
        driver.use(number)


def pinned(n: int, dtype: "DTypeLike") -> np.ndarray:
    """Allocate a pinned host array, which is copied to and from the device directly."""
    return np.empty(n, dtype) if SIMULATED else cuda_driver.pinned(n, dtype)


def stream() -> Any:
    """Create a stream, a queue of work on the device; copies and kernels of different streams overlap."""
    return 0 if SIMULATED else driver.Stream()


def synchronize(stream: Any = 0) -> None:
    """Wait for the work of a stream, or for all work of the device."""
    if not SIMULATED:
        stream.synchronize() if stream else driver.synchronize()


def free_bytes() -> int:
    """Collect garbage and return the free bytes of device memory."""
    if SIMULATED:
        return 1 << 30
    if cuda_driver.Memory.is_used:  # otherwise there is none to collect, which takes 0.02 s at the start
        gc.collect()
    return driver.free_bytes()


def number() -> int:
    """Return the number of the GPU that this thread uses."""
    return 0 if SIMULATED else driver.number()


def n_devices() -> int:
    """Return the number of GPUs that CUDA finds."""
    return 1 if SIMULATED else driver.n_devices()


def n_multiprocessors() -> int:
    """Return the number of multiprocessors of the GPU."""
    return 1 if SIMULATED else driver.n_multiprocessors()


def shared_bytes() -> int:
    """Return the largest shared memory of a block of threads, in bytes."""
    return 1 << 20 if SIMULATED else driver.shared_bytes()


def mark(stream: Any = 0) -> Any:
    """Record an event that is reached when a stream has finished its work so far."""
    return time.perf_counter() if SIMULATED else driver.Event(stream)


def seconds_between(start: Any, stop: Any) -> float:
    """Return the seconds between two marks that have been reached."""
    return stop - start if SIMULATED else start.seconds_until(stop)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that the device spends on what ``work()`` starts there."""
    start = mark()
    work()
    stop = mark()
    synchronize()
    return seconds_between(start, stop)
