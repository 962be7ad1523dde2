"""What threads of a GPU do together: lanes of a warp, 16-byte loads, shuffles, shared memory.

Small compiled functions (functions.inlined, contracts) may be called from kernels as they are.  What only a
GPU has is here, each beside what stands in for it in the CUDA simulator (NUMBA_ENABLE_CUDASIM=1 with
NUMBA_DISABLE_JIT=1), where a thread is a Python thread and a warp is a whole block.

``cuda.shared.array(0, dtype)`` in a kernel is the block's memory, its size given at the launch, and
``cuda.local.array(shape, dtype)`` memory of one thread, in registers if it is indexed by constants only.
Values that lanes exchange are whole numbers from 0 to 2^32 - 1, kept in int64.
"""

import threading

import numba
import numpy as np
from llvmlite import ir
from numba.core import types

from ..errors import DeviceError
from .cuda import SIMULATED, WARP, compile_to_ptx, cuda, kernel
from .functions import inlined
from .instruction import instruction
from .primitives import load_unit

__all__ = ["SIMULATED", "WARP", "cuda", "kernel"]
if SIMULATED and not numba.config.DISABLE_JIT:
    raise DeviceError("the CUDA simulator needs NUMBA_DISABLE_JIT=1 besides NUMBA_ENABLE_CUDASIM=1")
INT64, UINT32, UINT64 = map(np.dtype, (np.int64, np.uint32, np.uint64))  # for arrays of kernels
_ALL = 0xFFFFFFFF


def device(function):
    """A piece of a kernel, always inlined."""
    return function if SIMULATED else cuda.jit(device=True, forceinline=True)(function)


if SIMULATED:
    _ATOMIC = threading.Lock()

    def _me():
        return threading.current_thread()

    def _exchange(value, source):
        """Every thread of the block shows a value and takes that of thread ``source``."""
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

    def any_lane(condition):
        me = _me()
        votes = me._manager.__dict__.setdefault("votes", {})
        votes[me.threadIdx.x] = bool(condition)
        me.syncthreads()
        result = any(votes.values())
        me.syncthreads()
        return result

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

    def store_unit(words, i, a, b):
        words[i], words[i + 1] = a, b

    load_unit_narrow = load_unit

else:
    from .primitives_llvm import PAIR, pair_at, tuple_of, two_words

    @device
    def thread_index():
        """Index of this thread among all of the launch."""
        return np.int64(cuda.blockIdx.x) * np.int64(cuda.blockDim.x) + np.int64(cuda.threadIdx.x)

    @device
    def grid_size():
        """Number of threads of the launch."""
        return np.int64(cuda.gridDim.x) * np.int64(cuda.blockDim.x)

    @device
    def thread_in_block():
        """Index of this thread in its block; its lane is the lowest five bits."""
        return np.int64(cuda.threadIdx.x)

    @device
    def sync_warp():
        """Wait for the warp; what its threads wrote to shared memory can then be read by all."""
        cuda.syncwarp()

    @device
    def sync_block():
        """Wait for the block; what its threads wrote can then be read by all of them."""
        cuda.syncthreads()

    @device
    def any_lane(condition):
        """Whether the condition holds in any thread of the warp."""
        return cuda.any_sync(_ALL, condition) != 0

    @device
    def take(value, source):
        """The value that lane ``source`` of the warp holds."""
        return np.int64(np.uint32(cuda.shfl_sync(_ALL, np.int32(value), np.int32(source))))

    @device
    def take_across(value, mask):
        """The value of the lane whose number differs in the bits of ``mask``."""
        return np.int64(np.uint32(cuda.shfl_xor_sync(_ALL, np.int32(value), np.int32(mask))))

    @device
    def add_across(value, other, mask):
        """``value`` plus what the lane across shows as ``other``, modulo 2^32; both may be negative."""
        across = cuda.shfl_xor_sync(_ALL, np.int32(other), np.int32(mask))
        return np.int64(np.uint32(np.int32(value) + across))

    @device
    def atomic_add(array, i, value):
        """Add to array[i] while others may; what it was before."""
        return cuda.atomic.add(array, i, value)

    _HALF, _NUMBER = ir.IntType(64), ir.IntType(32)

    @instruction(lambda words, i, a, b: types.void(words, types.intp, types.uint64, types.uint64))
    def store_unit(builder, words, i, a, b):
        """``words[i], words[i + 1] = a, b`` of a uint64 array by one store of 16 bytes; i is even."""
        pair = builder.insert_element(ir.Constant(PAIR, ir.Undefined), a, _NUMBER(0))
        builder.store(builder.insert_element(pair, b, _NUMBER(1)), pair_at(builder, words, i), align=16)

    @instruction(two_words)
    def load_unit_narrow(builder, words, i):
        """(words[i], words[i + 1]) of a uint64 array by four loads of 4 bytes."""
        first = builder.bitcast(builder.gep(words, [i]), _NUMBER.as_pointer())
        quarters = [builder.load(builder.gep(first, [_NUMBER(p)]), align=4) for p in range(4)]
        wide = [builder.zext(quarter, _HALF) for quarter in quarters]
        high = [builder.shl(upper, _HALF(32)) for upper in wide[1::2]]
        return tuple_of(builder, [builder.or_(low, up) for low, up in zip(wide[::2], high, strict=True)])


@inlined
def is_odd(lane):
    """Whether a lane has the upper end of an interval: lanes 2i and 2i + 1 hold pattern i's lo and hi."""
    return lane & 1 == 1


def local_bytes(kernel) -> int:
    """Memory of its own that a thread takes in any compiled form of a kernel; 0 if registers do."""
    return 0 if SIMULATED else max(kernel.get_local_mem_per_thread().values())


def ptx_of(kernel, arguments, capability) -> str:
    """The PTX of a kernel for arguments such as these and a compute capability, say (9, 0); needs no GPU."""
    signature = types.void(*(_device_type(numba.typeof(argument)) for argument in arguments))
    return compile_to_ptx(kernel, signature, capability)


def _device_type(type_of):
    """The type of a host's value once its arrays are on the device: writable and contiguous."""
    if isinstance(type_of, types.Array):
        return types.Array(type_of.dtype, type_of.ndim, "C")
    if isinstance(type_of, types.NamedTuple):
        return types.NamedTuple(tuple(map(_device_type, type_of.types)), type_of.instance_class)
    if isinstance(type_of, types.NamedUniTuple):
        return types.NamedUniTuple(_device_type(type_of.dtype), type_of.count, type_of.instance_class)
    return type_of
