"""A layout as docs/layouts.md tells it: counters, then codes; for the tests, nobody would search by it.

Rows are cut into runs of 32.  An entry holds the counters of its run, C[c] already added, then the k-symbols
of its rows, 4 bits each, 15 for a row without:

    unit 0 | A C | G T |    unit 1 | rows 0-15 | rows 16-31 |
"""

from typing import NamedTuple

import numpy as np

from fmx.compiler.functions import inlined
from fmx.compiler.primitives import prefetch
from fmx.index.bwt import NONE
from fmx.index.contracts import address, fill, preceding, prefetch_extend, share, units
from fmx.index.layouts.entries import family_of_entries, write_counters

D = 32


class Plain(NamedTuple):
    """``entries`` uint64[4 * ceil((n + 1) / 32)]."""

    entries: np.ndarray
    k: int


TYPES = {(1, D): Plain}


def bytes_per_symbol(k, d, n):
    return 32 / d


def _n_words(k, d, n):
    return 4 * (n // D + 1)


@inlined
def _code(word, row):
    return np.int64((word >> np.uint64(4 * row)) & np.uint64(15))


@inlined
def _count(word, c, n_rows):
    """How many of the first rows of a word are c."""
    n = np.int64(0)
    for row in range(min(n_rows, 16)):
        n += np.int64(_code(word, row) == c)
    return n


@units.register(Plain)
def _units(layout):
    return 2


@fill.register(Plain)
def _fill(layout, codes, start, stop, counts):
    for first in range(start, stop, D):
        word = first // D * 4
        write_counters(counts, 0, 4, layout.entries, word)
        for row in range(first, min(first + D, codes.size)):
            code, i = np.int64(codes[row]), row - first
            if code == NONE:
                code = np.int64(15)
            else:
                counts[code] += 1
            layout.entries[word + 2 + i // 16] |= np.uint64(code) << np.uint64(4 * (i % 16))


@address.register(Plain)
def _address(layout, c, i):
    return i // D * 4, i % D, np.int64(0)


@share.register(Plain)
def _share(layout, unit, a, b, c, offset):
    if unit == 1:
        return _count(a, c, offset) + _count(b, c, offset - 16)
    pair = b if c & 2 else a
    return np.int64((pair >> np.uint64(32 if c & 1 else 0)) & np.uint64(2**32 - 1))


@prefetch_extend.register(Plain)
def _prefetch_extend(layout, c, lo, hi):
    prefetch(layout.entries, lo // D * 4)
    prefetch(layout.entries, hi // D * 4)


@preceding.register(Plain)
def _preceding(layout, row):
    code = _code(layout.entries[row // D * 4 + 2 + row % D // 16], row % 16)
    return code if code < 4 else np.int64(-1)


FAMILY = family_of_entries(TYPES, _n_words, bytes_per_symbol)
