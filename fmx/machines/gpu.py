"""A GPU seen from the host: arrays, streams, pinned memory, events, and errors as sentences.

In the CUDA simulator the device's memory is the host's.
"""

import gc
import time
from contextlib import contextmanager

import numpy as np

from ..compiler.cuda import SIMULATED, WARP, check_compiler, cuda
from ..errors import DeviceError, LostDeviceError


def open_device(number=0):
    """Make a GPU the one that this thread uses; its name.  Raises DeviceError."""
    if SIMULATED:
        return "CUDA simulator"
    with errors():
        if not (n := n_devices()):
            raise DeviceError("no GPU that CUDA can use was found: check 'nvidia-smi', or take --engine cpu")
        if not 0 <= number < n:
            raise DeviceError(f"no GPU number {number}: this machine has {n}, counted from 0")
        check_compiler()
        use(number)
        name = cuda.get_current_device().name
        return name.decode() if isinstance(name, bytes) else name


@contextmanager
def errors():
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
        # Numba holds a device's memory weakly: a reset takes it away.
        if kind.startswith(("Cuda", "CUDA", "Nvvm", "NVVM")) or kind == "ReferenceError":
            said = (text.splitlines() or [kind])[0]
            raise LostDeviceError(
                f"the GPU does not answer ({said}): look at 'nvidia-smi', start again, or take --engine cpu"
            ) from error
        raise


def block_size(n_threads):
    """Threads of a block: in the simulator a warp, for they are Python threads."""
    return WARP if SIMULATED else n_threads


def _with_room(allocate):
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


def to_device(array, stream=0):
    """A copy of an array in the device's memory."""
    if SIMULATED:
        return np.array(array)
    return _with_room(lambda: cuda.to_device(np.ascontiguousarray(array), stream=stream))


def empty(n, dtype):
    """An array of the device, not initialised."""
    return np.empty(n, dtype) if SIMULATED else _with_room(lambda: cuda.device_array(n, dtype))


def zeros(n, dtype):
    """An array of zeros of the device."""
    array = empty(n, dtype)
    fill_zero(array)
    return array


def fill_zero(array, stream=0, n=None):
    """Write zeros into an array of the device, or into its first n elements."""
    if SIMULATED:
        array[:n] = 0
    elif array.size:
        size = array.nbytes if n is None else n * array.dtype.itemsize
        cuda.driver.device_memset(array, 0, size, stream=stream)


def to_host(array, out=None, stream=0):
    """A copy of a device's array in the host's memory (``out``, if given)."""
    if SIMULATED:
        if out is None:
            return array.copy()
        out[:] = array
        return out
    return array.copy_to_host(out, stream=stream)


def copy(source, target, stream=0):
    """Copy what the host's array has room for between it and one of the device, either way; ``target``.

    It is pinned, or the copy is not beside other work.  Unlike slices of arrays of the device, this is fast.
    """
    if SIMULATED:
        n = min(source.size, target.size)
        target[:n] = source[:n]
    elif isinstance(target, np.ndarray):
        cuda.driver.device_to_host(target, source, target.nbytes, stream)
    else:
        cuda.driver.host_to_device(target, source, source.nbytes, stream)
    return target


def use(number):
    """Let this thread use a GPU from now on, whichever it has used before."""
    if not SIMULATED and ((now := cuda.gpus.current) is None or now.id != number):
        cuda.select_device(number)


def pinned(n, dtype):
    """An array of the host that is copied from and to the device without a detour."""
    return np.empty(n, dtype) if SIMULATED else cuda.pinned_array(int(n), dtype)  # not a number of NumPy


def stream():
    """A queue of work on the device; copies and kernels of different streams overlap."""
    return 0 if SIMULATED else cuda.stream()


def synchronize(stream=0):
    """Wait for a stream's work, or for all."""
    if not SIMULATED:
        stream.synchronize() if stream else cuda.synchronize()


def free_bytes() -> int:
    """Memory of the device that nobody uses, nor garbage."""
    if SIMULATED:
        return 1 << 30
    gc.collect()
    context = cuda.current_context()
    context.memory_manager.deallocations.clear()
    return int(context.get_memory_info().free)


def number() -> int:
    """Which GPU this thread uses."""
    return 0 if SIMULATED else cuda.get_current_device().id


def n_devices() -> int:
    """GPUs of this machine that CUDA shows."""
    if SIMULATED:
        return 1
    return len(cuda.gpus) if cuda.is_available() else 0


def n_multiprocessors() -> int:
    """Multiprocessors of the GPU."""
    return 1 if SIMULATED else cuda.get_current_device().MULTIPROCESSOR_COUNT


def mark(stream=0):
    """The point in time when a stream has done what it was given so far."""
    if SIMULATED:
        return time.perf_counter()
    event = cuda.event()
    event.record(stream)
    return event


def seconds_between(start, stop) -> float:
    """Seconds from a mark to a later one that has been reached."""
    return stop - start if SIMULATED else cuda.event_elapsed_time(start, stop) / 1000


def timed(work) -> float:
    """Seconds that what ``work()`` starts on the device takes there."""
    start = mark()
    work()
    stop = mark()
    synchronize()
    return seconds_between(start, stop)
