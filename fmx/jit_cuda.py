<<<<<<< HEAD
"""The door to CUDA: kernels, threads, lanes of a warp, 16-byte loads; importing it needs numba-cuda.

Small compiled functions (jit.inlined, contracts) may be called from kernels as they are.  What only a GPU has
is here, each beside what stands in for it in the CUDA simulator (NUMBA_ENABLE_CUDASIM=1 with
NUMBA_DISABLE_JIT=1), where a thread is a Python thread and a warp is a whole block.

``cuda.shared.array(0, dtype)`` in a kernel is the block's memory, its size given at the launch, and
``cuda.local.array(shape, dtype)`` memory of one thread, in registers if it is indexed by constants only.
Values that lanes exchange are whole numbers from 0 to 2^32 - 1, kept in int64.
"""

import importlib
import threading
from types import SimpleNamespace
from unittest import mock

import numba
import numpy as np

from .errors import DeviceError
from .jit import CACHE, inlined

try:
    import numba_cuda  # noqa: F401  # the package of this name, not what numba itself once held
    from llvmlite import ir
    from numba import cuda
    from numba.core import cgutils, types
    from numba.cuda.core import config
    from numba.extending import intrinsic
except ImportError as error:
    raise DeviceError(f"no CUDA for Python ({error}); install it: pip install 'fmx-mapper[cuda]'") from error

SIMULATED = bool(config.ENABLE_CUDASIM)
if SIMULATED and not numba.config.DISABLE_JIT:
    raise DeviceError("the CUDA simulator needs NUMBA_DISABLE_JIT=1 besides NUMBA_ENABLE_CUDASIM=1")
config.CACHE_DIR = str(CACHE)
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
WARP = 32
INT64, UINT64 = np.dtype(np.int64), np.dtype(np.uint64)  # for arrays of kernels
_ALL = 0xFFFFFFFF


def kernel(function):
    """An entry point: ``kernel[n_blocks, n_threads, stream, shared_bytes](...)``; cached on disk."""
    return cuda.jit(cache=True)(function) if not SIMULATED else cuda.jit(function)


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
        taken = board.get(source, 0)
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

    def load_lane(words, i):
        return words[i], words[i + 1]

    load_lane_narrow = load_lane

else:

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

    def _pieces(context, builder, signature, arguments, pieces, bits):
        """Load ``pieces`` numbers of ``bits`` from array[i] on, each by itself."""
        view = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
        number = ir.IntType(bits)
        first = builder.bitcast(builder.gep(view.data, [arguments[1]]), number.as_pointer())
        at = [builder.gep(first, [ir.Constant(ir.IntType(32), p)]) for p in range(pieces)]
        return [builder.load(address, align=bits // 8) for address in at]

    @intrinsic
    def load_lane(typing, words, i):
        """(words[i], words[i + 1]) of a uint64 array by one load of 16 bytes; i is even."""

        def emit(context, builder, signature, arguments):
            view = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
            vector = ir.VectorType(ir.IntType(64), 2)
            address = builder.bitcast(builder.gep(view.data, [arguments[1]]), vector.as_pointer())
            loaded = builder.load(address, align=16)
            halves = [builder.extract_element(loaded, ir.Constant(ir.IntType(32), h)) for h in range(2)]
            return context.make_tuple(builder, signature.return_type, halves)

        return types.UniTuple(types.uint64, 2)(words, types.intp), emit

    @intrinsic
    def load_lane_narrow(typing, words, i):
        """(words[i], words[i + 1]) of a uint64 array by four loads of 4 bytes."""

        def emit(context, builder, signature, arguments):
            quarters = _pieces(context, builder, signature, arguments, 4, 32)
            wide = [builder.zext(quarter, ir.IntType(64)) for quarter in quarters]
            half = ir.Constant(ir.IntType(64), 32)
            words = [builder.or_(wide[2 * h], builder.shl(wide[2 * h + 1], half)) for h in range(2)]
            return context.make_tuple(builder, signature.return_type, words)

        return types.UniTuple(types.uint64, 2)(words, types.intp), emit


@inlined
def is_odd(lane):
    """Whether a lane has the upper end of an interval: lanes 2i and 2i + 1 hold pattern i's lo and hi."""
    return lane & 1 == 1


def ptx_of(kernel, arguments, capability) -> str:
    """The PTX of a kernel for arguments such as these and a compute capability, say (9, 0); needs no GPU."""
    signature = types.void(*(_device_type(numba.typeof(argument)) for argument in arguments))
    dispatcher = importlib.import_module("numba.cuda.dispatcher")
    stand_in = SimpleNamespace(compute_capability=capability, id=0)
    with mock.patch.object(dispatcher, "get_current_device", return_value=stand_in):
        return cuda.compile_ptx(kernel.py_func, signature, cc=capability)[0]


def _device_type(type_of):
    """The type of a host's value once its arrays are on the device: writable and contiguous."""
    if isinstance(type_of, types.Array):
        return types.Array(type_of.dtype, type_of.ndim, "C")
    if isinstance(type_of, types.NamedTuple):
        return types.NamedTuple(tuple(map(_device_type, type_of.types)), type_of.instance_class)
    if isinstance(type_of, types.NamedUniTuple):
        return types.NamedUniTuple(_device_type(type_of.dtype), type_of.count, type_of.instance_class)
    return type_of
=======
"""The door to the CUDA compiler: kernels, device functions, packed 16-bit arithmetic, PTX without a GPU.

Under NUMBA_ENABLE_CUDASIM=1 kernels run as Python and the packed operations are done by plain means.
"""

import functools
from unittest import mock

import numpy as np

from . import jit  # noqa: F401  (sets the folder of the disk cache)
from .errors import DeviceError

try:
    from numba import config, cuda, types
except ImportError as error:  # pragma: no cover
    raise DeviceError(f"numba's CUDA target is missing ({error}); pip install 'fmx-mapper[cuda]'") from error

SIMULATED = bool(config.ENABLE_CUDASIM)
int32, int64, uint8 = types.int32, types.int64, types.uint8
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a small last batch is no reason to speak


def kernel(function, max_registers=None):
    """A CUDA kernel, compiled at its first launch, cached on disk (not by ``max_registers``: use one)."""
    return cuda.jit(function) if SIMULATED else cuda.jit(cache=True, max_registers=max_registers)(function)


def fresh_kernel(function, max_registers=None):
    """As ``kernel``, but never cached on disk: for functions that hold other functions, and for trials."""
    return cuda.jit(function) if SIMULATED else cuda.jit(max_registers=max_registers)(function)


def device_function(function):
    """A function that kernels call."""
    return cuda.jit(device=True)(function)


def devices() -> list:
    """Numbers of the GPUs here.  Raises DeviceError where there is none."""
    try:
        found = len(cuda.gpus)
    except Exception as error:
        raise DeviceError(f"no CUDA device can be used: {error}; use --device cpu") from error
    if not found:
        raise DeviceError("no CUDA device was found; use --device cpu")
    return list(range(found))


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
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    def _assembly(text, n):
        """An intrinsic of n uint32 that is one piece of PTX."""
        word = ir.IntType(32)
        signature = types.uint32(*[types.uint32] * n)
        constraint = ",".join(["=r"] + ["r"] * n)

        def emit(context, builder, signature, arguments):
            function = ir.FunctionType(word, [word] * n)
            return builder.asm(function, text, constraint, arguments, False)

        return signature, emit

    @intrinsic
    def max_u16x2(typing, x, y):
        """The larger one in each 16-bit half."""
        return _assembly("max.u16x2 $0, $1, $2;", 2)

    @intrinsic
    def add_max_u16x2(typing, x, y, z):
        """max(x + y, z) in each 16-bit half; sums wrap.  One instruction (VIADDMNMX) from sm_90 on."""
        return _assembly("{ .reg .b32 t; add.u16x2 t, $1, $2; max.u16x2 $0, t, $3; }", 3)

    @intrinsic
    def permute_bytes(typing, low, high, selector):
        """Four bytes of the eight of ``low`` and ``high``, each picked by a hex digit 0-7 of the selector."""
        return _assembly("prmt.b32 $0, $1, $2, $3;", 3)


@functools.cache
def multiprocessors(device) -> int:
    """Streaming multiprocessors of a GPU (1 in the simulator)."""
    return 1 if SIMULATED else cuda.gpus[device].MULTIPROCESSOR_COUNT
>>>>>>> main
