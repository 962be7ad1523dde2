"""Machine code in memory: the kinds of its arguments, loaded by LLVM, called by way of numba_cpu.py."""

import ctypes
import functools
import sys
from array import array
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from .llvm import CODE, llvm, need_room, new_target

_NUMBERS = {
    f"{letter}{bits // 8}": getattr(ctypes, f"c_{name}{bits}")
    for letter, name in (("i", "int"), ("u", "uint"))
    for bits in (8, 16, 32, 64)
} | {"f4": ctypes.c_float, "f8": ctypes.c_double, "?": ctypes.c_bool}
_AS_BITS = {"u8", "f4", "f8"}
ENTRY = "fmx_entry"
READ_ONLY = "-"
# What numba tells apart of an array's flags: C order (0x1), else Fortran order (0x2), writeable (0x400).
_FLAGS = 0x403
_LAYOUTS = {
    order | writeable: ("C" if order & 1 else "F" if order else "A") + ("" if writeable else READ_ONLY)
    for order in range(4)
    for writeable in (0, 0x400)
}


class Code(NamedTuple):
    """``symbol`` is the function's name in ``body``, an object file; ``entry`` is that of numba_cpu.py.

    ``result`` is None, the type of a number (as "i8"), or [class, *results] for a tuple, where class is
    "module:name" for a NamedTuple and "" for a plain one.
    """

    symbol: str
    result: Any
    body: bytes
    entry: bytes


def spread(arguments):
    """The kinds of arguments, a tuple, and the list of their slots."""
    kinds: list = []
    slots: list = []
    _spread(arguments, kinds, slots)
    return tuple(kinds), slots


def _spread(values, kinds, slots):
    for value in values:
        if isinstance(value, np.ndarray):
            kinds += value.dtype, value.ndim, _LAYOUTS[value.flags.num & _FLAGS]
            slots.append(id(value))
        elif isinstance(value, tuple):
            kinds += type(value), len(value)
            _spread(value, kinds, slots)
        elif value is None:
            kinds.append(None)
            slots.append(0)
        else:
            kind = number_kind(value)
            kinds.append(kind)
            slots.append(number_bits(value, kind))


def number_kind(value) -> str:
    """The kind of a number, as "i8".  Raises TypeError for anything else."""
    if isinstance(value, bool | np.bool_):
        return "?"
    if isinstance(value, int):
        return "i8" if value < 1 << 63 else "u8"
    if isinstance(value, float):
        return "f8"
    if isinstance(value, np.number) and value.dtype.str[1:] in _NUMBERS:
        return value.dtype.str[1:]
    raise TypeError(f"compiled code takes no {type(value).__name__}")


def number_bits(value, kind) -> int:
    """The bits of a number of that kind, as a whole number that a slot can hold."""
    if kind not in _AS_BITS:
        return int(value)
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
    """Code in memory; called with slots of arguments of its kinds, and the arguments, which stay alive."""

    def __init__(self, code: Code):
        need_room(CODE)
        # Each in an engine of its own: names that numba gives in different processes may be the same.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), new_target())
        for machine in (code.body, code.entry):
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(machine))
        self._engine.finalize_object()
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
        self._function = kind(self._engine.get_function_address(ENTRY))
        self._symbol = code.symbol
        self._place, self._value = _c_result(code.result)

    def __call__(self, slots, arguments):
        place, slots = self._place(), array("q", slots)
        status = self._function(ctypes.addressof(place), slots.buffer_info()[0])
        if status > 0:  # the only exception of compiled code (piece.CHECKED)
            raise IndexError(f"{self._symbol}: an index is out of bounds")
        if status not in (0, -2):
            raise RuntimeError(f"{self._symbol} ended with status {status}")
        return self._value(place)
