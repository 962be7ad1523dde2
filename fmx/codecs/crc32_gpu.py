"""CRC-32 (RFC 1952) on a GPU by one warp: each lane takes a part of the bytes, and their sums are combined.

A sum is a polynomial modulo the CRC polynomial, its highest power in the lowest bit.  Appending n bytes
multiplies it by x^(8 n), so the sums of adjacent parts are combined by one such product (as in zlib's
crc32_combine).  For lengths that are needed often, tables hold the product for each byte of a sum.
"""

import zlib

import numpy as np

from ..compiler.functions import inlined
from ..compiler.warp import WARP, bytes_from, device, take

POLYNOMIAL, ONE, X8 = 0xEDB88320, 1 << 31, 1 << 23  # ONE and X8: x^0 and x^8
LOW = (1 << 32) - 1
TABLE = np.array([zlib.crc32(bytes([i])) ^ zlib.crc32(b"\0") for i in range(256)], np.int64)


def _tables(n: int) -> np.ndarray:
    """Return uint32[1024]: for each byte of a sum, from the lowest on, its value after n bytes."""
    sums = (np.arange(256) << 8 * np.arange(4)[:, None]).reshape(-1)
    for _ in range(n):
        sums = TABLE[sums & 255] ^ sums >> 8
    return sums.astype(np.uint32)


ADVANCE = np.concatenate([_tables(4 * WARP), _tables(4)])  # for steps of crc32_of_warp: 128 bytes, 4 bytes


@inlined
def product(a, b):
    """Multiply two polynomials."""
    result = 0
    for i in range(32):
        result ^= b if (a >> (31 - i)) & 1 else 0
        b = (b >> 1) ^ (POLYNOMIAL if b & 1 else 0)
    return result


@inlined
def power(n):
    """Return x^(8 n)."""
    result, square = ONE, X8
    while n > 0:
        if n & 1:
            result = product(square, result)
        square, n = product(square, square), n >> 1
    return result


@device
def _advanced(table, at, x):
    """Advance a sum (int64) by the number of bytes that ``table[at:]`` is for."""
    low = table[at + (x & 255)] ^ table[at + 256 + (x >> 8 & 255)]
    return np.int64(low ^ table[at + 512 + (x >> 16 & 255)] ^ table[at + 768 + (x >> 24)])


@device
def crc32_of_warp(words, at, n, lane, table, crc):
    """Return in each lane the CRC-32 ``crc`` of earlier bytes, advanced over n bytes of ``words`` (uint32).

    ``at``: byte where they begin; ``table`` uint32: ADVANCE.  RFC 1952 starts with LOW and inverts the
    result.

    Each lane takes every 32nd word (Kounavis and Berry, 2005; "braids" in zlib); the last 128 bytes follow in
    fours, then one by one.
    """
    n_rounds, stop = n // (4 * WARP), at + n
    if n_rounds > 0:
        part = np.int64(bytes_from(words, at + 4 * lane)) ^ (crc if lane == 0 else 0)
        for i in range(1, n_rounds):
            part = _advanced(table, 0, part) ^ np.int64(bytes_from(words, at + 4 * WARP * i + 4 * lane))
        crc = 0
        for i in range(WARP):
            crc = _advanced(table, 1024, crc ^ take(part, i))
        at += 4 * WARP * n_rounds
    while at + 4 <= stop:
        crc, at = _advanced(table, 1024, crc ^ np.int64(bytes_from(words, at))), at + 4
    while at < stop:
        byte = np.int64(words[at >> 2]) >> (8 * (at & 3)) & 255
        crc, at = np.int64(table[1792 + ((crc ^ byte) & 255)]) ^ crc >> 8, at + 1
    return crc
