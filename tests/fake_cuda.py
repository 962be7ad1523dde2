"""A stand-in for cuda.bindings.driver: GPUs whose memory is the host's; what is launched is only noted."""

import ctypes
import functools
import itertools
import re
import threading
from enum import IntEnum
from types import SimpleNamespace

from fmx.compiler import cuda_driver
from fmx.machines import gpu


class Status(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100


class FakeDriver:
    """``n`` GPUs with ``memory`` bytes each, by a driver that ``knows`` this CUDA.

    ``held`` {address: buffer}; ``launched`` [(kernel, grid, block, shared, stream, words)], the first words
    of its arguments, as many as ``n_params`` says; ``used`` GPUs in the order in which threads took them;
    ``freed`` streams.
    """

    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="shared")

    CUDA_VERSION, CUresult = 13000, Status

    def __init__(self, n=1, memory=1 << 30, knows=13000):
        named = {"COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 0, "MULTIPROCESSOR_COUNT": 132}
        attributes = {f"CU_DEVICE_ATTRIBUTE_{name}": value for name, value in named.items()}
        self.CUdevice_attribute = SimpleNamespace(**attributes)
        self.n, self.memory, self.knows, self.held, self.freed = n, memory, knows, {}, []
        self.launched, self.used, self.n_params = [], [], {}
        self._thread, self._numbers = threading.local(), itertools.count(1)
        self._symbols, self._called = {}, []

    def __getattr__(self, name):
        """Any other function succeeds, and gives a new handle where it makes something."""
        if not name.startswith("cu"):
            raise AttributeError(name)
        makes = name.endswith(("Create", "ModuleLoadData"))
        return lambda *_: (Status.CUDA_SUCCESS, next(self._numbers)) if makes else (Status.CUDA_SUCCESS,)

    def cuDriverGetVersion(self):
        return Status.CUDA_SUCCESS, self.knows

    def cuDeviceGetCount(self):
        return Status.CUDA_SUCCESS if self.n else Status.CUDA_ERROR_NO_DEVICE, self.n

    def cuDeviceGet(self, number):
        return Status.CUDA_SUCCESS, number

    def cuDeviceGetName(self, length, number):
        return Status.CUDA_SUCCESS, f"gpu {number}".encode().ljust(length, b"\0")

    def cuDeviceGetPCIBusId(self, length, number):
        return Status.CUDA_SUCCESS, f"0000:0{number}:00.0".encode().ljust(length, b"\0")

    def cuDeviceGetAttribute(self, value, number):
        return Status.CUDA_SUCCESS, value

    def cuDevicePrimaryCtxRetain(self, number):
        return Status.CUDA_SUCCESS, number

    def cuCtxSetCurrent(self, number):
        self._thread.number = number
        self.used.append(number)
        return (Status.CUDA_SUCCESS,)

    @property
    def current(self):
        """The GPU of this thread."""
        return self._thread.number

    def _taken(self):
        return sum(ctypes.sizeof(buffer) for buffer in self.held.values())

    def cuMemGetInfo(self):
        return Status.CUDA_SUCCESS, self.memory - self._taken() + self.current, self.memory

    def cuMemAlloc(self, n_bytes):
        if self._taken() + n_bytes > self.memory:
            return Status.CUDA_ERROR_OUT_OF_MEMORY, 0
        buffer = ctypes.create_string_buffer(n_bytes)
        self.held[ctypes.addressof(buffer)] = buffer
        return Status.CUDA_SUCCESS, ctypes.addressof(buffer)

    def cuMemHostAlloc(self, n_bytes, flags):
        return self.cuMemAlloc(n_bytes)

    def cuMemFree(self, address):
        del self.held[int(address)]
        return (Status.CUDA_SUCCESS,)

    cuMemFreeHost = cuMemFree

    def cuStreamDestroy(self, handle):
        self.freed.append(handle)
        return (Status.CUDA_SUCCESS,)

    def cuMemcpyHtoD(self, target, source, n_bytes, stream=0):
        ctypes.memmove(int(target), int(source), n_bytes)
        return (Status.CUDA_SUCCESS,)

    cuMemcpyDtoH = cuMemcpyHtoDAsync = cuMemcpyDtoHAsync = cuMemcpyHtoD

    def cuMemsetD8Async(self, address, value, n_bytes, stream):
        ctypes.memset(address, value, n_bytes)
        return (Status.CUDA_SUCCESS,)

    def cuEventElapsedTime(self, start, stop):
        return Status.CUDA_SUCCESS, 1000.0 * (stop - start)

    def cuModuleGetFunction(self, module, symbol):
        self._symbols[number := next(self._numbers)] = symbol.decode()
        return Status.CUDA_SUCCESS, number

    def cuGetProcAddress(self, name, version, flags):
        """A C function that calls the one of this name here."""
        kind = ctypes.PYFUNCTYPE(ctypes.c_int, *cuda_driver._TYPES[name.decode()])
        function = kind(lambda *given: getattr(self, name.decode())(*given)[0])
        self._called.append(function)
        return Status.CUDA_SUCCESS, ctypes.cast(function, ctypes.c_void_p).value, 0

    def cuLaunchKernel(self, function, *how):
        grid, _, _, block, _, _, shared, stream, places, _ = how
        function = self._symbols[function]
        n = self.n_params.get(function, 0)
        words = [ctypes.c_uint64.from_address(p).value for p in (ctypes.c_uint64 * n).from_address(places)]
        self.launched.append((function, grid, block, shared, stream or 0, words))
        return (Status.CUDA_SUCCESS,)


def params_of(ptx) -> list:
    """Bytes of each parameter of the kernel in PTX."""
    head = ptx[ptx.index(".entry") : ptx.index("{")]
    return [int(bits) // 8 for bits in re.findall(r"\.param \.[a-z](\d+)", head)]


def install(monkeypatch, kind=FakeDriver, **how) -> FakeDriver:
    """Let fmx use a FakeDriver, or another ``kind``, until the test ends."""
    fake = kind(**how)
    monkeypatch.setattr(cuda_driver, "bindings", lambda: fake)
    monkeypatch.setattr(cuda_driver, "_thread", threading.local())
    for name in ("n_devices", "_starter", "_context", "_attribute"):  # of one driver
        monkeypatch.setattr(cuda_driver, name, functools.cache(getattr(cuda_driver, name).__wrapped__))
    monkeypatch.setattr(gpu, "n_devices", cuda_driver.n_devices)
    return fake
