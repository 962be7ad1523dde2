"""The sparse suffix array: rows of sampled text positions, in buckets by their canonical k-mers.

A position is sampled if its k-mer is the smallest of some window of w neighbours (minimizers.py), so every
stretch of k + w - 1 bases has a sampled position, the same on either strand.  Of a k-mer and its reverse
complement, the *canonical* one is the smaller; k is odd, so they differ.  A row is 8 bytes:

    bit 63 ... 32 | 31     | 30   | 29 ... 0
        position  | strand | near | the 15 symbols left of the k-mer, the next one to it in the lowest bits

All fields but the position refer to the canonical k-mer: if that is on the reverse strand (strand 1), left of
it are the complements of the symbols after it.  ``near``: the block ends within REACH symbols of it.

In a bucket of more than FEW rows, they are in the order of the text from the k-mer on, on the canonical
strand, by DEPTH symbols, where the end of a block sorts before A.  Otherwise, and among equal rows, they are
in the order of positions.  So k-mers that share a bucket are kept separate, and a string of at most DEPTH
symbols that begins with the k-mer has a range of rows, which binary search finds.
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at, low_bits
from ...input.dna import reverse_complement, symbols
from ..reference import find_block

FEW = 8  # rows of a bucket that are compared one by one
LEFT = 15  # symbols of a row
REACH = 256  # symbols within which a row is near the end of its block
WORD = 28  # symbols that are compared at a time
DEPTH = 9 * WORD  # symbols that order rows; less than REACH, so only near rows may end within
_POSITION, _STRAND, _NEAR = np.uint64(32), np.uint64(31), np.uint64(30)


class SparseTable(NamedTuple):
    """``rows`` uint64[n_rows]; those of bucket c from ``starts[c]``, uint32[2^b + 1]."""

    rows: Any
    starts: Any
    k: int
    w: int


@inlined
def position_in(row):
    """Return the text position of a row."""
    return np.int64(row >> _POSITION)


@inlined
def strand_in(row):
    """Return the strand of a row's canonical k-mer."""
    return np.int64(row >> _STRAND) & 1


@inlined
def is_near(row):
    """Return whether the block of a row ends within REACH symbols of its k-mer."""
    return np.int64(row >> _NEAR) & 1


@inlined
def canonical(words, first, i, k):
    """Return (canonical k-mer, its strand) of symbols i to i + k of the packed string at word ``first``."""
    forward = symbols(words, first, i, k)
    reverse = reverse_complement(forward, k)
    return min(forward, reverse), np.int64(reverse < forward)


@inlined
def bucket_of(kmer, n_bits):
    """Return the bucket of a canonical k-mer among 2^n_bits."""
    x = kmer ^ (kmer >> np.uint64(31))
    x *= np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(32)
    return np.int64(x >> np.uint64(64 - n_bits))


@inlined
def row_of(words, position, strand, k, begin, end):
    """Return the row of a position in the block ``begin`` to ``end``, whose canonical k-mer has this
    strand."""
    n = min(position, np.int64(LEFT))
    if strand:
        left = reverse_complement(symbols(words, 0, position + k, LEFT), LEFT)
    elif n > 0:
        left = symbols(words, 0, position - n, n)
    else:
        left = np.uint64(0)
    near = position - begin < REACH or end - position - k < REACH
    head = np.uint64(position) << _POSITION | np.uint64(strand) << _STRAND
    return head | np.uint64(near) << _NEAR | left


@inlined
def left_key(left, n):
    """Return (bits, mask) that rows have for the n symbols ``left`` of a k-mer, at most LEFT."""
    mask = low_bits(np.int32(2 * n))
    return left & mask, mask


@inlined
def text_key(words, blocks, row, k, depth):
    """Return WORD symbols of a row, from ``depth`` after the start of its k-mer, as a sortable number.

    The six bits below them hold the number of symbols before the end of the block.
    """
    position, reverse = position_in(row), strand_in(row)
    begin, end = max(position + k - DEPTH, 0), min(position + DEPTH, 32 * words.size - 96)
    if is_near(row):
        block = find_block(blocks, position)
        begin = at(blocks.text_start, block)
        end = begin + at(blocks.length, block)
    if reverse:
        stop = position + k - depth
        return packed_key(words, 0, stop, stop - begin, True)
    return packed_key(words, 0, position + depth, end - position - depth, False)


@inlined
def packed_key(words, first, i, n, reverse):
    """Return the key of text_key for n symbols (at most WORD) from i on of the packed string at ``first``.

    ``reverse``: of the reverse complement of the symbols before i.
    """
    n = min(n, np.int64(WORD))
    if n <= 0:
        return np.int64(0)
    x = symbols(words, first, i - n, n) if reverse else symbols(words, first, i, n)
    if reverse:
        x = reverse_complement(x, n)
    return np.int64(x << np.uint64(2 * (WORD - n) + 6)) | n
