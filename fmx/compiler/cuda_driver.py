"""CUDA's driver by NVIDIA's own bindings: GPUs, memory, streams, events, machine code.

What a function does concerns the GPU that its thread uses: that of the last ``use``, else the first.
Memory, streams and events go with the last reference to them, whichever thread that is.  Streams are CUDA's
blocking ones: they wait for stream 0, and it for them.  All raise CudaError, and DeviceError where the
package is missing.
"""

import functools
import threading
import weakref
from ctypes import addressof, c_void_p

from ..errors import CUDA_EXTRA, DeviceError, installed

_own = threading.local()


class CudaError(Exception):
    """What the driver was asked, and the name of its answer, such as CUDA_ERROR_OUT_OF_MEMORY."""


@functools.cache
def bindings():
    """The module cuda.bindings.driver."""
    with installed("cuda-bindings", CUDA_EXTRA):
        from cuda.bindings import driver

        driver.cuInit  # noqa: B018  (it is there)
    return driver


def ask(name, *arguments):
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
def _context(number):
    ask("cuInit", 0)
    return ask("cuDevicePrimaryCtxRetain", ask("cuDeviceGet", number))


def use(number) -> None:
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
def _attribute(name, number) -> int:
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

    def __init__(self, make, give_back, *arguments):
        context = _context(number())
        self.handle = int(ask(make, *arguments))
        weakref.finalize(self, _give_back, bindings(), context, give_back, self.handle).atexit = False

    def __int__(self):
        return self.handle


def _give_back(driver, context, name, handle):
    """By whichever thread; a GPU that does not answer any more has nothing to take back."""
    (failed,) = driver.cuCtxPushCurrent(context)
    if not failed:
        getattr(driver, name)(handle)
        driver.cuCtxPopCurrent()


class Memory(_Owned):
    """Bytes of the GPU's memory, at address ``handle``."""

    def __init__(self, n_bytes):
        super().__init__("cuMemAlloc", "cuMemFree", n_bytes)


class PinnedMemory(_Owned):
    """Bytes of the host that are copied without a detour; ``np.asarray`` of it is an array over them."""

    def __init__(self, shape, dtype, n_bytes):
        super().__init__("cuMemHostAlloc", "cuMemFreeHost", n_bytes, 0)
        self.__array_interface__ = {
            "data": (self.handle, False), "shape": shape, "typestr": dtype.str, "version": 3,
        }  # fmt: skip


class Stream(_Owned):
    """A queue of work."""

    def __init__(self):
        super().__init__("cuStreamCreate", "cuStreamDestroy", 0)

    def __cuda_stream__(self):
        """Version of this protocol, and the handle, for other libraries."""
        return 0, self.handle

    def synchronize(self):
        """Wait for all work of it."""
        ask("cuStreamSynchronize", self.handle)


class Event(_Owned):
    """The point in time when a stream has done what it was given so far."""

    def __init__(self, stream=0):
        super().__init__("cuEventCreate", "cuEventDestroy", 0)
        ask("cuEventRecord", self.handle, int(stream))

    def seconds_until(self, later) -> float:
        """Seconds to an event that has been reached."""
        return ask("cuEventElapsedTime", self.handle, later.handle) / 1000


def synchronize() -> None:
    """Wait for all work of the GPU."""
    number()
    ask("cuCtxSynchronize")


def fill_zero(address, n_bytes, stream=0) -> None:
    """Write zeros into the GPU's memory."""
    number()
    ask("cuMemsetD8Async", address, 0, n_bytes, int(stream))


def copy_in(address, source, n_bytes, stream=0) -> None:
    """Copy from the host's address ``source`` to the GPU; without a stream, wait for it."""
    number()
    if not n_bytes:
        return
    if stream:
        ask("cuMemcpyHtoDAsync", address, source, n_bytes, int(stream))
    else:
        ask("cuMemcpyHtoD", address, source, n_bytes)


def copy_out(target, address, n_bytes, stream=0) -> None:
    """Copy from the GPU to the host's address ``target``; without a stream, wait for it."""
    number()
    if not n_bytes:
        return
    if stream:
        ask("cuMemcpyDtoHAsync", target, address, n_bytes, int(stream))
    else:
        ask("cuMemcpyDtoH", target, address, n_bytes)


class Code:
    """Machine code of one kernel, loaded to the GPU."""

    _LARGEST = 48 << 10  # bytes of shared memory that need no leave

    def __init__(self, cubin: bytes, symbol: str):
        number()
        self._module = ask("cuModuleLoadData", cubin)  # it stays as long as the process
        self._function = ask("cuModuleGetFunction", self._module, symbol.encode())

    def attribute(self, name) -> int:
        """One of CUfunction_attribute, as LOCAL_SIZE_BYTES or NUM_REGS."""
        kind = getattr(bindings().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(ask("cuFuncGetAttribute", kind, self._function))

    def __call__(self, grid, block, stream, shared, slots, arguments=()) -> None:
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
