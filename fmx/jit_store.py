"""Machine code of compiled functions: kept on disk, loaded by LLVM, called by C's convention.

Numba passes each value of a function by one or more arguments: a number as itself, a tuple as its
elements, an array as (owner, parent, size, itemsize, address, shape, strides).  Before them come a pointer
to where the result goes and one to where an exception would; the function returns 0, or -2 for None.
"""

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import zlib
from importlib import import_module
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

_NUMBERS = {
    f"{letter}{bits // 8}": getattr(ctypes, f"c_{name}{bits}")
    for letter, name in (("i", "int"), ("u", "uint"))
    for bits in (8, 16, 32, 64)
} | {"f4": ctypes.c_float, "f8": ctypes.c_double, "?": ctypes.c_bool}
_ARRAY = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]


class Code(NamedTuple):
    """``symbol`` is the function's name in ``machine``, an object file.

    ``result`` is None, the type of a number (as "i8"), or [class, *results] for a tuple, where class is
    "module:name" for a NamedTuple and "" for a plain one.
    """

    symbol: str
    result: Any
    machine: bytes


def processor() -> str:
    """What the code is compiled for, as numba sees it."""
    name = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES") or llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_process_triple()} {name} {features}"


def spread(arguments):
    """The kinds of arguments, a tuple, and the list of what C's convention passes for them."""
    kinds: list = []
    slots: list = []
    for value in arguments:
        _spread(value, kinds, slots)
    return tuple(kinds), slots


def _spread(value, kinds, slots):
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        kinds += value.dtype.str, value.ndim, layout, flags.writeable, flags.aligned
        address = value.__array_interface__["data"][0]
        slots += 0, 0, value.size, value.itemsize, address, *value.shape, *value.strides
    elif isinstance(value, tuple):
        kinds += type(value), len(value)
        for element in value:
            _spread(element, kinds, slots)
    elif value is None:
        kinds.append(None)
        slots.append(None)
    else:
        kinds.append(_number(value))
        slots.append(value if isinstance(value, int | float) else value.item())


def _number(value) -> str:
    if isinstance(value, bool | np.bool_):
        return "?"
    if isinstance(value, int):
        return "i8" if value < 1 << 63 else "u8"
    if isinstance(value, float):
        return "f8"
    if isinstance(value, np.number) and value.dtype.str[1:] in _NUMBERS:
        return value.dtype.str[1:]
    raise TypeError(f"compiled code takes no {type(value).__name__}")


def _c_types(value) -> list:
    """The types of the slots of a value."""
    if isinstance(value, np.ndarray):
        return _ARRAY + [ctypes.c_int64] * (2 * value.ndim)
    if isinstance(value, tuple):
        return [kind for element in value for kind in _c_types(element)]
    if value is None:
        return [ctypes.c_void_p]
    return [_NUMBERS[_number(value)]]


def _c_result(result):
    """Where a result goes, and the function that makes a value of what is there."""
    if result is None:
        return ctypes.c_void_p, lambda place: None
    if isinstance(result, str):
        return _NUMBERS[result], lambda place: place.value
    name, *elements = result
    fields = [_c_result(element) for element in elements]
    names = [f"f{i}" for i in range(len(fields))]

    class Place(ctypes.Structure):
        _fields_ = [(name, kind) for name, (kind, _) in zip(names, fields, strict=True)]

    make = _class(name)._make if name else tuple

    def value(place):
        parts = (getattr(place, name) for name in names)
        plain = (isinstance(element, str) for element in elements)
        return make(
            part if simple else read(part)
            for part, simple, (_, read) in zip(parts, plain, fields, strict=True)
        )

    return Place, value


def _class(name):
    module, _, path = name.partition(":")
    return functools.reduce(getattr, path.split("."), import_module(module))


class Native:
    """Code in memory, for arguments such as those given; called with the slots of others of their kinds."""

    def __init__(self, code: Code, arguments):
        # Each in an engine of its own: names that numba gives in different processes may be the same.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_target())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code.machine))
        self._engine.finalize_object()
        pointers = [ctypes.c_void_p, ctypes.c_void_p]
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *_c_types(tuple(arguments)))
        self._symbol, self._function = code.symbol, kind(self._engine.get_function_address(code.symbol))
        self._place, self._value = _c_result(code.result)

    def __call__(self, slots):
        place, exception = self._place(), ctypes.c_void_p()
        status = self._function(ctypes.addressof(place), ctypes.addressof(exception), *slots)
        if status not in (0, -2):
            raise RuntimeError(f"{self._symbol} ended with status {status}")
        return self._value(place)


def _new_target():
    """An engine owns its target."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine()


def file_name(function: str, kinds: tuple) -> str:
    """Name of the file that holds a function's code for arguments of these kinds."""
    names = [f"{k.__module__}.{k.__qualname__}" if isinstance(k, type) else repr(k) for k in kinds]
    return f"{function}-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:16]}.o"


def save(path, code: Code) -> None:
    """Write a file of code, which appears whole or, where there is no room, not at all."""
    head = json.dumps([code.symbol, code.result, zlib.crc32(code.machine)]).encode()
    draft = path.with_name(f"{path.name}.{os.urandom(6).hex()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(head + b"\n" + code.machine)
        draft.replace(path)
    except OSError:  # it is compiled again next time
        with contextlib.suppress(OSError):
            draft.unlink()


def load(path, arguments):
    """The Native of a file of code, or None if none can be read or it is damaged."""
    try:
        head, _, machine = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    try:
        symbol, result, check = json.loads(head)
    except ValueError:
        return None
    return Native(Code(symbol, result, machine), arguments) if zlib.crc32(machine) == check else None
