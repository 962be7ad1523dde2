"""Primitives of a few instructions, on bits, bytes and memory.

The Python functions define the results; primitives_llvm.py emits the instructions.  C functions of other
libraries are called by address, without Python's lock.  An address is always passed as a number: kept machine
code never contains one.
"""

import ctypes

import numpy as np

from .functions import inlined, primitive

_C_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, *4 * (ctypes.c_int64,))


def _word(data, i, order):
    return np.uint64(int.from_bytes(data[i : i + 8].tobytes(), order))


# Of a uint64, as int64: the number of set bits; of zeros above the highest and below the lowest (64 for 0).
popcount = primitive(lambda x: np.int64(int(x).bit_count()), "popcount")
leading_zeros = primitive(lambda x: np.int64(64 - int(x).bit_length()), "leading_zeros")
trailing_zeros = primitive(
    lambda x: np.int64((int(x) & -int(x)).bit_length() - 1 if x else 64), "trailing_zeros"
)
# A uint64 with its bytes in reverse order.
swap_bytes = primitive(lambda x: np.uint64(int.from_bytes(int(x).to_bytes(8, "little"), "big")), "swap_bytes")
# A uint64, or uint32, with all bits set but the n lowest; all for n < 0, none for n > 63, or 31 (|n| < 2^31).
bits_from = primitive(lambda n: np.uint64(2**64 - (1 << max(0, min(int(n), 64)))), "bits_from")
bits_from32 = primitive(lambda n: np.uint32(2**32 - (1 << max(0, min(int(n), 32)))), "bits_from32")
# The 8 bytes of ``data`` (uint8) from index i as a uint64, the first in the highest byte, or in the lowest.
load_big_endian = primitive(lambda data, i: _word(data, i, "big"), "load_big_endian")
load_little_endian = primitive(lambda data, i: _word(data, i, "little"), "load_little_endian")
# (words[i], words[i + 1]) of a uint64 array by one 16-byte load, at an address that is a multiple of 16.
load_unit = primitive(lambda words, i: (words[i], words[i + 1]), "load_unit")
# The address (int64) of ``array[i]`` (flat index, contiguous), which must be kept alive.
address_of = primitive(lambda array, i: array.ctypes.data + int(i) * array.itemsize, "address_of")


@inlined
def at(array, i):
    """Return ``array[i]`` for i >= 0: an unsigned index needs no test for counting from the end."""
    return array[np.uint64(i)]


@inlined
def low_bits(n):
    """Return a uint64 with the n lowest bits set; none for n < 0, all for n > 63 (-2^31 < n < 2^31)."""
    return ~bits_from(n)


@inlined
def quotient(i, d):
    """Return i // d for 0 <= i < 2^32 and a constant d, by 32-bit arithmetic."""
    return np.int64(np.uint32(i) // np.uint32(d))


@primitive
def prefetch(array, i):
    """Prefetch the cache line of ``array[i]`` (flat index of a contiguous array, perhaps outside).

    Does nothing on a GPU, which hides latency by other threads.
    """


@primitive
def copy_bytes(target, i, source, j, n):
    """Set ``target[i:i+n] = source[j:j+n]`` for uint8 arrays that do not overlap."""
    target[i : i + n] = source[j : j + n]


@primitive
def find_byte(data, byte, start, stop):
    """Return the index of ``byte`` (uint8) in ``data[start:stop]`` (start <= stop), or -1: libc's memchr."""
    places = np.flatnonzero(data[start:stop] == byte)
    return start + int(places[0]) if places.size else -1


@primitive
def load_two_bits(data, i):
    """Return bits 1 and 2 of 32 bytes of ``data`` (uint8) from index i as a uint64, the first highest."""
    return np.uint64(sum(((int(x) >> 1) & 3) << (62 - 2 * j) for j, x in enumerate(data[i : i + 32])))


@primitive
def call_c(address, a, b, c, d):
    """Call the C function at an address (int64) with four numbers or pointers (int64); return its int32.

    A function of fewer arguments ignores the rest, which is in registers on x86-64 and ARM64.
    """
    return _C_FUNCTION(int(address))(int(a), int(b), int(c), int(d))


def addresses(library: str | None, *names: str) -> tuple:
    """Return the addresses (int) of functions of a shared library, by path, or of the process (None).

    Raises OSError, AttributeError.
    """
    loaded = ctypes.CDLL(library)
    return tuple(ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value for name in names)
