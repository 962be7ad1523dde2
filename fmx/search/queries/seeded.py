"""Seed and verify as a GPU does it: a thread finds the interval of a pattern by itself.

    VerifyOnDevice    suffix array and packed text, as on the CPU
    VerifyWide        rows that hold 16 symbols more, and the text in overlapping sectors (index/positions.py)

The seed table gives the rows that start with the first s symbols of a pattern.  Those that start with all of
it are a run of these, found by binary search: by the rows' own symbols where there are some, then by the
text.
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.functions import by_type, inlined, static_type
from ...compiler.primitives import at, load_unit
from ...index.contracts import find, on_device
from ...index.positions import KEY, REACH, SECTOR, WideRows, key_in, position_in
from ...index.prefix_table import PrefixTable, pair_index
from ...index.reference import Blocks, block_end
from ...index.seed_table import SeedTable
from ...input.dna import symbols
from .verify import Verify, compare

VerifyOnDevice = static_type("VerifyOnDevice", Verify._fields, __name__)
_FAR = 1 << 40  # symbols to a separator that is not near


class VerifyWide(NamedTuple):
    """``sa`` WideRows and ``sectors`` uint64[4 * n_sectors] of the text, both as in index/positions.py."""

    prefix: PrefixTable
    seeds: SeedTable
    sa: WideRows
    sectors: Any
    blocks: Blocks


class Run(NamedTuple):
    """Rows, half-open; how many places were read for them, and the sector of the row that was looked at last.

    Four rows are a sector here, if they are wide or not.
    """

    lo: int
    hi: int
    n: int
    sector: int


@on_device.register(Verify)
def _on_device(query):
    return VerifyOnDevice(*query)


@by_type
def narrow(query, patterns, i, lo, hi):
    """(Run, known): the rows among those of a pattern's seed that may start with it, by what they hold.

    ``known`` symbols of them need not be compared again.
    """


@by_type
def by_text(query, patterns, i, known, row):
    """-1, 0, 1: a row sorts before, starts with, sorts after pattern i.

    It has the first ``known`` symbols of the pattern, or has come to a separator before.
    """


@narrow.register(VerifyOnDevice)
def _narrow(query, patterns, i, lo, hi):
    return Run(lo, hi, np.int64(0), np.int64(-1)), np.int64(0)


@by_text.register(VerifyOnDevice)
def _by_text(query, patterns, i, known, row):
    return compare(query, patterns, i, np.int64(at(query.sa, row)))


@narrow.register(VerifyWide)
def _narrow_wide(query, patterns, i, lo, hi):
    s, length = np.int64(query.seeds.s), np.int64(at(patterns.length, i))
    k = min(length - s, np.int64(KEY))
    run = Run(lo, hi, np.int64(0), np.int64(-1))
    if k > 0:
        sought = np.int64(symbols(patterns.words, at(patterns.first, i), s, k))
        run = _equal_run(by_rows, query, (sought, k), run)
    return run, s + k


@by_text.register(VerifyWide)
def _by_text_wide(query, patterns, i, known, row):
    position, first = position_in(query.sa.rows, row), np.int64(at(patterns.first, i))
    length, done, end, order = np.int64(at(patterns.length, i)), known, np.int64(_FAR), np.int64(0)
    if done == length:
        end = block_end(query.blocks, position) - position
    while order == 0 and done < min(length, end):
        word = SECTOR * ((position + done) >> 5)
        a, b = load_unit(query.sectors, word)
        c, d = load_unit(query.sectors, word + 2)
        if d & np.uint64(1) and end == _FAR:
            end = block_end(query.blocks, position) - position
        left, shift = min(length, end) - done, np.uint64(2 * ((position + done) & 31))
        order = _order(_from(a, b, shift), patterns, first, done, left)
        if order == 0:
            order = _order(_from(b, c, shift), patterns, first, done + 32, left - 32)
        if order == 0:
            order = _order(_from(c, d, shift), patterns, first, done + 64, left - 64)
        done += REACH
    if end < length and order == 0:
        return np.int64(1) if known > 0 and end < query.seeds.s else np.int64(-1)
    return order


@inlined
def _from(high, low, shift):
    """32 symbols of 64, from ``shift`` bits (0 to 62) on."""
    return high << shift | (low >> np.uint64(1)) >> (np.uint64(63) - shift)


@inlined
def _order(ours, patterns, first, done, left):
    """-1, 0, 1: how 32 symbols compare with those of a pattern from ``done`` on, of which ``left`` count."""
    if left <= 0:
        return np.int64(0)
    k = min(left, np.int64(32))
    theirs = symbols(patterns.words, first, done, k)
    ours = ours >> np.uint64(64 - 2 * k)
    if ours == theirs:
        return np.int64(0)
    return np.int64(-1) if ours < theirs else np.int64(1)


@find.register(VerifyOnDevice)
@find.register(VerifyWide)
def _find(query, patterns, i):
    length, first = np.int64(at(patterns.length, i)), np.int64(at(patterns.first, i))
    if length <= query.prefix.q:
        pair = pair_index(patterns.words, first, 0, length)
        return np.int64(query.prefix.pairs[2 * pair]), np.int64(query.prefix.pairs[2 * pair + 1]), np.int64(1)
    s, starts = np.int64(query.seeds.s), query.seeds.starts
    if length < s:
        # A suffix that ends within s symbols may start with the pattern: it lies in the run before.
        spare = 2 * (s - length)
        seed = np.int64(symbols(patterns.words, first, 0, length)) << spare
        lo = np.int64(at(starts, seed - 1)) if seed > 0 else np.int64(0)
        run = Run(lo, np.int64(at(starts, seed + (np.int64(1) << spare))), np.int64(1), np.int64(-1))
        known = np.int64(0)
    else:
        seed = np.int64(symbols(patterns.words, first, 0, s))
        lo, hi = np.int64(at(starts, seed)), np.int64(at(starts, seed + 1))
        run, known = narrow(query, patterns, i, lo, hi)
    run = _equal_run(by_pattern, query, (patterns, i, known), run)
    return run.lo, run.hi, run.n + 1


@inlined
def by_rows(query, sought, row):
    """(-1, 0, 1: how the symbols of a row compare with ``sought`` (symbols, how many), places read)."""
    ours = np.int64(key_in(query.sa.rows, row, sought[1]))
    sign = np.int64(0) if ours == sought[0] else np.int64(-1) if ours < sought[0] else np.int64(1)
    return sign, np.int64(0)


@inlined
def by_pattern(query, sought, row):
    """(by_text, of ``sought`` (patterns, i, known), places read)."""
    return by_text(query, sought[0], sought[1], sought[2], row), np.int64(1)


@inlined
def _equal_run(order, query, sought, run):
    """Of a Run the rows for which ``order`` says 0, after those with -1, before those with 1.

    One loop for three searches, so that the threads of a warp stay together: any such row, then the first,
    then the last.
    """
    first, last, lo, hi, n, sector = np.int64(-1), np.int64(-1), run.lo, run.hi, run.n, run.sector
    stop = hi
    while True:
        if lo >= hi:
            if last < 0:
                return Run(lo, lo, n, sector)
            if first >= 0:
                return Run(first, lo, n, sector)
            first, lo, hi = lo, last, stop
            continue
        middle = (lo + hi) >> 1
        sign, n_read = order(query, sought, middle)
        n += n_read + (middle >> 2 != sector)
        sector = middle >> 2
        if sign == 0 and last < 0:
            last, stop, hi = middle + 1, hi, middle
        elif sign < 0 or (sign == 0 and first >= 0):
            lo = middle + 1
        else:
            hi = middle
