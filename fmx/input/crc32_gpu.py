"""CRC-32 (RFC 1952) on a GPU, by a warp: each lane takes a stretch of the bytes, and their sums are joined.

A sum is a polynomial modulo the CRC's, its highest power in the lowest bit.  To go on over n bytes is to
multiply it by x^(8 n); so sums of neighbours are joined by one such product, in five steps (as zlib's
crc32_combine does it).
"""

import zlib

import numpy as np

from ..compiler.functions import inlined
from ..compiler.warp import WARP, take_across

POLYNOMIAL, ONE, X8 = 0xEDB88320, 1 << 31, 1 << 23  # ONE and X8: x^0 and x^8
TABLE = np.array([zlib.crc32(bytes([i])) ^ zlib.crc32(b"\0") for i in range(256)], np.int64)


@inlined
def product(a, b):
    """Of two polynomials."""
    found = 0
    for i in range(32):
        found ^= b if (a >> (31 - i)) & 1 else 0
        b = (b >> 1) ^ (POLYNOMIAL if b & 1 else 0)
    return found


@inlined
def power(n):
    """x^(8 n)."""
    found, square = ONE, X8
    while n > 0:
        if n & 1:
            found = product(square, found)
        square, n = product(square, square), n >> 1
    return found


@inlined
def crc32_of_warp(data, at, n, lane, table):
    """That of the n bytes from ``at`` on of ``data`` (uint8), in each lane; ``table`` int64[256] is TABLE.

    Stretches are alike long and end where the bytes end: the first lanes may have none.
    """
    stretch = (n + WARP - 1) // WARP
    stop = n - (WARP - 1 - lane) * stretch
    start, found = max(stop - stretch, 0), 0
    if start == 0 and stop > 0:
        found = 0xFFFFFFFF
    for i in range(start, stop):
        found = table[(found ^ np.int64(data[at + i])) & 255] ^ (found >> 8)
    shift, reach = power(stretch), 1
    while reach < WARP:
        other = take_across(found, reach)
        left, right = (other, found) if lane & reach else (found, other)
        found, shift, reach = product(left, shift) ^ right, product(shift, shift), 2 * reach
    return found ^ 0xFFFFFFFF if n > 0 else 0
