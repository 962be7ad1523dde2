"""Patterns -> occurrences by a sparse suffix array, several reads at a time, so that memory accesses overlap.

Its occurrences are not the rows from lo to hi of a suffix array, but have numbers:

    _KEPT + j                        number j of the positions that are kept: those of reads with few rows
    ((i + 1) << _PATTERN_SHIFT) + j  number j, in the order of rows, of pattern i of a read with many rows,
                                     of which an Anchor is kept
    less than 1 << _PATTERN_SHIFT    a row of the index's other method, which searches shorter reads
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch
from ..compiler.simd import LANES
from ..index.reference import text_key
from ..index.sparse import ROOM, bucket_of, canonical, position_in, smallest_kmers
from .hits import Locator, all_keys, first_key
from .queries.sparse import (
    SMALL_BUCKET,
    Anchor,
    Sparse,
    cost_of,
    has_window,
    is_sure,
    left_of_read,
    length_of,
    looks_at_text,
    may_be,
    occurs,
    order_of,
    position_at_row,
    strand_at,
    window_start,
)

if TYPE_CHECKING:
    from ..input.reads import Patterns


_MOST_KEPT = 64  # most rows of a read whose positions are kept
_GROUP = 2 * LANES  # reads that are searched together
_RECENT = 64  # reads with many rows that a next one is compared with, one per slot
_ANCHORED, _NEXT, _LATE = -1, -2, -3  # instead of a number of candidates
_KEPT = 1 << 61  # number of the first kept position
_NONE = np.uint64(2**64 - 1)  # larger than any row
_ROWS_PER_LOOP = 1024  # rows that are counted in one loop
_PATTERN_SHIFT = 32  # shift of a pattern's number in an occurrence's number
_OFFSET, _STRAND, _LO, _HI, _SORTED, _N_ANCHOR = range(6)  # columns of an Anchor in an array
_LEAST, _LEAST_REVERSE, _N_KEPT = range(_N_ANCHOR, _N_ANCHOR + 3)  # further columns, see SparseOccurrences


class SparseOccurrences(NamedTuple):
    """Occurrences of ``patterns`` in a part of the text, which begins at ``start``.

    ``lo``, ``hi`` int64[2 * n_reads]: their numbers, arranged as in Intervals. ``positions`` int64: those
    that are kept. ``anchors`` int64[n_reads, _N_KEPT]: Anchors of reads with many rows, and the first
    position at which the read occurs on either strand.
    """

    query: Sparse
    start: int
    patterns: Any
    lo: np.ndarray
    hi: np.ndarray
    positions: np.ndarray
    anchors: np.ndarray


class _Scratch(NamedTuple):
    """Memory of a search, for each of n reads that are searched together.

    ``read``, ``window`` int64[n]: the read, and its current window. ``anchor``, ``best`` int64[n, _N_ANCHOR]:
    the Anchor of this window, and the cheapest one. ``n`` int64[n]: number of candidates, in ``rows``
    uint64[n, _MOST_KEPT + 1]; or _ANCHORED if they are too many, _NEXT if another window comes next, _LATE if
    binary search comes first, between ``lo`` and ``hi`` int64[n]. ``first``, ``start`` int64[n] and ``room``
    int32[ROOM] are for smallest_kmers. ``recent`` int64[_RECENT]: reads that were _ANCHORED, -1 at first.
    """

    read: np.ndarray
    window: np.ndarray
    anchor: np.ndarray
    best: np.ndarray
    n: np.ndarray
    rows: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    first: np.ndarray
    start: np.ndarray
    room: np.ndarray
    recent: np.ndarray


def _make_scratch(size: int) -> _Scratch:
    read, window, n, lo, hi, first, start = np.zeros((7, size), np.int64)
    anchor, best = np.zeros((2, size, _N_ANCHOR), np.int64)
    rows, room = np.zeros((size, _MOST_KEPT + 1), np.uint64), np.empty(ROOM, np.int32)
    return _Scratch(read, window, anchor, best, n, rows, lo, hi, first, start, room, np.full(_RECENT, -1))


def search(
    query: Sparse, start: int, patterns: "Patterns", shorter: Any = None, per_read: int = 8, spare: int = 64
) -> "tuple[SparseOccurrences, SparseLocator]":
    """Search Patterns of both strands (input/reads.py) in a part of the text, which begins at ``start``.

    ``shorter`` (as TextPart.search) searches those of less than k + w - 1 symbols. There is room for
    ``per_read`` positions per read, and ``spare`` more, that are kept; without room, Anchors are.
    """
    n, length = patterns.length.size // 2, patterns.length
    is_short = (length > 0) & (length < query.table.k + query.table.w - 1)
    if is_short.any():
        patterns = patterns._replace(length=np.where(is_short, 0, length))
    positions, anchors = np.empty(per_read * n + spare, np.int64), np.empty((n, _N_KEPT), np.int64)
    lo, hi = np.zeros((2, 2 * n), np.int64)
    occurrences = SparseOccurrences(query, start, patterns, lo, hi, positions, anchors)
    _search(query, occurrences, _make_scratch(_GROUP), _make_scratch(2 * _GROUP))
    locator = None
    if is_short.any():
        rows, locator = shorter(patterns._replace(length=np.where(is_short, length, 0)))
        occurrences.lo[is_short], occurrences.hi[is_short] = rows.lo[is_short], rows.hi[is_short]
    return occurrences, SparseLocator(occurrences, locator, locator is None)


@compiled
def _search(query, occurrences, work, late):
    """Search reads in groups; reads that need a binary search wait in ``late`` until the group is full."""
    patterns, n_reads = occurrences.patterns, occurrences.lo.size // 2
    r, size, n_late, n_kept = 0, 0, 0, np.int64(0)
    while True:
        # Fill the group with new reads, then look up their windows, or narrow the Anchors of late ones.
        while size < _GROUP and r < n_reads:
            if length_of(patterns, r) > 0:
                work.read[size], work.window[size] = r, 0
                size += 1
            r += 1
        if size > 0 and n_late < _GROUP:
            now, n = work, size
            _look_up(query, patterns, size, work)
            size = 0
        elif n_late > 0:
            now, n = late, n_late
            _narrow(query, patterns, n_late, late)
            n_late = 0
        else:
            return
        for i in range(n):
            if now.n[i] == 0:
                _note_candidates(query, patterns, i, now)
        for i in range(n):  # to the next group, to the late ones, or done
            if now.n[i] == _NEXT:
                work.read[size], work.window[size] = now.read[i], now.window[i]
                _keep_anchor(work.best, size, _anchor_of(now.best, i))
                size += 1
            elif now.n[i] == _LATE:
                late.read[n_late] = now.read[i]
                _keep_anchor(late.anchor, n_late, _anchor_of(now.anchor, i))
                n_late += 1
            else:
                n_kept = _compare(query, occurrences, i, now, n_kept)


@inlined
def _look_up(query, patterns, size, work):
    """Look up a window of each read, and note what comes next."""
    _choose_kmers(query, patterns, size, work)
    for i in range(size):
        bucket = work.anchor[i, _LO]
        work.anchor[i, _LO] = lo = np.int64(at(query.table.starts, bucket))
        work.anchor[i, _HI] = hi = np.int64(at(query.table.starts, bucket + 1))
        prefetch(query.table.rows, lo)
        prefetch(query.table.rows, max(hi, 1) - 1)
    for i in range(size):
        work.n[i], anchor, window = 0, _anchor_of(work.anchor, i), work.window[i]
        if anchor.hi - anchor.lo > SMALL_BUCKET:
            length = length_of(patterns, work.read[i])
            cost, best = cost_of(query, length, anchor), _anchor_of(work.best, i)
            if window > 0 and cost_of(query, length, best) <= cost:
                anchor = best
            _keep_anchor(work.best, i, anchor)
            _keep_anchor(work.anchor, i, anchor)
            if has_window(query, length, window + 1):
                work.window[i], work.n[i] = window + 1, _NEXT
            elif anchor.hi - anchor.lo > _MOST_KEPT:
                work.n[i] = _LATE


@inlined
def _choose_kmers(query, patterns, size, work):
    """Note the smallest k-mer of a window of each read, and its bucket as the first row."""
    k, w = query.table.k, query.table.w
    for half in range(0, size, LANES):
        for i in range(half, half + LANES):
            slot = i if i < size else half
            r = work.read[slot]
            work.first[i] = at(patterns.first, 2 * r)
            work.start[i] = window_start(query, length_of(patterns, r), work.window[slot])
        lanes = slice(half, half + LANES)
        smallest_kmers(patterns.words, work.first[lanes], work.start[lanes], k, w, work.room)
        for i in range(half, min(half + LANES, size)):
            offset = work.start[i] + work.room[i - half]
            kmer, strand = canonical(patterns.words, work.first[i], offset, k)
            bucket = bucket_of(kmer, query.n_bits)
            prefetch(query.table.starts, bucket)
            work.anchor[i, _OFFSET], work.anchor[i, _STRAND] = offset, strand
            work.anchor[i, _LO], work.anchor[i, _SORTED] = bucket, 0


@inlined
def _narrow(query, patterns, n, work):
    """Narrow Anchors to the rows that continue as the reads do, by binary search, all reads in step."""
    for bound in range(_LO, _HI + 1):
        for i in range(n):
            work.lo[i], work.hi[i] = work.anchor[i, _LO], work.anchor[i, _HI]
        n_open = n
        while n_open > 0:
            for i in range(n):
                prefetch(query.table.rows, (work.lo[i] + work.hi[i]) >> 1)
            for i in range(n):
                if work.lo[i] < work.hi[i]:
                    row = at(query.table.rows, (work.lo[i] + work.hi[i]) >> 1)
                    _prefetch_text(query, length_of(patterns, work.read[i]), _anchor_of(work.anchor, i), row)
            n_open = 0
            for i in range(n):
                if work.lo[i] < work.hi[i]:
                    middle = (work.lo[i] + work.hi[i]) >> 1
                    row, anchor = at(query.table.rows, middle), _anchor_of(work.anchor, i)
                    order = order_of(query, patterns, work.read[i], anchor, row)
                    if order < 0 or (order == 0 and bound == _HI):
                        work.lo[i] = middle + 1
                    else:
                        work.hi[i] = middle
                    n_open += work.lo[i] < work.hi[i]
        for i in range(n):
            work.anchor[i, bound] = work.lo[i]
    for i in range(n):
        work.anchor[i, _SORTED], work.n[i] = 1, 0


@inlined
def _prefetch_text(query, length, anchor, row):
    """Prefetch the symbols that a read at a row is compared with."""
    start = max(position_at_row(query, length, anchor, row), np.int64(0))
    prefetch(query.words, start >> 5)
    prefetch(query.words, (start + length) >> 5)


@inlined
def _note_candidates(query, patterns, i, work):
    """Note the candidate rows of a read, or that there are too many."""
    r, anchor, n = work.read[i], _anchor_of(work.anchor, i), np.int64(0)
    left, length = left_of_read(query, patterns, r, anchor), length_of(patterns, r)
    for j in range(anchor.lo, anchor.hi):
        row = at(query.table.rows, j)
        work.rows[i, n] = row
        n += np.int64(may_be(row, left))
        if n > _MOST_KEPT:
            break
    work.n[i] = n if n <= _MOST_KEPT else _ANCHORED
    if looks_at_text(query, length, anchor):
        for j in range(min(n, np.int64(_MOST_KEPT))):
            _prefetch_text(query, length, anchor, work.rows[i, j])


@inlined
def _compare(query, occurrences, i, work, n_kept):
    """Number the occurrences of a read; return how many positions are kept."""
    patterns, positions, rows = occurrences.patterns, occurrences.positions, work.rows
    r, anchor, n, lo, hi = work.read[i], _anchor_of(work.anchor, i), work.n[i], occurrences.lo, occurrences.hi
    if 0 <= n <= positions.size - n_kept:
        length, n_reverse = length_of(patterns, r), np.int64(0)
        by_text = looks_at_text(query, length, anchor)
        lo[2 * r] = _KEPT + n_kept
        for j in range(n):
            row = rows[i, j]
            if occurs(query, patterns, r, anchor, row, by_text):
                position, reverse = position_at_row(query, length, anchor, row), strand_at(anchor, row)
                positions[n_kept] = position
                rows[i, n_reverse] = position
                n_kept += 1 - reverse
                n_reverse += reverse
        hi[2 * r] = lo[2 * r + 1] = _KEPT + n_kept
        for j in range(n_reverse):
            positions[n_kept] = rows[i, j]
            n_kept += 1
        hi[2 * r + 1] = _KEPT + n_kept
        return n_kept
    anchors, slot = occurrences.anchors, (anchor.lo + anchor.strand) % _RECENT
    _keep_anchor(anchors, r, anchor)
    same = work.recent[slot]
    if same >= 0 and _is_alike(query, patterns, r, anchor, same, _anchor_of(anchors, same)):
        n_forward, n_reverse = hi[2 * same] - lo[2 * same], hi[2 * same + 1] - lo[2 * same + 1]
        least, least_reverse = anchors[same, _LEAST], anchors[same, _LEAST_REVERSE]
    else:
        n_forward, n_reverse, least, least_reverse = _count_rows(query, patterns, r, anchor)
    work.recent[slot] = r
    anchors[r, _LEAST], anchors[r, _LEAST_REVERSE] = least, least_reverse
    lo[2 * r] = np.int64(2 * r + 1) << _PATTERN_SHIFT
    lo[2 * r + 1] = np.int64(2 * r + 2) << _PATTERN_SHIFT
    hi[2 * r], hi[2 * r + 1] = lo[2 * r] + n_forward, lo[2 * r + 1] + n_reverse
    return n_kept


@inlined
def _is_alike(query, patterns, r, anchor, other, others):
    """Return whether rows alone decide for two reads in the same way, as for reads that repeat one base."""
    length = length_of(patterns, r)
    if anchor != others or length != length_of(patterns, other) or looks_at_text(query, length, anchor):
        return False
    ours, theirs = left_of_read(query, patterns, r, anchor), left_of_read(query, patterns, other, others)
    return ours[0] == theirs[0]


@inlined
def _anchor_of(state, i):
    """Return the Anchor in row i of ``state``."""
    return Anchor(state[i, _OFFSET], state[i, _STRAND], state[i, _LO], state[i, _HI], state[i, _SORTED])


@inlined
def _keep_anchor(state, i, anchor):
    """Write an Anchor to row i of ``state``."""
    state[i, _OFFSET], state[i, _STRAND], state[i, _SORTED] = anchor.offset, anchor.strand, anchor.sorted
    state[i, _LO], state[i, _HI] = anchor.lo, anchor.hi


@inlined
def _count_rows(query, patterns, r, anchor):
    """Return at how many rows of its Anchor a read occurs on + and on -, and the smallest positions."""
    left = left_of_read(query, patterns, r, anchor)
    by_text = looks_at_text(query, length_of(patterns, r), anchor)
    n, n_reverse, least, least_reverse = np.int64(0), np.int64(0), _NONE, _NONE
    for start in range(anchor.lo, anchor.hi, _ROWS_PER_LOOP):
        stop = min(start + _ROWS_PER_LOOP, anchor.hi)
        if not by_text:  # rows that need no look at the text, in a loop that the compiler vectorizes
            n_sure = np.int64(0)
            for i in range(start, stop):
                row = at(query.table.rows, i)
                sure, reverse = np.int64(is_sure(query, row)), strand_at(anchor, row)
                is_one = np.int64(may_be(row, left)) & sure
                n += is_one
                n_reverse += is_one & reverse
                n_sure += sure
                masked = row | np.uint64(is_one - 1)
                least = min(least, masked | np.uint64(-reverse))
                least_reverse = min(least_reverse, masked | np.uint64(reverse - 1))
            if n_sure == stop - start:
                continue
        for i in range(start, stop):
            row = at(query.table.rows, i)
            if (not by_text and is_sure(query, row)) or not may_be(row, left):
                continue
            if occurs(query, patterns, r, anchor, row, by_text):
                n += 1
                if strand_at(anchor, row):
                    n_reverse += 1
                    least_reverse = min(least_reverse, row)
                else:
                    least = min(least, row)
    forward = n - n_reverse if at(patterns.length, 2 * r) else np.int64(0)
    reverse = n_reverse if at(patterns.length, 2 * r + 1) else np.int64(0)
    least_reverse = position_in(least_reverse) - (length_of(patterns, r) - query.table.k - anchor.offset)
    return forward, reverse, position_in(least) - anchor.offset, least_reverse


class SparseLocator(NamedTuple):
    """The locator of ``searched``, the result of a search; ``shorter``: that of shorter reads, or None.

    ``is_direct``: whether hits can be chosen from ``occurrences``: no number is a row of another method.
    """

    searched: SparseOccurrences
    shorter: "Locator | None"
    is_direct: bool

    def occurrences(self, lo: np.ndarray, hi: np.ndarray) -> SparseOccurrences:
        """Return the occurrences with numbers lo[i] to hi[i], for ``choose``."""
        return self.searched._replace(lo=lo, hi=hi)

    def locate(self, lo: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the text positions, int64, of occurrences lo[i] to lo[i] + size[i], for all i in order."""
        is_row = lo < 1 << _PATTERN_SHIFT
        if (is_row & (size > 0)).any():
            positions, by_rows = np.empty(size.sum(), np.int64), np.repeat(is_row, size)
            assert self.shorter
            positions[by_rows] = self.shorter.locate(lo, size * is_row)
            positions[~by_rows] = self.locate(lo, size * ~is_row)
            return positions
        positions = np.empty(size.sum(), np.int64)
        _locate(self.occurrences(lo, lo + size), positions)
        return positions


@compiled
def _locate(occurrences, positions):
    n = np.int64(0)
    for i in range(occurrences.lo.size):
        n = _positions_of(occurrences, occurrences.lo[i], occurrences.hi[i], positions, n, 0, 0)


@all_keys.register(SparseOccurrences)
def _all_keys(occurrences, r, keys):
    n = np.int64(0)
    for strand in range(2):
        i = 2 * r + strand
        n = _positions_of(occurrences, occurrences.lo[i], occurrences.hi[i], keys, n, 1, strand)


@inlined
def _positions_of(occurrences, lo, hi, out, n, shift, strand):
    """Write the positions of occurrences lo to hi of a pattern, text_keys if ``shift``; return the new n."""
    if lo >= _KEPT:
        for number in range(lo - _KEPT, hi - _KEPT):
            out[n] = (occurrences.start + at(occurrences.positions, number)) << shift | strand
            n += 1
        return n
    query, patterns = occurrences.query, occurrences.patterns
    pattern, skip, left_over = (lo >> _PATTERN_SHIFT) - 1, lo & ((np.int64(1) << _PATTERN_SHIFT) - 1), hi - lo
    if left_over == 0:
        return n
    r = pattern >> 1
    anchor, length = _anchor_of(occurrences.anchors, r), length_of(patterns, r)
    left, by_text = left_of_read(query, patterns, r, anchor), looks_at_text(query, length, anchor)
    i = anchor.lo
    while left_over > 0:
        row = at(query.table.rows, i)
        i += 1
        if not may_be(row, left) or strand_at(anchor, row) != pattern & 1:
            continue
        if occurs(query, patterns, r, anchor, row, by_text):
            if skip > 0:
                skip -= 1
                continue
            out[n] = (occurrences.start + position_at_row(query, length, anchor, row)) << shift | strand
            n += 1
            left_over -= 1
    return n


@first_key.register(SparseOccurrences)
def _first_key(occurrences, r):
    smallest, anchors = np.int64(1) << 62, occurrences.anchors
    for strand in range(2):
        lo, hi = occurrences.lo[2 * r + strand], occurrences.hi[2 * r + strand]
        if lo >= _KEPT:
            for number in range(lo - _KEPT, hi - _KEPT):
                first = occurrences.start + at(occurrences.positions, number)
                smallest = min(smallest, text_key(first, strand))
        elif lo < hi:
            pattern = (lo >> _PATTERN_SHIFT) - 1
            first = occurrences.start + anchors[pattern >> 1, _LEAST + (pattern & 1)]
            smallest = min(smallest, text_key(first, strand))
    return smallest
