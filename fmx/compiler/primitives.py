"""What a few instructions do, of bits, bytes and memory: primitives_llvm.py makes what Python here says.

C functions of other libraries are called by their addresses, without Python's lock.  A primitive knows an
address only as a number: kept machine code never holds one.
"""

import ctypes

import numpy as np

from .functions import inlined, primitive


@inlined
def at(array, i):
    """``array[i]`` for i >= 0: an unsigned index spares the test for counting from the end."""
    return array[np.uint64(i)]


@primitive
def popcount(x):
    """Number of set bits of a uint64, as int64."""
    return np.int64(int(x).bit_count())


@primitive
def bits_from(n):
    """A uint64 with all bits set but the n lowest; all for n < 0, none for n > 63 (-2^31 < n < 2^31)."""
    return np.uint64(2**64 - (1 << max(0, min(int(n), 64))))


@primitive
def bits_from32(n):
    """The same of 32 bits, a uint32."""
    return np.uint32(2**32 - (1 << max(0, min(int(n), 32))))


@inlined
def low_bits(n):
    """A uint64 whose n lowest bits are set; none for n < 0, all for n > 63 (-2^31 < n < 2^31)."""
    return ~bits_from(n)


@inlined
def quotient(i, d):
    """i // d for 0 <= i < 2^32 and a constant d, by 32-bit arithmetic."""
    return np.int64(np.uint32(i) // np.uint32(d))


@primitive
def prefetch(array, i):
    """Ask the memory system for the cache line of ``array[i]`` (flat index of a contiguous array).

    Nothing on a GPU, which hides waiting by other threads.
    """


@primitive
def trap():
    """Stop the program, or the kernel: what was promised not to happen has happened."""
    raise AssertionError("a contract of compiled code is broken")


@primitive
def copy_bytes(target, i, source, j, n):
    """``target[i:i+n] = source[j:j+n]`` for uint8 arrays that do not overlap."""
    target[i : i + n] = source[j : j + n]


@primitive
def find_byte(data, byte, start, stop):
    """Index of the first ``byte`` in ``data[start:stop]`` (uint8), or -1: libc's memchr."""
    found = np.flatnonzero(data[start:stop] == byte)
    return start + int(found[0]) if found.size else -1


@primitive
def load_big_endian(data, i):
    """The 8 bytes of ``data`` (uint8) from index i as a uint64, the first in the highest byte."""
    return np.uint64(int.from_bytes(data[i : i + 8].tobytes(), "big"))


@primitive
def load_little_endian(data, i):
    """The same, the first in the lowest byte."""
    return np.uint64(int.from_bytes(data[i : i + 8].tobytes(), "little"))


@primitive
def load_two_bits(data, i):
    """Bits 1 and 2 of 32 bytes of ``data`` (uint8) from index i as a uint64, those of the first highest."""
    return np.uint64(sum(((int(x) >> 1) & 3) << (62 - 2 * j) for j, x in enumerate(data[i : i + 32])))


@primitive
def swap_bytes(x):
    """A uint64 with its bytes in the other order."""
    return np.uint64(int.from_bytes(int(x).to_bytes(8, "little"), "big"))


@primitive
def leading_zeros(x):
    """Number of zeros above the highest set bit of a uint64, as int64; 64 if there is none."""
    return np.int64(64 - int(x).bit_length())


@primitive
def trailing_zeros(x):
    """Number of zeros below the lowest set bit of a uint64, as int64; 64 if there is none."""
    return np.int64((int(x) & -int(x)).bit_length() - 1 if x else 64)


@primitive
def load_unit(words, i):
    """(words[i], words[i + 1]) of a uint64 array by one load of 16 bytes; i is even, the array aligned."""
    return words[i], words[i + 1]


_C_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, *4 * (ctypes.c_int64,))


def addresses(library: str | None, *names: str) -> tuple:
    """The addresses (int) of functions of a shared library, a path, or of the process (None).

    Raises OSError, AttributeError.
    """
    loaded = ctypes.CDLL(library)
    return tuple(ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value for name in names)


@primitive
def call_c(address, a, b, c, d):
    """The int32 that the C function at an address (int64) returns; one of fewer than four arguments
    (whole numbers or pointers, int64) leaves the rest alone, as registers do on x86-64 and ARM64."""
    return _C_FUNCTION(int(address))(int(a), int(b), int(c), int(d))


@primitive
def address_of(array, i):
    """The address (int64) of ``array[i]`` (flat index of a contiguous array), which must stay alive."""
    return array.ctypes.data + int(i) * array.itemsize
