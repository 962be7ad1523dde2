"""A GPU as the host uses it: arrays, streams, pinned memory, events, and driver errors as messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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

# For those who use a GPU, besides what this module uses.
__all__ = ["address", "free_bytes", "mark", "n_multiprocessors", "seconds_between", "shared_bytes"]
_LARGE, _PIECE = 1 << 25, 1 << 22  # bytes: arrays this large are copied by threads; size of a pinned buffer
_MOST_THREADS, _PIECES = 16, 16  # most threads that copy (more are not faster); fewest pieces per thread


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
