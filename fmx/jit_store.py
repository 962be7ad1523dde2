"""Machine code of compiled functions: kept on disk, loaded by LLVM, called by way of jit_entry.py."""

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import sys
import zlib
from array import array
from importlib import import_module
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

_NUMBERS = {
    f"{letter}{bits // 8}": getattr(ctypes, f"c_{name}{bits}")
    for letter, name in (("i", "int"), ("u", "uint"))
    for bits in (8, 16, 32, 64)
} | {"f4": ctypes.c_float, "f8": ctypes.c_double, "?": ctypes.c_bool}
_AS_BITS = {"u8", "f4", "f8"}
ENTRY = "fmx_entry"
_FLAGS = 0x503  # of an array, that numba tells apart: C and Fortran order, aligned, writeable


class Code(NamedTuple):
    """``symbol`` is the function's name in ``body``, an object file; ``entry`` is that of jit_entry.py.

    ``result`` is None, the type of a number (as "i8"), or [class, *results] for a tuple, where class is
    "module:name" for a NamedTuple and "" for a plain one.
    """

    symbol: str
    result: Any
    body: bytes
    entry: bytes


def processor() -> str:
    """What the code is compiled for, as numba sees it."""
    name = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES") or llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_process_triple()} {name} {features}"


def spread(arguments):
    """The kinds of arguments, a tuple, and the list of their slots."""
    kinds: list = []
    slots: list = []
    _spread(arguments, kinds, slots)
    return tuple(kinds), slots


def _spread(values, kinds, slots):
    for value in values:
        if isinstance(value, np.ndarray):
            kinds += value.dtype, value.ndim, value.flags.num & _FLAGS
            slots.append(id(value))
        elif isinstance(value, tuple):
            kinds += type(value), len(value)
            _spread(value, kinds, slots)
        elif value is None:
            kinds.append(None)
            slots.append(0)
        else:
            kind = _number(value)
            kinds.append(kind)
            slots.append(_bits(value, kind) if kind in _AS_BITS else int(value))


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


def _bits(value, kind) -> int:
    """Those of a number, as a whole number that a slot can hold."""
    return int.from_bytes(np.dtype(kind).type(value).tobytes(), sys.byteorder, signed=True)


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
    """Code in memory; called with slots of arguments of its kinds."""

    def __init__(self, code: Code):
        # Each in an engine of its own: names that numba gives in different processes may be the same.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), new_target())
        for machine in (code.body, code.entry):
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(machine))
        self._engine.finalize_object()
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
        self._function = kind(self._engine.get_function_address(ENTRY))
        self._symbol = code.symbol
        self._place, self._value = _c_result(code.result)

    def __call__(self, slots):
        place, slots = self._place(), array("q", slots)
        status = self._function(ctypes.addressof(place), slots.buffer_info()[0])
        if status not in (0, -2):
            raise RuntimeError(f"{self._symbol} ended with status {status}")
        return self._value(place)


def new_target():
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
    machine = code.body + code.entry
    head = json.dumps([code.symbol, code.result, len(code.body), zlib.crc32(machine)]).encode()
    draft = path.with_name(f"{path.name}.{os.urandom(6).hex()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(head + b"\n" + machine)
        draft.replace(path)
    except OSError:  # it is compiled again next time
        with contextlib.suppress(OSError):
            draft.unlink()


def load(path) -> Code | None:
    """The code of a file, or None if none can be read or it is damaged."""
    try:
        head, _, machine = path.read_bytes().partition(b"\n")
        symbol, result, size, check = json.loads(head)
    except (OSError, ValueError):
        return None
    return Code(symbol, result, machine[:size], machine[size:]) if zlib.crc32(machine) == check else None
