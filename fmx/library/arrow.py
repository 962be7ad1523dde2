"""Exports NumPy columns as a stream of Arrow's C interface, without copying them.

https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html, and PyCapsuleInterface.html.
HELD keeps alive what a struct points to until its consumer releases it.  Each struct has its own entry, as a
consumer may move a column out of a batch and release the rest.
"""

import ctypes
import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

FORMATS = {"int64": b"l", "int32": b"i", "int8": b"c", "float64": b"g", "bool": b"b"}
Texts = tuple[np.ndarray, np.ndarray]  # (bytes uint8, ends int64[n + 1]) of n strings


class Coded(NamedTuple):
    """A dictionary-encoded column: int32 ``numbers`` of distinct ``texts``."""

    numbers: np.ndarray
    texts: Texts


Columns = Mapping[str, np.ndarray | Texts | Coded]
_STREAM = b"arrow_array_stream"
HELD: dict = {}  # by private_data: what exported structs point to
_numbers = itertools.count(1)


class Schema(ctypes.Structure):
    """ArrowSchema."""


class Array(ctypes.Structure):
    """ArrowArray."""


class ArrowStream(ctypes.Structure):
    """ArrowArrayStream."""

    _fields_ = [
        ("get_schema", ctypes.c_void_p), ("get_next", ctypes.c_void_p), ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
    ]  # fmt: skip


Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip


def stream(columns: Columns, n_rows: int) -> object:
    """Return a capsule with a stream of one batch; ``columns`` by name, each with n_rows."""
    made = ArrowStream(
        _address(_GET_SCHEMA), _address(_GET_NEXT), _address(_GET_ERROR), _address(_END_STREAM)
    )
    made.private_data = _hold({"columns": columns, "n": n_rows, "is_done": False})
    _hold(made, ctypes.addressof(made))
    return _new_capsule(ctypes.addressof(made), _STREAM, _END_CAPSULE)


def _fill_schema(into: Schema, columns: Columns) -> None:
    children = [_type(name, column) for name, column in columns.items()]
    pointers = (ctypes.POINTER(Schema) * len(children))(*map(ctypes.pointer, children))
    ctypes.memset(ctypes.addressof(into), 0, ctypes.sizeof(into))
    into.format, into.name, into.n_children, into.children = b"+s", b"", len(children), pointers
    into.release, into.private_data = _address(_END_SCHEMA), _hold((pointers, children))


def _type(name: str, column: np.ndarray | Texts | Coded) -> Schema:
    texts = None
    if isinstance(column, Coded):
        texts, column = _type("", column.texts), column.numbers
    made = Schema(b"U" if isinstance(column, tuple) else FORMATS[column.dtype.name], name.encode())
    made.dictionary = texts and ctypes.addressof(texts)
    made.release, made.private_data = _address(_END_SCHEMA), _hold((made, texts))
    return made


def _fill_array(into: Array, columns: Columns, n: int) -> None:
    children = [_column(column, n) for column in columns.values()]
    pointers = (ctypes.POINTER(Array) * len(children))(*map(ctypes.pointer, children))
    buffers = (ctypes.c_void_p * 1)(None)
    ctypes.memset(ctypes.addressof(into), 0, ctypes.sizeof(into))
    into.length, into.n_buffers, into.buffers = n, 1, buffers
    into.n_children, into.children = len(children), pointers
    into.release, into.private_data = _address(_END_ARRAY), _hold((pointers, children, buffers))


def _column(column: np.ndarray | Texts | Coded, n: int) -> Array:
    texts = None
    if isinstance(column, Coded):
        texts, column = _column(column.texts, column.texts[1].size - 1), column.numbers
    if isinstance(column, tuple):
        arrays = [column[1], column[0]]
    else:
        arrays = [np.packbits(column, bitorder="little") if column.dtype == np.bool_ else column]
    buffers = (ctypes.c_void_p * (1 + len(arrays)))(None, *(array.ctypes.data for array in arrays))
    made = Array(n, 0, 0, len(buffers), 0, buffers)
    made.dictionary = texts and ctypes.addressof(texts)
    made.release, made.private_data = _address(_END_ARRAY), _hold((arrays, buffers, texts))
    return made


def _hold(what: object, number: int | None = None) -> int:
    """Keep an object alive; return the number to release it by."""
    number = number or -next(_numbers) & (1 << 64) - 1  # above all addresses
    HELD[number] = what
    return number


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _ends(kind: type[Schema] | type[Array]) -> Callable:
    """The release callback of Schema or Array: releases children and dictionary, then the struct itself."""

    def end(address: int, held: dict = HELD) -> None:
        own = kind.from_address(address)
        for i in range(own.n_children):
            child = own.children[i].contents
            if child.release:
                end(ctypes.addressof(child))
        if own.dictionary and kind.from_address(own.dictionary).release:
            end(own.dictionary)
        own.release = None
        held.pop(own.private_data, None)

    return _ONE(end)


def _get_schema(address: int, into: int) -> int:
    _fill_schema(Schema.from_address(into), HELD[ArrowStream.from_address(address).private_data]["columns"])
    return 0


def _get_next(address: int, into: int) -> int:
    given = HELD[ArrowStream.from_address(address).private_data]
    if given["is_done"]:
        ctypes.memset(into, 0, ctypes.sizeof(Array))
    else:
        _fill_array(Array.from_address(into), given["columns"], given["n"])
        given["is_done"] = True
    return 0


def _end_stream(address: int, held: dict = HELD) -> None:
    own = ArrowStream.from_address(address)
    held.pop(own.private_data, None)
    own.release = None


def _end_capsule(capsule: Any, held: dict = HELD) -> None:
    address = _pointer_of(capsule, _STREAM)
    if ArrowStream.from_address(address).release:
        _end_stream(address)
    held.pop(address, None)


_ONE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_TWO = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_END_SCHEMA, _END_ARRAY, _END_STREAM = _ends(Schema), _ends(Array), _ONE(_end_stream)
_GET_SCHEMA, _GET_NEXT = _TWO(_get_schema), _TWO(_get_next)
_GET_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda address: None)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_END_CAPSULE = _DESTRUCTOR(_end_capsule)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
