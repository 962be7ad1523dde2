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

from . import DISABLED, native, object_cache
from .native import Code, Native, spread
from .piece import Contract, Piece

_lock = threading.RLock()


@functools.cache
def compiler() -> ModuleType:
    """Return the module that compiles, which imports numba."""
    return import_module(".numba_cpu", __package__)


class Compiled(Piece):
    """A function that Python calls as machine code, compiled once for each combination of types."""

    def __init__(self, function: Callable, keeps_lock: bool = False) -> None:
        super().__init__(function, lambda: compiler().dispatcher(function), "compiled")
        self._natives: dict = {}
        self._keeps_lock = keeps_lock

    def __call__(self, *arguments: Any) -> Any:
        kinds, slots = spread(arguments)
        run = self._natives.get(kinds)
        if run is None:
            with _lock:
                if (run := self._natives.get(kinds)) is None:
                    run = self._natives[kinds] = Native(self.code(kinds), self._keeps_lock)
        return run(slots, arguments)

    def code(self, kinds: tuple) -> Code:
        """Return the code for arguments of some kinds, kept or compiled."""
        make = lambda: compiler().machine_code(self.made, kinds, native.compiled_for)  # noqa: E731
        return object_cache.load_or_make(self.name(kinds), make)

    def name(self, kinds: tuple) -> str:
        """Return the name under which the code is kept."""
        return object_cache.name_of(self.function, kinds)


def compiled(function: Callable) -> Any:
    """Make a function that Python calls; it is compiled at its first call, and runs without Python's lock."""
    return function if DISABLED else Compiled(function)


def brief(function: Callable) -> Any:
    """Make a compiled function of a few microseconds: it keeps Python's lock, which is slow to get back."""
    return function if DISABLED else Compiled(function, keeps_lock=True)


def inlined(function: Callable) -> Any:
    """Make a small piece of compiled functions, always inlined."""
    if DISABLED:
        return function
    return Piece(function, lambda: compiler().dispatcher(function, inline=True), "inlined")


def primitive(function: Callable, name: str = "") -> Any:
    """Make a piece from the instructions in primitives_llvm.py under the function's name, or ``name``."""
    function.__name__ = function.__qualname__ = name or function.__name__
    if DISABLED:
        return function
    make = lambda: getattr(import_module(".primitives_llvm", __package__), function.__name__)  # noqa: E731
    return Piece(function, make, "primitive")


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
    """Make a NamedTuple type, one of many with the same fields and with bodies that differ in constants.

    It becomes an attribute of ``module``, where the lists of entry points (ahead.py) find it by its name.
    """
    cls: Any = namedtuple(name, fields, module=module)  # type: ignore[misc]
    setattr(sys.modules[module], name, cls)
    return cls
