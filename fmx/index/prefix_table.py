"""SA intervals of all strings of up to q symbols, so that a search starts q symbols deep.

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
from ..compiler.primitives import prefetch
from ..input.dna import symbols
from ..limits import PREFIX_LENGTH
from ..machines.jobs import Array, Backend, do, run_all, spans
from .seed_table import first_row

MIN_LENGTH, MAX_LENGTH = PREFIX_LENGTH


class PrefixTable(NamedTuple):
    """``pairs`` uint32[2 * (4^(q+1) - 1) / 3], half-open row intervals; ``q`` the longest string."""

    pairs: np.ndarray
    q: int


@inlined
def level_start(length):
    """Return the index of the first pair of a level."""
    return ((np.int64(1) << (2 * length)) - 1) // 3


@inlined
def pair_index(words, first, i, length):
    """Return the index of the pair of ``length`` packed symbols from symbol i."""
    if length == 0:
        return np.int64(0)
    return level_start(length) + np.int64(symbols(words, first, i, length))


@inlined
def prefetch_pair(table, pair):
    """Prefetch a pair."""
    prefetch(table.pairs, 2 * pair)


def default_length(n_text: int) -> int:
    """Return the longest q up to 10 whose 4^q strings are at most a quarter of the text."""
    q = MIN_LENGTH
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


def make_prefix_table(backend: Backend, text: Array, sa: Array, q: int) -> PrefixTable:
    """Make the table on the backend: counted in the text, or on a GPU by search in ``sa``."""
    if backend.serial:
        return build_prefix_table(text, q, backend.n_threads)
    pairs = backend.empty(2 * n_pairs(q), np.uint32)
    backend.run(FindPairs(text, sa, pairs), pairs.size // 2)
    return PrefixTable(pairs, q)


@do.of("text sa pairs")
def FindPairs(job, stretch, start, stop):
    """Find the ``pairs`` of a prefix table by search in the suffix array."""
    for pair in range(start, stop):
        length = np.int64(0)
        while level_start(length + 1) <= pair:
            length += 1
        c = pair - level_start(length)
        job.pairs[2 * pair] = first_row(job.text, job.sa, c, length, False)
        job.pairs[2 * pair + 1] = first_row(job.text, job.sa, c, length, True)


@compiled
def _count(text, start, stop, q, pairs, ended):
    """Count the strings of q symbols that end in text[start:stop], each in the first half of its pair.

    ``ended`` uint32, by levels: suffixes that meet a separator there after fewer than q symbols.
    """
    mask, level = (np.int64(1) << (2 * q)) - 1, level_start(q)
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
                ended[level_start(length) + (code & ((np.int64(1) << (2 * length)) - 1))] += np.uint32(1)
            code = run = np.int64(0)


@compiled
def _accumulate(q, pairs, ended):
    """Compute sizes bottom up, then intervals top down: a string's own suffixes, then its four extensions."""
    for length in range(q - 1, -1, -1):
        here, below = level_start(length), level_start(length + 1)
        for code in range(np.int64(1) << (2 * length)):
            size = ended[here + code]
            for child in range(below + 4 * code, below + 4 * code + 4):
                size += pairs[2 * child]
            pairs[2 * (here + code)] = size
    pairs[1], pairs[0] = pairs[0], np.uint32(0)
    for length in range(q):
        here, below = level_start(length), level_start(length + 1)
        for code in range(np.int64(1) << (2 * length)):
            row = pairs[2 * (here + code)] + ended[here + code]
            for child in range(below + 4 * code, below + 4 * code + 4):
                size = pairs[2 * child]
                pairs[2 * child], pairs[2 * child + 1] = row, row + size
                row += size
