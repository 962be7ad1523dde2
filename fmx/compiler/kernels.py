"""Kernels: compiled once per combination of types and kind of GPU, kept on disk, launched by the driver.

``kernel[grid, block, stream, shared](arguments)`` is the syntax of numba.  Once a kernel is kept, no compiler
is imported.  The calling convention is numba's: a number is passed as itself, a tuple as its elements, and an
array as (owner, parent, size, itemsize, address, shape, strides).  NVIDIA's radix sort (package cuda-cccl) is
also kept.
"""

import contextlib
import functools
import threading
from array import array
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import CUDA_EXTRA, DeviceError, installed
from . import SIMULATED, cuda_driver, native, object_cache
from .cuda_driver import CudaArray, LoadedKernel
from .native import Code
from .piece import NumbaCuda

cuda = NumbaCuda()
_lock = threading.RLock()


def spread(arguments: tuple) -> tuple:
    """Return (kinds of the arguments, a tuple; their slots, 64-bit words), for arrays in GPU memory."""
    kinds: list = []
    slots = array("q")
    native.fill(arguments, kinds, slots, CudaArray, _add_array)
    return tuple(kinds), slots


def _add_array(value: CudaArray, kinds: list, slots: array) -> None:
    if not value.slots:
        value.kinds = value.dtype, value.ndim, "C"
        words = 0, 0, value.size, value.dtype.itemsize, value.address, *value.shape, *value.strides
        value.slots = array("q", words).tobytes()
    kinds += value.kinds
    slots.frombytes(value.slots)


def compiler() -> ModuleType:
    """Return the module that compiles, which imports numba-cuda."""
    return import_module(".numba_cuda", __package__)


class Kernel:
    """A function that runs on a GPU, with at most ``max_registers`` per thread (None: no limit).

    It is kept on disk unless it uses variables of another function.
    """

    def __init__(self, function: Callable, max_registers: int | None = None) -> None:
        functools.update_wrapper(self, function)  # type: ignore[arg-type]
        self.function, self.max_registers = function, max_registers
        self._loaded: dict = {}

    def __getitem__(self, how: tuple) -> Callable[..., None]:
        """Select ``how`` to launch: blocks, threads of a block, stream or 0, bytes of shared memory or 0."""
        return functools.partial(self._launch, *(*how, 0, 0)[:4])

    def _launch(self, grid: int, block: int, stream: Any, shared: int, *arguments: Any) -> None:
        kinds, slots = spread(arguments)
        key = cuda_driver.number(), kinds
        loaded = self._loaded.get(key)
        if loaded is None:
            with _lock:
                if (loaded := self._loaded.get(key)) is None:
                    code = self.code(kinds, cuda_driver.capability())
                    loaded = self._loaded[key] = LoadedKernel(code.body, code.symbol)
        loaded(int(grid), int(block), stream, int(shared), slots, arguments)

    def code(self, kinds: tuple, capability: tuple) -> Code:
        """Return the code for arguments of some kinds and a compute capability; needs no such GPU."""
        what = self.function, self.max_registers, kinds, capability
        name, gpus = self.name(kinds, capability), object_cache.GPUS
        return object_cache.load_or_make(name, lambda: compiler().machine_code(*what), gpus)

    def name(self, kinds: tuple, capability: tuple) -> str:
        """Return the name under which the code is kept."""
        return object_cache.name_of(self.function, (versions(), capability, self.max_registers, *kinds))


def versions() -> str:
    """Return the versions of the compiler and its CUDA; that of numba is in the name of the folder."""
    found = find_spec("numba_cuda")
    version = Path(found.origin).with_name("VERSION").read_text().strip() if found and found.origin else ""
    return f"{version} of CUDA {cuda_driver.toolkit()}"


def check_compiler() -> None:
    """Raise DeviceError unless the compiler can be used; it is imported only if there are no kernels yet."""
    if not (version := versions()).startswith(("0.30.", " ")):  # " ": without a version
        number = version.partition(" ")[0]
        raise DeviceError(f"numba-cuda {number} is not supported: install a version that fmx requires")
    folders = filter(
        None, [object_cache.folder(object_cache.GPUS), *object_cache.shared_folders(object_cache.GPUS)]
    )
    if not any(any(folder.glob("*.o")) for folder in folders):
        compiler().check()


# NVIDIA's radix sort, through cuda.compute.


class _Shown:
    """An array as shown to cuda.compute, which keeps its last arguments, but must not keep the memory."""

    def __init__(self, array: Any) -> None:
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def sort_pairs(keys: Any, values: Any, spare_keys: Any, spare_values: Any, n_bits: int) -> tuple[Any, Any]:
    """Sort pairs by the lowest ``n_bits`` of keys; return (keys, values), in these arrays or the spare ones.

    ``keys`` uint64[n], ``values`` uint32[n] and two more such arrays, all on the device; equal keys keep
    their order.  NumPy sorts in the CUDA simulator.
    """
    if SIMULATED:
        order = np.argsort(keys & np.uint64((1 << n_bits) - 1), kind="stable")
        spare_keys[:], spare_values[:] = keys[order], values[order]
        return spare_keys, spare_values
    compute = cccl()
    both_keys = compute.DoubleBuffer(_Shown(keys), _Shown(spare_keys))
    both_values = compute.DoubleBuffer(_Shown(values), _Shown(spare_values))
    sort = functools.partial(
        _sorter(cuda_driver.capability()), d_in_keys=both_keys, d_out_keys=None, d_in_values=both_values,
        d_out_values=None, num_items=keys.size, begin_bit=0, end_bit=n_bits,
    )  # fmt: skip
    sort(temp_storage=cuda_driver.empty(max(sort(temp_storage=None), 1), np.uint8))
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
