"""Bytes of text in compiled code: numbers, names, sequences.  Each function returns the place after it."""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import copy_bytes, low_bits, trailing_zeros
from ..input.dna import UPPER


class Names(NamedTuple):
    """Contig names: ``data`` uint8, name i is data[first[i] : first[i + 1]]; ``first`` int64[n + 1]."""

    data: np.ndarray
    first: np.ndarray


def make_names(names) -> Names:
    """Names as arrays, from a list of str."""
    encoded = [name.encode() for name in names]
    first = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=first[1:])
    return Names(np.frombuffer(b"".join(encoded), np.uint8), first)


def as_bytes(text: str) -> np.ndarray:
    """ASCII text as uint8[n]."""
    return np.frombuffer(text.encode(), np.uint8)


@inlined
def put_bytes(out, at, source, start, n):
    copy_bytes(out, at, source, start, n)
    return at + n


@inlined
def put_all(out, at, source):
    return put_bytes(out, at, source, 0, source.size)


@inlined
def put_byte(out, at, byte):
    out[np.uint64(at)] = byte
    return at + 1


@inlined
def put_number(out, at, x):
    """Decimal digits of x >= 0."""
    n, y = 1, x
    while y >= 10:
        y //= 10
        n += 1
    for j in range(at + n - 1, at - 1, -1):
        out[np.uint64(j)] = 48 + x % 10
        x //= 10
    return at + n


@inlined
def put_padded(out, at, x):
    """A number in eight columns or more."""
    if x >= 10**8:
        return put_number(out, at, x)
    digits = _eight_digits(np.uint64(x))
    blank = min(trailing_zeros(digits) >> 3, 7)
    shown = digits + np.uint64(0x3030303030303030) - (np.uint64(0x1010101010101010) & low_bits(8 * blank))
    for j in range(8):
        out[np.uint64(at + j)] = np.uint8((shown >> np.uint64(8 * j)) & np.uint64(255))
    return at + 8


@inlined
def _eight_digits(x):
    """The decimal digits of x < 10^8 as bytes of a uint64, the first lowest, by halving all parts at once."""
    x = x // np.uint64(10000) | (x % np.uint64(10000)) << np.uint64(32)
    high = ((x * np.uint64(10486)) >> np.uint64(20)) & np.uint64(0x0000007F0000007F)
    x = high | (x - np.uint64(100) * high) << np.uint64(16)
    high = ((x * np.uint64(103)) >> np.uint64(10)) & np.uint64(0x000F000F000F000F)
    return high | (x - np.uint64(10) * high) << np.uint64(8)


@inlined
def put_name(out, at, names, i):
    return put_bytes(out, at, names.data, names.first[i], names.first[i + 1] - names.first[i])


@inlined
def put_letters(out, at, batch, r):
    """The letters of read r as given: upper case, U as T, other symbols by the table UPPER."""
    start, n = batch.start[r], batch.length[r]
    if batch.searchable[r]:  # arithmetic instead of a table: whole vectors of bytes at a time
        source, target = batch.data[start : start + n], out[at : at + n]
        for j in range(n):
            x = source[j] & np.uint8(0xDF)
            target[j] = np.uint8(84) if x == 85 else x
    else:
        for j in range(n):
            out[at + j] = UPPER[batch.data[start + j]]
    return at + n


@inlined
def put_complement(out, at, batch, r):
    """The reverse complement of the letters of read r, which is searchable."""
    start, n = batch.start[r], batch.length[r]
    source, target = batch.data[start : start + n], out[at : at + n]
    for j in range(n):
        x = source[n - 1 - j] & np.uint8(0xDF)
        y = np.uint8(65)
        y = np.uint8(84) if x == 65 else y
        y = np.uint8(71) if x == 67 else y
        target[j] = np.uint8(67) if x == 71 else y
    return at + n


@inlined
def put_backwards(out, at, data, start, n):
    source, target = data[start : start + n], out[at : at + n]
    for j in range(n):
        target[j] = source[n - 1 - j]
    return at + n


@compiled
def record_space(batch, hits, start, first_hit, last_hit, n_fixed):
    """Bytes that are enough for the records of these hits: n_fixed and the name each, letters once a read."""
    space = np.int64(0)
    for i in range(hits.total.size):
        n_hits = min(hits.first[i + 1], last_hit) - max(hits.first[i], first_hit)
        r = start + i
        space += 2 * batch.length[r] + max(n_hits, 1) * (batch.name_length[r] + n_fixed)
    return space
