"""C functions of other libraries, called by their addresses from compiled code, without Python's lock.

A primitive knows an address only as a number: kept machine code never holds one.
"""

import ctypes

from .functions import primitive as _primitive

_KIND = ctypes.CFUNCTYPE(ctypes.c_int32, *4 * (ctypes.c_int64,))


def addresses(library, *names) -> tuple:
    """The addresses (int) of functions of a shared library, a path, or of the process (None).

    Raises OSError, AttributeError.
    """
    loaded = ctypes.CDLL(library)
    return tuple(ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value for name in names)


def primitive(function):
    """A piece that foreign_llvm.py makes of instructions."""
    return _primitive(function, "foreign_llvm")


@primitive
def call_c(address, a, b, c, d):
    """The int32 that the C function at an address (int64) returns; one of fewer than four arguments
    (whole numbers or pointers, int64) leaves the rest alone, as registers do on x86-64 and ARM64."""
    return _KIND(int(address))(int(a), int(b), int(c), int(d))


@primitive
def address_of(array, i):
    """The address (int64) of ``array[i]`` (flat index of a contiguous array), which must stay alive."""
    return array.ctypes.data + int(i) * array.itemsize
