"""Vectors of 32 lanes for compiled code: load, store, minimum, difference, rotation, equality.

Such a vector is kept in registers (one of 256 bits for bytes, four for int32; LLVM splits it on machines with
narrower ones), so loops do not depend on the auto-vectorizer.  Lanes are uint8 or int32.  The instructions
are in simd_llvm.py; the bodies here define their results, with arrays for vectors.
"""

import functools

import numpy as np

from .functions import primitive

LANES = 32
_lanes = functools.partial(primitive, emitters="simd_llvm")


@_lanes
def load(array, i):
    """Load 32 elements of a contiguous array from index i, with any alignment."""
    return array[i : i + LANES].copy()


@_lanes
def store(array, i, v):
    """Store 32 elements to a contiguous array from index i."""
    array[i : i + LANES] = v


@_lanes
def fill(array, x):
    """Set every lane to x; the array determines the element type."""
    return np.full(LANES, x, array.dtype)


@_lanes
def maximum(v, w):
    """Return the larger one, lane by lane."""
    return np.maximum(v, w)


@_lanes
def minimum(v, w):
    """Return the smaller one, lane by lane."""
    return np.minimum(v, w)


@_lanes
def plus(v, w):
    """Return v + w, lane by lane; overflow wraps."""
    return v + w


@_lanes
def minus(v, w):
    """Return v - w, lane by lane."""
    return v - w


@_lanes
def differ(v, w):
    """Return the bits in which v and w differ, lane by lane (exclusive or)."""
    return v ^ w


@_lanes
def common(v, w):
    """Return the bits that v and w have in common (and), lane by lane."""
    return v & w


@_lanes
def shifted(v, n):
    """Shift the bits of int32 lanes left by n, 0 to 31."""
    return v << np.int32(n)


@_lanes
def signs(v):
    """Return -1 in int32 lanes where v is negative, else 0."""
    return v >> np.int32(31)


@_lanes
def rotate(v, n):
    """Rotate the bits of int32 lanes left by n, 0 to 31."""
    bits = v.view(np.uint32)
    return (bits << np.uint32(n) | bits >> np.uint32(-n % 32)).view(np.int32)


@_lanes
def codes(x):
    """Return as int32 lanes the symbols of a packed word (input/dna.py), the first in lane 0."""
    return np.array([int(x) >> (62 - 2 * lane) & 3 for lane in range(LANES)], np.int32)


@_lanes
def choose(v, w, x, y):
    """Return x where v == w, else y."""
    return np.where(v == w, x, y)


@_lanes
def within(v, first, last):
    """Return v in the lanes first..last (both included), zero elsewhere."""
    lane = np.arange(LANES)
    return np.where((lane >= first) & (lane <= last), v, v.dtype.type(0))


@_lanes
def equal_bits(v, w):
    """Return a uint32: bit l is set if lane l of v equals lane l of w."""
    return np.packbits(v == w, bitorder="little").view(np.uint32)[0]


@_lanes
def add_difference(sums, v, w):
    """Return sums + |v - w|, lane by lane: ``sums`` int32 lanes, v and w bytes (psadbw on x86)."""
    return sums + np.abs(v.astype(np.int32) - w.astype(np.int32))


@_lanes
def zero_sums():
    """Return int32 lanes of zero."""
    return np.zeros(LANES, np.int32)


@_lanes
def total(sums):
    """Return the sum of all int32 lanes, as int32."""
    return sums.sum(dtype=np.int32)
