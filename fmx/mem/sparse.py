"""The matcher of an index with only a sparse suffix array, for matches of k + w - 1 symbols or more.

Windows of k + w - 1 symbols lie as in seeds.py, step = l - (k + w - 1) + 1 apart. The smallest canonical
k-mer of a window is sampled wherever the text contains the window (index/sparse.py), so each match has
a row in its bucket. Consecutive windows with the same k-mer share an anchor, which gives the matches that
belong to any of them:

    windows a to b     |------*------|       a match belongs to the first window that it covers,
                           |--*----------|   so it starts in (a - step, b]
    anchor                    *              the k-mer

If there are many rows, binary search finds those that continue as the windows do. Rows on the other strand,
or with other symbols to the left of the k-mer, are skipped without reading the text.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch
from ..compiler.simd import LANES
from ..compiler.sorting import N_DIGITS
from ..dna import reverse_complement, symbols
from ..index.reference import Blocks
from ..index.sparse import (
    LEFT,
    ROOM,
    SMALL_BUCKET,
    SparseTable,
    bucket_bits,
    bucket_of,
    canonical,
    left_key,
    position_in,
    smallest_kmers,
    strand_in,
    too_short,
)  # fmt: skip
from ..search.queries.sparse import row_order
from . import Matches, Strands, collected, put_in_order, take
from .seeds import extend, first_window, n_windows, step_of

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex

_GROUP, _AHEAD = 64, 24  # rows compared at a time; anchors ahead whose rows are prefetched
_PLACE, _FIRST, _LAST = range(3)


class SparseSeeds(NamedTuple):
    """``table`` of the packed text ``words`` of n symbols, with these ``blocks``; 2^n_bits buckets.

    ``least``: l. ``width``: k + w - 1.
    """

    table: SparseTable
    words: np.ndarray
    blocks: Blocks
    n: int
    n_bits: int
    least: int
    width: int

    def slices(self, strands: Strands) -> Iterator[Matches]:
        """Yield the Matches of strands in order (Matcher)."""
        return collected(self, strands, self.seek(strands))

    def seek(self, strands: Strands) -> "SparseAnchors":
        """Return the anchors of all strands that have rows."""
        most = int(((strands.stop - strands.start) // step_of(self) + 2).sum())
        dtypes = (np.int64, np.int64, np.uint32, np.uint32, *[np.int64] * 3, *[np.uint64] * 2)
        anchors = SparseAnchors(*(np.empty(most, dtype) for dtype in dtypes))
        n = _seek(self, strands, anchors, np.empty((LANES, 3), np.int64), np.empty(ROOM, np.int32))
        return take(anchors, slice(n))

    def collect(
        self, strands: Strands, anchors: "SparseAnchors", start: int, stop: int, matches: Matches
    ) -> int:
        """Write the matches of anchors start to stop; return their number."""
        places, counts = np.empty((_GROUP, 2), np.int64), np.empty(N_DIGITS, np.int64)
        return _collect(self, strands, anchors, (start, stop), places, counts, matches)


class SparseAnchors(NamedTuple):
    """Anchors (fmx.mem) by their k-mers; ``reverse`` int64[n]: strand of the canonical form.

    Matches that start ``reach`` symbols before the k-mer, or less than ``late``, belong to others. ``left``
    and ``mask`` uint64[n]: what rows must hold of the symbols to the left of it.
    """

    strand: np.ndarray
    position: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    reach: np.ndarray
    late: np.ndarray
    reverse: np.ndarray
    left: np.ndarray
    mask: np.ndarray


def make_sparse_seeds(index: "FMIndex", least: int) -> SparseSeeds:
    """Return a matcher with an index that was opened for its sparse suffix array. Raises UnsupportedError."""
    table, n = index.sparse, index.reference.n_text
    assert table is not None
    assert index.text_words is not None
    width = table.k + table.w - 1
    if least < width:
        raise too_short(f"-l is {least}", width, "raise -l; ")
    n_bits = bucket_bits(n, table.w)
    return SparseSeeds(table, index.text_words, index.reference.blocks, n, n_bits, least, width)


@compiled
def _seek(matcher, strands, anchors, groups, room):
    """Write the anchors that have rows; return their number.

    ``groups`` int64[LANES, 3] and ``room`` int32[ROOM] are scratch.
    """
    n, step, k = np.int64(0), step_of(matcher), np.int64(matcher.table.k)
    for i in range(strands.length.size):
        first, stop = first_window(matcher, strands, i), n_windows(matcher, strands, i)
        n_groups = np.int64(0)
        for j in range(0, stop, LANES):
            lanes = min(stop - j, np.int64(LANES))
            for lane in range(LANES):
                groups[lane, _FIRST] = (first + j + min(lane, lanes - 1)) * step
                groups[lane, _PLACE] = at(strands.first, i)
            smallest_kmers(strands.words, groups[:, _PLACE], groups[:, _FIRST], k, matcher.table.w, room)
            n_groups = np.int64(0)
            for lane in range(lanes):  # join consecutive windows with the same k-mer
                start = groups[lane, _FIRST]
                place = start + np.int64(room[lane])
                if n_groups > 0 and groups[n_groups - 1, _PLACE] == place:
                    groups[n_groups - 1, _LAST] = start
                else:
                    groups[n_groups, _PLACE], groups[n_groups, _FIRST] = place, start
                    groups[n_groups, _LAST] = start
                    n_groups += 1
            begin = n
            for g in range(n_groups):  # one anchor per k-mer
                place = groups[g, _PLACE]
                kmer, anchors.reverse[n] = canonical(strands.words, at(strands.first, i), place, k)
                bucket = bucket_of(kmer, matcher.n_bits)
                prefetch(matcher.table.starts, bucket)
                anchors.strand[n], anchors.position[n], anchors.lo[n] = i, place, bucket
                anchors.reach[n] = place - groups[g, _FIRST] + step
                anchors.late[n] = place - groups[g, _LAST]
                n += 1
            n = _with_rows(matcher, strands, anchors, begin, n, step)
    return n


@inlined
def _with_rows(matcher, strands, anchors, begin, end, step):
    """Leave those of anchors begin to end, whose ``lo`` are buckets, that have rows; return the next n."""
    n = begin
    for g in range(begin, end):
        bucket, place = np.int64(anchors.lo[g]), anchors.position[g]
        lo, hi = np.int64(at(matcher.table.starts, bucket)), np.int64(at(matcher.table.starts, bucket + 1))
        first, reverse = at(strands.first, anchors.strand[g]), anchors.reverse[g]
        before, after = anchors.late[g], step + np.int64(matcher.width) - anchors.reach[g]
        k = np.int64(matcher.table.k)  # all windows reach from ``before`` it to ``after`` its start
        if hi - lo > SMALL_BUCKET:
            right = before + k if reverse else after
            lo = _first_row(matcher, strands.words, (first, place, reverse), right, (lo, hi), 0)
            hi = _first_row(matcher, strands.words, (first, place, reverse), right, (lo, hi), 1)
        if lo < hi:
            m = min(after - k if reverse else before, np.int64(LEFT))
            left, mask = np.uint64(0), np.uint64(0)
            if m > 0 and reverse:
                left, mask = left_key(reverse_complement(symbols(strands.words, first, place + k, m), m), m)
            elif m > 0:
                left, mask = left_key(symbols(strands.words, first, place - m, m), m)
            anchors.strand[n], anchors.position[n], anchors.reverse[n] = anchors.strand[g], place, reverse
            anchors.reach[n], anchors.late[n] = anchors.reach[g], anchors.late[g]
            anchors.lo[n], anchors.hi[n], anchors.left[n], anchors.mask[n] = lo, hi, left, mask
            n += 1
    return n


@inlined
def _first_row(matcher, words, kmer, n, rows, least):
    """Return the first of rows lo to hi whose ``row_order`` by n symbols from a k-mer is ``least`` or more.

    ``kmer``: (first word of the strand, where it starts, whether its canonical form is the reverse one).
    """
    (lo, hi), (first, place, reverse) = rows, kmer
    start = place + np.int64(matcher.table.k) if reverse else place
    while lo < hi:
        middle = (lo + hi) >> 1
        if row_order(matcher, words, first, start, n, reverse, at(matcher.table.rows, middle)) >= least:
            hi = middle
        else:
            lo = middle + 1
    return lo


@compiled
def _collect(matcher, strands, anchors, span, places, counts, matches):
    """Write the matches of anchors span[0] to span[1]; return their number.

    ``places`` int64[_GROUP, 2] and ``counts`` int64[N_DIGITS] are scratch.
    """
    start, stop = span
    n = first = np.int64(0)  # the matches from ``first`` on belong to anchor ``owner``
    owner, anchor, strand = np.int64(-1), np.int64(start), np.int64(0)
    i = np.int64(anchors.lo[start]) if start < stop else np.int64(0)
    while anchor < stop:
        waiting = np.int64(0)
        while anchor < stop and waiting < _GROUP:
            end = min(np.int64(anchors.hi[anchor]), i + _GROUP - waiting)
            left, mask, reverse = anchors.left[anchor], anchors.mask[anchor], anchors.reverse[anchor]
            while i < end:
                row = at(matcher.table.rows, i)
                i += 1
                if strand_in(row) == reverse and ((row ^ left) & mask) == 0:
                    prefetch(matcher.words, position_in(row) >> 5)
                    places[waiting, 0], places[waiting, 1] = anchor, position_in(row)
                    waiting += 1
            if i == anchors.hi[anchor]:
                anchor += 1
                if anchor < stop:
                    i = np.int64(anchors.lo[anchor])
                    prefetch(matcher.table.rows, np.int64(anchors.lo[min(anchor + _AHEAD, stop - 1)]))
        for j in range(waiting):
            if places[j, 0] != owner:
                put_in_order(matches, first, n, strand, counts)
                owner, first = places[j, 0], n
                strand = anchors.strand[owner]
            position, text, reach = anchors.position[owner], places[j, 1], anchors.reach[owner]
            left_of, length = extend(matcher, strands, strand, position, text, reach, matcher.n)
            if left_of >= anchors.late[owner] and length - left_of >= matcher.table.k:
                matches.position[n] = ((position - left_of) << 32) | (text - left_of)
                matches.length[n] = length
                n += 1
    put_in_order(matches, first, n, strand, counts)
    return n
