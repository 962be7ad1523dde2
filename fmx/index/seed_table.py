"""The seed table: the first row of every string of s symbols, where seed and verify begins.

    starts[c]      number of rows that sort before the string c followed by anything but a separator
    starts[4^s]    n

The rows of string c are in [starts[c], starts[c + 1]), together with the few suffixes between them that meet
a separator within s symbols.  A search compares whole patterns and so excludes those.  A short suffix w sorts
just before w AA...A.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at, load_big_endian, prefetch
from ..machines.jobs import Array, Backend, do

MIN_LENGTH, MAX_LENGTH = 4, 13
_FAR = 256  # rows of a string from which on binary search is faster than a look at each row
_AHEAD = 32  # rows between prefetching a text position and reading it


class SeedTable(NamedTuple):
    """``starts`` uint32[4^s + 1]; ``s`` symbols in a string."""

    starts: np.ndarray
    s: int


def default_length(n_text: int) -> int:
    """Return the longest s with at most twice as many strings as the text has symbols."""
    s = MIN_LENGTH
    while s < MAX_LENGTH and 4 ** (s + 1) <= 2 * n_text:
        s += 1
    return s


def longest_strings(n_text: int) -> int:
    """Return the longest strings for which a table or a layout may have an entry each: 10, or 4^s <= 4 n."""
    return max(10, (n_text.bit_length() + 1) // 2)


def first_rows(backend: Backend, text: Array, sa: Array, s: int) -> Array:
    """Return the starts of a seed table, on the backend, from the suffix array ``sa`` of ``text``."""
    starts = backend.empty(4**s + 1, np.uint32)
    backend.run(FindStarts(text, sa, s, starts), starts.size)
    return starts


@do.of("text sa s starts")
def FindStarts(job, stretch, start, stop):
    """Find ``starts`` uint32[4^s + 1] by search in the suffix array."""
    if stop - start == 1 or job.sa.size > _FAR * job.starts.size:
        for c in range(start, stop):
            job.starts[c] = _first_row_of(job, c)
        return
    total, behind = _first_row_of(job, start), _first_row_of(job, stop - 1)
    job.starts[start:stop] = 0
    job.starts[start] = total
    for row in range(total, behind):
        job.starts[_next_string(job, row)] += np.uint32(1)
    total = np.int64(0)
    for c in range(start, stop):
        total += job.starts[c]
        job.starts[c] = total


@inlined
def _first_row_of(job, c):
    is_last = c == np.int64(1) << (2 * job.s)
    return np.int64(job.sa.size) if is_last else first_row(job.text, job.sa, c, job.s, False)


@inlined
def _next_string(job, row):
    """Return the first string of s symbols (at most 16) that sorts after the suffix of a row."""
    text, position = job.text, np.int64(at(job.sa, row))
    if row + _AHEAD < job.sa.size:
        prefetch(text, np.int64(at(job.sa, row + _AHEAD)))
    if position + 16 <= text.size:
        a, b = load_big_endian(text, position), load_big_endian(text, position + 8)
        if not _holds_separator(a) and not _holds_separator(b):
            code = np.int64(_pack(a) << np.uint64(16) | _pack(b))
            return (code >> (2 * (16 - job.s))) + 1
    code = np.int64(0)
    for i in range(job.s):
        symbol = np.int64(at(text, position + i)) if position + i < text.size else np.int64(0)
        if symbol == 0:
            return code << (2 * (job.s - i))
        code = (code << 2) | (symbol - 1)
    return code + 1


@inlined
def _holds_separator(x):
    """Return whether one of eight symbols is 0."""
    return ((x - np.uint64(0x0101010101010101)) & ~x & np.uint64(0x8080808080808080)) != 0


@inlined
def _pack(x):
    """Pack eight symbols, 1 to 4 in a byte each, into 16 bits."""
    x -= np.uint64(0x0101010101010101)
    x = (x | (x >> np.uint64(6))) & np.uint64(0x000F000F000F000F)
    x = (x | (x >> np.uint64(12))) & np.uint64(0x000000FF000000FF)
    return (x | (x >> np.uint64(24))) & np.uint64(0xFFFF)


@inlined
def first_row(text, sa, c, s, beyond):
    """Return the first row that does not sort before the string c of s symbols.

    ``beyond``: the first row after all that start with it.
    """
    low, high = np.int64(0), np.int64(sa.size)
    while low < high:
        middle = (low + high) >> 1
        if _sorts_before(text, np.int64(at(sa, middle)), c, s, beyond):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _sorts_before(text, position, c, s, or_same):
    """Return whether a suffix sorts before the string c of s symbols, or, if ``or_same``, starts with it."""
    for i in range(s):
        if position + i >= text.size:
            return True
        symbol, other = np.int64(at(text, position + i)), 1 + ((c >> (2 * (s - 1 - i))) & 3)
        if symbol != other:
            return symbol < other
    return or_same
