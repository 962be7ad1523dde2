"""Machine code in memory: kinds of arguments, loading by LLVM, calls through the entry of numba_cpu.py."""

import ctypes
import os
import sys
from array import array
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from . import CHECKED

_X86, _ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
_V3 = "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"


class Level(NamedTuple):
    """Processors that code is compiled for: LLVM's triple, name and features, "" for those that all have."""

    triple: str
    name: str
    features: str

    def __str__(self) -> str:
        return " ".join(self)


# What wheels have code for: processors since 2013 (AVX2), and all 64-bit ARM processors.
LEVELS = {
    "x86-64-v3": Level(_X86, "x86-64-v3", _V3),
    "aarch64": Level(_ARM, "generic", ""),
}
_name = os.environ.get("FMX_COMPILE_FOR")
compiled_for = LEVELS[_name] if _name else None  # what this process compiles for, instead of this processor


def levels() -> list[str]:
    """Return the levels (as from ``processor``) whose code this processor also runs."""
    if "NUMBA_CPU_NAME" in os.environ:
        return []
    triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features()
    known = [each for each in LEVELS.values() if each.triple == triple]
    return [str(each) for each in known if all(features.get(f[1:]) for f in each.features.split(",") if f)]


def processor() -> str:
    """Return the processor that code is compiled for, as numba sees it, or the level."""
    if compiled_for:
        return str(compiled_for)
    name = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES") or llvm.get_host_cpu_features().flatten()
    return str(Level(llvm.get_process_triple(), name, features))


def new_target(level: Level | None = None) -> llvm.TargetMachine:
    """Return a new target, this processor or a level: each engine owns one."""
    if level is None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm.Target.from_default_triple().create_target_machine()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(level.triple).create_target_machine(
        cpu=level.name, features=level.features, opt=3, codemodel="jitdefault", jit=True,
        reloc="static" if level.triple == _X86 else "default",  # as numba's own targets of code in memory
    )  # fmt: skip


_NUMBERS = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}
_AS_BITS = {"u8", "f4", "f8"}
ENTRY = "fmx_entry"
READ_ONLY = "-"
# Flags of an array that compiled code distinguishes: C order (0x1) and, where indices are checked, writeable
# (0x400); a function that writes to a read-only array is then not compiled.
_FLAGS = 0x401 if CHECKED else 0x1
_ANY, _C = (f"A{READ_ONLY}", f"C{READ_ONLY}") if CHECKED else ("A", "C")
_LAYOUTS = {0x401: "C", 0x400: "A", 0x1: _C, 0: _ANY}


class Code(NamedTuple):
    """Machine code: an object file ``body``, in which ``symbol`` names the function, and ENTRY what calls it.

    ``result``: NumPy's name of a number's type, as "i8"; each with a comma, as "i8,b1,", for a tuple; "" for
    None.
    """

    symbol: str
    result: str
    body: bytes


def spread(arguments: tuple) -> tuple[tuple, list]:
    """Return the kinds of arguments, as a tuple, and the list of their slots."""
    kinds: list = []
    slots: list = []
    fill(arguments, kinds, slots, np.ndarray, _add_array)
    return tuple(kinds), slots


def _add_array(value: np.ndarray, kinds: list, slots: list) -> None:
    kinds += value.dtype, value.ndim, _LAYOUTS[value.flags.num & _FLAGS]
    slots.append(id(value))


def fill(values: Iterable, kinds: list, slots: Any, array_type: type, add_array: Callable) -> None:
    """Append the kinds and slots of arguments; ``add_array(value, kinds, slots)`` does so for an array.

    Raises TypeError for what compiled code does not accept.
    """
    for value in values:
        if isinstance(value, array_type):
            add_array(value, kinds, slots)
        elif isinstance(value, tuple):
            kinds += type(value), len(value)
            fill(value, kinds, slots, array_type, add_array)
        elif value is None:
            kinds.append(None)
            slots.append(0)
        else:
            kind = _number_kind(value)
            kinds.append(kind)
            # Its bits, as a whole number that fits a slot.
            bits = np.dtype(kind).type(value).tobytes() if kind in _AS_BITS else b""
            slots.append(int.from_bytes(bits, sys.byteorder, signed=True) if bits else int(value))


def _number_kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "?"
    if isinstance(value, int):
        return "i8" if value < 1 << 63 else "u8"
    if isinstance(value, float):
        return "f8"
    if isinstance(value, np.number) and value.dtype.str[1:] in _NUMBERS:
        return value.dtype.str[1:]
    raise TypeError(f"compiled code does not accept {type(value).__name__}")


class Native:
    """Code in memory; called with slots of arguments of its kinds, and the arguments, to keep them alive.

    ``keeps_lock``: whether a call keeps Python's lock.
    """

    def __init__(self, code: Code, keeps_lock: bool = False) -> None:
        # Each in a separate engine: numba may give the same names in different processes.
        empty = llvm.parse_assembly("")
        self._engine = llvm.create_mcjit_compiler(empty, new_target())
        self._engine.remove_module(empty)  # otherwise LLVM generates code for it, which takes 1 ms
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code.body))
        self._engine.finalize_object()
        make = ctypes.PYFUNCTYPE if keeps_lock else ctypes.CFUNCTYPE
        kind = make(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
        self._function = kind(self._engine.get_function_address(ENTRY))
        self._symbol, self._result = code.symbol, code.result
        self._dtype = np.dtype(code.result or "i8", align=True)
        self._memory = ctypes.c_byte * self._dtype.itemsize

    def __call__(self, slots: Any, arguments: tuple) -> Any:
        memory, slots = self._memory(), array("q", slots)
        status = self._function(ctypes.addressof(memory), slots.buffer_info()[0])
        if status > 0:  # the only exception of compiled code (CHECKED)
            raise IndexError(f"{self._symbol}: an index is out of bounds")
        if status not in (0, -2):  # -2: it returned None
            raise RuntimeError(f"{self._symbol} ended with status {status}")
        return np.frombuffer(memoryview(memory), self._dtype).item() if self._result else None
