"""Tables by short strings: the prefix table, with which a search starts q symbols deep, and the seed table.

The prefix table has the SA intervals of all strings of up to q symbols.

The levels 0, 1 ... q are stored one after another; level L holds 4^L pairs (lo, hi) of uint32:

    level     0        1                 2
    pair      0        1 2 3 4           5 ... 20
    string    (empty)  A C G T           AA AC ... TT

A suffix that meets a separator after fewer than q symbols sorts before the longer strings that start with the
same symbols, so an interval of level L does not end where the next one starts, and every level is kept: a
read shorter than q, and the m mod k symbols that k-steps leave over, are looked up in their own level.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, load_big_endian, prefetch
from ..dna import symbols
from ..limits import PREFIX_LENGTH
from ..machines.jobs import Array, Backend, do, run_all, spans

MIN_PREFIX, MAX_PREFIX = PREFIX_LENGTH


class PrefixTable(NamedTuple):
    """``pairs`` uint32[2 * (4^(q+1) - 1) / 3], half-open row intervals; ``q`` the longest string."""

    pairs: np.ndarray
    q: int


@inlined
def _level_start(length):
    """Return the index of the first pair of a level."""
    return ((np.int64(1) << (2 * length)) - 1) // 3


@inlined
def pair_index(words, first, i, length):
    """Return the index of the pair of ``length`` packed symbols from symbol i."""
    if length == 0:
        return np.int64(0)
    return _level_start(length) + np.int64(symbols(words, first, i, length))


@inlined
def prefetch_pair(table, pair):
    """Prefetch a pair."""
    prefetch(table.pairs, 2 * pair)


def prefix_length(n_text: int) -> int:
    """Return the longest q up to 10 whose 4^q strings are at most a quarter of the text."""
    q = MIN_PREFIX
    while q < 10 and 4 ** (q + 1) <= n_text // 4:
        q += 1
    return q


def n_pairs(q: int) -> int:
    """Return the pairs of all levels up to q."""
    return (4 ** (q + 1) - 1) // 3


def build_prefix_table(text: Array, q: int, n_threads: int = 1) -> PrefixTable:
    """Count the strings of every length in ``text`` (uint8 codes, separator 0), without a suffix array.

    Several threads are used only if the text is larger than the tables of all threads.
    """
    cut = spans(text.size, max(1, min(n_threads, text.size // (8 * n_pairs(q)))))
    pairs = np.zeros((len(cut), 2 * n_pairs(q)), np.uint32)
    ended = np.zeros((len(cut), n_pairs(q - 1)), np.uint32)
    run_all(_count, [(text, *cut[i], q, pairs[i], ended[i]) for i in range(len(cut))], len(cut))
    for i in range(1, len(cut)):
        pairs[0] += pairs[i]
        ended[0] += ended[i]
    _accumulate(q, pairs[0], ended[0])
    return PrefixTable(pairs[0], q)


@compiled
def _count(text, start, stop, q, pairs, ended):
    """Count the strings of q symbols that end in text[start:stop], each in the first half of its pair.

    ``ended`` uint32, by levels: suffixes that meet a separator there after fewer than q symbols.
    """
    mask, level = (np.int64(1) << (2 * q)) - 1, _level_start(q)
    code = run = np.int64(0)
    for i in range(max(start - q, 0), stop):
        symbol = np.int64(text[i])
        if symbol:
            code = ((code << 2) | (symbol - 1)) & mask
            run += 1
            if run >= q and i >= start:
                pairs[2 * (level + code)] += np.uint32(1)
        else:
            for length in range(min(run + 1, q) if i >= start else 0):
                ended[_level_start(length) + (code & ((np.int64(1) << (2 * length)) - 1))] += np.uint32(1)
            code = run = np.int64(0)


@compiled
def _accumulate(q, pairs, ended):
    """Compute sizes bottom up, then intervals top down: a string's own suffixes, then its four extensions."""
    for length in range(q - 1, -1, -1):
        here, below = _level_start(length), _level_start(length + 1)
        for code in range(np.int64(1) << (2 * length)):
            size = ended[here + code]
            for child in range(below + 4 * code, below + 4 * code + 4):
                size += pairs[2 * child]
            pairs[2 * (here + code)] = size
    pairs[1], pairs[0] = pairs[0], np.uint32(0)
    for length in range(q):
        here, below = _level_start(length), _level_start(length + 1)
        for code in range(np.int64(1) << (2 * length)):
            row = pairs[2 * (here + code)] + ended[here + code]
            for child in range(below + 4 * code, below + 4 * code + 4):
                size = pairs[2 * child]
                pairs[2 * child], pairs[2 * child + 1] = row, row + size
                row += size


# The seed table: the first row of every string of s symbols, where seed and verify begins.
#
#     starts[c]      number of rows that sort before the string c followed by anything but a separator
#     starts[4^s]    n
#
# The rows of string c are in [starts[c], starts[c + 1]), together with the few suffixes between them that
# meet a separator within s symbols.  A search compares whole patterns and so excludes those.  A short suffix
# w sorts just before w AA...A.

MIN_SEED, MAX_SEED = 4, 13
_FAR = 256  # rows of a string from which on binary search is faster than a look at each row
_LOOK_AHEAD = 32  # rows between prefetching a text position and reading it


class SeedTable(NamedTuple):
    """``starts`` uint32[4^s + 1]; ``s`` symbols in a string."""

    starts: np.ndarray
    s: int


def seed_length(n_text: int) -> int:
    """Return the longest s with at most twice as many strings as the text has symbols."""
    s = MIN_SEED
    while s < MAX_SEED and 4 ** (s + 1) <= 2 * n_text:
        s += 1
    return s


def longest_strings(n_text: int) -> int:
    """Return the length of the longest strings that tables have an entry for: 10, or s with 4^s <= 4 n."""
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
    return np.int64(job.sa.size) if is_last else _first_row(job.text, job.sa, c, job.s)


@inlined
def _next_string(job, row):
    """Return the first string of s symbols (at most 16) that sorts after the suffix of a row."""
    text, position = job.text, np.int64(at(job.sa, row))
    if row + _LOOK_AHEAD < job.sa.size:
        prefetch(text, np.int64(at(job.sa, row + _LOOK_AHEAD)))
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
    return ((x - np.uint64(0x0101010101010101)) & ~x & np.uint64(0x8080808080808080)) != 0


@inlined
def _pack(x):
    """Pack eight symbols, 1 to 4 in a byte each, into 16 bits."""
    x -= np.uint64(0x0101010101010101)
    x = (x | (x >> np.uint64(6))) & np.uint64(0x000F000F000F000F)
    x = (x | (x >> np.uint64(12))) & np.uint64(0x000000FF000000FF)
    return (x | (x >> np.uint64(24))) & np.uint64(0xFFFF)


@inlined
def _first_row(text, sa, c, s):
    """Return the first row that does not sort before the string c of s symbols."""
    low, high = np.int64(0), np.int64(sa.size)
    while low < high:
        middle = (low + high) >> 1
        if _sorts_before(text, np.int64(at(sa, middle)), c, s):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _sorts_before(text, position, c, s):
    """Return whether a suffix sorts before the string c of s symbols."""
    for i in range(s):
        if position + i >= text.size:
            return True
        symbol, other = np.int64(at(text, position + i)), 1 + ((c >> (2 * (s - 1 - i))) & 3)
        if symbol != other:
            return symbol < other
    return False
