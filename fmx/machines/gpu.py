"""Whether what a GPU must hold fits into its memory: the one sentence for where it does not."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from ..compiler import cuda_driver
from ..compiler.cuda import SIMULATED, WARP, check_compiler, driver
from ..errors import DeviceError, LostDeviceError
from .threads import available_cores, run_all

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..compiler.cuda_driver import CudaArray


def memory_beside(memory: int, resident: int, least: int, what: str = "the index") -> int:
    """Bytes of ``memory`` beside ``resident`` ones.  Raises DeviceError if they are fewer than ``least``."""
    if memory - resident < least:
        raise DeviceError(
            f"{what} needs {(resident + least) / 1e9:.3g} GB of GPU memory with its buffers, and "
            f"{memory / 1e9:.3g} GB may be used: raise --gpu-memory, free memory, name a smaller --layout, "
            "or take --engine cpu"
        )
    return memory - resident


# A GPU seen from the host: arrays, streams, pinned memory, events, and errors as sentences.
#
# In the CUDA simulator the device's memory is the host's.


# An array in a GPU's memory: a CudaArray, in the simulator one of NumPy.  The NamedTuples that kernels take
# lie in either memory and call their fields np.ndarray, so that this is no type of its own.
DeviceArray: TypeAlias = Any
_LARGE, _PIECE = 1 << 25, 1 << 22  # bytes of an array that threads copy to the device, and of a pinned buffer
_MOST_THREADS, _PIECES = 16, 16  # that do so: more do not copy faster; a thread has so many pieces at least


def open_device(number: int = 0) -> str:
    """Make a GPU the one that this thread uses; its name.  Raises DeviceError."""
    if SIMULATED:
        return "CUDA simulator"
    with errors():
        if not (n := n_devices()):
            raise DeviceError("no GPU that CUDA can use was found: check 'nvidia-smi', or take --engine cpu")
        _check_driver()
        if not 0 <= number < n:
            raise DeviceError(f"no GPU number {number}: this machine has {n}, counted from 0")
        use(number)
        check_compiler()
        return driver.device_name()


def _check_driver() -> None:
    """Raises DeviceError where the driver is older than the packages: it would refuse their code later."""
    needs, (major, minor) = driver.toolkit(), driver.driver_version()
    if major < needs:
        remedy = f"pip install 'fmx-mapper[cuda{major}]', or " if major == 12 else ""
        raise DeviceError(
            f"the driver of this machine knows CUDA {major}.{minor}, and the installed packages are of "
            f"CUDA {needs}: {remedy}install a newer driver"
        )


@contextmanager
def errors() -> Iterator[None]:
    """Turn what the driver says into a sentence that says what to do: DeviceError, or LostDeviceError."""
    try:
        yield
    except DeviceError:
        raise
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        if "OUT_OF_MEMORY" in text:
            raise DeviceError(
                "the GPU's memory is full: give less of it to other programs, name a smaller --layout, or "
                "take --engine cpu"
            ) from error
        if kind.startswith(("Cuda", "CUDA", "Nvvm", "NVVM", "NvJitLink")):
            said = (text.splitlines() or [kind])[0]
            raise LostDeviceError(
                f"the GPU does not answer ({said}): look at 'nvidia-smi', start again, or take --engine cpu"
            ) from error
        raise


def _no_method(array: np.ndarray) -> NoReturn:
    raise AttributeError("an array of the device has no such method (compiler/cuda_driver.py)")


class _Simulated(np.ndarray):
    """An array of the device in the simulator, which has no method that a GPU's array lacks."""

    astype = copy = reshape = tolist = transpose = property(_no_method)


def block_size(n_threads: int) -> int:
    """Threads of a block: in the simulator a warp, for they are Python threads."""
    return WARP if SIMULATED else n_threads


def _with_room(allocate: "Callable[[], CudaArray]") -> "CudaArray":
    """What ``allocate()`` gives; where memory is full, once more without what garbage holds.

    A kernel's first launch compiles it, and leaves the frames of its callers in cycles, with their arrays.
    """
    try:
        return allocate()
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error):
            raise
    gc.collect()
    return allocate()


def to_device(array: np.ndarray) -> DeviceArray:
    """A copy of an array in the device's memory."""
    return take(array)


def take(value: Any) -> Any:
    """An array, or a NamedTuple of them, copied to the device; anything else as it is."""
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
    """What ``take`` gives, its arrays not yet filled: ``copies`` gets what is to be copied where."""
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        there = empty(array.shape, array.dtype)
        copies.append((array, there))
        return there
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with_places(item, copies) for item in value))
    return value


def _copy_pieces(pieces: Iterator[tuple[np.ndarray, DeviceArray]], number: int) -> None:
    """Copy what is left of pieces to the device, in turn with other threads, which share the iterator.

    Through a pinned buffer: pages of a file, which are read only now, and memory that is not pinned, take a
    thread longer than the way to the device.
    """
    use(number)
    buffer, queue = pinned(_PIECE, np.uint8), stream()
    for source, target in pieces:
        here = buffer[: source.size]
        np.copyto(here, source)
        copy(here, target, queue)
        synchronize(queue)


def _bytes_of(array: DeviceArray) -> DeviceArray:
    """The memory of an array of the device as uint8."""
    return np.frombuffer(array, np.uint8) if SIMULATED else cuda_driver.over(array, array.nbytes, np.uint8)


def empty(shape: int | tuple[int, ...], dtype: "DTypeLike") -> DeviceArray:
    """An array of the device, not initialised; ``shape`` a number or a tuple of them."""
    if SIMULATED:
        return np.empty(shape, dtype).view(_Simulated)
    return _with_room(lambda: cuda_driver.empty(shape, dtype))


def address(array: DeviceArray) -> int:
    """Where an array of the device begins there."""
    return array.ctypes.data if SIMULATED else array.address


def words_of(array: DeviceArray) -> DeviceArray:
    """The bytes of an array of the device, uint8, as uint32; those beyond the last whole one are left out."""
    n = array.size >> 2
    return array[: 4 * n].view(np.uint32) if SIMULATED else cuda_driver.over(array, n, np.uint32)


def zeros(shape: int | tuple[int, ...], dtype: "DTypeLike") -> DeviceArray:
    """An array of zeros of the device; ``shape`` a number or a tuple of them."""
    array = empty(shape, dtype)
    fill_zero(array)
    return array


def fill_zero(array: DeviceArray, stream: Any = 0, n: int | None = None) -> None:
    """Write zeros into an array of the device, or into its first n elements."""
    if SIMULATED:
        array[:n] = 0
    elif array.size:
        size = array.nbytes if n is None else n * array.dtype.itemsize
        driver.fill_zero(array.address, size, stream)


def to_host(array: DeviceArray, out: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
    """A copy of a device's array in the host's memory (``out``, if given)."""
    if SIMULATED:
        if out is None:
            return np.array(array)
        out[:] = array
        return out
    out = np.empty(array.shape, array.dtype) if out is None else out
    cuda_driver.download(array, out, stream)
    return out


def copy(source: DeviceArray, target: DeviceArray, stream: Any = 0) -> DeviceArray:
    """Copy what the host's array has room for between it and one of the device, either way; ``target``.

    It is pinned, or the copy is not beside other work.  Unlike slices of arrays of the device, this is fast.
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
    """Let this thread use a GPU from now on, whichever it has used before."""
    if not SIMULATED:
        driver.use(number)


def pinned(n: int, dtype: "DTypeLike") -> np.ndarray:
    """An array of the host that is copied from and to the device without a detour."""
    return np.empty(n, dtype) if SIMULATED else cuda_driver.pinned(n, dtype)


def stream() -> Any:
    """A queue of work on the device; copies and kernels of different streams overlap."""
    return 0 if SIMULATED else driver.Stream()


def synchronize(stream: Any = 0) -> None:
    """Wait for a stream's work, or for all."""
    if not SIMULATED:
        stream.synchronize() if stream else driver.synchronize()


def free_bytes() -> int:
    """Memory of the device that nobody uses, nor garbage."""
    if SIMULATED:
        return 1 << 30
    if cuda_driver.Memory.is_used:  # else garbage has none, and to collect it takes 0.02 s of a start
        gc.collect()
    return driver.free_bytes()


def number() -> int:
    """Which GPU this thread uses."""
    return 0 if SIMULATED else driver.number()


def millijoules() -> int:
    """Energy that the GPU has used since its driver is loaded.  Raises DeviceError if NVML cannot tell."""
    return driver.millijoules()


def n_devices() -> int:
    """GPUs of this machine that CUDA shows."""
    return 1 if SIMULATED else driver.n_devices()


def n_multiprocessors() -> int:
    """Multiprocessors of the GPU."""
    return 1 if SIMULATED else driver.n_multiprocessors()


def shared_bytes() -> int:
    """The most shared memory that a block of threads of the GPU can have."""
    return 1 << 20 if SIMULATED else driver.shared_bytes()


def mark(stream: Any = 0) -> Any:
    """The point in time when a stream has done what it was given so far."""
    return time.perf_counter() if SIMULATED else driver.Event(stream)


def seconds_between(start: Any, stop: Any) -> float:
    """Seconds from a mark to a later one that has been reached."""
    return stop - start if SIMULATED else start.seconds_until(stop)


def timed(work: Callable[[], object]) -> float:
    """Seconds that what ``work()`` starts on the device takes there."""
    start = mark()
    work()
    stop = mark()
    synchronize()
    return seconds_between(start, stop)
