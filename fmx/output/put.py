"""Writes bytes into a buffer, in compiled code: numbers, names, sequences, fields of a line.

The writers take ``out`` uint8[n] and ``at``, write from there on and return the position after it.
"""

from collections.abc import Sequence

import numpy as np

from ..compiler.functions import by_type_or_this, inlined
from ..compiler.primitives import at as element
from ..compiler.primitives import copy_bytes, low_bits, trailing_zeros
from ..dna import COMPLEMENT, UPPER
from ..index.reference import NameLines, Names

TAB, LINE, SPACE, _PLUS, _MINUS, STAR, _DOT = b"\t\n +-*."
DIGITS = 20  # bytes of the longest number: a uint64, or an int64 with its sign


def make_names(names: Sequence[str]) -> NameLines:
    """Return names without newlines as arrays."""
    return Names.of(names).lines


def as_bytes(text: str) -> np.ndarray:
    """Return ASCII text as uint8[n]."""
    return np.frombuffer(text.encode(), np.uint8)


@inlined
def span(out, at, source, start, n):
    copy_bytes(out, at, source, start, n)
    return at + n


@inlined
def text(out, at, source):
    return span(out, at, source, 0, source.size)


@inlined
def byte(out, at, x):
    out[np.uint64(at)] = x
    return at + 1


@inlined
def integer(out, at, x, n_bytes):
    """Write x in little-endian order, in n_bytes."""
    for j in range(n_bytes):
        out[at + j] = np.uint8((x >> (8 * j)) & 255)
    return at + n_bytes


@by_type_or_this
def number(out, at, x):
    """Write x >= 0 in decimal; may change up to DIGITS bytes from ``at`` on."""
    if x < 10:
        return byte(out, at, 48 + x)
    if x >= 10**8:
        return _long_number(out, at, x)
    digits = _eight_digits(np.uint64(x))
    blank = trailing_zeros(digits) >> 3
    return _eight_bytes(out, at, (digits + np.uint64(0x3030303030303030)) >> np.uint64(8 * blank)) - blank


@inlined
def _long_number(out, at, x):
    """Write x >= 0 in decimal, digit by digit."""
    n, y = 1, x
    while y >= 10:
        y //= 10
        n += 1
    for j in range(at + n - 1, at - 1, -1):
        out[np.uint64(j)] = 48 + x % 10
        x //= 10
    return at + n


@inlined
def signed(out, at, x):
    """Write any x in decimal, with a minus sign if negative."""
    return number(out, byte(out, at, _MINUS), -x) if x < 0 else number(out, at, x)


@inlined
def share(out, at, x):
    """Write 0 <= x <= 1 with six decimals, rounded to nearest, half to even, as Python does.

    x is split into two parts whose products with 10^6 are exact, so that it is rounded only once.
    """
    head = np.float64(np.float32(x))
    high, low = head * 1e6, (x - head) * 1e6
    n = np.int64(high)  # low is too small to change more than the last step
    beyond = ((high - n) - 0.5) + low
    if beyond > 0 or (beyond == 0 and n & 1):
        n += 1
    at = number(out, at, n // 1000000)
    end = number(out, at, 1000000 + n % 1000000)
    byte(out, at, _DOT)
    return end


@by_type_or_this
def padded(out, at, x):
    """Write x >= 0 in decimal, right-aligned in eight columns, or in more if it is longer."""
    if x >= 10**8:
        return number(out, at, x)
    digits = _eight_digits(np.uint64(x))
    blank = min(trailing_zeros(digits) >> 3, 7)
    shown = digits + np.uint64(0x3030303030303030) - (np.uint64(0x1010101010101010) & low_bits(8 * blank))
    return _eight_bytes(out, at, shown)


@inlined
def _eight_bytes(out, at, x):
    """Write the bytes of a uint64, the lowest first."""
    for j in range(8):
        out[np.uint64(at + j)] = np.uint8((x >> np.uint64(8 * j)) & np.uint64(255))
    return at + 8


@inlined
def _eight_digits(x):
    """Return the decimal digits of x < 10^8 as bytes of a uint64, the first lowest, by repeated halving."""
    x = x // np.uint64(10000) | (x % np.uint64(10000)) << np.uint64(32)
    high = ((x * np.uint64(10486)) >> np.uint64(20)) & np.uint64(0x0000007F0000007F)
    x = high | (x - np.uint64(100) * high) << np.uint64(16)
    high = ((x * np.uint64(103)) >> np.uint64(10)) & np.uint64(0x000F000F000F000F)
    return high | (x - np.uint64(10) * high) << np.uint64(8)


@inlined
def name(out, at, names, i):
    return span(out, at, names.data, names.first[i], names.first[i + 1] - names.first[i] - 1)


@inlined
def query(out, at, batch, r):
    """Write the name of query r of a ReadBatch; * if it has none."""
    if batch.name_length[r] == 0:
        return byte(out, at, STAR)
    return span(out, at, batch.data, batch.name_start[r], batch.name_length[r])


@inlined
def field(out, at, x):
    """Write a tab and a number."""
    return number(out, byte(out, at, TAB), x)


@inlined
def name_field(out, at, names, i):
    """Write a tab and a name."""
    return name(out, byte(out, at, TAB), names, i)


@inlined
def strand_field(out, at, reverse):
    """Write a tab and the strand."""
    return byte(out, byte(out, at, TAB), _MINUS if reverse else _PLUS)


@inlined
def letters(out, at, batch, r, reverse):
    """Write the bases of read r on a strand, in upper case, with T for U and N for unknown letters."""
    start, n = batch.start[r], batch.length[r]
    if batch.searchable[r]:
        return bases(out, at, batch.data, start, n, reverse)
    for j in range(n):
        out[at + j] = letter(batch, r, reverse, j)
    return at + n


@inlined
def letter(batch, r, reverse, j):
    """Return byte j of ``letters``."""
    if reverse:
        return COMPLEMENT[batch.data[batch.start[r] + batch.length[r] - 1 - j]]
    return UPPER[batch.data[batch.start[r] + j]]


@inlined
def bases(out, at, data, start, n, reverse):
    """Write the bases A C G T U, or their reverse complement, in upper case, with T for U.

    Uses arithmetic instead of a table, so that the loop is vectorized.
    """
    source, target = data[start : start + n], out[at : at + n]
    if reverse:
        for j in range(n):
            x = element(source, n - 1 - j) & np.uint8(0xDF)
            y = np.uint8(65)
            y = np.uint8(84) if x == 65 else y
            y = np.uint8(71) if x == 67 else y
            target[j] = np.uint8(67) if x == 71 else y
    else:
        for j in range(n):
            x = source[j] & np.uint8(0xDF)
            target[j] = np.uint8(84) if x == 85 else x
    return at + n


@inlined
def quality(batch, r, reverse, j):
    """Return byte j of ``qualities``."""
    return batch.data[batch.quality_start[r] + (batch.length[r] - 1 - j if reverse else j)]


@inlined
def qualities(out, at, batch, r, reverse):
    """Write the qualities of read r, which must have them, in the order of a strand."""
    start, n = batch.quality_start[r], batch.length[r]
    if not reverse:
        return span(out, at, batch.data, start, n)
    source, target = batch.data[start : start + n], out[at : at + n]
    for j in range(n):
        target[j] = element(source, n - 1 - j)
    return at + n


class Widest:
    """An output that stores nothing and in which each number takes DIGITS bytes.

    Writing a record to it in plain Python gives an upper bound of its bytes.
    """

    def __setitem__(self, i: int | slice, x: int | np.ndarray) -> None:
        pass

    def __getitem__(self, i: int | slice) -> "Widest | int":
        return self if isinstance(i, slice) else 0


@number.register(Widest)
@padded.register(Widest)
def _put_widest(out, at, x):
    return at + DIGITS
