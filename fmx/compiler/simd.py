"""Vectors of 32 lanes for compiled code: load, store, minimum, difference, rotation, equality.

Such a vector is kept in registers (one of 256 bits for bytes, four for int32; LLVM splits it on machines with
narrower ones), so loops do not depend on the auto-vectorizer.  Lanes are uint8 or int32.  The instructions
are in primitives_llvm.py; the functions here define their results, with arrays for vectors.
"""

import numpy as np

from . import LANES
from .functions import primitive

# 32 elements of a contiguous array from index i, with any alignment.
load = primitive(lambda array, i: array[i : i + LANES].copy(), "load")
# Every lane is x; the array determines the element type.
fill = primitive(lambda array, x: np.full(LANES, x, array.dtype), "fill")
zero_sums = primitive(lambda: np.zeros(LANES, np.int32), "zero_sums")

# Lane by lane.  Overflow wraps; ``differ`` are the bits that differ, ``common`` those that both have.
maximum = primitive(lambda v, w: np.maximum(v, w), "maximum")
minimum = primitive(lambda v, w: np.minimum(v, w), "minimum")
plus = primitive(lambda v, w: v + w, "plus")
minus = primitive(lambda v, w: v - w, "minus")
differ = primitive(lambda v, w: v ^ w, "differ")
common = primitive(lambda v, w: v & w, "common")
# x where v == w, else y.
choose = primitive(lambda v, w, x, y: np.where(v == w, x, y), "choose")
# sums + |v - w|: ``sums`` int32 lanes, v and w bytes (psadbw on x86).
add_difference = primitive(
    lambda sums, v, w: sums + np.abs(v.astype(np.int32) - w.astype(np.int32)), "add_difference"
)

# Of int32 lanes: shifted left by n, 0 to 31; -1 where v is negative, else 0; their sum, as int32.
shifted = primitive(lambda v, n: v << np.int32(n), "shifted")
signs = primitive(lambda v: v >> np.int32(31), "signs")
total = primitive(lambda sums: sums.sum(dtype=np.int32), "total")


@primitive
def store(array, i, v):
    """Store 32 elements to a contiguous array from index i."""
    array[i : i + LANES] = v


@primitive
def rotate(v, n):
    """Rotate the bits of int32 lanes left by n, 0 to 31."""
    bits = v.view(np.uint32)
    return (bits << np.uint32(n) | bits >> np.uint32(-n % 32)).view(np.int32)


@primitive
def codes(x):
    """Return as int32 lanes the symbols of a packed word (dna.py), the first in lane 0."""
    return np.array([int(x) >> (62 - 2 * lane) & 3 for lane in range(LANES)], np.int32)


@primitive
def within(v, first, last):
    """Return v in the lanes first..last (both included), zero elsewhere."""
    lane = np.arange(LANES)
    return np.where((lane >= first) & (lane <= last), v, v.dtype.type(0))


@primitive
def equal_bits(v, w):
    """Return a uint32: bit l is set if lane l of v equals lane l of w."""
    return np.packbits(v == w, bitorder="little").view(np.uint32)[0]
