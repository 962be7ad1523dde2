"""The sparse suffix array: rows of sampled text positions, in buckets by their canonical k-mers.

A position is sampled if its k-mer is the smallest of some window of w neighbours, so every
stretch of k + w - 1 bases has a sampled position, the same on either strand.  Of a k-mer and its reverse
complement, the *canonical* one is the smaller; k is odd, so they differ.  A row is 8 bytes:

    bit 63 ... 32 | 31     | 30   | 29 ... 0
        position  | strand | near | the 15 symbols left of the k-mer, the next one to it in the lowest bits

All fields but the position refer to the canonical k-mer: if that is on the reverse strand (strand 1), left of
it are the complements of the symbols after it.  ``near``: an end of the block is within REACH symbols.

In a bucket of more than SMALL_BUCKET rows, they are in the order of the text from the k-mer on, on the
canonical strand, by DEPTH symbols, where the end of a block sorts before A.  Otherwise, and among equal rows,
they are in the order of positions.  So k-mers that share a bucket are kept separate, and a string of at most
DEPTH symbols that begins with the k-mer has a range of rows, which binary search finds.
"""

import re
from typing import Any, NamedTuple

import numpy as np

from ..compiler import simd
from ..compiler.functions import inlined
from ..compiler.primitives import at, low_bits
from ..compiler.simd import LANES, fill, load, store
from ..dna import SPARE_WORDS, WORD, reverse_complement, symbols
from ..errors import UnsupportedError
from .layouts import DEFAULT, ArraySpec
from .reference import find_block

_MAX_K, _MAX_W = 31, 64


class SparseName(NamedTuple):
    """A parsed name, sparse-kK-wW."""

    k: int = 21
    w: int = 16

    def __str__(self) -> str:
        return f"sparse-k{self.k}-w{self.w}"

    @property
    def shortest(self) -> int:
        """Bases of the shortest reads that can be mapped."""
        return self.k + self.w - 1

    def forms(self, n_text: int, n_rows: int | None = None) -> dict:
        """Return the ArraySpec of each array of a part of n_text symbols, by its name in an index.

        ``n_rows``: the number in meta.json, None if it has none.
        """
        last_row = max(n_text - 1 - self.k, 0) << 32 | 2**32 - 1
        n_starts = (1 << bucket_bits(n_text, self.w)) + 1
        return {
            f"{self}.rows": ArraySpec("uint64", (n_rows,), last_row),
            f"{self}.starts": ArraySpec(
                "uint32", (n_starts,), ascends=True, holds=lambda starts: starts[-1] == n_rows
            ),
        }

    def bytes_per_symbol(self, n_text: int) -> float:
        """Return the bytes per symbol in a random text of n_text symbols."""
        return 16 / (self.w + 1) + 4 * ((1 << bucket_bits(n_text, self.w)) + 1) / n_text

    def table(self, arrays: dict) -> "SparseTable":
        """Return the SparseTable of an index, from its arrays by their names."""
        return SparseTable(arrays[f"{self}.rows"], arrays[f"{self}.starts"], self.k, self.w)


def parse_sparse(name: str) -> SparseName | None:
    """Parse the name of a sparse suffix array, where k and w may be omitted; return None for another name.

    Raises UnsupportedError if k or w is out of range.
    """
    match = re.fullmatch(r"sparse(?:-k(\d+))?(?:-w(\d+))?", name)
    if match is None:
        return None
    k, w = (int(number or usual) for number, usual in zip(match.groups(), SparseName(), strict=True))
    if k % 2 == 0 or not 3 <= k <= _MAX_K or not 1 <= w <= _MAX_W:
        raise UnsupportedError(f"no layout {name!r}: k must be odd and 3 to {_MAX_K}, and w 1 to {_MAX_W}")
    return SparseName(k, w)


def too_short(what: str, least: int, remedy: str = "") -> UnsupportedError:
    """Return the error for ``what`` with fewer bases than the ``least`` that a sparse suffix array finds."""
    return UnsupportedError(
        f"{what}, but this index finds only sequences of {least} bases or more: {remedy}to find shorter "
        f"ones, build another index with 'fmx index --layout {DEFAULT} REFERENCE.fa'"
    )


def bucket_bits(n_text: int, w: int) -> int:
    """Return b for 2^b buckets: one to two rows per bucket, if 2 in w + 1 positions are sampled."""
    return max((2 * n_text // (w + 1)).bit_length() - 1, 1)


SMALL_BUCKET = 8  # rows of a bucket that are compared one by one
LEFT = 15  # symbols of a row
REACH = 256  # symbols within which a row is near the end of its block
AT_ONCE = 28  # symbols that are compared at a time
DEPTH = 9 * AT_ONCE  # symbols that order rows; less than REACH, so only near rows may end within
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
def row_key(words, blocks, row, k, depth):
    """Return AT_ONCE symbols of a row, from ``depth`` after the start of its k-mer, as a sortable number.

    The bits below them hold how many of these symbols lie before the end of the block.
    """
    position, reverse = position_in(row), strand_in(row)
    begin, end = max(position + k - DEPTH, 0), min(position + DEPTH, 32 * (words.size - SPARE_WORDS))
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
    """Return the key of row_key for n symbols, of which AT_ONCE count, from i on of a packed string.

    ``first``: the word at which the string begins. ``reverse``: of the reverse complement of the symbols
    before i.
    """
    n = min(n, np.int64(AT_ONCE))
    if n <= 0:
        return np.int64(0)
    x = symbols(words, first, i - n, n) if reverse else symbols(words, first, i, n)
    if reverse:
        x = reverse_complement(x, n)
    return np.int64(x << np.uint64(2 * (AT_ONCE - n) + 6)) | n


# Minimizers: the k-mers of a text or a read that are the smallest in a window of w neighbours.
#
# k-mers are compared by a 32-bit hash that is equal for a k-mer and its reverse complement (ntHash, Mohamadi
# et al. 2016): the bits of each base, rotated by its place, combined by exclusive or; the hashes of both
# strands are added.  All k-mers with the smallest hash of a window count, so both strands of a text have the
# same minimizers.  Hashes of 2p symbols are made from two of p, and minima of 2p places from two of p, for 32
# places at a time.

SPAN = 1024  # symbols that are hashed together
_WIDTH = SPAN + 4 * _MAX_W
_HASH, _FORWARD, _REVERSE, _OTHER = 0, _WIDTH, 2 * _WIDTH, 3 * _WIDTH
ROOM = 4 * _WIDTH  # int32 of working memory for the compiled code here
_A, _C, _G = 0x3C8BFBB3, 0x1CB6E4A9, 0x6C53A7E1  # bits of the bases
_T = _A ^ _C ^ _G
BASES = _A, _C, _G, _T
_LOW, _HIGH = -(2**31), 2**31 - 1


@inlined
def hash_kmers(words, first, start, n, k, room):
    """Hash the n k-mers from symbol ``start`` of the packed string at word ``first``.

    n + k - 1 is at most SPAN.
    """
    size = n + k - 1
    a, c, g, t = fill(room, _A), fill(room, _C), fill(room, _G), fill(room, _T)
    zero, one, two = fill(room, 0), fill(room, 1), fill(room, 2)
    for i in range(0, size, LANES):
        v = simd.codes(symbols(words, first, start + i, WORD))
        store(room, _FORWARD + i, simd.choose(v, zero, a, simd.choose(v, one, c, simd.choose(v, two, g, t))))
        store(room, _REVERSE + i, simd.choose(v, zero, t, simd.choose(v, one, g, simd.choose(v, two, c, a))))
    p, done = 1, 0
    while p <= k:
        if k & p:
            # Extend the hashes of ``done`` symbols by p more.
            for i in range(0, size, LANES):
                forward, reverse = load(room, _FORWARD + i + done), load(room, _REVERSE + i + done)
                if done:
                    forward = simd.differ(forward, simd.rotate(load(room, _HASH + i), p))
                    reverse = simd.differ(load(room, _OTHER + i), simd.rotate(reverse, done))
                store(room, _HASH + i, forward)
                store(room, _OTHER + i, reverse)
            done += p
        p *= 2
        if p <= k:  # from hashes of p / 2 symbols to those of p
            half = p // 2
            for i in range(0, size, LANES):
                forward, reverse = load(room, _FORWARD + i), load(room, _REVERSE + i)
                forward = simd.differ(simd.rotate(forward, half), load(room, _FORWARD + i + half))
                reverse = simd.differ(reverse, simd.rotate(load(room, _REVERSE + i + half), half))
                store(room, _FORWARD + i, forward)
                store(room, _REVERSE + i, reverse)
    for i in range(0, size, LANES):
        store(room, _HASH + i, simd.plus(load(room, _HASH + i), load(room, _OTHER + i)))


@inlined
def find_minimizers(room, n, w):
    """Mark which of n hashed k-mers are the smallest of a window of w among them (``minimizers``)."""
    base, n_windows = _FORWARD + _MAX_W, n - w + 1
    for i in range(0, n, LANES):
        store(room, base + i, load(room, _HASH + i))
    p = 1
    while 2 * p <= w:
        _least_of_two(room, base, n_windows + w, p)
        p *= 2
    if p < w:
        _least_of_two(room, base, n_windows, w - p)
    for i in range(_FORWARD, base, LANES):
        store(room, i, fill(room, _LOW))
    for i in range(base + n_windows, base + n + _MAX_W, LANES):
        store(room, i, fill(room, _LOW))
    p = 1
    while 2 * p <= w:
        _most_of_two(room, base - w + 1, n + w, p)
        p *= 2
    if p < w:
        _most_of_two(room, base - w + 1, n, w - p)


@inlined
def _least_of_two(room, base, n, p):
    for i in range(base, base + n, LANES):
        store(room, i, simd.minimum(load(room, i), load(room, i + p)))


@inlined
def _most_of_two(room, base, n, p):
    for i in range(base, base + n, LANES):
        store(room, i, simd.maximum(load(room, i), load(room, i + p)))


@inlined
def minimizers(room, i, w):
    """Return a uint32: bit j is set if k-mer i + j of those hashed is the smallest of a window."""
    return simd.equal_bits(load(room, _HASH + i), load(room, _FORWARD + _MAX_W + i - w + 1))


@inlined
def smallest_kmers(words, first, start, k, w, room):
    """Find, in LANES packed strings at words first[i], the smallest of the w k-mers from symbol start[i] on.

    One lane per string, symbol by symbol; room[i] gets its number, 0 to w - 1, the first one if there are
    several.
    """
    both = fill(room, _C ^ _G)
    forward, reverse, place = fill(room, 0), fill(room, 0), fill(room, 0)
    best, entering = fill(room, _HIGH), fill(room, 0)
    for i in range(k + w - 1):
        if i & 15 == 0:  # the next 16 symbols, the first in the highest bits
            for lane in range(LANES):
                room[lane] = np.int32(np.uint32(symbols(words, first[lane], start[lane] + i, 16)))
            entering = load(room, 0)
        high = simd.common(simd.signs(entering), fill(room, _A ^ _G))
        low = simd.common(simd.signs(simd.shifted(entering, 1)), fill(room, _A ^ _C))
        added = simd.differ(simd.differ(high, low), fill(room, _A))
        entering = simd.shifted(entering, 2)
        store(room, LANES * (i + 1), added)
        forward = simd.differ(simd.rotate(forward, 1), added)
        added = simd.rotate(simd.differ(added, both), k - 1)
        if i < k:
            reverse = simd.differ(simd.rotate(reverse, 31), added)
        else:
            gone = load(room, LANES * (i + 1 - k))
            forward = simd.differ(forward, simd.rotate(gone, k))
            reverse = simd.differ(simd.rotate(simd.differ(reverse, simd.differ(gone, both)), 31), added)
        if i >= k - 1:
            x = simd.plus(forward, reverse)
            smaller = simd.minimum(best, x)
            place = simd.choose(smaller, best, place, fill(room, i - k + 1))
            best = smaller
    store(room, 0, place)
