"""Kernels: compiled once per combination of types and kind of GPU, kept on disk, launched by the driver.

``kernel[grid, block, stream, shared](arguments)`` is the syntax of numba.  Once a kernel is kept, no compiler
is imported.  The calling convention is numba's: a number is passed as itself, a tuple as its elements, and an
array as (owner, parent, size, itemsize, address, shape, strides).  A test precedes the first kernel that is
kept; if it does not hold, numba's dispatcher launches.  NVIDIA's radix sort (package cuda-cccl) is also
kept.
"""

import contextlib
import functools
import json
import sys
import threading
from array import array
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..errors import CUDA_EXTRA, installed
from . import SIMULATED, cuda_driver, object_cache
from .cuda_driver import CudaArray
from .native import Code, number_bits, number_kind
from .piece import Module


def kinds_of(arguments: tuple) -> tuple:
    """Return the kinds of arguments; a host array counts as a device array."""
    return spread(_on_device(arguments))[0]


def _on_device(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return CudaArray(value.shape, value.dtype, 0, None)
    if isinstance(value, tuple):
        made = map(_on_device, value)
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return value


def spread(arguments: tuple) -> tuple:
    """Return (kinds of the arguments, a tuple; their slots, 64-bit words)."""
    kinds: list = []
    slots = array("q")
    _spread(arguments, kinds, slots)
    return tuple(kinds), slots


def _spread(values: Any, kinds: list, slots: Any) -> None:
    for value in values:
        if isinstance(value, CudaArray):
            kinds += value.dtype, value.ndim
            if not value.slots:
                words = 0, 0, value.size, value.dtype.itemsize, value.address, *value.shape, *value.strides
                value.slots = array("q", words).tobytes()
            slots.frombytes(value.slots)
        elif isinstance(value, tuple):
            kinds += type(value), len(value)
            _spread(value, kinds, slots)
        else:
            kind = number_kind(value)
            kinds.append(kind)
            slots.append(number_bits(value, kind))


_lock = threading.RLock()
UNKNOWN = "this version of numba-cuda or the driver is not supported; install one that fmx requires"


def compiler() -> ModuleType:
    """Return the module that compiles, which imports numba-cuda."""
    return import_module(".numba_cuda", __package__)


class Kernel:
    """A function that runs on a GPU, with at most ``max_registers`` per thread (None: no limit).

    It is kept on disk if its name, and the whole numbers that it holds, identify it.
    """

    def __init__(self, function: Callable, max_registers: int | None = None) -> None:
        functools.update_wrapper(self, function)  # type: ignore[arg-type]
        self.function, self.max_registers = function, max_registers
        held = [cell.cell_contents for cell in function.__closure__ or ()]
        self._is_named = all(isinstance(value, int) for value in held)
        self._held = tuple(map(repr, held))
        self._loaded: dict = {}

    def __getitem__(self, how: tuple) -> Callable[..., None]:
        """Select ``how`` to launch: blocks, threads of a block, stream or 0, bytes of shared memory or 0."""
        return functools.partial(self._launch, *(*how, 0, 0)[:4])

    def _launch(self, grid: int, block: int, stream: Any, shared: int, *arguments: Any) -> None:
        kinds, slots = spread(arguments)
        key = cuda_driver.number(), kinds
        code = self._loaded.get(key)
        if code is None:
            with _lock:
                code = self._loaded.get(key) or self._load(kinds, arguments)
                self._loaded[key] = code
        code(int(grid), int(block), stream, int(shared), slots, arguments)

    def _load(self, kinds: tuple, arguments: tuple) -> Callable[..., None]:
        """Return a function that launches it for arguments of some kinds, called as _launch calls it."""
        capability = cuda_driver.capability()
        code = self.kept(kinds, capability)
        if code is None:
            with object_cache.compiling():
                object_cache.report_compiling(functools.partial(is_callable, capability), UNKNOWN)
                if not is_callable(capability):
                    return compiler().by_numba(self.function, self.max_registers)
                code = self.compile(kinds, capability)
        return cuda_driver.LoadedKernel(code.body, code.symbol)

    def kept(self, kinds: tuple, capability: tuple) -> Code | None:
        """Return the code for arguments of some kinds and a compute capability, if it is on disk."""
        name = self._name(kinds, capability)
        return object_cache.load(name, object_cache.GPUS) if name else None

    def compile(self, kinds: tuple, capability: tuple) -> Code:
        """Return the code for arguments of some kinds and a compute capability; needs no such GPU."""
        what = self.function, self.max_registers, kinds, capability
        return object_cache.load_or_make(
            self._name(kinds, capability), lambda: compiler().machine_code(*what), object_cache.GPUS
        )

    def _name(self, kinds: tuple, capability: tuple) -> str:
        """Return the name that the code is kept under; empty if a name would not identify it."""
        named = [self.function, *(kind for kind in kinds if isinstance(kind, type) and kind is not tuple)]
        if not self._is_named or not all(x.__module__.startswith("fmx.") for x in named):
            return ""
        what = *self._held, _versions(), capability, self.max_registers, *kinds
        return object_cache.name_of(self.function, what)

    def attribute(self, name: str) -> int:
        """Return the largest value of a CUDA attribute, such as LOCAL_SIZE_BYTES, of all variants
        launched."""
        return max(code.attribute(name) for code in self._loaded.values())


def _versions() -> str:
    """Return the versions of the compiler and its CUDA; that of numba is in the name of the folder."""
    found = find_spec("numba_cuda")
    version = Path(found.origin).with_name("VERSION").read_text().strip() if found and found.origin else ""
    return f"{version} of CUDA {cuda_driver.toolkit()}"


def check_compiler() -> None:
    """Import the compiler, unless it is known to work here or kernels came with fmx.

    Raises DeviceError if it cannot be used.
    """
    capability = cuda_driver.capability()
    if not object_cache.is_proven(_convention(capability)) and not _probe_code(capability):
        compiler().check()


def _convention(capability: tuple) -> str:
    return f"convention numba-cuda {_versions()} {capability}"


@functools.cache
def is_callable(capability: tuple) -> bool:
    """Return whether code can be launched without the compiler; tested once per folder and kind of GPU."""
    return object_cache.prove(lambda: holds(capability), _convention(capability))


# A test whether code can be launched: whether numba's convention is as expected on this driver.
#
# If it differs, a kernel reads memory that it must not, and its process can no longer use the GPU.  So before
# a kernel is kept, a separate process launches one that takes every kind of argument.

cuda = Module()
_N_BLOCKS, _N_THREADS = 3, 64


class ProbeTuple(NamedTuple):
    """A named tuple as an argument; ``table`` int32[2, 5]."""

    table: Any
    factor: Any
    pair: tuple


@Kernel
def read_all(out, group, wide, small, marks, nothing, half):
    """Take every kind of argument; each thread writes what it received to ``out`` (float64[threads, 12])."""
    shared = cuda.shared.array(0, np.uint32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = t * small[1]
    cuda.syncthreads()
    total = 0.0
    for r in range(group.table.shape[0]):
        for c in range(group.table.shape[1]):
            total += group.table[r, c] * (10 * r + c + 1)
    out[i, 0] = total
    out[i, 1] = group.factor
    out[i, 2] = group.pair[0][t % group.pair[0].size]
    out[i, 3] = group.pair[1]
    out[i, 4] = wide[0] >> 20
    out[i, 5] = wide[1] >> np.uint64(40)
    out[i, 6] = small[0]
    out[i, 7] = small[2]
    out[i, 8] = 2 if marks[0] else (1 if marks[1] else 0)
    out[i, 9] = shared[cuda.blockDim.x - 1 - t]
    out[i, 10] = nothing.size + out.shape[0] + out.strides[0]
    out[i, 11] = half + cuda.gridDim.x


def probe_arguments(take: Callable[[np.ndarray], Any]) -> tuple:
    """Return the arguments for the launch; ``take`` copies an array to where it is used."""
    table = take(np.arange(-3, 7, dtype=np.int32).reshape(2, 5))
    line = take(np.arange(3, 40, dtype=np.uint8))
    group = ProbeTuple(table, np.float32(0.5), (line, np.int16(-300)))
    wide = -(2**62), np.uint64(2**63 + 2**41)
    small = np.int8(-7), np.uint16(65000), np.int32(-70000)
    out = take(np.zeros((_N_BLOCKS * _N_THREADS, 12), np.float64))
    return out, group, wide, small, (False, np.bool_(True)), take(np.zeros(0, np.uint64)), 2.25


def probe_result() -> np.ndarray:
    """Return what ``out`` must contain afterwards."""
    out, group, wide, small, _, _, half = probe_arguments(np.asarray)
    t = np.arange(out.shape[0]) % _N_THREADS
    weights = 10 * np.arange(2)[:, None] + np.arange(5) + 1
    out[:, 0], out[:, 1], out[:, 3] = (group.table * weights).sum(), group.factor, group.pair[1]
    out[:, 2] = group.pair[0][t % group.pair[0].size]
    out[:, 4], out[:, 5] = wide[0] >> 20, wide[1] >> np.uint64(40)
    out[:, 6], out[:, 7], out[:, 8] = small[0], small[2], 1
    out[:, 9] = (_N_THREADS - 1 - t) * int(small[1])
    out[:, 10], out[:, 11] = out.shape[0] + out.strides[0], half + _N_BLOCKS
    return out


def _probe_code(capability: tuple) -> Code | None:
    """Return the code of this kernel if it is kept: it came with all others, or was made before them."""
    return read_all.kept(kinds_of(probe_arguments(np.asarray)), capability)


def holds(capability: tuple) -> bool:
    """Return whether the compiler's code can be launched on this thread's GPU."""
    try:
        code = read_all.compile(kinds_of(probe_arguments(np.asarray)), capability)
        from .probe import ask  # once per folder and kind of GPU

        told = json.dumps([cuda_driver.number(), object_cache.pack(code).hex()])
        return json.loads(ask(__name__, told) or "[]") == probe_result().tolist()
    except Exception:  # any error: another numba-cuda or driver may lack anything
        return False


def answer() -> None:
    """Launch the code read from standard input, and print what it wrote."""
    number, packed = json.load(sys.stdin)
    cuda_driver.use(number)
    code = object_cache.unpack(bytes.fromhex(packed))
    given = probe_arguments(_to_device)
    launch = cuda_driver.LoadedKernel(code.body, code.symbol)
    launch(_N_BLOCKS, _N_THREADS, cuda_driver.Stream(), 4 * _N_THREADS, spread(given)[1])
    cuda_driver.synchronize()
    found = np.empty(given[0].shape, given[0].dtype)
    cuda_driver.download(given[0], found)
    print(json.dumps(found.tolist()))


def _to_device(array: Any) -> cuda_driver.CudaArray:
    made = cuda_driver.empty(array.shape, array.dtype)
    if array.size:
        cuda_driver.upload(np.ascontiguousarray(array), made)
    return made


# NVIDIA's radix sort, through cuda.compute.


class _Shown:
    """An array as shown to cuda.compute, which keeps its last arguments, but must not keep the memory."""

    def __init__(self, array: Any) -> None:
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def sort_pairs(
    keys: Any, values: Any, spare_keys: Any, spare_values: Any, n_bits: int, empty: Callable[[int, Any], Any]
) -> tuple[Any, Any]:
    """Sort pairs by the lowest ``n_bits`` of keys; return (keys, values), in these arrays or the spare ones.

    ``keys`` uint64[n], ``values`` uint32[n] and two more such arrays, all on the device; equal keys keep
    their order; ``empty(n, dtype)`` allocates on the device.  NumPy sorts in the CUDA simulator.
    """
    if SIMULATED:
        order = np.argsort(keys & np.uint64((1 << n_bits) - 1), kind="stable")
        spare_keys[:], spare_values[:] = keys[order], values[order]
        return spare_keys, spare_values
    compute = cccl()
    both_keys = compute.DoubleBuffer(_Shown(keys), _Shown(spare_keys))
    both_values = compute.DoubleBuffer(_Shown(values), _Shown(spare_values))
    arrays = {"d_in_keys": both_keys, "d_out_keys": None, "d_in_values": both_values, "d_out_values": None}
    sort = functools.partial(
        _sorter(cuda_driver.capability()),
        **arrays, num_items=keys.size, begin_bit=0, end_bit=n_bits,
    )  # fmt: skip
    sort(temp_storage=empty(max(sort(temp_storage=None), 1), np.uint8))
    return (spare_keys, spare_values) if both_keys.selector else (keys, values)


def cccl() -> Any:
    """Return the package, None in the CUDA simulator.  Raises DeviceError if it or a driver is missing."""
    if SIMULATED:
        return None
    with installed("cuda-cccl", CUDA_EXTRA):
        from cuda import compute

        compute.radix_sort  # noqa: B018  (it is there only where a driver is)
    return compute


@functools.cache
def _sorter(capability: tuple) -> Any:
    """Return the compiled sort of (uint64, uint32) pairs for a compute capability."""
    compute = cccl()
    name = f"radix_sort-{capability[0]}{capability[1]}-cuda{cuda_driver.toolkit()}"
    with object_cache.claimed(name):
        kept = object_cache.read(name)
        if kept is not None:
            with contextlib.suppress(ValueError):  # made by another version of cuda-cccl
                return compute.deserialize(kept)
        keys, values = (_Shown(cuda_driver.empty(1, kind)) for kind in (np.uint64, np.uint32))
        sorter = compute.make_radix_sort(
            d_in_keys=compute.DoubleBuffer(keys, keys), d_out_keys=None,
            d_in_values=compute.DoubleBuffer(values, values), d_out_values=None,
            order=compute.SortOrder.ASCENDING,
        )  # fmt: skip
        object_cache.write(name, compute.serialize(sorter))
    return sorter
