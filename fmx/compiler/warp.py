"""What kernels are made of: threads, the lanes of a warp, atomics, 16-byte loads, packed 16-bit arithmetic.

Small compiled functions (functions.inlined, contracts) may be called from kernels directly.  Functions that
only a GPU has are here.  In the CUDA simulator (NUMBA_ENABLE_CUDASIM=1 with NUMBA_DISABLE_JIT=1) a thread is
a Python thread and a warp is a whole block, of at most 32 threads.

``cuda.shared.array(0, dtype)`` in a kernel is the block's memory, whose size is set at the launch, and
``cuda.local.array(shape, dtype)`` is memory of one thread, in registers if it is indexed only by constants.
Values that lanes exchange are whole numbers from 0 to 2^32 - 1, kept in int64.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import CUDA_EXTRA, installed
from . import SIMULATED, kernels
from .functions import inlined, primitive
from .kernels import Kernel, compiler
from .piece import Piece

WARP = 32
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)  # for arrays of kernels
UINT8, UINT32, UINT64 = np.dtype(np.uint8), np.dtype(np.uint32), np.dtype(np.uint64)
_ALL = 0xFFFFFFFF

if SIMULATED:
    with installed("numba-cuda", CUDA_EXTRA):
        from numba import cuda as simulator
        from numba.cuda.simulator.kernel import _get_kernel_context

    class _SimulatedModule:
        """numba.cuda in a kernel of its simulator, with the functions of warps that this lacks."""

        def __getattr__(self, name):
            return getattr(_get_kernel_context(), name)

        def syncwarp(self):
            self.syncthreads()

        def _values(self, name, value):
            """Show a value to all threads of the block, and return theirs by thread."""
            me: Any = threading.current_thread()
            board = me._manager.__dict__.setdefault(name, {})  # noqa: SLF001
            board[me.threadIdx.x] = value
            me.syncthreads()
            values = dict(board)
            me.syncthreads()
            return values

        def shfl_sync(self, mask, value, source):
            return self._values("shfl", value).get(self.threadIdx.x // WARP * WARP + source, 0)

        def shfl_xor_sync(self, mask, value, lanes):
            return self._values("shfl", value).get(self.threadIdx.x ^ lanes, 0)

        def ballot_sync(self, mask, condition):
            votes = self._values("ballot", bool(condition))
            return np.uint32(sum(1 << lane for lane, vote in votes.items() if vote))

        any_sync = ballot_sync

    cuda: Any = _SimulatedModule()
else:
    cuda = kernels.cuda


class InTurn:
    """A kernel of the simulator, which runs only one kernel at a time, whichever threads launch them."""

    _lock = threading.Lock()

    def __init__(self, function: Callable) -> None:
        self._kernel = simulator.jit(function)

    def __getitem__(self, configuration: tuple) -> Callable:
        def launch(*arguments):
            with self._lock:
                self._kernel[configuration](*arguments)

        return launch


def kernel(function: Callable, max_registers: int | None = None) -> Any:
    """Make a CUDA kernel, compiled at its first launch and kept on disk."""
    return InTurn(function) if SIMULATED else Kernel(function, max_registers)


def device_function(function: Callable, inline: bool = False) -> Any:
    """Make a function that kernels call; ``inline``: always inlined."""
    if SIMULATED:
        return function
    return Piece(function, lambda: compiler().device_function(function, inline), f"device {inline}")


def device(function: Callable) -> Any:
    """Make a function that kernels call, always inlined."""
    return device_function(function, inline=True)


# The index of this thread in the launch, and in its block, where its lane is the lowest five bits; the number
# of threads of the launch.
thread_index = device(
    lambda: np.int64(cuda.blockIdx.x) * np.int64(cuda.blockDim.x) + np.int64(cuda.threadIdx.x)
)
thread_in_block = device(lambda: np.int64(cuda.threadIdx.x))
grid_size = device(lambda: np.int64(cuda.gridDim.x) * np.int64(cuda.blockDim.x))
# Wait for the warp, or the block; all its threads can then read what they wrote to shared memory.
sync_warp = device(lambda: cuda.syncwarp())
sync_block = device(lambda: cuda.syncthreads())
# Whether the condition holds in any thread of the warp; the lanes in which it holds, as bits.
any_lane = device(lambda condition: cuda.any_sync(_ALL, condition) != 0)
ballot = device(lambda condition: np.int64(np.uint32(cuda.ballot_sync(_ALL, condition))))
# Atomically, add to array[i]; set bits of it; lower it to a value if it is greater; set it (64 bits) to a
# value if it is 0.  All return its previous value.
atomic_add = device(lambda array, i, value: cuda.atomic.add(array, i, value))
atomic_or = device(lambda array, i, value: cuda.atomic.or_(array, i, value))
atomic_min = device(lambda array, i, value: cuda.atomic.min(array, i, value))
claim = device(lambda array, i, value: cuda.atomic.cas(array, i, np.int64(0), np.int64(value)))
# Of a number below 2^32: the number of its lowest set bit, -1 if there is none, and how many are set, as
# int32; its 32 bits in reverse order.
first_bit = device(lambda x: np.int32(np.int32(cuda.ffs(np.uint32(x))) - 1))
n_bits = device(lambda x: np.int32(cuda.popc(np.uint32(x))))
reversed_bits = device(lambda x: np.uint32(cuda.brev(x)))


@device
def take(value, source):
    """Return the value that lane ``source`` of the warp holds."""
    return np.int64(np.uint32(cuda.shfl_sync(_ALL, np.int32(np.int64(value)), np.int32(source))))


@device
def take_across(value, mask):
    """Return the value of the lane whose number differs in the bits of ``mask``."""
    return np.int64(np.uint32(cuda.shfl_xor_sync(_ALL, np.int32(np.int64(value)), np.int32(mask))))


@device
def add_across(value, other, mask):
    """Return ``value`` plus ``other`` of the lane in take_across, modulo 2^32; both may be negative."""
    across = cuda.shfl_xor_sync(_ALL, np.int32(np.int64(other)), np.int32(mask))
    return np.int64(np.uint32(np.int32(np.int64(value)) + across))


@inlined
def is_odd(lane):
    """Return whether a number is odd, as a lane's with hi: lanes 2i and 2i + 1 have pattern i's lo and hi."""
    return lane & 1 == 1


@device
def bytes_from(words, at):
    """Return four bytes of a uint32 array, from byte ``at`` on, as a uint32; the next word is also read."""
    i = np.uint32(at >> 2)
    return permute_bytes(words[i], words[np.uint32(i + np.uint32(1))], four_from(at))


@device
def four_from(at):
    """Return the selector of permute_bytes for four bytes from byte ``at`` modulo 4 on."""
    return np.uint32(0x3210 + 0x1111 * (np.int32(at) & 3))


# Instructions: the Python bodies define their results.


# (words[i], words[i + 1]) of a uint64 array by four 4-byte loads.
load_unit_narrow = primitive(lambda words, i: (words[i], words[i + 1]), "load_unit_narrow")


@primitive
def store_unit(words, i, a, b):
    """Set ``words[i], words[i + 1] = a, b`` of a uint64 array by one 16-byte store; i is even."""
    words[i], words[i + 1] = a, b


def _halves(x: Any) -> tuple[int, int]:
    return int(x) & 0xFFFF, int(x) >> 16 & 0xFFFF


def _pack(low: int, high: int) -> np.uint32:
    return np.uint32((low & 0xFFFF) | (high & 0xFFFF) << 16)


# In each 16-bit half, the larger one; max(x + y, z), whose sums wrap.
max_u16x2 = primitive(lambda x, y: _pack(*map(max, _halves(x), _halves(y))), "max_u16x2")
add_max_u16x2 = primitive(
    lambda x, y, z: max_u16x2(_pack(*map(int.__add__, _halves(x), _halves(y))), z), "add_max_u16x2"
)


@primitive
def permute_bytes(low, high, selector):
    """Return four of the eight bytes of ``low`` and ``high``, by the hex digits 0-7 of the selector."""
    both = int(low) | (int(high) << 32)
    picked = [(both >> (8 * ((int(selector) >> (4 * i)) & 7))) & 0xFF for i in range(4)]
    return np.uint32(sum(byte << (8 * i) for i, byte in enumerate(picked)))
