"""Machine code in memory: kinds of arguments, loading by LLVM, calls through the entry of numba_cpu.py.

LLVM aborts the process when memory runs out, so enough address space is checked for in advance.
"""

import ctypes
import functools
import os
import resource
import sys
from array import array
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..errors import FmxError

MB = 1 << 20
# Address space taken by LLVM, by the code of a function, and by numba when it compiles one.
LLVM, CODE, COMPILING = 200 * MB, 32 * MB, 160 * MB


def need_room(size: int) -> None:
    """Raise FmxError if a limit of this process (ulimit -v) leaves less address space than ``size``."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    try:
        with open("/proc/self/statm") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
    except OSError:  # only Linux has this file
        return
    if limit - used < size:
        raise FmxError(
            f"out of memory: {(used + size) // MB:,} MB of address space are needed, but only "
            f"{limit // MB:,} MB are allowed: raise the limit with 'ulimit -v'"
        )


need_room(LLVM)

import llvmlite.binding as llvm  # noqa: E402

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
level: list[Level | None] = [None]  # what this process compiles for, instead of this processor


def compile_for(name: str) -> None:
    """Compile for a level instead of this processor from now on, in this process."""
    level[:] = [LEVELS[name]]


def levels() -> list[str]:
    """Return the levels (as from ``processor``) whose code this processor also runs."""
    if "NUMBA_CPU_NAME" in os.environ:
        return []
    triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features()
    known = [each for each in LEVELS.values() if each.triple == triple]
    return [str(each) for each in known if all(features.get(f[1:]) for f in each.features.split(",") if f)]


def processor() -> str:
    """Return the processor that code is compiled for, as numba sees it, or the level."""
    if level[0]:
        return str(level[0])
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
# Flags of an array that numba distinguishes: C order (0x1), else Fortran order (0x2), writeable (0x400).
_FLAGS = 0x403
_LAYOUTS = {
    order | writeable: ("C" if order & 1 else "F" if order else "A") + ("" if writeable else READ_ONLY)
    for order in range(4)
    for writeable in (0, 0x400)
}


class Code(NamedTuple):
    """Machine code: an object file ``body``, in which ``symbol`` names the function, and ENTRY what calls it.

    ``result`` is None, the type of a number (as "i8"), or [class, *results] for a tuple, where class is
    "module:name" for a NamedTuple and "" for a plain tuple.
    """

    symbol: str
    result: Any
    body: bytes


def spread(arguments: tuple) -> tuple[tuple, list]:
    """Return the kinds of arguments, as a tuple, and the list of their slots."""
    kinds: list = []
    slots: list = []
    _spread(arguments, kinds, slots)
    return tuple(kinds), slots


def _spread(values: Any, kinds: list, slots: Any) -> None:
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


def number_kind(value: Any) -> str:
    """Return the kind of a number, as "i8".  Raises TypeError for anything else."""
    if isinstance(value, bool | np.bool_):
        return "?"
    if isinstance(value, int):
        return "i8" if value < 1 << 63 else "u8"
    if isinstance(value, float):
        return "f8"
    if isinstance(value, np.number) and value.dtype.str[1:] in _NUMBERS:
        return value.dtype.str[1:]
    raise TypeError(f"compiled code does not accept {type(value).__name__}")


def number_bits(value: Any, kind: Any) -> int:
    """Return the bits of a number of that kind, as a whole number that fits a slot."""
    if kind not in _AS_BITS:
        return int(value)
    return int.from_bytes(np.dtype(kind).type(value).tobytes(), sys.byteorder, signed=True)


def _dtype(result: Any) -> np.dtype:
    """Return how a result lies in memory."""
    if not isinstance(result, list):
        return np.dtype(result or "i8")
    return np.dtype([(f"f{i}", _dtype(part)) for i, part in enumerate(result[1:])], align=True)


def _value(result: Any, plain: Any) -> Any:
    """Return a result from its numbers, in plain tuples."""
    if not isinstance(result, list):
        return plain
    values = map(_value, result[1:], plain)
    return _class(result[0])._make(values) if result[0] else tuple(values)


@functools.cache
def _class(name: str) -> Any:
    module, _, path = name.partition(":")
    return functools.reduce(getattr, path.split("."), import_module(module))


class Native:
    """Code in memory; called with slots of arguments of its kinds, and the arguments, to keep them alive.

    ``keeps_lock``: whether a call keeps Python's lock.
    """

    def __init__(self, code: Code, keeps_lock: bool = False) -> None:
        need_room(CODE)
        # Each in a separate engine: numba may give the same names in different processes.
        empty = llvm.parse_assembly("")
        self._engine = llvm.create_mcjit_compiler(empty, new_target())
        self._engine.remove_module(empty)  # otherwise LLVM generates code for it, which takes 1 ms
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code.body))
        self._engine.finalize_object()
        make = ctypes.PYFUNCTYPE if keeps_lock else ctypes.CFUNCTYPE
        kind = make(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
        self._function = kind(self._engine.get_function_address(ENTRY))
        self._symbol, self._result, self._dtype = code.symbol, code.result, _dtype(code.result)
        self._memory = ctypes.c_byte * self._dtype.itemsize

    def __call__(self, slots: Any, arguments: tuple) -> Any:
        memory, slots = self._memory(), array("q", slots)
        status = self._function(ctypes.addressof(memory), slots.buffer_info()[0])
        if status > 0:  # the only exception of compiled code (CHECKED)
            raise IndexError(f"{self._symbol}: an index is out of bounds")
        if status not in (0, -2):
            raise RuntimeError(f"{self._symbol} ended with status {status}")
        if self._result is None:
            return None
        return _value(self._result, np.frombuffer(memoryview(memory), self._dtype).item())
