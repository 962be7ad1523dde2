"""Compiled functions, which Python calls, and the pieces they are made of.

Only this package imports numba, and this module does so only to compile (numba_cpu.py).  Machine code is
kept on disk (object_cache.py) and called (native.py) without numba, whose import and types would take half a
second of each command.

    compiled     called from Python, without holding its global lock
    brief        the same, but holding it
    inlined      a piece of compiled functions, written in Python
    primitive    a piece of a few instructions (primitives_llvm.py); its Python body defines its result
    by_type      a contract: a piece whose body is chosen by the type of its first argument
"""

import functools
import sys
import threading
from collections import namedtuple
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from . import DISABLED, object_cache
from .native import COMPILING, Code, Native, chosen, need_room, spread
from .piece import Contract, Piece

_lock = threading.RLock()
_UNKNOWN = "this version of numba or NumPy is not supported; install one that fmx requires"


@functools.cache
def compiler() -> ModuleType:
    """Return the module that compiles, which imports numba."""
    need_room(COMPILING)
    return import_module(".numba_cpu", __package__)


@functools.cache
def _is_callable() -> bool:
    """Return whether the compiler's code can be called without numba."""
    return import_module(".probe", __package__).holds(compiler())


def _report(what: str = "") -> bool:
    """Report that ``what``, or a function, is compiled; return whether its code can be called."""
    object_cache.report_compiling(_is_callable, _UNKNOWN, what)
    return _is_callable()


class Compiled(Piece):
    """A function that Python calls as machine code, compiled once for each combination of types."""

    def __init__(self, function: Callable, keeps_lock: bool = False) -> None:
        super().__init__(function, lambda: compiler().dispatcher(function))
        self._natives: dict = {}
        self._keeps_lock = keeps_lock

    def __call__(self, *arguments: Any) -> Any:
        kinds, slots = spread(arguments)
        native = self._natives.get(kinds)
        if native is None:
            with _lock:
                native = self._natives[kinds] = self._find(kinds, arguments)
        return native(slots, arguments)

    def _find(self, kinds: tuple, arguments: tuple) -> Callable:
        code = self.code(kinds)
        return Native(code, self._keeps_lock) if code else compiler().by_numba(self.function)

    def code(self, kinds: tuple) -> Code | None:
        """Return the code for arguments of some kinds, kept or compiled; None if only numba can call it."""
        function = self.function
        # Names do not distinguish functions outside fmx, or with variables of another function: not kept.
        named = [function, *(kind for kind in kinds if isinstance(kind, type) and kind is not tuple)]
        keep = all(x.__module__.startswith("fmx.") for x in named) and not function.__closure__
        name = object_cache.name_of(function, kinds) if keep else ""
        code = object_cache.load(name) if keep else None
        if code is not None:
            return code

        def make() -> Code | None:
            return compiler().machine_code(self.made, kinds, chosen()) if _report() else None

        with object_cache.compiling():
            if keep:
                ahead = import_module(".ahead", __package__)
                ahead.compile_beside(object_cache.plain_name(function, kinds), _report)
            return object_cache.load_or_make(name, make)


def compiled(function: Callable) -> Any:
    """Compile at the first call, for the CPU; kept on disk, and run without Python's global lock."""
    return function if DISABLED else Compiled(function)


def brief(function: Callable) -> Any:
    """Compile a function that usually takes microseconds: with several threads, it takes longer to get
    Python's lock back, so this one keeps it."""
    return function if DISABLED else Compiled(function, keeps_lock=True)


def inlined(function: Callable) -> Any:
    """Make a small piece of compiled functions, always inlined."""
    if DISABLED:
        return function
    return Piece(function, lambda: compiler().inlined(function))


def primitive(function: Callable, emitters: str = "primitives_llvm") -> Any:
    """Make a piece from the instructions of ``emitters``, under the same name."""
    if DISABLED:
        return function
    return Piece(function, lambda: compiler().intrinsic(emitters, function.__name__))


# Contracts: functions whose body is chosen by the type of their first argument.


def by_type(contract: Callable, default: Callable | None = None) -> Contract:
    """Turn a contract into a function whose body is chosen by the type of its first argument.

    ``@contract.register(Type)`` adds the body for a NamedTuple type.  Compiled code binds it at compile time;
    plain Python looks it up by ``type(first)``.  A type without a body gets ``default``, if any.
    """
    bodies: dict = {}

    def dispatch(first, *rest):
        return (bodies.get(type(first)) or default or bodies[type(first)])(first, *rest)

    chosen = functools.wraps(contract)(dispatch)
    return Contract(chosen, lambda: compiler().choice(dispatch, bodies, default), bodies, default)


def by_type_or_this(contract: Callable) -> Contract:
    """Make a contract whose own body serves every type without a registered body."""
    return by_type(contract, contract)


def static_type(name: str, fields: Any, module: str) -> Any:
    """Make a NamedTuple type with separate bodies, one of many that differ by constants of compiled code.

    Kept machine code finds its types by name in their modules, so it becomes an attribute of ``module``.
    """
    cls: Any = namedtuple(name, fields, module=module)  # type: ignore[misc]
    setattr(sys.modules[module], name, cls)
    return cls
