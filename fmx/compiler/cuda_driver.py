"""CUDA's driver through NVIDIA's bindings: GPUs, memory and arrays, streams, events, machine code.

All functions act on the GPU of the calling thread: that of its last ``use``, or the first GPU.  Memory,
streams and events are released with the last reference to them, in any thread.  Streams are CUDA's blocking
ones: they wait for stream 0, and it for them.  Functions raise CudaError (but not n_devices), and DeviceError
if the package is missing.  In the CUDA simulator there is one GPU, whose memory is the host's, and stream 0.
"""

import functools
import gc
import math
import threading
import time
import weakref
from collections.abc import Callable
from ctypes import PYFUNCTYPE, addressof, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ..errors import CUDA_EXTRA, installed
from . import SIMULATED

# An array in GPU memory: a CudaArray, or a NumPy array in the simulator.  The NamedTuples that kernels
# take may be in host or device memory and declare their fields as np.ndarray, so this cannot be its own type.
DeviceArray: TypeAlias = Any
_thread = threading.local()  # ``number``: the GPU of this thread


class CudaError(Exception):
    """The function of the driver that failed, and its error, such as CUDA_ERROR_OUT_OF_MEMORY."""


@functools.cache
def bindings() -> Any:
    """Return the module cuda.bindings.driver."""
    with installed("cuda-bindings", CUDA_EXTRA):
        from cuda.bindings import driver

        driver.cuInit  # noqa: B018  (it is there)
    return driver


def ask(name: str, *arguments: Any) -> Any:
    """Call a function of the driver; return its results: none, a value or a tuple."""
    status, *results = getattr(bindings(), name)(*arguments)
    if status:
        raise CudaError(f"{name}: {status.name}")
    return results[0] if len(results) == 1 else tuple(results)


# Functions that start work and do not wait.  NVIDIA's bindings release Python's lock for each call, and
# getting it back from another thread takes longer than the call.  These keep the lock.
_TYPES = {
    "cuLaunchKernel": (c_void_p, *7 * (c_uint,), *3 * (c_void_p,)),
    "cuMemcpyHtoDAsync": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemsetD8Async": (c_uint64, c_ubyte, c_size_t, c_void_p),
}
_SINCE = 12000  # CUDA 12.0: the version of these functions


@functools.cache
def _starter(name: str) -> Callable[..., int]:
    """Return a function of the driver that keeps Python's lock."""
    address, _ = ask("cuGetProcAddress", name.encode(), _SINCE, 0)
    return PYFUNCTYPE(c_int, *_TYPES[name])(int(address))


def start(name: str, *arguments: int) -> None:
    """Start work on the GPU by one of the functions in _TYPES."""
    if status := _starter(name)(*arguments):
        raise CudaError(f"{name}: {bindings().CUresult(status).name}")


def toolkit() -> int:
    """Return the major version of the CUDA packages, 12 or 13; an older driver rejects their code."""
    return bindings().CUDA_VERSION // 1000


def driver_version() -> tuple:
    """Return the newest CUDA version that the driver supports, as (12, 4).  There must be a driver."""
    known = ask("cuDriverGetVersion")
    return known // 1000, known % 1000 // 10


@functools.cache
def n_devices() -> int:
    """Return the number of GPUs; 0 if there is no driver or it fails."""
    if SIMULATED:
        return 1
    bindings()
    try:
        ask("cuInit", 0)
        return int(ask("cuDeviceGetCount"))
    except (CudaError, RuntimeError):  # no GPU; no driver
        return 0


@functools.cache
def _context(number: int) -> Any:
    ask("cuInit", 0)
    return ask("cuDevicePrimaryCtxRetain", ask("cuDeviceGet", number))


def use(number: int) -> None:
    """Select a GPU for this thread."""
    if not SIMULATED and getattr(_thread, "number", None) != number:
        ask("cuCtxSetCurrent", _context(number))
        _thread.number = number


def number() -> int:
    """Return the number of the GPU that this thread uses; select the first one if it has none."""
    if not hasattr(_thread, "number"):
        use(0)
    return getattr(_thread, "number", 0)


@functools.cache
def _attribute(name: str, number: int) -> int:
    kind = getattr(bindings().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(ask("cuDeviceGetAttribute", kind, number))


def capability() -> tuple:
    """Return the compute capability of the GPU, as (9, 0)."""
    return tuple(_attribute(f"COMPUTE_CAPABILITY_{part}", number()) for part in ("MAJOR", "MINOR"))


def n_multiprocessors() -> int:
    """Return the number of multiprocessors of the GPU."""
    return 1 if SIMULATED else _attribute("MULTIPROCESSOR_COUNT", number())


def shared_bytes() -> int:
    """Return the largest shared memory of a block of threads, in bytes."""
    return 1 << 20 if SIMULATED else _attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", number())


def device_name() -> str:
    """Return the name of the GPU."""
    return ask("cuDeviceGetName", 256, number()).partition(b"\0")[0].decode()


def free_bytes() -> int:
    """Collect garbage and return the free bytes of GPU memory."""
    if SIMULATED:
        return 1 << 30
    if Handle.is_used:  # else there is no such garbage; collecting takes 0.02 s at the start
        gc.collect()
    number()
    return int(ask("cuMemGetInfo")[0])


class Handle:
    """A handle of the driver, released with the last reference to this object.

    ``is_used``: whether this process has made any.
    """

    is_used = False

    def __init__(self, make: str, release: str, *arguments: int) -> None:
        self.handle = int(ask(make, *arguments))
        Handle.is_used = True
        _release_with(self, release, self.handle)

    def __int__(self) -> int:
        return self.handle


def _release_with(owner: object, name: str, handle: int) -> None:
    """Release a handle with its owner, in any thread."""

    def release(driver: Any, context: Any) -> None:
        (failed,) = driver.cuCtxPushCurrent(context)
        if not failed:  # a GPU that has stopped responding has nothing to release
            getattr(driver, name)(handle)
            driver.cuCtxPopCurrent()

    weakref.finalize(owner, release, bindings(), _context(number())).atexit = False


def stream() -> Any:
    """Create a stream, a queue of work; copies and kernels of different streams overlap."""
    number()
    return 0 if SIMULATED else Handle("cuStreamCreate", "cuStreamDestroy", 0)


def synchronize(stream: Any = 0) -> None:
    """Wait for the work of a stream, or for all work of the GPU."""
    if stream:
        ask("cuStreamSynchronize", int(stream))
    elif not SIMULATED:
        number()
        ask("cuCtxSynchronize")


def mark(stream: Any = 0) -> Any:
    """Record an event that is reached when a stream has finished its work so far."""
    if SIMULATED:
        return time.perf_counter()
    number()
    event = Handle("cuEventCreate", "cuEventDestroy", 0)
    ask("cuEventRecord", int(event), int(stream))
    return event


def seconds_between(start: Any, stop: Any) -> float:
    """Return the seconds between two marks that have been reached."""
    return stop - start if SIMULATED else ask("cuEventElapsedTime", int(start), int(stop)) / 1000


class LoadedKernel:
    """Machine code of one kernel, loaded to the GPU."""

    _LARGEST = 48 << 10  # bytes of shared memory that need no permission

    def __init__(self, cubin: bytes, symbol: str) -> None:
        number()
        self._module = ask("cuModuleLoadData", cubin)  # kept as long as the process
        self._function = ask("cuModuleGetFunction", self._module, symbol.encode())
        self._handle = int(self._function)
        self._buffers = threading.local()  # ``words``: arguments of a launch; ``places``: their addresses

    def __call__(
        self, grid: int, block: int, stream: Any, shared: int, slots: Any, arguments: tuple = ()
    ) -> None:
        """Launch ``grid`` blocks of ``block`` threads, with ``shared`` more bytes of shared memory each.

        ``slots``: array of 64-bit words, one per argument, in its lowest bytes, equally many each time;
        ``arguments`` are kept alive meanwhile.
        """
        if shared > self._LARGEST:
            kind = bindings().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            ask("cuFuncSetAttribute", self._function, kind, shared)
        buffers = self._buffers
        if not hasattr(buffers, "words"):
            buffers.words = slots[:]
            address, n = buffers.words.buffer_info()
            buffers.places = (c_void_p * n)(*range(address, address + 8 * n, 8))
        buffers.words[:] = slots
        places = addressof(buffers.places)
        start("cuLaunchKernel", self._handle, grid, 1, 1, block, 1, 1, shared, int(stream), places, 0)


# Arrays in GPU memory, for kernels and other libraries.


class CudaArray:
    """A device array in C order; ``dtype``, ``shape``, ``ndim``, ``size``, ``nbytes`` are those of NumPy.

    ``address`` of its first byte; ``owner`` keeps the memory; ``kinds`` and ``slots`` (kernels.spread):
    those as an argument, set when it first is one.
    """

    __slots__ = (
        "__weakref__", "address", "dtype", "kinds", "nbytes", "ndim", "owner", "shape", "size", "slots",
    )  # fmt: skip

    def __init__(self, shape: Any, dtype: Any, address: int, owner: object) -> None:
        self.shape, self.dtype, self.address, self.owner = shape, np.dtype(dtype), address, owner
        self.slots = b""
        self.kinds: tuple = ()
        self.ndim, self.size = len(shape), math.prod(shape)
        self.nbytes = self.size * self.dtype.itemsize

    def __getitem__(self, part: slice) -> "CudaArray":
        """Return a run of elements along the first axis, over the same memory."""
        if not isinstance(part, slice):
            raise TypeError("a device array has no elements on the host; copy it first")
        start, stop, step = part.indices(self.shape[0])
        if step != 1:
            raise ValueError("a device array can only be sliced into runs")
        shape = (max(stop - start, 0), *self.shape[1:])
        return CudaArray(shape, self.dtype, self.address + start * self.strides[0], self.owner)

    @property
    def strides(self) -> tuple:
        """Bytes between neighbours along each axis."""
        return tuple(math.prod(self.shape[i + 1 :]) * self.dtype.itemsize for i in range(self.ndim))

    @property
    def __cuda_array_interface__(self) -> dict:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "strides": None,
            "version": 3,
        }  # fmt: skip


def _no_method(array: np.ndarray) -> NoReturn:
    raise AttributeError("an array of the device has no such method (compiler/cuda_driver.py)")


class _Simulated(np.ndarray):
    """A device array in the simulator, without the methods that an array on a GPU lacks."""

    astype = copy = reshape = tolist = transpose = property(_no_method)


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)


def empty(shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
    """Allocate an uninitialised device array; ``shape`` is a number or a tuple.

    If memory is full, garbage is collected: the first launch of a kernel compiles it and leaves the frames of
    its callers, with their arrays, in reference cycles.
    """
    shape, dtype = _shape(shape), np.dtype(dtype)
    if SIMULATED:
        return np.empty(shape, dtype).view(_Simulated)
    n_bytes = math.prod(shape) * dtype.itemsize
    if not n_bytes:
        return CudaArray(shape, dtype, 0, None)
    number()
    memory = None
    try:
        memory = Handle("cuMemAlloc", "cuMemFree", n_bytes)
    except CudaError as error:
        if "OUT_OF_MEMORY" not in str(error):
            raise
    if memory is None:
        gc.collect()
        memory = Handle("cuMemAlloc", "cuMemFree", n_bytes)
    return CudaArray(shape, dtype, memory.handle, memory)


_HUGE = 2 << 20  # bytes of a page


def pinned(shape: Any, dtype: Any) -> np.ndarray:
    """Allocate an uninitialised pinned host array, which is copied to and from the device directly.

    Much memory is taken in huge pages (NumPy asks for them) and pinned then: the driver would take small
    ones, and keep other threads waiting meanwhile.
    """
    shape, dtype = _shape(shape), np.dtype(dtype)
    n_bytes = math.prod(shape) * dtype.itemsize
    if SIMULATED or not n_bytes:
        return np.empty(shape, dtype)
    number()
    if n_bytes < _HUGE:
        memory: Any = (c_ubyte * n_bytes).from_address(int(ask("cuMemHostAlloc", n_bytes, 0)))
        _release_with(memory, "cuMemFreeHost", addressof(memory))
        part = memory
    else:
        memory = np.empty(n_bytes + _HUGE, np.uint8)
        part = memory[-memory.ctypes.data % _HUGE :][:n_bytes]
        part[:: 1 << 12] = 0  # takes the pages, while other threads use the driver
        ask("cuMemHostRegister", part.ctypes.data, n_bytes, 0)
        _release_with(memory, "cuMemHostUnregister", part.ctypes.data)
    array = np.frombuffer(memoryview(part), dtype)  # so that its views have it as their base
    return array if len(shape) == 1 else array.reshape(shape)


def address(array: DeviceArray) -> int:
    """Return the address of a device array in device memory."""
    return array.ctypes.data if SIMULATED else array.address


def over(array: DeviceArray, n: int, dtype: Any) -> DeviceArray:
    """View the memory of a contiguous device array as n elements of another dtype."""
    if SIMULATED:
        return array.ravel().view(np.uint8)[: n * np.dtype(dtype).itemsize].view(dtype)
    return CudaArray((n,), dtype, array.address, array.owner)


def fill_zero(array: DeviceArray, stream: Any = 0, n: int | None = None) -> None:
    """Write zeros into a device array, or into the first n elements of a flat one."""
    if SIMULATED:
        array[:n] = 0
    elif array.size:
        n_bytes = array.nbytes if n is None else n * array.dtype.itemsize
        number()
        start("cuMemsetD8Async", array.address, 0, n_bytes, int(stream))


def copy(source: DeviceArray, target: DeviceArray, stream: Any = 0) -> DeviceArray:
    """Copy between a host and a device array, as many bytes as the smaller one has; return ``target``.

    The host array must be pinned for the copy to overlap other work; without a stream, wait for it.  Faster
    than slicing a device array.
    """
    if SIMULATED:
        n = min(source.size, target.size)
        target[:n] = source[:n]
        return target
    number()
    is_in = isinstance(source, np.ndarray)
    addresses = (target.address, source.ctypes.data) if is_in else (target.ctypes.data, source.address)
    n_bytes, name = min(source.nbytes, target.nbytes), "cuMemcpyHtoD" if is_in else "cuMemcpyDtoH"
    if stream and n_bytes:
        start(f"{name}Async", *addresses, n_bytes, int(stream))
    elif n_bytes:
        ask(name, *addresses, n_bytes)
    return target
