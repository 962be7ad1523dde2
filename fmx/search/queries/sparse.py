"""Exact occurrence of a read, on both strands, by a sparse suffix array (index/sparse.py).

The smallest canonical k-mer of a window of w k-mers is sampled wherever the read occurs, on either strand;
its bucket holds the rows. Few rows are compared one by one, first by the symbols in the row, then by the
text. If there are many, the next windows of the read are looked up, and the cheapest bucket is used. If that
is still large, binary search finds the rows that continue as the read does after the k-mer; the symbols to
the left of it are compared with those in the rows, as far as these go. So the text is read only if there are
few rows, or if the read is longer than what the rows hold.
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at, bits_from
from ...dna import symbols
from ...index.reference import Blocks, block_end
from ...index.sparse import (
    AT_ONCE,
    DEPTH,
    LEFT,
    REACH,
    SMALL_BUCKET,
    SparseTable,
    is_near,
    left_key,
    packed_key,
    position_in,
    row_key,
    strand_in,
)

_MOST_WINDOWS = 64  # per read
_FAR = 3 * LEFT  # cost of a row that needs the text, in rows that need no look at it


class Sparse(NamedTuple):
    """Query of a sparse suffix array: ``table`` of the text of n symbols, packed in ``words``.

    The table has 2^n_bits buckets.
    """

    table: SparseTable
    words: Any
    blocks: Blocks
    n: int
    n_bits: int


class Anchor(NamedTuple):
    """A k-mer of a read: start ``offset``, strand of its canonical form, and rows ``lo`` to ``hi``.

    ``sorted``: whether the rows are only those that continue as the read does, for up to DEPTH symbols;
    otherwise a whole bucket.
    """

    offset: Any
    strand: Any
    lo: Any
    hi: Any
    sorted: Any


@inlined
def length_of(patterns, r):
    """Return the length of read r, 0 if it is not searched."""
    return max(at(patterns.length, 2 * r), at(patterns.length, 2 * r + 1))


@inlined
def window_start(query, length, window):
    """Return the start of a window of w k-mers, one after another; the last one ends with the read."""
    return min(window * query.table.w, length - query.table.k - query.table.w + 1)


@inlined
def has_window(query, length, window):
    """Return whether a read has window number ``window``, from 0; _MOST_WINDOWS limits the number."""
    n = length - query.table.k - query.table.w + 1
    return (window - 1) * query.table.w < n and window < _MOST_WINDOWS


@inlined
def _n_left(query, length, offset, strand):
    """Return the number of symbols to the left of the k-mer of a read, on the canonical strand."""
    return length - query.table.k - offset if strand else offset


@inlined
def cost_of(query, length, anchor):
    """Return the cost of comparing the rows of an Anchor, in rows that need no look at the text."""
    cost = anchor.hi - anchor.lo
    if cost > SMALL_BUCKET and _n_left(query, length, anchor.offset, anchor.strand) > LEFT:
        cost *= _FAR
    return cost


@inlined
def range_of(query, patterns, r, anchor):
    """Return (lo, hi): the rows of an Anchor that continue as read r does."""
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
    """Return -1, 0 or 1: a row's text, from its k-mer on, sorts before, continues as, sorts after read r."""
    length = length_of(patterns, r)
    left = _n_left(query, length, anchor.offset, anchor.strand)
    n, first = min(length - left, np.int64(DEPTH)), at(patterns.first, 2 * r + anchor.strand)
    return row_order(query, patterns.words, first, left, n, False, row)


@inlined
def row_order(index, words, first, start, n, reverse, row):
    """Return -1, 0 or 1: a row's text, from its k-mer on, sorts before, continues as, sorts after n symbols.

    ``index``: a Sparse, or has its ``table``, ``words`` and ``blocks``. The symbols are those from ``start``
    on of the string that begins at word ``first`` of ``words``, or, with ``reverse``, of the reverse
    complement of those before ``start``.
    """
    for depth in range(0, n, AT_ONCE):
        ours = packed_key(words, first, start - depth if reverse else start + depth, n - depth, reverse)
        n_ours = ours & 63
        theirs = row_key(index.words, index.blocks, row, index.table.k, depth)
        n_common = min(theirs & 63, n_ours)
        theirs = (theirs >> (6 + 2 * (AT_ONCE - n_ours))) << (6 + 2 * (AT_ONCE - n_ours)) | n_common
        if ours != theirs:
            return -1 if theirs < ours else 1
    return 0


@inlined
def strand_at(anchor, row):
    """Return the strand of the read at a row, if it occurs there."""
    return strand_in(row) ^ anchor.strand


@inlined
def position_at_row(query, length, anchor, row):
    """Return the text position where a read begins whose k-mer is at a row."""
    reverse = strand_at(anchor, row)
    return position_in(row) - (length - query.table.k - anchor.offset if reverse else anchor.offset)


@inlined
def left_of_read(query, patterns, r, anchor):
    """Return (bits, mask): what a row must hold of the symbols to the left of the k-mer."""
    left = _n_left(query, length_of(patterns, r), anchor.offset, anchor.strand)
    n = min(left, np.int64(LEFT))
    if n == 0:
        return np.uint64(0), np.uint64(0)
    return left_key(symbols(patterns.words, at(patterns.first, 2 * r + anchor.strand), left - n, n), n)


@inlined
def looks_at_text(query, length, anchor):
    """Return whether the text must be read to decide if a read occurs at rows of an Anchor."""
    left = _n_left(query, length, anchor.offset, anchor.strand)
    return not anchor.sorted or left > LEFT or length - left > DEPTH


@inlined
def is_sure(query, row):
    """Return whether a row shows that no block ends near it."""
    inside = np.uint64(max(query.n - 2 * DEPTH, 0)) << np.uint64(32)
    return (is_near(row) == 0) & (row - (np.uint64(DEPTH) << np.uint64(32)) < inside)


@inlined
def may_be(row, left):
    """Return whether a row has the symbols ``left`` (left_of_read)."""
    return ((row ^ left[0]) & left[1]) == 0


@inlined
def occurs(query, patterns, r, anchor, row, by_text):
    """Return whether read r occurs, on a searched strand, at a row for which ``may_be`` is true.

    ``by_text``: result of looks_at_text.
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
    """Return whether the packed text spells pattern i from ``start`` on."""
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
