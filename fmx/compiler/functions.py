"""Compiled functions, which Python calls, and the pieces they are made of.

Only this package imports numba, and this module does so only to compile (numba_cpu.py).  Machine code is
kept on disk (object_cache.py) and called (native.py) without numba, whose import and types would take half a
second of each command.

    compiled     called from Python, without holding its global lock
    inlined      a piece of compiled functions, written in Python
    primitive    a piece of a few instructions (primitives_llvm.py); its Python body defines its result
    by_type      a contract: a piece whose body is chosen by the type of its first argument
"""

import functools
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from . import DISABLED, object_cache
from .native import COMPILING, Code, Native, need_room, spread
from .piece import Contract, Piece

_lock = threading.RLock()
_listener: list = []
_before_compiling: list = []  # the listener, until it was notified
_may_start_others = [True]  # once per process
_UNKNOWN = "this version of numba or NumPy is not supported; install one that fmx requires"
_seconds = [0.0]


class Listener(Protocol):
    """Gets messages on what is compiled: machines/progress.py."""

    def say(self, message: str) -> None:
        """Write a line that stays."""

    def alone(self, message: Callable[[], str], share: Callable[[], float]) -> AbstractContextManager[None]:
        """Within the context, show ``message()`` and the time left, from the fraction done."""


def on_first_compile(listener: Listener) -> None:
    """Notify ``listener`` once, when something is compiled that is not on disk.

    The last listener replaces earlier ones, such as that of an earlier command of the process.
    """
    _listener[:] = _before_compiling[:] = [listener]


def seconds_of_compiling() -> float:
    """Return the seconds that this process has spent on compiling."""
    return _seconds[0]


@contextmanager
def compiling() -> Iterator[None]:
    """Count the time in the context as compiling."""
    start = time.monotonic()
    try:
        yield
    finally:
        with _lock:
            _seconds[0] += time.monotonic() - start


@functools.cache
def compiler() -> ModuleType:
    """Return the module that compiles, which imports numba."""
    need_room(COMPILING)
    return import_module(".numba_cpu", __package__)


@functools.cache
def _is_callable() -> bool:
    """Return whether the compiler's code can be called without numba."""
    return import_module(".probe", __package__).holds(compiler())


def tell(is_callable: Callable[[], bool], unknown: str, what: str = "") -> None:
    """Report that something is compiled and why its code is not kept: ``unknown`` if not
    ``is_callable()``."""
    while _before_compiling:
        why = ""
        if not object_cache.is_kept():
            where = object_cache.folder() or "a folder without a home"
            why = f": {where} is not a private folder; set FMX_CACHE to one"
        elif not is_callable():
            why = f": {unknown}"
        _before_compiling.pop().say(
            f"compiling for this machine ({f'each time{why}' if why else 'once'}){what} ..."
        )


class Compiled(Piece):
    """A function that Python calls as machine code, compiled once for each combination of types."""

    def __init__(self, function: Callable) -> None:
        super().__init__(function, lambda: compiler().dispatcher(function))
        self._natives: dict = {}

    def __call__(self, *arguments: Any) -> Any:
        kinds, slots = spread(arguments)
        native = self._natives.get(kinds)
        if native is None:
            with _lock:
                native = self._natives[kinds] = self._find(kinds, arguments)
        return native(slots, arguments)

    def _find(self, kinds: tuple, arguments: tuple) -> Callable:
        code = self.code(kinds)
        return Native(code) if code else compiler().by_numba(self.function)

    def code(self, kinds: tuple) -> Code | None:
        """Return the code for arguments of some kinds, kept or compiled; None if only numba can call it."""
        function = self.function
        # Names do not distinguish functions outside fmx, or with variables of another function: not kept.
        named = [function, *(kind for kind in kinds if isinstance(kind, type) and kind is not tuple)]
        keep = all(x.__module__.startswith("fmx.") for x in named) and not function.__closure__
        name = object_cache.name_of(function, kinds)
        code = object_cache.load(name) if keep else None
        if code is not None:
            return code
        with compiling():
            if keep and _may_start_others:
                _compile_ahead(object_cache.plain_name(function, kinds))
                code = object_cache.load(name)
            if code is None:
                tell(_is_callable, _UNKNOWN)
                if not _is_callable():
                    return None
                code = compiler().machine_code(self.made, kinds)
                if keep:
                    object_cache.save(name, code)
        return code


def _compile_ahead(name: str) -> None:
    """Compile what a command that lacks the function of this name is likely to need, in several processes."""
    ahead = import_module(".ahead", __package__)
    wanted = [entry for entry in ahead.beside(name) if not ahead.is_kept(entry)]
    n = ahead.n_processes(wanted)
    if n == 1 or not object_cache.is_kept():
        return
    _may_start_others.clear()
    with ahead.workers(n) as started:
        tell(_is_callable, _UNKNOWN, f": {len(wanted)} functions")
        if _is_callable():
            started.compile(wanted, *_listener)


def work_alone() -> None:
    """Compile in this process only."""
    _may_start_others.clear()


def compiled(function: Callable) -> Any:
    """Compile at the first call, for the CPU; kept on disk, and run without Python's global lock."""
    return function if DISABLED else Compiled(function)


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
