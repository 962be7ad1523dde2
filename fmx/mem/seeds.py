"""The default matcher: seed table, suffix array and packed text, which every index with a whole SA has.

A match of l symbols or more covers the window of w symbols at one of the positions 0, step, 2 step ..., where
step = l - w + 1. The anchors are these windows, and each match belongs to the first one that it covers:

    strand     ....................................
    windows    |--w--|   |--w--|   |--w--|          step apart
    match             ==============                covers the third, and starts after the second

The seed table gives the rows of the suffix array that start with a window (windows are never longer than the
strings of the table). For each row, strand and text are compared in both directions, 32 symbols at a time.
The rows of a window are adjacent in memory and their text positions independent of each other, so all
accesses overlap; few are needed because windows are far apart. The sampling of windows is that of essaMEM and
copMEM (Khan et al. 2009; Grabowski and Bieniecki 2019), with the roles exchanged: the queries are sampled,
not the text.

Few strings have many rows, but these rows are half of all rows in a genome. A window with more than ``many``
rows is replaced by two wider ones, half as far apart, whose rows are found by binary search:

    window P with rows of w symbols      starts in (P - step, P]
    window P - h, wider, few rows        starts in (P - step, P - h]      h = step / 2, rounded up
    window P, wider, few rows            starts in (P - h, P]             l - h + 1 symbols wide
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, leading_zeros, low_bits, prefetch, trailing_zeros
from ..compiler.sorting import N_DIGITS
from ..dna import symbols
from ..index.reference import Blocks, Subquery, common_prefix, common_suffix, find_block, first_row
from ..index.tables import SeedTable
from . import Matches, Strands, collected, put_in_order, take

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex

_GROUP = 64  # windows that are looked up, and rows that are compared, at a time
_AHEAD = 24  # anchors ahead whose rows are prefetched
_LOOKUP, _SKEW = 8, 4  # cost of a lookup in rows compared; unevenness of strings in genomes
_FIRST, _END, _STRAND, _POSITION = range(4)
_MANY = 512
_ODD = np.uint64(0x5555555555555555)


class Seeds(NamedTuple):
    """The default matcher on the CPU: ``sa`` uint32[n], the whole suffix array; ``words``, the packed text.

    ``least``: l. ``width``: w. Windows of more than ``many`` rows are split into two on the CPU.
    """

    seeds: SeedTable
    sa: np.ndarray
    words: np.ndarray
    blocks: Blocks
    least: int
    width: int
    many: int = _MANY

    def slices(self, strands: Strands) -> Iterator[Matches]:
        """Yield the Matches of strands in order (Matcher)."""
        return collected(self, strands, self.seek(strands))

    def seek(self, strands: Strands) -> "Windows":
        """Return the windows of all strands that have rows."""
        step = step_of(self)
        most = 2 * int(((strands.stop - strands.start + step - 2) // step + 1).sum())
        dtypes = (np.int64, np.int64, np.uint32, np.uint32, np.int64)
        windows = Windows(*(np.empty(most, dtype) for dtype in dtypes))
        n = _seek(self, strands, windows, np.empty((_GROUP, 4), np.int64))
        return take(windows, slice(n))

    def collect(self, strands: Strands, anchors: "Windows", start: int, stop: int, matches: Matches) -> int:
        """Write the matches of windows start to stop; return their number."""
        places, counts = np.empty((_GROUP, 2), np.int64), np.empty(N_DIGITS, np.int64)
        return _collect(self, strands, anchors, (start, stop), places, counts, matches)


@inlined
def step_of(matcher):
    """Return the distance of windows."""
    return np.int64(matcher.least - matcher.width + 1)


@inlined
def first_window(matcher, strands, i):
    """Return the first window that a requested match of strand i may belong to."""
    step = step_of(matcher)
    return (strands.start[i] + step - 1) // step


@inlined
def n_windows(matcher, strands, i):
    """Return how many windows of strand i the requested matches belong to."""
    step = step_of(matcher)
    fitting = max(strands.length[i] - matcher.width, -step) // step
    return max(0, min((strands.stop[i] + step - 2) // step, fitting) + 1 - first_window(matcher, strands, i))


@inlined
def _lookup(matcher, strands, i, position):
    """Return where the seed table has a window's first row (-1 for row 0) and the row after its last."""
    width = np.int64(matcher.width)
    spare = 2 * (matcher.seeds.s - width)
    seed = np.int64(symbols(strands.words, at(strands.first, i), position, width))
    # A suffix that ends within s symbols may start with a window shorter than s: it is in the preceding run.
    return (seed << spare) - (spare > 0), (seed + 1) << spare


@inlined
def _rows_of(matcher, first, end):
    """Return the rows [lo, hi) at the result of ``lookup``; some may not start with the window."""
    starts = matcher.seeds.starts
    return np.int64(at(starts, first)) if first >= 0 else np.int64(0), np.int64(at(starts, end))


@inlined
def extend(matcher, strands, i, position, text, reach, n_text):
    """Return (left, length): the match around a window and a text position; length 0 if it is not reported.

    ``left`` symbols of it are before the window; with ``reach`` or more there it belongs to another window.
    """
    least = np.int64(matcher.least)
    window = Subquery(strands.words, at(strands.first, i), position, at(strands.length, i))
    left = common_suffix(matcher.words, text, window, min(reach, min(position, text)))
    block = np.int64(-1)
    if left == reach:  # it covers the preceding window, unless it crosses into the preceding block
        block = find_block(matcher.blocks, text)
        if text - at(matcher.blocks.text_start, block) >= reach:
            return np.int64(0), np.int64(0)
    most = min(window.m - position, n_text - text)
    right = common_prefix(matcher.words, text, window, np.int64(0), most)
    if left + right < least:
        return np.int64(0), np.int64(0)
    if block < 0:
        block = find_block(matcher.blocks, text)
    begin = at(matcher.blocks.text_start, block)
    left = min(left, text - begin)
    length = left + min(right, begin + at(matcher.blocks.length, block) - text)
    begins = position - left
    if length < least or begins < at(strands.start, i) or begins >= at(strands.stop, i):
        return np.int64(0), np.int64(0)
    return left, length


@inlined
def _frame_of(matcher, strands, i, position):
    """Return 32 symbols around a window, and a word that marks those beyond the strand as different."""
    before = _n_before(matcher)
    begin = max(position - before, 0)
    gone = before - (position - begin)  # symbols before the strand
    beyond = max(32 - gone - (at(strands.length, i) - begin), 0)
    frame = symbols(strands.words, at(strands.first, i), begin, 32 - gone)
    return frame, ~(low_bits(64 - 2 * gone) ^ low_bits(2 * beyond)) & _ODD


@inlined
def _n_before(matcher):
    """Return the number of symbols of a frame before its window."""
    return min(step_of(matcher), np.int64(16 - (matcher.width >> 1)))


@inlined
def _may_match(matcher, frame, outside, text):
    """Return whether the symbols around a text position allow a match there; most do not."""
    before = _n_before(matcher)
    if text < before:
        return True
    differ = symbols(matcher.words, 0, text - before, 32) ^ frame
    differ = ((differ | (differ >> np.uint64(1))) & _ODD) | outside
    shift = np.uint64(2 * before)
    left = trailing_zeros((differ >> np.uint64(1)) >> (np.uint64(63) - shift))
    right = leading_zeros(differ << shift)
    return (left >> 1) + (right >> 1) >= min(np.int64(matcher.least), 32)  # 64: equal up to the frame's end


class Windows(NamedTuple):
    """Anchors (fmx.mem). ``reach`` int64[n]: matches that start this far before one belong to others."""

    strand: np.ndarray
    position: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    reach: np.ndarray


def make_seeds(index: "FMIndex", least: int) -> Seeds:
    """Return a matcher with an index that was opened for seed and verify."""
    assert index.seeds is not None
    assert index.text_words is not None
    width = _best_width(index.sa.positions.size, index.seeds.s, least)
    return Seeds(index.seeds, index.sa.positions, index.text_words, index.reference.blocks, least, width)


def _best_width(n: int, s: int, least: int) -> int:
    """Return the width with the least work per symbol of a strand: 1 / step lookups, and compared rows."""

    def cost(width: int) -> float:
        return (_LOOKUP + _SKEW * n / 4**width) / (least - width + 1)

    return min(range(1, min(least, s) + 1), key=cost)


@compiled
def _seek(matcher, strands, windows, places):
    """Write the windows that have rows; return their number. ``places`` int64[_GROUP, 4] is scratch."""
    n = waiting = np.int64(0)
    for i in range(strands.length.size):
        window = first_window(matcher, strands, i)
        for j in range(n_windows(matcher, strands, i)):
            position = (window + j) * step_of(matcher)
            first, end = _lookup(matcher, strands, i, position)
            prefetch(matcher.seeds.starts, end)
            places[waiting, _FIRST], places[waiting, _END] = first, end
            places[waiting, _STRAND], places[waiting, _POSITION] = i, position
            waiting += 1
            if waiting == _GROUP:
                n, waiting = _write_waiting(matcher, strands, windows, places, n, waiting), np.int64(0)
    return _write_waiting(matcher, strands, windows, places, n, waiting)


@inlined
def _write_waiting(matcher, strands, windows, places, n, waiting):
    """Look up the rows of the waiting windows, and write those that have any from n on; return the next n."""
    step = step_of(matcher)
    half = (step + 1) >> 1
    for j in range(waiting):
        lo, hi = _rows_of(matcher, places[j, _FIRST], places[j, _END])
        strand, position = places[j, _STRAND], places[j, _POSITION]
        if hi - lo <= matcher.many or step == 1:
            n = _write(windows, n, strand, position, lo, hi, step)
        else:
            lo, hi = _narrow(matcher, strands, strand, position - half, half)
            n = _write(windows, n, strand, position - half, lo, hi, step - half)
            lo, hi = _narrow(matcher, strands, strand, position, half)
            n = _write(windows, n, strand, position, lo, hi, half)
    return n


@inlined
def _write(windows, n, strand, position, lo, hi, reach):
    if lo < hi:
        windows.strand[n], windows.position[n], windows.reach[n] = strand, position, reach
        windows.lo[n], windows.hi[n] = lo, hi
        n += 1
    return n


@inlined
def _narrow(matcher, strands, strand, position, half):
    """Return the rows of the wider window at a position; none if there is no such window."""
    end = position + np.int64(matcher.least) - half + 1
    if position < 0 or end > at(strands.length, strand):
        return np.int64(0), np.int64(0)
    window = Subquery(strands.words, at(strands.first, strand), position, end)
    first, end = _lookup(matcher, strands, strand, position)
    lo, hi = _rows_of(matcher, first, end)
    lo = first_row(matcher, window, lo, hi, np.int64(0))
    return lo, first_row(matcher, window, lo, hi, np.int64(-1))


@compiled
def _collect(matcher, strands, anchors, span, places, counts, matches):
    """Write the matches of anchors span[0] to span[1]; return their number.

    ``places`` int64[_GROUP, 2] and ``counts`` int64[N_DIGITS] are scratch.
    """
    start, stop = span
    n = first = np.int64(0)  # the matches from ``first`` on belong to anchor ``owner``
    owner, anchor = np.int64(-1), np.int64(start)
    strand = position = reach = np.int64(0)
    frame = outside = np.uint64(0)
    n_text = matcher.sa.size
    row = np.int64(anchors.lo[start]) if start < stop else np.int64(0)
    while anchor < stop:
        waiting = np.int64(0)
        while anchor < stop and waiting < _GROUP:
            n_rows = min(np.int64(anchors.hi[anchor]) - row, np.int64(_GROUP) - waiting)
            for j in range(n_rows):
                text = np.int64(at(matcher.sa, row + j))
                prefetch(matcher.words, max(text - _n_before(matcher), 0) >> 5)
                places[waiting + j, 0], places[waiting + j, 1] = anchor, text
            waiting += n_rows
            row += n_rows
            if row == anchors.hi[anchor]:
                anchor += 1
                if anchor < stop:
                    row = np.int64(anchors.lo[anchor])
                    prefetch(matcher.sa, np.int64(anchors.lo[min(anchor + _AHEAD, stop - 1)]))
        for j in range(waiting):
            if places[j, 0] != owner:
                put_in_order(matches, first, n, strand, counts)
                owner, first = places[j, 0], n
                strand, position, reach = anchors.strand[owner], anchors.position[owner], anchors.reach[owner]
                frame, outside = _frame_of(matcher, strands, strand, position)
            if _may_match(matcher, frame, outside, places[j, 1]):
                left, length = extend(matcher, strands, strand, position, places[j, 1], reach, n_text)
                if length > 0:
                    matches.position[n] = ((position - left) << 32) | (places[j, 1] - left)
                    matches.length[n] = length
                    n += 1
    put_in_order(matches, first, n, strand, counts)
    return n
