"""What is compiled: functions that Python calls, and pieces of them.

No room but this imports numba, and this module does so only to compile (numba_cpu.py).  Machine code
is kept on disk (object_cache.py) and called (native.py) without numba, whose import and types would take
half a second of each command.

    compiled     called from Python, without holding its global lock
    inlined      a piece of compiled functions, written in Python
    primitive    a piece of a few instructions (primitives_llvm.py); its Python body says what they do
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
_before_compiling: list = []  # the same until it was told
_may_start_others = [True]  # once a process
_UNKNOWN = "fmx does not know this numba or NumPy; see what it requires"
_seconds = [0.0]


class Listener(Protocol):
    """Who is told what is compiled: machines/progress.py."""

    def say(self, message: str) -> None:
        """One line that stays."""

    def alone(self, message: Callable[[], str], share: Callable[[], float]) -> AbstractContextManager[None]:
        """Within, show ``message()`` and the time left, by the share that is done."""


def on_first_compile(listener: Listener) -> None:
    """Tell ``listener`` once, when something is compiled that the disk does not hold yet.

    The last one given counts, so that an earlier command of the same process has no say.
    """
    _listener[:] = _before_compiling[:] = [listener]


def seconds_of_compiling() -> float:
    """What this process has spent on compiling so far."""
    return _seconds[0]


@contextmanager
def compiling() -> Iterator[None]:
    """Time within is spent on compiling."""
    start = time.monotonic()
    try:
        yield
    finally:
        with _lock:
            _seconds[0] += time.monotonic() - start


@functools.cache
def compiler() -> ModuleType:
    """The module that compiles, which imports numba."""
    need_room(COMPILING)
    return import_module(".numba_cpu", __package__)


@functools.cache
def _is_callable() -> bool:
    """Whether the compiler's code can be called without numba."""
    return import_module(".probe", __package__).holds(compiler())


def tell(is_callable: Callable[[], bool], unknown: str, what: str = "") -> None:
    """Say that something is compiled, and why each time: ``unknown`` where it is not ``is_callable()``."""
    while _before_compiling:
        why = ""
        if not object_cache.is_kept():
            where = object_cache.folder() or "a folder without a home"
            why = f": {where} cannot be kept from others; name another by FMX_CACHE"
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
        """Its code for arguments of some kinds, from disk or compiled; None where only numba can call it."""
        function = self.function
        # What is not of fmx or holds variables of another function is not told apart by its name.
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
    """Compile by several processes what a command that lacks the function of this name is likely to need."""
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
    """Start no other processes to compile."""
    _may_start_others.clear()


def compiled(function: Callable) -> Any:
    """Compile at first call, for the CPU, kept on disk, running without Python's global lock."""
    return function if DISABLED else Compiled(function)


def inlined(function: Callable) -> Any:
    """A small piece of a compiled function, always inlined."""
    if DISABLED:
        return function
    return Piece(function, lambda: compiler().inlined(function))


def primitive(function: Callable, emitters: str = "primitives_llvm") -> Any:
    """A piece that ``emitters`` makes of instructions, under the same name."""
    if DISABLED:
        return function
    return Piece(function, lambda: compiler().intrinsic(emitters, function.__name__))


# Contracts: functions whose body is chosen by the type of their first argument.


def by_type(contract: Callable, default: Callable | None = None) -> Contract:
    """Turn a contract into a function whose body is chosen by the type of its first argument.

    ``@contract.register(Type)`` adds the body for a NamedTuple type.  Compiled code binds it at compile
    time; plain Python looks it up by ``type(first)``.  A type without a body gets ``default``, if any.
    """
    bodies: dict = {}

    def dispatch(first, *rest):
        return (bodies.get(type(first)) or default or bodies[type(first)])(first, *rest)

    chosen = functools.wraps(contract)(dispatch)
    return Contract(chosen, lambda: compiler().choice(dispatch, bodies, default), bodies, default)


def by_type_or_this(contract: Callable) -> Contract:
    """A contract whose own body serves every type that registers none."""
    return by_type(contract, contract)


def static_type(name: str, fields: Any, module: str) -> Any:
    """A NamedTuple type for bodies of its own, one of many that differ by constants of compiled code.

    Kept machine code finds its types by their names in modules, so it becomes one of ``module``.
    """
    cls: Any = namedtuple(name, fields, module=module)  # type: ignore[misc]
    setattr(sys.modules[module], name, cls)
    return cls
