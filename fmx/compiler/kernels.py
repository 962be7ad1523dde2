"""Arguments of a kernel as 64-bit words, by numba's convention (kernels.py)."""

import functools
import threading
from array import array
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from . import cuda_driver, functions, object_cache
from .cuda_array import CudaArray
from .native import number_bits, number_kind


def spread(arguments) -> tuple:
    """(kinds of the arguments, a tuple; their slots, 64-bit words)."""
    kinds: list = []
    slots = array("q")
    _spread(arguments, kinds, slots)
    return tuple(kinds), slots


def _spread(values, kinds, slots) -> None:
    for value in values:
        if isinstance(value, CudaArray):
            kinds += value.dtype, value.ndim
            slots.extend((0, 0, value.size, value.dtype.itemsize, value.address))
            slots.extend((*value.shape, *value.strides))
        elif isinstance(value, tuple):
            kinds += type(value), len(value)
            _spread(value, kinds, slots)
        else:
            kind = number_kind(value)
            kinds.append(kind)
            slots.append(number_bits(value, kind))


# Kernels: compiled once for each combination of types and kind of GPU, kept on disk, launched by the driver.
#
# ``kernel[grid, block, stream, shared](arguments)`` as numba has it.  Once a kernel is kept, no compiler is
# imported.  The convention is numba's: a number is passed as itself, a tuple as its elements, and an array as
# (owner, parent, size, itemsize, address, shape, strides).  cuda_probe.py tries it before any kernel is kept;
# where it does not hold, numba's dispatcher launches.

_lock = threading.RLock()
UNKNOWN = "fmx does not know this numba-cuda or driver; see what it requires"


def compiler():
    """The module that compiles, which imports numba-cuda."""
    return import_module(".numba_cuda", __package__)


class Kernel:
    """A function that runs on a GPU, with at most ``max_registers`` a thread (None: as many as it likes).

    It is kept on disk if its name, and whole numbers that it holds, tell what it is.
    """

    def __init__(self, function, max_registers=None):
        functools.update_wrapper(self, function)
        self.function, self.max_registers = function, max_registers
        held = [cell.cell_contents for cell in function.__closure__ or ()]
        self._is_named = all(isinstance(value, int) for value in held)
        self._held = tuple(map(repr, held))
        self._loaded: dict = {}

    def __getitem__(self, how):
        """``how``: blocks, threads of a block, then a stream and bytes of shared memory, or 0."""
        return functools.partial(self._launch, *(*how, 0, 0)[:4])

    def _launch(self, grid, block, stream, shared, *arguments):
        kinds, slots = spread(arguments)
        key = cuda_driver.number(), kinds
        code = self._loaded.get(key)
        if code is None:
            with _lock:
                code = self._loaded.get(key) or self._load(kinds, arguments)
                self._loaded[key] = code
        code(int(grid), int(block), stream, int(shared), slots, arguments)

    def _load(self, kinds, arguments):
        """What launches it for arguments of some kinds: called as _launch calls it."""
        capability = cuda_driver.capability()
        named = [self.function, *(kind for kind in kinds if isinstance(kind, type) and kind is not tuple)]
        keep = self._is_named and all(x.__module__.startswith("fmx.") for x in named)
        name = object_cache.name_of(
            self.function, (*self._held, _versions(), capability, self.max_registers, *kinds)
        )
        code = object_cache.load(name) if keep else None
        if code is None:
            with functions.compiling():
                functions.tell(functools.partial(is_callable, capability), UNKNOWN)
                if not is_callable(capability):
                    return compiler().by_numba(self.function, self.max_registers)
                code = compiler().machine_code(self.function, self.max_registers, arguments, capability)
            if keep:
                object_cache.save(name, code)
        return cuda_driver.Code(code.body, code.symbol)

    def attribute(self, name) -> int:
        """The largest of an attribute of CUDA's, such as LOCAL_SIZE_BYTES, in any form that was launched."""
        return max(code.attribute(name) for code in self._loaded.values())


def _versions() -> str:
    """Of the compiler and its CUDA; that of numba is in the name of the folder."""
    found = find_spec("numba_cuda")
    version = Path(found.origin).with_name("VERSION").read_text().strip() if found and found.origin else ""
    return f"{version} of CUDA {cuda_driver.toolkit()}"


def check_compiler() -> None:
    """Import the compiler if it was never seen to work here.  Raises DeviceError if it cannot be used."""
    if not object_cache.is_proven(_convention(cuda_driver.capability())):
        compiler().check()


def _convention(capability) -> str:
    return f"convention numba-cuda {_versions()} {capability}"


@functools.cache
def is_callable(capability) -> bool:
    """Whether the compiler's code can be launched without it; tried once for a folder and a kind of GPU."""
    proof = _convention(capability)
    if object_cache.is_proven(proof):
        return True
    if not import_module(".cuda_probe", __package__).holds(compiler(), capability):
        return False
    object_cache.keep_proof(proof)
    return True
