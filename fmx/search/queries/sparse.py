"""Exact occurrence of a read, on both strands, by a sparse suffix array (index/sparse/table.py).

The smallest canonical k-mer of a window of w is sampled wherever the read occurs, on either strand; its
bucket holds the rows.  Few rows are compared with the text one by one, by their own symbols first.  Where
there are more, the next windows of the read are looked at, and the bucket that costs least is taken.  If that
is still large, binary search finds the range of the rows that go on as the read does, from the k-mer on; what
stands left of it is compared by the symbols in the rows, as far as they reach.  So a place in the text is
looked at only where there are few of them, or for reads that reach further.
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at, bits_from
from ...index.reference import Blocks, block_end
from ...index.sparse.table import (
    DEPTH,
    FEW,
    LEFT,
    REACH,
    WORD,
    SparseTable,
    is_near,
    left_key,
    packed_key,
    position_in,
    strand_in,
    text_key,
)
from ...input.dna import symbols

MOST_WINDOWS = 64  # of a read
FAR = 3 * LEFT  # what a row costs whose place in the text must be looked at, in rows that tell it themselves


class Sparse(NamedTuple):
    """``table`` of the text of n symbols, packed in ``words``, with these ``blocks``; 2^n_bits buckets."""

    table: SparseTable
    words: Any
    blocks: Blocks
    n: int
    n_bits: int


class Anchor(NamedTuple):
    """A k-mer of a read: where it starts, and the strand of its canonical form; rows ``lo`` to ``hi``.

    ``sorted``: these are the rows that go on as the read does, for DEPTH symbols at most, else a bucket.
    """

    place: Any
    strand: Any
    lo: Any
    hi: Any
    sorted: Any


@inlined
def length_of(patterns, r):
    """Length of read r, 0 if it is not searched."""
    return max(at(patterns.length, 2 * r), at(patterns.length, 2 * r + 1))


@inlined
def window_start(query, length, window):
    """Where a window of w k-mers of a read starts: they follow one another, and the last one ends with it."""
    return min(window * query.table.w, length - query.table.k - query.table.w + 1)


@inlined
def has_window(query, length, window):
    """Whether a read has so many windows, of which MOST_WINDOWS are looked at."""
    n = length - query.table.k - query.table.w + 1
    return (window - 1) * query.table.w < n and window < MOST_WINDOWS


@inlined
def n_left(query, length, place, strand):
    """How many symbols of a read are left of its k-mer, as the canonical strand reads."""
    return length - query.table.k - place if strand else place


@inlined
def cost_of(query, length, anchor):
    """What it costs to compare the rows of an Anchor, in rows that say themselves where the read occurs."""
    cost = anchor.hi - anchor.lo
    if cost > FEW and n_left(query, length, anchor.place, anchor.strand) > LEFT:
        cost *= FAR
    return cost


@inlined
def range_of(query, patterns, r, anchor):
    """(lo, hi): of the rows of an Anchor those that go on as read r does."""
    lo, hi = anchor.lo, anchor.hi
    first, end = lo, hi
    while first < end:
        middle = (first + end) >> 1
        if order_of(query, patterns, r, anchor, at(query.table.rows, middle)) < 0:
            first = middle + 1
        else:
            end = middle
    last, step = first, np.int64(1)
    while last + step <= hi:
        if order_of(query, patterns, r, anchor, at(query.table.rows, last + step - 1)) != 0:
            break
        last += step
        step *= 2
    end = min(last + step, hi)
    while last < end:
        middle = (last + end) >> 1
        if order_of(query, patterns, r, anchor, at(query.table.rows, middle)) == 0:
            last = middle + 1
        else:
            end = middle
    return first, last


@inlined
def order_of(query, patterns, r, anchor, row):
    """-1, 0, 1: the text of a row, from its k-mer on, sorts before, goes on as, sorts after read r."""
    first, length, k = at(patterns.first, 2 * r + anchor.strand), length_of(patterns, r), query.table.k
    left = n_left(query, length, anchor.place, anchor.strand)
    right = min(length - left, np.int64(DEPTH))
    for depth in range(0, right, WORD):
        ours = packed_key(patterns.words, first, left + depth, right - depth, False)
        n = ours & 63
        theirs = text_key(query.words, query.blocks, row, k, depth)
        reach = min(theirs & 63, n)
        theirs = (theirs >> (6 + 2 * (WORD - n))) << (6 + 2 * (WORD - n)) | reach
        if ours != theirs:
            return -1 if theirs < ours else 1
    return 0


@inlined
def strand_at(anchor, row):
    """The strand on which a read stands at a row, if it does."""
    return strand_in(row) ^ anchor.strand


@inlined
def position_at_row(query, length, anchor, row):
    """Where in the text a read begins whose k-mer stands at a row."""
    reverse = strand_at(anchor, row)
    return position_in(row) - (length - query.table.k - anchor.place if reverse else anchor.place)


@inlined
def left_of_read(query, patterns, r, anchor):
    """(bits, mask): what a row must hold of the symbols left of its k-mer."""
    left = n_left(query, length_of(patterns, r), anchor.place, anchor.strand)
    n = min(left, np.int64(LEFT))
    if n == 0:
        return np.uint64(0), np.uint64(0)
    return left_key(symbols(patterns.words, at(patterns.first, 2 * r + anchor.strand), left - n, n), n)


@inlined
def looks_at_text(query, length, anchor):
    """Whether rows of an Anchor do not tell by themselves where the read occurs."""
    left = n_left(query, length, anchor.place, anchor.strand)
    return not anchor.sorted or left > LEFT or length - left > DEPTH


@inlined
def is_sure(query, row):
    """Whether a row tells by itself that nothing ends near it."""
    inside = np.uint64(max(query.n - 2 * DEPTH, 0)) << np.uint64(32)
    return (is_near(row) == 0) & (row - (np.uint64(DEPTH) << np.uint64(32)) < inside)


@inlined
def may_be(row, left):
    """Whether a row has the symbols ``left`` (left_of_read)."""
    return ((row ^ left[0]) & left[1]) == 0


@inlined
def occurs(query, patterns, r, anchor, row, by_text):
    """Whether read r occurs at a row that ``may_be``, on a strand that is searched.

    ``by_text``: as looks_at_text says.
    """
    length, strand = length_of(patterns, r), strand_at(anchor, row)
    start = position_at_row(query, length, anchor, row)
    if at(patterns.length, 2 * r + strand) == 0 or start < 0 or start + length > query.n:
        return False
    if by_text and not _spells(query, patterns, 2 * r + strand, start):
        return False
    if is_near(row) or (by_text and length > REACH):
        return start + length <= block_end(query.blocks, start)
    return True


@inlined
def _spells(query, patterns, i, start):
    """Whether the packed text spells pattern i from ``start`` on."""
    first, length = at(patterns.first, i), at(patterns.length, i)
    word, shift = start >> 5, np.uint64(2 * (start & 31))
    ahead = at(query.words, word)
    for j in range((length + 31) >> 5):
        ours = ahead << shift
        ahead = at(query.words, word + j + 1)
        differ = (ours | (ahead >> np.uint64(1)) >> (np.uint64(63) - shift)) ^ at(patterns.words, first + j)
        if differ & bits_from(np.int32(64 - 2 * (length - 32 * j))):
            return False
    return True
