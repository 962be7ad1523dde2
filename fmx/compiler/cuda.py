"""The door to the CUDA compiler: kernels, device functions, packed 16-bit arithmetic, PTX without a GPU.

Under NUMBA_ENABLE_CUDASIM=1 kernels run as Python and the packed operations are done by plain means.
"""

from threading import Lock
from unittest import mock

import numpy as np

from ..errors import CUDA_EXTRA, installed
from . import object_cache
from .piece import Piece

with installed("numba-cuda", CUDA_EXTRA):
    import numba_cuda  # noqa: F401  # the package of this name, not what numba itself once held
    from numba import config, cuda, types
    from numba.cuda.core import config as cuda_config

    if not config.ENABLE_CUDASIM:
        from llvmlite import ir
        from numba.cuda.descriptor import cuda_target
        from numba.cuda.typing.typeof import typeof_impl

        from .instruction import instruction

SIMULATED = bool(config.ENABLE_CUDASIM)
WARP = 32
int32, int64, uint8 = types.int32, types.int64, types.uint8
config.CACHE_DIR = cuda_config.CACHE_DIR = str(object_cache.folder() or "")
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a small last batch is no reason to speak


class InTurn:
    """A kernel of the simulator, which can run only one at a time, whichever threads launch them."""

    _lock = Lock()

    def __init__(self, function):
        self._kernel = cuda.jit(function)

    def __getitem__(self, configuration):
        def launch(*arguments):
            with self._lock:
                self._kernel[configuration](*arguments)

        return launch


def kernel(function, max_registers=None):
    """A CUDA kernel, compiled at its first launch, kept on disk (not by ``max_registers``: use one)."""
    if SIMULATED:
        return InTurn(function)
    return cuda.jit(cache=object_cache.is_kept(), max_registers=max_registers)(function)


def fresh_kernel(function, max_registers=None):
    """As ``kernel``, but never cached on disk: for functions that hold other functions, and for trials."""
    return InTurn(function) if SIMULATED else cuda.jit(max_registers=max_registers)(function)


def device_function(function):
    """A function that kernels call."""
    return cuda.jit(device=True)(function)


def check_compiler() -> None:
    """Import what numba-cuda itself imports only for its first kernel.  Raises DeviceError if it cannot."""
    if not SIMULATED:
        with installed("numba-cuda", CUDA_EXTRA):
            cuda_target.target_context.refresh()


def compile_to_ptx(function, signature, capability=(9, 0)) -> str:
    """PTX of a kernel for a GPU that need not be here."""
    device = mock.Mock(compute_capability=capability)
    source = getattr(function, "py_func", function)
    with mock.patch("numba.cuda.dispatcher.get_current_device", return_value=device):
        return cuda.compile_ptx(source, signature, cc=capability)[0]


if SIMULATED:

    def _halves(x):
        x = int(x)
        return x & 0xFFFF, (x >> 16) & 0xFFFF

    def _pack(low, high):
        return np.uint32((low & 0xFFFF) | ((high & 0xFFFF) << 16))

    def max_u16x2(x, y):
        """The larger one in each 16-bit half."""
        return _pack(*(max(a, b) for a, b in zip(_halves(x), _halves(y), strict=True)))

    def add_max_u16x2(x, y, z):
        """max(x + y, z) in each 16-bit half; sums wrap."""
        sums = (a + b & 0xFFFF for a, b in zip(_halves(x), _halves(y), strict=True))
        return max_u16x2(_pack(*sums), z)

    def permute_bytes(low, high, selector):
        """Four bytes of the eight of ``low`` and ``high``, each picked by a hex digit 0-7 of the selector."""
        both = int(low) | (int(high) << 32)
        picked = [(both >> (8 * ((int(selector) >> (4 * i)) & 7))) & 0xFF for i in range(4)]
        return np.uint32(sum(byte << (8 * i) for i, byte in enumerate(picked)))

else:

    @typeof_impl.register(Piece)
    def _type_of_piece(piece, context):
        return piece.type_in(cuda_target.typing_context)

    def _assembly(builder, text, *words):
        """One piece of PTX, of words (uint32) and for one."""
        word = ir.IntType(32)
        constraint = ",".join(["=r"] + ["r"] * len(words))
        return builder.asm(ir.FunctionType(word, [word] * len(words)), text, constraint, words, False)

    @instruction(lambda x, y: types.uint32(types.uint32, types.uint32))
    def max_u16x2(builder, x, y):
        """The larger one in each 16-bit half."""
        return _assembly(builder, "max.u16x2 $0, $1, $2;", x, y)

    @instruction(lambda x, y, z: types.uint32(types.uint32, types.uint32, types.uint32))
    def add_max_u16x2(builder, x, y, z):
        """max(x + y, z) in each 16-bit half; sums wrap.  One instruction (VIADDMNMX) from sm_90 on."""
        return _assembly(builder, "{ .reg .b32 t; add.u16x2 t, $1, $2; max.u16x2 $0, t, $3; }", x, y, z)

    @instruction(lambda low, high, selector: types.uint32(types.uint32, types.uint32, types.uint32))
    def permute_bytes(builder, low, high, selector):
        """Four bytes of the eight of ``low`` and ``high``, each picked by a hex digit 0-7 of the selector."""
        return _assembly(builder, "prmt.b32 $0, $1, $2, $3;", low, high, selector)
