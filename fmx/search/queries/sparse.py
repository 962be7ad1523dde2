"""Exact occurrence of a read, on both strands, by a sparse suffix array (index/sparse/table.py).

The smallest canonical k-mer of a read is sampled wherever the read occurs, on either strand; its bucket holds
the rows.  Few rows are compared with the text one by one, by their own symbols first.  Of a bucket with more
rows binary search finds the range of those that go on as the read does, from the k-mer on; what stands left
of it is compared by the symbols in the rows, as far as they reach.  So a place in the text is looked at only
where there are few of them, or for reads that reach further.
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at, bits_from, low_bits, prefetch, trailing_zeros
from ...index.reference import Blocks, block_end
from ...index.sparse.minimizers import SPAN, find_minimizers, hash_kmers, minimizers
from ...index.sparse.table import (
    DEPTH,
    FEW,
    LEFT,
    REACH,
    WORD,
    SparseTable,
    bucket_of,
    canonical,
    is_near,
    left_key,
    packed_key,
    position_in,
    strand_in,
    text_key,
)
from ...input.dna import reverse_complement, symbols

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
def n_hashed(query, length):
    """How many k-mers of a read are hashed: those of all its windows, or of enough."""
    return min(length, np.int64(SPAN - 2)) - query.table.k + 1


@inlined
def n_left(query, length, place, strand):
    """How many symbols of a read are left of its k-mer, as the canonical strand reads."""
    return length - query.table.k - place if strand else place


@inlined
def narrow(query, patterns, r, room, anchor):
    """The Anchor of read r whose rows cost least, where its first one has many."""
    first, length, k, w = at(patterns.first, 2 * r), length_of(patterns, r), query.table.k, query.table.w
    n = n_hashed(query, length)
    hash_kmers(patterns.words, first, np.int64(0), n, k, room)
    find_minimizers(room, n, w)
    for i in range(0, n, 32):
        found = np.uint64(minimizers(room, i, w)) & low_bits(np.int32(n - i))
        while found:
            kmer, _ = canonical(patterns.words, first, i + trailing_zeros(found), k)
            prefetch(query.table.starts, bucket_of(kmer, query.n_bits))
            found &= found - np.uint64(1)
    best, least = anchor, np.int64(1) << 62
    for i in range(0, n, 32):
        found = np.uint64(minimizers(room, i, w)) & low_bits(np.int32(n - i))
        while found:
            place = i + trailing_zeros(found)
            found &= found - np.uint64(1)
            kmer, strand = canonical(patterns.words, first, place, k)
            bucket = bucket_of(kmer, query.n_bits)
            lo, hi = np.int64(at(query.table.starts, bucket)), np.int64(at(query.table.starts, bucket + 1))
            cost = hi - lo
            if cost > FEW and n_left(query, length, place, strand) > LEFT:
                cost *= FAR
            if cost < least:
                best, least = Anchor(place, strand, lo, hi, np.int64(0)), cost
    if least <= FEW:
        return best
    lo, hi = range_of(query, patterns, r, best)
    return Anchor(best.place, best.strand, lo, hi, np.int64(1))


@inlined
def range_of(query, patterns, r, anchor):
    """(lo, hi): of the rows of an Anchor those that go on as read r does."""
    lo, hi = anchor.lo, anchor.hi
    first, end = lo, hi
    while first < end:
        middle = (first + end) >> 1
        if _order(query, patterns, r, anchor, at(query.table.rows, middle)) < 0:
            first = middle + 1
        else:
            end = middle
    last, step = first, np.int64(1)
    while last + step <= hi:
        if _order(query, patterns, r, anchor, at(query.table.rows, last + step - 1)) != 0:
            break
        last += step
        step *= 2
    end = min(last + step, hi)
    while last < end:
        middle = (last + end) >> 1
        if _order(query, patterns, r, anchor, at(query.table.rows, middle)) == 0:
            last = middle + 1
        else:
            end = middle
    return first, last


@inlined
def _order(query, patterns, r, anchor, row):
    """-1, 0, 1: the text of a row, from its k-mer on, sorts before, goes on as, sorts after read r."""
    first, length, k = at(patterns.first, 2 * r), length_of(patterns, r), query.table.k
    right = min(length - n_left(query, length, anchor.place, anchor.strand), np.int64(DEPTH))
    for depth in range(0, right, WORD):
        if anchor.strand:
            stop = anchor.place + k - depth
            ours = packed_key(patterns.words, first, stop, right - depth, True)
        else:
            ours = packed_key(patterns.words, first, anchor.place + depth, right - depth, False)
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
    first, length = at(patterns.first, 2 * r), length_of(patterns, r)
    n = min(n_left(query, length, anchor.place, anchor.strand), np.int64(LEFT))
    if n == 0:
        return np.uint64(0), np.uint64(0)
    if anchor.strand:
        x = reverse_complement(symbols(patterns.words, first, anchor.place + query.table.k, n), n)
    else:
        x = symbols(patterns.words, first, anchor.place - n, n)
    return left_key(x, n)


@inlined
def looks_at_text(query, length, anchor):
    """Whether rows of an Anchor do not tell by themselves where the read occurs."""
    left = n_left(query, length, anchor.place, anchor.strand)
    return not anchor.sorted or left > LEFT or length - left > DEPTH


@inlined
def is_sure(query, row):
    """1 if a row tells by itself that nothing ends near it, else 0."""
    position = position_in(row)
    return (1 - is_near(row)) & np.int64(position >= DEPTH) & np.int64(position < query.n - DEPTH)


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
