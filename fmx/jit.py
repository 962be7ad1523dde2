"""The only door to the compiler: decorators, dispatch by type, popcount, prefetch, block copies.

Nothing else in fmx imports numba.  Compiled code is cached on disk under a folder named by a digest of
fmx's own sources and of the versions of numba and numpy, because Numba's cache watches only the file of
the outermost function: after an edit of a callee it would run stale code.
"""

import functools
import hashlib
import os
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, event
from numba.core.cpu import CPUContext
from numba.extending import intrinsic, overload

# Compiled code allocates nothing (_nrt=False): otherwise each piece of a loop counts references to the arrays
# it is given, by atomic operations that cost more than the work.
_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}
# Without this, LLVM calls the pieces of a loop with every field of every array as an argument.
_INLINE = {**_OPTIONS, "forceinline": True}


def _digest() -> str:
    root = Path(__file__).parent
    state = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for path in sorted(root.rglob("*.py")):
        state.update(path.relative_to(root).as_posix().encode())
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


def _cache_folder() -> Path:
    base = os.environ.get("FMX_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(base).expanduser() / "fmx" / _digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    folder = Path(tempfile.gettempdir()) / f"fmx-{os.getuid()}" / folder.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


CACHE = _cache_folder()
numba.config.CACHE_DIR = str(CACHE)


class _Listener(event.Listener):
    callback = None

    def on_start(self, event):
        if self.callback:
            self.callback, callback = None, self.callback
            callback()

    def on_end(self, event):
        pass


_listener = _Listener()
event.register("numba:compile", _listener)


def on_first_compile(callback) -> None:
    """Call ``callback()`` once, when something is compiled that the disk does not hold yet.

    The last callback given counts, so that an earlier command of the same process has no say.
    """
    _listener.callback = callback


def compiled(function):
    """Compile at first call, for the CPU, cached on disk, running without Python's global lock."""
    return numba.njit(cache=True, **_OPTIONS)(function)


def inlined(function):
    """A small piece of a compiled function, always inlined."""
    return numba.njit(**_INLINE)(function)


def by_type(contract, default=None):
    """Turn a contract into a function whose body is chosen by the type of its first argument.

    ``@contract.register(Type)`` adds the body for a NamedTuple type.  Compiled code binds it at compile
    time; plain Python looks it up by ``type(first)``.  A type without a body gets ``default``, if any.
    """
    bodies: dict = {}

    @functools.wraps(contract)
    def dispatch(first, *rest):
        return (bodies.get(type(first)) or default or bodies[type(first)])(first, *rest)

    @overload(dispatch, jit_options=_INLINE, strict=False)
    def choose(first, *rest):
        return bodies.get(getattr(first, "instance_class", None), default)

    def register(cls):
        def add(body):
            bodies[cls] = body
            return body

        return add

    dispatch.register = register
    dispatch.knows = lambda first: type(first) in bodies
    return dispatch


def by_type_or_this(contract):
    """A contract whose own body serves every type that registers none."""
    return by_type(contract, contract)


def at(array, i):
    """``array[i]`` for i >= 0: an unsigned index spares the test for counting from the end."""
    return array[np.uint64(i)]


@overload(at, jit_options=_INLINE, strict=False)
def _at(array, i):
    return lambda array, i: array[np.uint64(i)]


@intrinsic
def _popcount64(typing, x):
    def emit(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


@inlined
def popcount(x):
    """Number of set bits of a uint64, as int64."""
    return np.int64(_popcount64(np.uint64(x)))


def _emit_bits_from(bits, register):
    """See bits_from; a GPU's shift gives 0 for ``bits`` or more, LLVM's has no value there."""

    def emit(context, builder, signature, arguments):
        word, number = ir.IntType(bits), ir.IntType(32)
        ones, zero = ir.Constant(word, -1), ir.Constant(number, 0)
        above = builder.icmp_signed(">", arguments[0], zero)
        shift = builder.select(above, arguments[0], zero)
        if isinstance(context, CPUContext):
            within = builder.and_(shift, ir.Constant(number, bits - 1))
            part = builder.shl(ones, builder.zext(within, word) if bits > 32 else within)
            beyond = builder.icmp_signed(">=", shift, ir.Constant(number, bits))
            return builder.select(beyond, ir.Constant(word, 0), part)
        kind, constraint = ir.FunctionType(word, [word, number]), f"={register},{register},r"
        return builder.asm(kind, f"shl.b{bits} $0, $1, $2;", constraint, [ones, shift], False)

    return emit


@intrinsic
def _bits_from(typing, n):
    return types.uint64(types.int32), _emit_bits_from(64, "l")


@intrinsic
def _bits_from32(typing, n):
    return types.uint32(types.int32), _emit_bits_from(32, "r")


@inlined
def bits_from(n):
    """A uint64 with all bits set but the n lowest; all for n < 0, none for n > 63 (-2^31 < n < 2^31)."""
    return _bits_from(np.int32(n))


@inlined
def bits_from32(n):
    """The same of 32 bits, a uint32."""
    return _bits_from32(np.int32(n))


@inlined
def low_bits(n):
    """A uint64 whose n lowest bits are set; none for n < 0, all for n > 63 (-2^31 < n < 2^31)."""
    return ~bits_from(n)


@inlined
def quotient(i, d):
    """i // d for 0 <= i < 2^32 and a constant d, by 32-bit arithmetic."""
    return np.int64(np.uint32(i) // np.uint32(d))


def _pointer(context, builder, array_type, array, i):
    view = cgutils.create_struct_proxy(array_type)(context, builder, array)
    return builder.bitcast(builder.gep(view.data, [i]), ir.IntType(8).as_pointer())


@intrinsic
def prefetch(typing, array, i):
    """Ask the memory system for the cache line of ``array[i]`` (flat index of a contiguous array).

    Nothing on a GPU, which hides waiting by other threads.
    """

    def emit(context, builder, signature, arguments):
        if not isinstance(context, CPUContext):
            return context.get_dummy_value()
        address = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag]),
            "llvm.prefetch.p0",
        )
        builder.call(function, [address, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


@intrinsic
def copy_bytes(typing, target, i, source, j, n):
    """``target[i:i+n] = source[j:j+n]`` for uint8 arrays that do not overlap."""

    def emit(context, builder, signature, arguments):
        to = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        start = _pointer(context, builder, signature.args[2], arguments[2], arguments[3])
        cgutils.raw_memcpy(builder, to, start, arguments[4], ir.Constant(ir.IntType(64), 1), align=1)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp, types.intp), emit


@intrinsic
def find_byte(typing, data, byte, start, stop):
    """Index of the first ``byte`` in ``data[start:stop]`` (uint8), or -1: libc's memchr."""

    def emit(context, builder, signature, arguments):
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        base = _pointer(context, builder, signature.args[0], arguments[0], ir.Constant(word, 0))
        begin = builder.gep(base, [arguments[2]])
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(pointer, [pointer, ir.IntType(32), word]), "memchr"
        )
        wanted = builder.zext(arguments[1], ir.IntType(32))
        found = builder.call(function, [begin, wanted, builder.sub(arguments[3], arguments[2])])
        offset = builder.sub(builder.ptrtoint(found, word), builder.ptrtoint(base, word))
        missing = builder.icmp_unsigned("==", builder.ptrtoint(found, word), ir.Constant(word, 0))
        return builder.select(missing, ir.Constant(word, -1), offset)

    return types.intp(data, types.uint8, types.intp, types.intp), emit


@intrinsic
def load_big_endian(typing, data, i):
    """The 8 bytes of ``data`` (uint8) from index i as a uint64, the first in the highest byte."""

    def emit(context, builder, signature, arguments):
        word = ir.IntType(64)
        address = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        loaded = builder.load(builder.bitcast(address, word.as_pointer()), align=1, typ=word)
        swap = cgutils.get_or_insert_function(builder.module, ir.FunctionType(word, [word]), "llvm.bswap.i64")
        return builder.call(swap, [loaded])

    return types.uint64(data, types.intp), emit


if numba.config.DISABLE_JIT:  # plain Python, as in the CUDA simulator

    def popcount(x):
        return np.int64(int(x).bit_count())

    def bits_from(n):
        return np.uint64(2**64 - (1 << max(0, min(int(n), 64))))

    def bits_from32(n):
        return np.uint32(2**32 - (1 << max(0, min(int(n), 32))))

    def prefetch(array, i):
        pass

    def copy_bytes(target, i, source, j, n):
        target[i : i + n] = source[j : j + n]

    def find_byte(data, byte, start, stop):
        found = np.flatnonzero(data[start:stop] == byte)
        return start + int(found[0]) if found.size else -1

    def load_big_endian(data, i):
        return np.uint64(int.from_bytes(data[i : i + 8].tobytes(), "big"))
