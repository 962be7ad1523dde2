"""Reads -> guides, in compiled code: one record after the other is parsed, looked up and counted.

Windows that spell a guide come first; where none does and ``mismatches`` is 1, those one letter apart from
one; and of these the longest.  A read counts for a guide if all these windows agree, else it is ambiguous.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at
from ..input.dna import reverse_complement, symbols
from ..input.read_problems import OK
from ..input.reads import ReadBatch, pack_read
from ..input.record import take_fasta, take_fastq
from .table import MANY, NONE, Table, find, near
from .where import Where, fits, n_windows, reach, window

READS, AMBIGUOUS, LOW_QUALITY, INEXACT, LEFT = range(5)  # of Tally.totals
N_TOTALS = 5
WORST = 33  # the least quality, as a character
OFFSETS = 512  # those that are told apart; the last one stands for all from there on


class Rules(NamedTuple):
    """``table`` of guides, ``where`` they stand; ``mismatches`` 0 or 1; ``quality``: the least character that
    each letter of a guide must have; ``most`` reads are taken.  Of bytes, uint8[256]: ``code`` (dna.CODE),
    ``plain`` (the same, 0 for all but A C G T U), ``bit`` (where.BIT)."""

    table: Table
    where: Where
    mismatches: int
    quality: int
    most: int
    code: np.ndarray
    plain: np.ndarray
    bit: np.ndarray


class Tally(NamedTuple):
    """``counts`` int64[n_guides] of reads; ``totals`` int64[N_TOTALS]; ``hits`` int64[2, OFFSETS]: counted
    reads by strand and offset of their guide; ``left`` uint64: keys of windows of the unassigned reads that
    fit, of ``left_length`` letters, totals[LEFT] of them."""

    counts: np.ndarray
    totals: np.ndarray
    hits: np.ndarray
    left: np.ndarray
    left_length: int


def new_tally(n_guides, n_left, left_length) -> Tally:
    """A Tally of nothing, with room for n_left windows."""
    return Tally(
        np.zeros(n_guides, np.int64), np.zeros(N_TOTALS, np.int64), np.zeros((2, OFFSETS), np.int64),
        np.empty(n_left, np.uint64), left_length,
    )  # fmt: skip


def one_record(data) -> ReadBatch:
    """Room for one record of ``data`` at a time."""
    columns = [np.empty(1, np.int64) for _ in range(5)]
    return ReadBatch(data, *columns, np.empty(1, np.bool_))  # type: ignore[call-arg]


class Found(NamedTuple):
    """A guide, NONE or MANY; where its window begins and ends, and whether it is of the reverse strand."""

    guide: int
    begin: int
    end: int
    reverse: bool


@inlined
def unknown_letters(batch, bit, begin, n, reverse):
    """(how many of n letters are not A C G T U, the low bit of the last of them in the window's key)."""
    count, wild = 0, np.uint64(0)
    for j in range(n):
        if at(bit, batch.data[batch.start[0] + begin + j]) == 0:
            count += 1
            wild = np.uint64(1) << np.uint64(2 * (j if reverse else n - 1 - j))
    return count, wild


@inlined
def look_up(rules, batch, words, first, n_off):
    """The Found guide that windows of the read in ``batch`` spell with ``n_off`` letters (0 or 1) off.

    ``words`` hold its letters from ``first`` on.
    """
    table, where = rules.table, rules.where
    best = Found(np.int64(NONE), np.int64(0), np.int64(0), False)
    for which in range(table.lengths.size):
        n = table.lengths[which]
        for i in range(n_windows(where, batch.length[0])):
            begin, reverse = window(where, i)
            if begin + n > batch.length[0] or not fits(where, batch, rules.bit, begin, n, reverse):
                continue
            unknown, wild = 0, np.uint64(0)
            if not batch.searchable[0]:
                unknown, wild = unknown_letters(batch, rules.bit, begin, n, reverse)
            if unknown > n_off:
                continue
            key = symbols(words, 0, begin - first, n)
            if reverse:
                key = reverse_complement(key, n)
            guide = near(table, which, key, wild) if n_off else find(table, which, key)
            if guide == NONE:
                continue
            if guide == MANY or (best.guide != NONE and best.guide != guide):
                return Found(np.int64(MANY), best.begin, best.end, best.reverse)
            if best.guide == NONE:
                best = Found(guide, begin, begin + n, reverse)
        if best.guide != NONE:
            break
    return best


@inlined
def is_sure(batch, begin, end, least):
    """Whether no letter of [begin, end) has a quality below ``least``; FASTA has none."""
    if least > WORST and batch.quality_start[0] >= 0:
        for j in range(begin, end):
            if batch.data[batch.quality_start[0] + j] < least:
                return False
    return True


@inlined
def keep_left(rules, batch, words, first, tally):
    """Keep the first window of an unassigned read that holds only A C G T U, if there is room."""
    n, used = tally.left_length, tally.totals[LEFT]
    if used == tally.left.size:
        return
    for i in range(n_windows(rules.where, batch.length[0])):
        begin, reverse = window(rules.where, i)
        if begin + n <= batch.length[0] and fits(rules.where, batch, rules.bit, begin, n, reverse):
            unknown, _ = unknown_letters(batch, rules.bit, begin, n, reverse)
            if unknown == 0:
                key = symbols(words, 0, begin - first, n)
                tally.left[used] = reverse_complement(key, n) if reverse else key
                tally.totals[LEFT] += 1
            return


@inlined
def count_read(rules, batch, words, tally):
    """Count the read in ``batch``; ``words`` uint64 have room for its letters and a spare word."""
    first, last = reach(rules.where, batch.length[0], rules.table.lengths[0])
    found, n_off = Found(np.int64(NONE), np.int64(0), np.int64(0), False), 0
    if first < last:
        pack_read(batch.data, batch.start[0] + first, last - first, rules.plain, words, 0)
        for n_off in range(rules.mismatches + 1):
            found = look_up(rules, batch, words, first, n_off)
            if found.guide != NONE:
                break
    tally.totals[READS] += 1
    if found.guide == NONE:
        if first < last:
            keep_left(rules, batch, words, first, tally)
    elif found.guide == MANY:
        tally.totals[AMBIGUOUS] += 1
    elif not is_sure(batch, found.begin, found.end, rules.quality):
        tally.totals[LOW_QUALITY] += 1
    else:
        tally.counts[found.guide] += 1
        tally.totals[INEXACT] += n_off
        tally.hits[np.int64(found.reverse), min(found.begin, OFFSETS - 1)] += 1


@compiled
def count_records(rules, batch, is_fastq, words, tally):
    """Count the records of ``batch.data``, one after the other in its one row: OK, or the next one's problem.

    ``words`` uint64: room for the longest of them and a spare word.
    """
    i = 0
    while i < batch.data.size and tally.totals[READS] < rules.most:
        if is_fastq:
            after, problem = take_fastq(batch, 0, i, rules.code)
        else:
            after, problem = take_fasta(batch, 0, i, rules.code)
        if problem or after == i:  # only blank lines are left
            return problem
        count_read(rules, batch, words, tally)
        i = after
    return OK
