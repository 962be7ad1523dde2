"""Fingerprints of functions: digests of all that machine code is compiled from.

Of a function that is its bytecode, the constants and types that it names, and the functions that it calls,
and so on; of a contract the bodies for types that its arguments have or that compiled code names.  The
compiler itself, this folder included, names the folder of code (object_cache.py).
"""

import functools
import hashlib
import types
from opcode import opmap

import numpy as np

from .piece import Piece

_LOAD_GLOBAL, _EXTENDED_ARG = opmap["LOAD_GLOBAL"], opmap["EXTENDED_ARG"]
_OURS = __name__.partition(".")[0] + "."


def fingerprint(function, kinds: tuple) -> str:
    """The fingerprint of a function for arguments of some kinds (native.spread)."""
    texts = sorted(texts_of(function, kinds).values())
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def texts_of(function, kinds: tuple) -> dict:
    """What the fingerprint is of: a text for each function, piece and class, and for the body that each
    (contract, class) has."""
    texts: dict = {}
    waiting = [function, *(kind for kind in kinds if isinstance(kind, type))]
    contracts: list = []
    classes: list = []
    while waiting:
        node = waiting.pop()
        if node in texts:
            continue
        texts[node], named = _described(node)
        waiting += named
        pairs = []
        if isinstance(node, type):
            classes.append(node)
            pairs = [(contract, node) for contract in contracts]
        elif hasattr(node, "bodies"):
            contracts.append(node)
            pairs = [(node, cls) for cls in classes]
        for contract, cls in pairs:
            if cls in contract.bodies:
                body = contract.bodies[cls]
                texts[contract, cls] = f"{_name(contract)} of {_name(cls)}: {_described(body)[0]}"
                waiting.append(body)
    return texts


def _name(named) -> str:
    return f"{named.__module__}.{named.__qualname__}"


@functools.cache
def _described(node) -> tuple:
    """(what a function, piece or class is by itself, as text; the functions, pieces and classes it names)."""
    named: list = []
    if isinstance(node, type):
        members = {name: member.value for name, member in getattr(node, "__members__", {}).items()}
        return f"{_name(node)} {getattr(node, '_fields', '')} {members}", named
    if hasattr(node, "bodies"):  # a contract
        return f"{_name(node)} else {_value(node.default, named)}", named
    way = ""
    if isinstance(node, Piece):
        way, node = node.way, node.function
    code = node.__code__
    parts = [_name(node), way, _code(code, node.__doc__)]
    parts += [_value(value, named) for value in (node.__defaults__, node.__kwdefaults__)]
    parts += [_value(cell.cell_contents, named) for cell in node.__closure__ or ()]
    for name in sorted(_globals(code)):
        value = node.__globals__.get(name)  # else it is of Python itself
        if isinstance(value, types.ModuleType) and value.__name__.startswith(_OURS):
            taken = [key for key in _names(code) if hasattr(value, key)]
            parts += [f"{name}.{key} = {_value(getattr(value, key), named)}" for key in sorted(taken)]
        else:
            parts.append(f"{name} = {_value(value, named)}")
    return "\n".join(parts), named


def _value(value, named: list) -> str:
    """A value that compiled code refers to, as text; what must be described by itself goes to ``named``."""
    if isinstance(value, Piece):
        named.append(value)
        return _name(value)
    if isinstance(value, type | types.FunctionType):
        if value.__module__.startswith(_OURS):
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
    # A module or a function of another library, known by its version; or numba.cuda, by cuda_module.py.
    return getattr(value, "__name__", None) or _name(type(value))


def _code(code, docstring=None) -> str:
    """Bytecode as text, without where it was written and its docstring."""
    consts = [_code(x) if isinstance(x, types.CodeType) else repr(x) for x in code.co_consts]
    if docstring and consts and consts[0] == repr(docstring):
        del consts[0]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    return f"{code.co_code.hex()} {code.co_exceptiontable.hex()} {names} {counts} {consts}"


def _nested(code):
    yield code
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _nested(value)


def _names(code) -> set:
    return {name for part in _nested(code) for name in part.co_names}


def _globals(code) -> set:
    """The names of globals that code loads."""
    found = set()
    for part in _nested(code):
        above = 0
        for operation, low in zip(part.co_code[::2], part.co_code[1::2], strict=True):
            number = above << 8 | low
            if operation == _LOAD_GLOBAL:
                found.add(part.co_names[number >> 1])
            above = number if operation == _EXTENDED_ARG else 0
    return found
