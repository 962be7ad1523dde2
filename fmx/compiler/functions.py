"""The only door to the compiler: decorators, dispatch by type, popcount, prefetch, block copies.

No module but jit*.py imports numba, and this one does so only to compile (jit_compiler.py).  Machine code
is kept on disk (jit_store.py) and called (jit_native.py) without numba, whose import and types would take
half a second of each command.

    compiled     called from Python, without holding its global lock
    inlined      a piece of compiled functions, written in Python
    primitive    a piece of a few instructions (jit_emit.py); its Python body says what they do
    by_type      a contract: a piece whose body is chosen by the type of its first argument
"""

import functools
import os
import threading
from importlib import import_module

import numpy as np

from . import llvm, object_cache
from . import native as jit_native

DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")  # plain Python, as in the CUDA simulator


_lock = threading.RLock()
_before_compiling: list = []


def on_first_compile(say) -> None:
    """Call ``say(text)`` once, when something is compiled that the disk does not hold yet.

    The last callback given counts, so that an earlier command of the same process has no say.
    """
    _before_compiling[:] = [say]


@functools.cache
def _compiler():
    llvm.need_room(llvm.COMPILING)
    return import_module(".numba_cpu", __package__)


@functools.cache
def _is_callable() -> bool:
    """Whether the compiler's code can be called without numba."""
    return import_module(".probe", __package__).holds(_compiler())


def _tell() -> None:
    """Say that something is compiled, and whether that is so each time."""
    while _before_compiling:
        why = ""
        if not object_cache.is_kept():
            where = object_cache.folder() or "a folder without a home"
            why = f": {where} cannot be kept from others; name another by FMX_CACHE"
        elif not _is_callable():
            why = ": fmx does not know this numba or NumPy; see what it requires"
        _before_compiling.pop()(f"compiling for this machine ({f'each time{why}' if why else 'once'}) ...")


class Piece:
    """A function that compiled code calls.  Python that calls it runs it as it is written."""

    def __init__(self, function, make):
        self.function, self._make = function, make
        functools.update_wrapper(self, function)

    def __call__(self, *arguments):
        return self.function(*arguments)

    @functools.cached_property
    def made(self):
        """What stands for it in numba: a dispatcher, an intrinsic, or a function with an overload."""
        return self._make(_compiler())

    @functools.cache  # noqa: B019  (pieces are as many as there are functions, and stay)
    def type_in(self, typing_context):
        """The type that a compiler, numba's for the CPU or that for GPUs, gives it."""
        made = self.made
        typing_context.refresh()  # it may be new
        return typing_context.resolve_value_type(made)


class Compiled(Piece):
    """A function that Python calls as machine code, compiled once for each combination of types."""

    def __init__(self, function):
        super().__init__(function, lambda compiler: compiler.dispatcher(function))
        self._natives: dict = {}

    def __call__(self, *arguments):
        kinds, slots = jit_native.spread(arguments)
        native = self._natives.get(kinds)
        if native is None:
            with _lock:
                native = self._natives[kinds] = self._find(kinds, arguments)
        return native(slots, arguments)

    def _find(self, kinds, arguments):
        function = self.function
        # What is not of fmx or holds variables of another function is not told apart by its name.
        keep = function.__module__.startswith("fmx.") and not function.__closure__
        name = object_cache.name_of(function, kinds)
        code = object_cache.load(name) if keep else None
        if code is None:
            _tell()
            if not _is_callable():
                return _compiler().by_numba(function)
            code = _compiler().machine_code(self.made, arguments)
            if keep:
                object_cache.save(name, code)
        return jit_native.Native(code)


def compiled(function):
    """Compile at first call, for the CPU, kept on disk, running without Python's global lock."""
    return function if DISABLED else Compiled(function)


def inlined(function):
    """A small piece of a compiled function, always inlined."""
    if DISABLED:
        return function
    return Piece(function, lambda compiler: compiler.inlined(function))


def primitive(function, emitters="primitives_llvm"):
    """A piece that ``emitters`` makes of instructions, under the same name."""
    if DISABLED:
        return function
    return Piece(function, lambda compiler: compiler.intrinsic(emitters, function.__name__))


def by_type(contract, default=None):
    """Turn a contract into a function whose body is chosen by the type of its first argument.

    ``@contract.register(Type)`` adds the body for a NamedTuple type.  Compiled code binds it at compile
    time; plain Python looks it up by ``type(first)``.  A type without a body gets ``default``, if any.
    """
    bodies: dict = {}

    def dispatch(first, *rest):
        return (bodies.get(type(first)) or default or bodies[type(first)])(first, *rest)

    def register(cls):
        def add(body):
            bodies[cls] = body
            return body

        return add

    chosen = functools.wraps(contract)(dispatch)
    made = Piece(chosen, lambda compiler: compiler.choice(dispatch, bodies, default))
    made.register = register
    made.knows = lambda first: type(first) in bodies
    return made


def by_type_or_this(contract):
    """A contract whose own body serves every type that registers none."""
    return by_type(contract, contract)


@inlined
def at(array, i):
    """``array[i]`` for i >= 0: an unsigned index spares the test for counting from the end."""
    return array[np.uint64(i)]


@primitive
def popcount(x):
    """Number of set bits of a uint64, as int64."""
    return np.int64(int(x).bit_count())


@primitive
def bits_from(n):
    """A uint64 with all bits set but the n lowest; all for n < 0, none for n > 63 (-2^31 < n < 2^31)."""
    return np.uint64(2**64 - (1 << max(0, min(int(n), 64))))


@primitive
def bits_from32(n):
    """The same of 32 bits, a uint32."""
    return np.uint32(2**32 - (1 << max(0, min(int(n), 32))))


@inlined
def low_bits(n):
    """A uint64 whose n lowest bits are set; none for n < 0, all for n > 63 (-2^31 < n < 2^31)."""
    return ~bits_from(n)


@inlined
def quotient(i, d):
    """i // d for 0 <= i < 2^32 and a constant d, by 32-bit arithmetic."""
    return np.int64(np.uint32(i) // np.uint32(d))


@primitive
def prefetch(array, i):
    """Ask the memory system for the cache line of ``array[i]`` (flat index of a contiguous array).

    Nothing on a GPU, which hides waiting by other threads.
    """


@primitive
def copy_bytes(target, i, source, j, n):
    """``target[i:i+n] = source[j:j+n]`` for uint8 arrays that do not overlap."""
    target[i : i + n] = source[j : j + n]


@primitive
def find_byte(data, byte, start, stop):
    """Index of the first ``byte`` in ``data[start:stop]`` (uint8), or -1: libc's memchr."""
    found = np.flatnonzero(data[start:stop] == byte)
    return start + int(found[0]) if found.size else -1


@primitive
def load_big_endian(data, i):
    """The 8 bytes of ``data`` (uint8) from index i as a uint64, the first in the highest byte."""
    return np.uint64(int.from_bytes(data[i : i + 8].tobytes(), "big"))
