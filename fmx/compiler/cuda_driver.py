"""CUDA's driver by NVIDIA's own bindings: GPUs, memory and arrays in it, streams, events, machine code.

What a function does concerns the GPU that its thread uses: that of the last ``use``, else the first.
Memory, streams and events go with the last reference to them, whichever thread that is.  Streams are CUDA's
blocking ones: they wait for stream 0, and it for them.  All raise CudaError, and DeviceError where the
package is missing.
"""

import functools
import math
import threading
import weakref
from ctypes import addressof, c_void_p
from typing import Any

import numpy as np

from ..errors import CUDA_EXTRA, DeviceError, installed

_own = threading.local()


class CudaError(Exception):
    """What the driver was asked, and the name of its answer, such as CUDA_ERROR_OUT_OF_MEMORY."""


@functools.cache
def bindings() -> Any:
    """The module cuda.bindings.driver."""
    with installed("cuda-bindings", CUDA_EXTRA):
        from cuda.bindings import driver

        driver.cuInit  # noqa: B018  (it is there)
    return driver


def ask(name: str, *arguments: Any) -> Any:
    """What a function of the driver gives: nothing, a value or a tuple of them."""
    status, *found = getattr(bindings(), name)(*arguments)
    if status:
        raise CudaError(f"{name}: {status.name}")
    return found[0] if len(found) == 1 else tuple(found)


def toolkit() -> int:
    """The CUDA whose packages are installed, 12 or 13; an older driver does not take code that it makes."""
    return bindings().CUDA_VERSION // 1000


def driver_version() -> tuple:
    """The newest CUDA that the driver knows, as (12, 4).  There must be a driver."""
    known = ask("cuDriverGetVersion")
    return known // 1000, known % 1000 // 10


@functools.cache
def n_devices() -> int:
    """GPUs of this machine; 0 where there is no driver for one."""
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
    """Let this thread use a GPU from now on."""
    if getattr(_own, "number", None) != number:
        ask("cuCtxSetCurrent", _context(number))
        _own.number = number


def number() -> int:
    """The GPU that this thread uses."""
    if not hasattr(_own, "number"):
        use(0)
    return _own.number


@functools.cache
def _attribute(name: str, number: int) -> int:
    kind = getattr(bindings().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(ask("cuDeviceGetAttribute", kind, number))


def capability() -> tuple:
    """Compute capability of the GPU, as (9, 0)."""
    return tuple(_attribute(f"COMPUTE_CAPABILITY_{part}", number()) for part in ("MAJOR", "MINOR"))


def n_multiprocessors() -> int:
    """Multiprocessors of the GPU."""
    return _attribute("MULTIPROCESSOR_COUNT", number())


def shared_bytes() -> int:
    """The most shared memory that a block of threads of the GPU can have."""
    return _attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", number())


def device_name() -> str:
    """Name of the GPU."""
    return ask("cuDeviceGetName", 256, number()).partition(b"\0")[0].decode()


@functools.cache
def nvml():
    """The module cuda.bindings.nvml, ready."""
    with installed("cuda-bindings", CUDA_EXTRA):
        from cuda.bindings import nvml

        nvml.init_v2()
    return nvml


@functools.cache
def _nvml_device(number):
    # CUDA_VISIBLE_DEVICES changes CUDA's numbers of GPUs and not NVML's; both know a GPU's place.
    place = ask("cuDeviceGetPCIBusId", 16, number).partition(b"\0")[0].decode()
    return nvml().device_get_handle_by_pci_bus_id_v2(place)


def millijoules() -> int:
    """Energy that the GPU has used since its driver is loaded.  Raises DeviceError if NVML cannot tell."""
    try:
        return nvml().device_get_total_energy_consumption(_nvml_device(number()))
    except nvml().NvmlError as error:
        raise DeviceError(f"NVML says of this GPU: {error}") from error


def free_bytes() -> int:
    """Memory of the GPU that nobody uses."""
    number()
    return int(ask("cuMemGetInfo")[0])


class _Owned:
    """A handle of the driver, given back with the last reference to this."""

    def __init__(self, make: str, give_back: str, *arguments: int) -> None:
        context = _context(number())
        self.handle = int(ask(make, *arguments))
        weakref.finalize(self, _give_back, bindings(), context, give_back, self.handle).atexit = False

    def __int__(self) -> int:
        return self.handle


def _give_back(driver: Any, context: Any, name: str, handle: int) -> None:
    """By whichever thread; a GPU that does not answer any more has nothing to take back."""
    (failed,) = driver.cuCtxPushCurrent(context)
    if not failed:
        getattr(driver, name)(handle)
        driver.cuCtxPopCurrent()


class Memory(_Owned):
    """Bytes of the GPU's memory, at address ``handle``; ``is_used``: by this process, so far."""

    is_used = False

    def __init__(self, n_bytes: int) -> None:
        super().__init__("cuMemAlloc", "cuMemFree", n_bytes)
        Memory.is_used = True


class PinnedMemory(_Owned):
    """Bytes of the host that are copied without a detour; ``np.asarray`` of it is an array over them."""

    def __init__(self, shape: Any, dtype: Any, n_bytes: int) -> None:
        super().__init__("cuMemHostAlloc", "cuMemFreeHost", n_bytes, 0)
        self.__array_interface__ = {
            "data": (self.handle, False), "shape": shape, "typestr": dtype.str, "version": 3,
        }  # fmt: skip


class Stream(_Owned):
    """A queue of work."""

    def __init__(self) -> None:
        super().__init__("cuStreamCreate", "cuStreamDestroy", 0)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version of this protocol, and the handle, for other libraries."""
        return 0, self.handle

    def synchronize(self) -> None:
        """Wait for all work of it."""
        ask("cuStreamSynchronize", self.handle)


class Event(_Owned):
    """The point in time when a stream has done what it was given so far."""

    def __init__(self, stream: Any = 0) -> None:
        super().__init__("cuEventCreate", "cuEventDestroy", 0)
        ask("cuEventRecord", self.handle, int(stream))

    def seconds_until(self, later: "Event") -> float:
        """Seconds to an event that has been reached."""
        return ask("cuEventElapsedTime", self.handle, later.handle) / 1000


def synchronize() -> None:
    """Wait for all work of the GPU."""
    number()
    ask("cuCtxSynchronize")


def fill_zero(address: int, n_bytes: int, stream: Any = 0) -> None:
    """Write zeros into the GPU's memory."""
    number()
    ask("cuMemsetD8Async", address, 0, n_bytes, int(stream))


def copy_in(address: int, source: Any, n_bytes: int, stream: Any = 0) -> None:
    """Copy from the host's address ``source`` to the GPU; without a stream, wait for it."""
    number()
    if not n_bytes:
        return
    if stream:
        ask("cuMemcpyHtoDAsync", address, source, n_bytes, int(stream))
    else:
        ask("cuMemcpyHtoD", address, source, n_bytes)


def copy_out(target: Any, address: int, n_bytes: int, stream: Any = 0) -> None:
    """Copy from the GPU to the host's address ``target``; without a stream, wait for it."""
    number()
    if not n_bytes:
        return
    if stream:
        ask("cuMemcpyDtoHAsync", target, address, n_bytes, int(stream))
    else:
        ask("cuMemcpyDtoH", target, address, n_bytes)


class LoadedKernel:
    """Machine code of one kernel, loaded to the GPU."""

    _LARGEST = 48 << 10  # bytes of shared memory that need no leave

    def __init__(self, cubin: bytes, symbol: str) -> None:
        number()
        self._module = ask("cuModuleLoadData", cubin)  # it stays as long as the process
        self._function = ask("cuModuleGetFunction", self._module, symbol.encode())

    def attribute(self, name: str) -> int:
        """One of CUfunction_attribute, as LOCAL_SIZE_BYTES or NUM_REGS."""
        kind = getattr(bindings().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(ask("cuFuncGetAttribute", kind, self._function))

    def __call__(
        self, grid: int, block: int, stream: Any, shared: int, slots: Any, arguments: tuple = ()
    ) -> None:
        """Run it with ``grid`` blocks of ``block`` threads, each block with ``shared`` bytes more.

        ``slots``: array of 64-bit words, one for each argument, which is its lowest bytes; ``arguments`` stay
        alive meanwhile.
        """
        if shared > self._LARGEST:
            kind = bindings().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            ask("cuFuncSetAttribute", self._function, kind, shared)
        address, n = slots.buffer_info()
        places = (c_void_p * n)(*range(address, address + 8 * n, 8))
        ask(
            "cuLaunchKernel",
            self._function,
            grid,
            1,
            1,
            block,
            1,
            1,
            shared,
            int(stream),
            addressof(places),
            0,
        )


# Arrays in a GPU's memory, as kernels and other libraries take them.


class CudaArray:
    """An array of the device, in C order; ``dtype``, ``shape``, ``ndim``, ``size``, ``nbytes`` as of NumPy's.

    ``address`` of its first byte; ``owner`` keeps the memory.
    """

    __slots__ = ("__weakref__", "address", "dtype", "nbytes", "ndim", "owner", "shape", "size")

    def __init__(self, shape: Any, dtype: Any, address: int, owner: object) -> None:
        self.shape, self.dtype, self.address, self.owner = shape, np.dtype(dtype), address, owner
        self.ndim, self.size = len(shape), math.prod(shape)
        self.nbytes = self.size * self.dtype.itemsize

    def __getitem__(self, part: slice) -> "CudaArray":
        """A run of it along its first axis, over the same memory."""
        if not isinstance(part, slice):
            raise TypeError("an array of the device has no elements for the host; copy it there")
        start, stop, step = part.indices(self.shape[0])
        if step != 1:
            raise ValueError("an array of the device is cut into runs only")
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
    """An array that is not initialised; ``shape`` a number or a tuple of them."""
    shape = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = Memory(n_bytes) if n_bytes else None
    return CudaArray(shape, dtype, memory.handle if memory else 0, memory)


def over(array: Any, n: int, dtype: Any) -> CudaArray:
    """The memory of an array as n elements of another type."""
    return CudaArray((n,), dtype, array.address, array.owner)


def pinned(shape: Any, dtype: Any) -> np.ndarray:
    """An array of the host that is copied from and to the device without a detour, not initialised."""
    shape, dtype = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),), np.dtype(dtype)
    n_bytes = math.prod(shape) * dtype.itemsize
    return np.asarray(PinnedMemory(shape, dtype, n_bytes)) if n_bytes else np.empty(shape, dtype)


def upload(source: Any, target: Any, stream: Any = 0) -> None:
    """Fill the array ``target`` with the first bytes of a contiguous one of the host."""
    copy_in(target.address, source.ctypes.data, min(source.nbytes, target.nbytes), stream)


def download(source: Any, target: Any, stream: Any = 0) -> None:
    """Fill a contiguous array of the host with the first bytes of ``source``."""
    copy_out(target.ctypes.data, source.address, min(source.nbytes, target.nbytes), stream)
