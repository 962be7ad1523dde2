"""Cooperation of GPU threads: lanes of a warp, 16-byte loads, shuffles, shared memory.

Small compiled functions (functions.inlined, contracts) may be called from kernels directly.  Functions that
only a GPU has are here, each with its substitute in the CUDA simulator (NUMBA_ENABLE_CUDASIM=1 with
NUMBA_DISABLE_JIT=1), where a thread is a Python thread and a warp is a whole block.

``cuda.shared.array(0, dtype)`` in a kernel is the block's memory, whose size is set at the launch, and
``cuda.local.array(shape, dtype)`` is memory of one thread, in registers if it is indexed only by constants.
Values that lanes exchange are whole numbers from 0 to 2^32 - 1, kept in int64.
"""

import threading

import numpy as np

from ..errors import DeviceError
from . import DISABLED
from .cuda import (
    SIMULATED,
    WARP,
    cuda,
    cuda_primitive,
    device_function,
    kernel,
    local_bytes,
    permute_bytes,
    ptx_of,
)  # fmt: skip
from .functions import inlined
from .primitives import load_unit

__all__ = ["SIMULATED", "WARP", "cuda", "kernel", "load_unit", "local_bytes", "ptx_of"]
if SIMULATED and not DISABLED:
    raise DeviceError("the CUDA simulator needs NUMBA_DISABLE_JIT=1 in addition to NUMBA_ENABLE_CUDASIM=1")
INT64, UINT32, UINT64 = map(np.dtype, (np.int64, np.uint32, np.uint64))  # for arrays of kernels
_ALL = 0xFFFFFFFF


def device(function):
    """Make a piece of a kernel, always inlined."""
    return function if SIMULATED else device_function(function, inline=True)


if SIMULATED:
    _ATOMIC = threading.Lock()

    def _me():
        return threading.current_thread()

    def _exchange(value, source):
        """Show a value to all threads of the block and take that of thread ``source``."""
        me = _me()
        board = me._manager.__dict__.setdefault("board", {})
        board[me.threadIdx.x] = value
        me.syncthreads()
        taken = np.int64(board.get(source, 0))
        me.syncthreads()
        return taken

    def thread_index():
        return _me().blockIdx.x * _me()._manager._block_dim[0] + _me().threadIdx.x

    def grid_size():
        return _me()._manager._grid_dim[0] * _me()._manager._block_dim[0]

    def thread_in_block():
        return _me().threadIdx.x

    def sync_warp():
        _me().syncthreads()

    sync_block = sync_warp

    def ballot(condition):
        me = _me()
        votes = me._manager.__dict__.setdefault("votes", {})
        votes[me.threadIdx.x] = bool(condition)
        me.syncthreads()
        found = sum(1 << lane for lane, vote in votes.items() if vote)
        me.syncthreads()
        return found

    def any_lane(condition):
        return ballot(condition) != 0

    def take(value, source):
        return _exchange(int(value), thread_in_block() // WARP * WARP + source)

    def take_across(value, mask):
        return _exchange(int(value), thread_in_block() ^ mask)

    def add_across(value, other, mask):
        return (int(value) + take_across(other, mask)) & _ALL

    def atomic_add(array, i, value):
        with _ATOMIC:
            old = array[i]
            array[i] += value
        return old

    def atomic_or(array, i, value):
        with _ATOMIC:
            array[i] |= value

    def atomic_min(array, i, value):
        with _ATOMIC:
            array[i] = min(array[i], value)

    def claim(array, i, value):
        with _ATOMIC:
            old = array[i]
            array[i] = old or value
        return old

    def first_bit(x):
        return np.int32((int(x) & -int(x)).bit_length() - 1)

    def n_bits(x):
        return np.int32(int(x).bit_count())

    def reversed_bits(x):
        return np.uint32(int(f"{int(x):032b}"[::-1], 2))

else:

    @device
    def thread_index():
        """Return the index of this thread in the launch."""
        return np.int64(cuda.blockIdx.x) * np.int64(cuda.blockDim.x) + np.int64(cuda.threadIdx.x)

    @device
    def grid_size():
        """Return the number of threads of the launch."""
        return np.int64(cuda.gridDim.x) * np.int64(cuda.blockDim.x)

    @device
    def thread_in_block():
        """Return the index of this thread in its block; its lane is the lowest five bits."""
        return np.int64(cuda.threadIdx.x)

    @device
    def sync_warp():
        """Wait for the warp; all its threads can then read what they wrote to shared memory."""
        cuda.syncwarp()

    @device
    def sync_block():
        """Wait for the block; all its threads can then read what they wrote."""
        cuda.syncthreads()

    @device
    def any_lane(condition):
        """Return whether the condition holds in any thread of the warp."""
        return cuda.any_sync(_ALL, condition) != 0

    @device
    def ballot(condition):
        """Return the lanes of the warp in which the condition holds, as bits."""
        return np.int64(np.uint32(cuda.ballot_sync(_ALL, condition)))

    @device
    def take(value, source):
        """Return the value that lane ``source`` of the warp holds."""
        return np.int64(np.uint32(cuda.shfl_sync(_ALL, np.int32(value), np.int32(source))))

    @device
    def take_across(value, mask):
        """Return the value of the lane whose number differs in the bits of ``mask``."""
        return np.int64(np.uint32(cuda.shfl_xor_sync(_ALL, np.int32(value), np.int32(mask))))

    @device
    def add_across(value, other, mask):
        """Return ``value`` plus the lane across's ``other``, modulo 2^32; both may be negative."""
        across = cuda.shfl_xor_sync(_ALL, np.int32(other), np.int32(mask))
        return np.int64(np.uint32(np.int32(value) + across))

    @device
    def atomic_add(array, i, value):
        """Add to array[i] atomically; return its previous value."""
        return cuda.atomic.add(array, i, value)

    @device
    def atomic_or(array, i, value):
        """Set bits of array[i] atomically."""
        cuda.atomic.or_(array, i, value)

    @device
    def atomic_min(array, i, value):
        """Lower array[i] to a value atomically, if it is greater."""
        cuda.atomic.min(array, i, value)

    @device
    def claim(array, i, value):
        """Set array[i] (64 bits) to a value atomically if it is 0; return its previous value."""
        return cuda.atomic.cas(array, i, np.int64(0), np.int64(value))

    @device
    def first_bit(x):
        """Return the number of the lowest set bit of a number below 2^32, as int32; -1 if there is none."""
        return np.int32(np.int32(cuda.ffs(np.uint32(x))) - 1)

    @device
    def n_bits(x):
        """Return the number of set bits of a number below 2^32, as int32."""
        return np.int32(cuda.popc(np.uint32(x)))

    @device
    def reversed_bits(x):
        """Return the 32 bits of a uint32 in reverse order."""
        return np.uint32(cuda.brev(x))


@device
def bytes_from(words, at):
    """Return four bytes of a uint32 array, from byte ``at`` on, as a uint32; the next word is also read."""
    i = np.uint32(at >> 2)
    return permute_bytes(words[i], words[np.uint32(i + np.uint32(1))], four_from(at))


@device
def four_from(at):
    """Return the selector of permute_bytes for four bytes from byte ``at`` modulo 4 on."""
    return np.uint32(0x3210 + 0x1111 * (np.int32(at) & 3))


@cuda_primitive
def load_unit_narrow(words, i):
    """Return (words[i], words[i + 1]) of a uint64 array by four 4-byte loads."""
    return words[i], words[i + 1]


@cuda_primitive
def store_unit(words, i, a, b):
    """Set ``words[i], words[i + 1] = a, b`` of a uint64 array by one 16-byte store; i is even."""
    words[i], words[i + 1] = a, b


@inlined
def is_odd(lane):
    """Return whether a lane has an interval's upper end: lanes 2i and 2i + 1 hold pattern i's lo and hi."""
    return lane & 1 == 1
