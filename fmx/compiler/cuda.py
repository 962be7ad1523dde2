"""CUDA: kernels, device functions, packed 16-bit arithmetic.

Kernels are launched by CUDA's driver (kernels.py); numba-cuda is imported only to compile a kernel
(numba_cuda.py).  With NUMBA_ENABLE_CUDASIM=1 kernels run as Python, in numba's simulator.
"""

from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np

from ..errors import CUDA_EXTRA, installed
from . import SIMULATED
from . import cuda_driver as driver
from .kernels import Kernel, check_compiler, compiler, kinds_of
from .piece import Piece

if SIMULATED:
    with installed("numba-cuda", CUDA_EXTRA):
        from numba import cuda
else:
    from .kernels import cuda


__all__ = ["SIMULATED", "check_compiler", "driver"]
WARP = 32
int32, int64, uint8 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint8)  # for arrays of kernels


class InTurn:
    """A kernel of the simulator, which runs only one kernel at a time, whichever threads launch them."""

    _lock = Lock()

    def __init__(self, function: Callable) -> None:
        self._kernel = cuda.jit(function)

    def __getitem__(self, configuration: tuple) -> Callable:
        def launch(*arguments):
            with self._lock:
                self._kernel[configuration](*arguments)

        return launch


def kernel(function: Callable, max_registers: int | None = None) -> Any:
    """Make a CUDA kernel, compiled at its first launch and kept on disk unless it holds other functions."""
    return InTurn(function) if SIMULATED else Kernel(function, max_registers)


def device_function(function: Callable, inline: bool = False) -> Any:
    """Make a function that kernels call; ``inline``: always inlined."""
    if SIMULATED:
        return cuda.jit(device=True)(function)
    return Piece(function, lambda: compiler().device_function(function, inline))


def cuda_primitive(function: Callable) -> Any:
    """Make a piece of kernels from instructions in primitives_llvm.py; the Python body defines its result."""
    if SIMULATED:
        return function
    return Piece(function, lambda: getattr(import_module(".primitives_llvm", __package__), function.__name__))


def ptx_of(kernel: Kernel, arguments: tuple, capability: tuple) -> str:
    """Return the PTX of a kernel for such arguments and a compute capability, say (9, 0); needs no GPU."""
    return compiler().ptx(kernel.function, kinds_of(arguments), capability)


def local_bytes(kernel: Kernel) -> int:
    """Return the most local memory per thread, in bytes, of a kernel that was launched; 0 for registers
    only."""
    return 0 if SIMULATED else kernel.attribute("LOCAL_SIZE_BYTES")


def _halves(x: Any) -> tuple[int, int]:
    x = int(x)
    return x & 0xFFFF, (x >> 16) & 0xFFFF


def _pack(low: int, high: int) -> np.uint32:
    return np.uint32((low & 0xFFFF) | ((high & 0xFFFF) << 16))


@cuda_primitive
def max_u16x2(x, y):
    """Return the larger one in each 16-bit half."""
    return _pack(*(max(a, b) for a, b in zip(_halves(x), _halves(y), strict=True)))


@cuda_primitive
def add_max_u16x2(x, y, z):
    """Return max(x + y, z) in each 16-bit half; sums wrap."""
    sums = (a + b & 0xFFFF for a, b in zip(_halves(x), _halves(y), strict=True))
    return max_u16x2(_pack(*sums), z)


@cuda_primitive
def permute_bytes(low, high, selector):
    """Return four of the eight bytes of ``low`` and ``high``, by the hex digits 0-7 of the selector."""
    both = int(low) | (int(high) << 32)
    picked = [(both >> (8 * ((int(selector) >> (4 * i)) & 7))) & 0xFF for i in range(4)]
    return np.uint32(sum(byte << (8 * i) for i, byte in enumerate(picked)))
