"""Seed and verify over wide rows: how fast a GPU searches where memory is no object.

Each row of the suffix array holds its position and its suffix from symbol s on, in one sector of 32 bytes, so
that a read costs the sector of its seed and those of the rows with that seed, whatever its length:

    word 0          position (32 bits) | symbols to the next separator, at most 108 (8 bits) | 12 symbols
    words 1 to 3    32 symbols each

32 bytes a symbol: 96 GB for 3 * 10^9.  Patterns have s to s + 108 symbols.
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at, load_unit
from ...compiler.warp import kernel, thread_index
from ...index.seed_table import first_rows
from ...input.dna import symbols
from ...machines.jobs import do
from ...measure.gpu_timing import N_THREADS

SYMBOLS, _HEAD = 108, 12
_ENDED = 255  # in place of the symbols to the separator: it comes within s, so the row sorts after its seed's


class WideRows(NamedTuple):
    """``starts`` uint32[4^s + 1], the seed table; ``rows`` uint64[4 n]."""

    starts: Any
    s: int
    rows: Any


class Widen(NamedTuple):
    """``rows`` from the text (codes and words) and its suffix array."""

    codes: Any
    words: Any
    sa: Any
    s: int
    rows: Any


@do.register(Widen)
def _widen(job, stretch, start, stop):
    for row in range(start, stop):
        position = np.int64(at(job.sa, row))
        first, length = position + job.s, np.int64(0)
        whole = first <= job.codes.size
        for i in range(position, min(first, job.codes.size)):
            whole = whole and at(job.codes, i) != 0
        while whole and length < SYMBOLS and at(job.codes, first + length) != 0:
            length += 1
        first = min(first, job.codes.size - 1)  # of a suffix that is no match anyway
        held = length if whole else np.int64(_ENDED)
        head = symbols(job.words, 0, first, _HEAD) | np.uint64(held) << np.uint64(2 * _HEAD)
        job.rows[4 * row] = head | np.uint64(position) << np.uint64(32)
        for piece in range(3):
            i = min(first + _HEAD + 32 * piece, job.codes.size - 1)
            job.rows[4 * row + 1 + piece] = symbols(job.words, 0, i, 32)


def widen(drawn, s) -> WideRows:
    """The wide rows of the text of a Drawn, on its backend, with seeds of s symbols."""
    rows = drawn.backend.empty(4 * drawn.n, np.uint64)
    drawn.backend.run(Widen(drawn.codes, drawn.words, drawn.sa, s, rows), drawn.n)
    return WideRows(first_rows(drawn.backend, drawn.codes, drawn.sa, s), s, rows)


@inlined
def _piece(patterns, first, done, k, ours, n_ours):
    """Compare the highest k of ``n_ours`` symbols with those of a pattern from ``done`` on: -1, 0, 1."""
    theirs = symbols(patterns.words, first, done, k)
    ours = ours >> np.uint64(2 * (n_ours - k))
    return np.int64(0) if ours == theirs else np.int64(-1) if ours < theirs else np.int64(1)


@kernel
def search_kernel(query, patterns, intervals, n_each):
    """Intervals of patterns (WideRows, Patterns; zeros at first), ``n_each`` by a thread."""
    thread, n = thread_index(), patterns.length.size
    n_threads = (n + n_each - 1) // n_each
    if thread >= n_threads:
        return
    for i in range(thread, n, n_threads):
        first, length = np.int64(patterns.first[i]), np.int64(patterns.length[i])
        seed = np.int64(symbols(patterns.words, first, 0, query.s))
        lo, hi = np.int64(at(query.starts, seed)), np.int64(at(query.starts, seed + 1))
        # Three searches for the price of one where there is one row: any equal row, the first, the last.
        found, last, left, right = np.int64(-1), np.int64(-1), lo, hi
        while True:
            while left < right:
                middle = (left + right) >> 1
                order = _compare(query, patterns, first, length, middle)
                if order == 0 and found < 0:
                    found, hi = middle, right
                    right = middle
                elif order < 0 or (order == 0 and last >= 0):
                    left = middle + 1
                else:
                    right = middle
            if found < 0 or last >= 0:
                break
            intervals.lo[i] = left
            last, left, right = found, found + 1, hi
        if found >= 0:
            intervals.hi[i] = left


@inlined
def _compare(query, patterns, first, length, row):
    """-1, 0, 1: a row with the pattern's seed sorts before, starts with, sorts after the pattern."""
    a, b = load_unit(query.rows, 4 * row)
    c, d = load_unit(query.rows, 4 * row + 2)
    known = np.int64((a >> np.uint64(2 * _HEAD)) & np.uint64(0xFF))
    if known == _ENDED:
        return np.int64(1)
    done, left = np.int64(query.s), min(length - query.s, known)
    k = min(left, _HEAD)
    order = np.int64(0)
    if k > 0:
        order = _piece(patterns, first, done, k, a & np.uint64(0xFFFFFF), _HEAD)
    if order == 0 and left > _HEAD:
        order = _piece(patterns, first, done + _HEAD, min(left - _HEAD, 32), b, 32)
    if order == 0 and left > _HEAD + 32:
        order = _piece(patterns, first, done + _HEAD + 32, min(left - _HEAD - 32, 32), c, 32)
    if order == 0 and left > _HEAD + 64:
        order = _piece(patterns, first, done + _HEAD + 64, min(left - _HEAD - 64, 32), d, 32)
    return np.int64(-1) if order == 0 and known < length - query.s else order


def search(query, patterns, intervals, n_each=1) -> None:
    """Start the search, ``n_each`` patterns a thread; ``intervals`` hold zeros."""
    n_blocks = -(-patterns.length.size // n_each // N_THREADS)
    search_kernel[n_blocks, N_THREADS](query, patterns, intervals, n_each)
