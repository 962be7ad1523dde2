"""Pieces, functions that compiled code calls in either compiler, and fingerprints of what code is made of.

A fingerprint is a digest of everything that machine code is compiled from: of a function its bytecode, the
constants and types that it names, and, recursively, the functions that it calls; of a contract the bodies for
types that its arguments have or that compiled code names.  The compiler itself, including this folder, is
part of the name of the code's folder (object_cache.py).
"""

import functools
import hashlib
import types
from collections import namedtuple
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np


class Piece:
    """A function that compiled code calls.  When Python calls it, it runs as Python.

    ``make()`` returns what represents it in numba; ``how`` says how it is compiled.
    """

    def __init__(self, function: Callable, make: Callable[[], Any], how: str = "") -> None:
        self.function, self._make, self.how = function, make, how
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    @functools.cached_property
    def made(self) -> Any:
        """What represents it in numba: a dispatcher, an intrinsic, or a function with an overload."""
        return self._make()

    @functools.cache  # noqa: B019  (pieces are as many as there are functions, and stay)
    def type_in(self, typing_context: Any) -> Any:
        """Return the type that a compiler, numba's for the CPU or for GPUs, gives it."""
        made = self.made
        typing_context.refresh()  # it may be new
        return typing_context.resolve_value_type(made)


class Contract(Piece):
    """A piece whose body, one of ``bodies`` or ``default``, is chosen by the type of its first argument."""

    def __init__(self, function: Callable, make: Callable[[], Any], bodies: dict, default: Callable | None):
        super().__init__(function, make)
        self.bodies, self.default = bodies, default

    def register(self, cls: type) -> Callable[[Callable], Callable]:
        """Return a decorator that adds the body for a NamedTuple type."""

        def add(body: Callable) -> Callable:
            self.bodies[cls] = body
            return body

        return add

    def of(self, fields: str) -> Callable[[Callable], Any]:
        """Return a decorator that turns a body into its type: a named tuple with these fields."""

        def make(body: Callable) -> Any:
            cls: Any = namedtuple(body.__name__, fields, module=body.__module__)  # type: ignore[misc]
            cls.__doc__ = body.__doc__
            self.bodies[cls] = body
            return cls

        return make

    def knows(self, first: object) -> bool:
        """Return whether there is a body for the type of ``first``."""
        return type(first) in self.bodies


class NumbaCuda:
    """numba.cuda, as kernels name it; imported when one is compiled."""

    __name__ = "numba.cuda"  # so that computing a fingerprint, which reads the name, imports nothing

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("numba.cuda"), name)


_OURS = __name__.partition(".")[0] + "."


def fingerprint(function: Callable, kinds: tuple) -> str:
    """Return the fingerprint of a function for arguments of some kinds (native.spread)."""
    texts = sorted(texts_of(function, kinds).values())
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def texts_of(function: Callable, kinds: tuple) -> dict:
    """Return the inputs of the fingerprint: a text per function, piece, class and (contract, class)."""
    texts: dict = {}
    waiting: list = [function, *(kind for kind in kinds if isinstance(kind, type))]
    while waiting:
        while waiting:
            node = waiting.pop()
            if node not in texts:
                texts[node], named = _described(node)
                waiting += named
        for contract in [node for node in texts if isinstance(node, Contract)]:
            for cls in contract.bodies.keys() & texts.keys():
                if (contract, cls) not in texts:
                    body = contract.bodies[cls]
                    texts[contract, cls] = f"{_name(contract)} of {_name(cls)}: {_described(body)[0]}"
                    waiting.append(body)
    return texts


def _name(named: Any) -> str:
    return f"{named.__module__}.{named.__qualname__}"


@functools.cache
def _described(node: Any) -> tuple:
    """Return (the text of a function, piece or class alone; the functions, pieces and classes it names)."""
    named: list = []
    if isinstance(node, type):
        members = {name: member.value for name, member in getattr(node, "__members__", {}).items()}
        return f"{_name(node)} {getattr(node, '_fields', '')} {members}", named
    if isinstance(node, Contract):
        return f"{_name(node)} else {_value(node.default, named)}", named
    how = getattr(node, "how", "")
    node = getattr(node, "function", node)
    code, names = _code(node.__code__, node.__doc__)
    values = [node.__defaults__, node.__kwdefaults__]
    parts = [_name(node), how, code, *(_value(value, named) for value in values)]
    parts += [_value(cell.cell_contents, named) for cell in node.__closure__ or ()]
    for name in sorted(names & node.__globals__.keys()):
        value = node.__globals__[name]
        if isinstance(value, types.ModuleType) and value.__name__.startswith(_OURS):
            values = [(f"{name}.{key}", getattr(value, key)) for key in sorted(names & vars(value).keys())]
        else:
            values = [(name, value)]
        parts += [f"{key} = {_value(value, named)}" for key, value in values]
    return "\n".join(parts), named


def _value(value: Any, named: list) -> str:
    """Return a value that compiled code refers to, as text; add what needs a separate text to ``named``."""
    if isinstance(value, Piece | type | types.FunctionType):
        if isinstance(value, Piece) or value.__module__.startswith(_OURS):
            named.append(value)
        return _name(value)
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, tuple | list):
        return f"{_name(type(value))} [{', '.join(_value(item, named) for item in value)}]"
    if isinstance(value, dict):
        return _value(tuple(sorted(value.items())), named)
    if isinstance(value, None | bool | int | float | str | bytes | np.generic | np.dtype):
        return f"{_name(type(value))} {value!r}"
    # A module or a function of another library, known by its version; or NumbaCuda.
    return getattr(value, "__name__", None) or _name(type(value))


def _code(code: types.CodeType, docstring: str | None = None) -> tuple[str, set]:
    """Return (bytecode as text, without source positions and its docstring; the names that it loads)."""
    names, consts = set(code.co_names), []
    for value in code.co_consts:
        inner = _code(value) if isinstance(value, types.CodeType) else (repr(value), ())
        consts.append(inner[0])
        names.update(inner[1])
    if docstring and consts and consts[0] == repr(docstring):
        del consts[0]
    symbols = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    return f"{code.co_code.hex()} {code.co_exceptiontable.hex()} {symbols} {counts} {consts}", names
