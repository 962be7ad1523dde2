"""CUDA's driver through NVIDIA's bindings: GPUs, memory and arrays, streams, events, machine code.

All functions act on the GPU of the calling thread: that of its last ``use``, or the first GPU.  Memory,
streams and events are released with the last reference to them, in any thread.  Streams are CUDA's blocking
ones: they wait for stream 0, and it for them.  All functions raise CudaError, and DeviceError if the package
is missing.
"""

import functools
import math
import threading
import weakref
from collections.abc import Callable
from ctypes import PYFUNCTYPE, addressof, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from typing import Any

import numpy as np

from ..errors import CUDA_EXTRA, installed

_own = threading.local()


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
    status, *found = getattr(bindings(), name)(*arguments)
    if status:
        raise CudaError(f"{name}: {status.name}")
    return found[0] if len(found) == 1 else tuple(found)


# Functions that start work and do not wait.  NVIDIA's bindings release Python's lock for each call, and
# getting it back from another thread takes longer than the call.  These keep the lock.
_TYPES = {
    "cuLaunchKernel": (c_void_p, *7 * (c_uint,), *3 * (c_void_p,)),
    "cuMemcpyHtoDAsync": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemsetD8Async": (c_uint64, c_ubyte, c_size_t, c_void_p),
}
_SINCE = 12000  # the version of CUDA whose functions these are


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
    """Return the number of GPUs; 0 if there is no driver."""
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
    if getattr(_own, "number", None) != number:
        ask("cuCtxSetCurrent", _context(number))
        _own.number = number


def number() -> int:
    """Return the GPU that this thread uses."""
    if not hasattr(_own, "number"):
        use(0)
    return _own.number


@functools.cache
def _attribute(name: str, number: int) -> int:
    kind = getattr(bindings().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(ask("cuDeviceGetAttribute", kind, number))


def capability() -> tuple:
    """Return the compute capability of the GPU, as (9, 0)."""
    return tuple(_attribute(f"COMPUTE_CAPABILITY_{part}", number()) for part in ("MAJOR", "MINOR"))


def n_multiprocessors() -> int:
    """Return the multiprocessors of the GPU."""
    return _attribute("MULTIPROCESSOR_COUNT", number())


def shared_bytes() -> int:
    """Return the largest shared memory of a block of threads, in bytes."""
    return _attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", number())


def device_name() -> str:
    """Return the name of the GPU."""
    return ask("cuDeviceGetName", 256, number()).partition(b"\0")[0].decode()


def free_bytes() -> int:
    """Return the free bytes of GPU memory."""
    number()
    return int(ask("cuMemGetInfo")[0])


class _Owned:
    """A handle of the driver, released with the last reference to this object."""

    def __init__(self, make: str, give_back: str, *arguments: int) -> None:
        context = _context(number())
        self.handle = int(ask(make, *arguments))
        weakref.finalize(self, _give_back, bindings(), context, give_back, self.handle).atexit = False

    def __int__(self) -> int:
        return self.handle


def _give_back(driver: Any, context: Any, name: str, handle: int, _held: object = None) -> None:
    """Release a handle, in any thread; a GPU that has stopped responding has nothing to release."""
    (failed,) = driver.cuCtxPushCurrent(context)
    if not failed:
        getattr(driver, name)(handle)
        driver.cuCtxPopCurrent()


class Memory(_Owned):
    """Bytes of GPU memory at address ``handle``; ``is_used``: whether this process has allocated any."""

    is_used = False

    def __init__(self, n_bytes: int) -> None:
        super().__init__("cuMemAlloc", "cuMemFree", n_bytes)
        Memory.is_used = True


class PinnedMemory(_Owned):
    """Pinned bytes of the host, copied directly; ``np.asarray`` of it is an array over them.

    Much memory is taken in huge pages (NumPy asks for them) and pinned then: the driver would take small
    ones, and keep other threads waiting meanwhile.
    """

    _HUGE = 2 << 20  # bytes of a page

    def __init__(self, shape: Any, dtype: Any, n_bytes: int) -> None:
        if n_bytes < self._HUGE:
            super().__init__("cuMemHostAlloc", "cuMemFreeHost", n_bytes, 0)
        else:
            memory = np.empty(n_bytes + self._HUGE, np.uint8)
            memory = memory[-memory.ctypes.data % self._HUGE :][:n_bytes]
            memory[:: 1 << 12] = 0  # takes the pages, while other threads use the driver
            self.handle, context = memory.ctypes.data, _context(number())
            ask("cuMemHostRegister", self.handle, n_bytes, 0)
            free = weakref.finalize(
                self, _give_back, bindings(), context, "cuMemHostUnregister", self.handle, memory
            )
            free.atexit = False
        self.__array_interface__ = {
            "data": (self.handle, False), "shape": shape, "typestr": dtype.str, "version": 3,
        }  # fmt: skip


class Stream(_Owned):
    """A queue of work."""

    def __init__(self) -> None:
        super().__init__("cuStreamCreate", "cuStreamDestroy", 0)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of this protocol and the handle, for other libraries."""
        return 0, self.handle

    def synchronize(self) -> None:
        """Wait for all work of the stream."""
        ask("cuStreamSynchronize", self.handle)


class Event(_Owned):
    """The point in time when a stream has finished its work so far."""

    def __init__(self, stream: Any = 0) -> None:
        super().__init__("cuEventCreate", "cuEventDestroy", 0)
        ask("cuEventRecord", self.handle, int(stream))

    def seconds_until(self, later: "Event") -> float:
        """Return the seconds to a later event that has been reached."""
        return ask("cuEventElapsedTime", self.handle, later.handle) / 1000


def synchronize() -> None:
    """Wait for all work of the GPU."""
    number()
    ask("cuCtxSynchronize")


def fill_zero(address: int, n_bytes: int, stream: Any = 0) -> None:
    """Write zeros into GPU memory."""
    number()
    start("cuMemsetD8Async", address, 0, n_bytes, int(stream))


def copy_in(address: int, source: Any, n_bytes: int, stream: Any = 0) -> None:
    """Copy from the host's address ``source`` to the GPU; without a stream, wait for it."""
    number()
    if not n_bytes:
        return
    if stream:
        start("cuMemcpyHtoDAsync", address, source, n_bytes, int(stream))
    else:
        ask("cuMemcpyHtoD", address, source, n_bytes)


def copy_out(target: Any, address: int, n_bytes: int, stream: Any = 0) -> None:
    """Copy from the GPU to the host's address ``target``; without a stream, wait for it."""
    number()
    if not n_bytes:
        return
    if stream:
        start("cuMemcpyDtoHAsync", target, address, n_bytes, int(stream))
    else:
        ask("cuMemcpyDtoH", target, address, n_bytes)


class LoadedKernel:
    """Machine code of one kernel, loaded to the GPU."""

    _LARGEST = 48 << 10  # bytes of shared memory that need no permission

    def __init__(self, cubin: bytes, symbol: str) -> None:
        number()
        self._module = ask("cuModuleLoadData", cubin)  # kept as long as the process
        self._function = ask("cuModuleGetFunction", self._module, symbol.encode())
        self._handle = int(self._function)
        self._own = threading.local()  # ``words``: the arguments of a launch; ``places``: their addresses

    def attribute(self, name: str) -> int:
        """Return an attribute of CUfunction_attribute, such as LOCAL_SIZE_BYTES or NUM_REGS."""
        kind = getattr(bindings().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(ask("cuFuncGetAttribute", kind, self._function))

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
        own = self._own
        if not hasattr(own, "words"):
            own.words = slots[:]
            address, n = own.words.buffer_info()
            own.places = (c_void_p * n)(*range(address, address + 8 * n, 8))
        own.words[:] = slots
        places = addressof(own.places)
        start("cuLaunchKernel", self._handle, grid, 1, 1, block, 1, 1, shared, int(stream), places, 0)


# Arrays in GPU memory, for kernels and other libraries.


class CudaArray:
    """A device array in C order; ``dtype``, ``shape``, ``ndim``, ``size``, ``nbytes`` are those of NumPy.

    ``address`` of its first byte; ``owner`` keeps the memory; ``slots``: as an argument, once it was one
    (kernels.py).
    """

    __slots__ = ("__weakref__", "address", "dtype", "nbytes", "ndim", "owner", "shape", "size", "slots")

    def __init__(self, shape: Any, dtype: Any, address: int, owner: object) -> None:
        self.shape, self.dtype, self.address, self.owner = shape, np.dtype(dtype), address, owner
        self.slots = b""
        self.ndim, self.size = len(shape), math.prod(shape)
        self.nbytes = self.size * self.dtype.itemsize

    def __getitem__(self, part: slice) -> "CudaArray":
        """Return a run of elements along the first axis, over the same memory."""
        if not isinstance(part, slice):
            raise TypeError("a device array has no elements on the host; copy it first")
        start, stop, step = part.indices(self.shape[0])
        if step != 1:
            raise ValueError("a device array can only be sliced into runs")
        row = math.prod(self.shape[1:]) * self.dtype.itemsize
        shape = (max(stop - start, 0), *self.shape[1:])
        return CudaArray(shape, self.dtype, self.address + start * row, self.owner)

    @property
    def strides(self) -> tuple:
        """Bytes between neighbours along each axis."""
        steps: list = []
        size = self.dtype.itemsize
        for n in reversed(self.shape):
            steps.insert(0, size)
            size *= n
        return tuple(steps)

    @property
    def __cuda_array_interface__(self) -> dict:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "strides": None,
            "version": 3,
        }  # fmt: skip


def empty(shape: Any, dtype: Any) -> CudaArray:
    """Allocate an uninitialised array; ``shape`` is a number or a tuple."""
    shape = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = Memory(n_bytes) if n_bytes else None
    return CudaArray(shape, dtype, memory.handle if memory else 0, memory)


def over(array: Any, n: int, dtype: Any) -> CudaArray:
    """View the memory of an array as n elements of another dtype."""
    return CudaArray((n,), dtype, array.address, array.owner)


def pinned(shape: Any, dtype: Any) -> np.ndarray:
    """Allocate an uninitialised pinned host array, which is copied to and from the device directly."""
    shape, dtype = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),), np.dtype(dtype)
    n_bytes = math.prod(shape) * dtype.itemsize
    return np.asarray(PinnedMemory(shape, dtype, n_bytes)) if n_bytes else np.empty(shape, dtype)


def upload(source: Any, target: Any, stream: Any = 0) -> None:
    """Fill the array ``target`` with the first bytes of a contiguous host array."""
    copy_in(target.address, source.ctypes.data, min(source.nbytes, target.nbytes), stream)


def download(source: Any, target: Any, stream: Any = 0) -> None:
    """Fill a contiguous host array with the first bytes of ``source``."""
    copy_out(target.ctypes.data, source.address, min(source.nbytes, target.nbytes), stream)
