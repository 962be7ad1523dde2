"""The default matcher: seed table, suffix array and packed text, which every index with a whole SA holds.

A match of l symbols or more covers the window of w symbols at one of the positions 0, step, 2 step ... where
step = l - w + 1; the anchors are these windows, and each match belongs to the first that it covers:

    strand     ....................................
    windows    |--w--|   |--w--|   |--w--|          step apart
    match             ==============                covers the third, and starts after the second

The seed table gives the rows of the suffix array that start with a window (it is never longer than the
table's strings); for each, strand and text are compared to both sides, 32 symbols at a time.  The rows of a
window are neighbours in memory and the places in the text independent of each other, so that all accesses
overlap; few of them are needed because windows are far apart.  The sampling of windows is that of essaMEM and
copMEM (Khan et al. 2009; Grabowski and Bieniecki 2019), turned round: the queries are sampled, not the text.
"""

from typing import NamedTuple

import numpy as np

from ..dna import symbols
from ..jit import at, compiled, inlined, low_bits, prefetch
from ..jit_bits import leading_zeros, trailing_zeros
from ..prefix_table import PrefixTable, pair_index
from ..reference import Blocks, find_block
from ..seed_table import SeedTable
from .compare import common_prefix
from .contracts import Anchors, collect, seek
from .order import N_DIGITS, put_many_in_order

_GROUP = 64  # windows looked up, and rows compared, at a time
_AHEAD = 24  # anchors whose rows are prefetched
_ODD = np.uint64(0x5555555555555555)
_LOOKUP, _SKEW = 8, 4  # cost of a lookup in rows compared; how uneven strings are in genomes


class Seeds(NamedTuple):
    """``sa`` uint32[n], the whole suffix array; ``words`` the packed text; ``least`` l and ``width`` w."""

    prefix: PrefixTable
    seeds: SeedTable
    sa: np.ndarray
    words: np.ndarray
    blocks: Blocks
    least: int
    width: int


def make_seeds(index, least) -> Seeds:
    """A matcher over an index that was opened for seed and verify."""
    width = best_width(index.sa.positions.size, index.seeds.s, least)
    return Seeds(
        index.prefix, index.seeds, index.sa.positions, index.text_words, index.reference.blocks, least, width
    )


def best_width(n, s, least) -> int:
    """The width with the least work a symbol of a strand: 1 / step lookups, and the rows to compare."""

    def cost(width):
        return (_LOOKUP + _SKEW * n / 4**width) / (least - width + 1)

    return min(range(1, min(least, s) + 1), key=cost)


@inlined
def step_of(matcher):
    """Distance of the windows."""
    return np.int64(matcher.least - matcher.width + 1)


@inlined
def first_window(matcher, strands, i):
    """The first window that a match wanted of strand i may belong to."""
    step = step_of(matcher)
    return (strands.start[i] + step - 1) // step


@inlined
def n_windows(matcher, strands, i):
    """How many windows of strand i the matches wanted belong to."""
    step = step_of(matcher)
    fitting = max(strands.length[i] - matcher.width, -step) // step
    return max(0, min((strands.stop[i] + step - 2) // step, fitting) + 1 - first_window(matcher, strands, i))


@inlined
def lookup(matcher, strands, i, position):
    """(where the first row of a window is told, where the row after the last, whether by the prefix table).

    The seed table's rows may hold some that do not start with the window.
    """
    first, width = at(strands.first, i), np.int64(matcher.width)
    if width <= matcher.prefix.q:
        pair = pair_index(strands.words, first, position, width)
        return 2 * pair, 2 * pair + 1, True
    spare = 2 * (matcher.seeds.s - width)
    seed = np.int64(symbols(strands.words, first, position, width))
    # A suffix that ends within s symbols may start with a window shorter than s: it lies in the run before.
    return (seed << spare) - (spare > 0), (seed + 1) << spare, False


@inlined
def rows_of(matcher, lo, hi, by_prefix):
    """The rows [lo, hi) that ``lookup`` has told the place of."""
    if by_prefix:
        return np.int64(at(matcher.prefix.pairs, lo)), np.int64(at(matcher.prefix.pairs, hi))
    return np.int64(at(matcher.seeds.starts, lo)) if lo >= 0 else np.int64(0), np.int64(
        at(matcher.seeds.starts, hi)
    )


@inlined
def extend(matcher, strands, i, position, text):
    """(left, length): the match around a window and a place in the text; length 0 if it is none wanted.

    ``left`` symbols of it lie before the window.
    """
    step, least = step_of(matcher), np.int64(matcher.least)
    left = _agree_before(matcher, strands, i, position, text, min(step, min(position, text)))
    block = np.int64(-1)
    if left == step:  # it covers the window before this one, unless it crosses into the block before
        block = find_block(matcher.blocks, text)
        if text - at(matcher.blocks.text_start, block) >= step:
            return np.int64(0), np.int64(0)
    most = min(at(strands.length, i) - position, matcher.sa.size - text)
    right = common_prefix(matcher.words, text, strands.words, at(strands.first, i), position, most)
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
def _agree_before(matcher, strands, i, position, text, most):
    """How many symbols before the two places are the same, up to ``most``."""
    first, done = at(strands.first, i), np.int64(0)
    while done < most:
        k = min(most - done, 32)
        ours = symbols(matcher.words, 0, text - done - k, k)
        differ = ours ^ symbols(strands.words, first, position - done - k, k)
        if differ != 0:
            return done + (trailing_zeros(differ) >> 1)
        done += k
    return most


@seek.register(Seeds)
def seek_seeds(matcher, strands):
    """The windows of all strands that have rows."""
    n = _count(matcher, strands)
    anchors = Anchors(*(np.empty(n, dtype) for dtype in (np.int64, np.int64, np.uint32, np.uint32)))
    n = _seek(matcher, strands, anchors, np.empty((_GROUP, 2), np.int64))
    return Anchors(*(column[:n] for column in anchors))


@collect.register(Seeds)
def collect_seeds(matcher, strands, anchors, start, stop, matches):
    """The matches of windows start to stop."""
    places, counts = np.empty((_GROUP, 2), np.int64), np.empty(N_DIGITS, np.int64)
    return _collect(matcher, strands, anchors, start, stop, places, counts, matches)


@compiled
def _count(matcher, strands):
    """Number of windows of all strands."""
    n = np.int64(0)
    for i in range(strands.length.size):
        n += n_windows(matcher, strands, i)
    return n


@compiled
def _seek(matcher, strands, anchors, places):
    """Write the windows that have rows; their number.  ``places`` int64[_GROUP, 2] is for its own use."""
    n = waiting = np.int64(0)
    for i in range(strands.length.size):
        window = first_window(matcher, strands, i)
        for j in range(n_windows(matcher, strands, i)):
            position = (window + j) * step_of(matcher)
            lo, hi, by_prefix = lookup(matcher, strands, i, position)
            if by_prefix:
                prefetch(matcher.prefix.pairs, lo)
            else:
                prefetch(matcher.seeds.starts, hi)
            places[waiting, 0], places[waiting, 1] = lo, hi
            anchors.strand[n + waiting], anchors.position[n + waiting] = i, position
            waiting += 1
            if waiting == _GROUP:
                n, waiting = _keep(matcher, anchors, places, n, waiting), 0
    return _keep(matcher, anchors, places, n, waiting)


@inlined
def _keep(matcher, anchors, places, n, waiting):
    """Look up the rows of the windows that wait from n on, and let those that have any close ranks."""
    kept = n
    for j in range(waiting):
        lo, hi = rows_of(matcher, places[j, 0], places[j, 1], matcher.width <= matcher.prefix.q)
        if lo < hi:
            anchors.strand[kept], anchors.position[kept] = anchors.strand[n + j], anchors.position[n + j]
            anchors.lo[kept], anchors.hi[kept] = lo, hi
            kept += 1
    return kept


@inlined
def frame_of(matcher, strands, i, position):
    """32 symbols around a window, and a word that marks those beyond the strand as different."""
    before = _n_before(matcher)
    begin = max(position - before, 0)
    gone = before - (position - begin)  # symbols before the strand
    beyond = max(32 - gone - (at(strands.length, i) - begin), 0)
    frame = symbols(strands.words, at(strands.first, i), begin, 32 - gone)
    return frame, ~(low_bits(64 - 2 * gone) ^ low_bits(2 * beyond)) & _ODD


@inlined
def _n_before(matcher):
    """Symbols of a frame before its window."""
    return min(step_of(matcher), np.int64(16 - (matcher.width >> 1)))


@inlined
def may_match(matcher, frame, outside, text):
    """Whether the symbols around a place in the text leave room for a match there: most places do not."""
    before = _n_before(matcher)
    if text < before:
        return True
    differ = symbols(matcher.words, 0, text - before, 32) ^ frame
    differ = ((differ | (differ >> np.uint64(1))) & _ODD) | outside
    shift = np.uint64(2 * before)
    left = trailing_zeros((differ >> np.uint64(1)) >> (np.uint64(63) - shift))
    right = leading_zeros(differ << shift)
    open_end = left == 64 or right == 64  # equal up to an end of the frame
    return open_end or (left >> 1) + (right >> 1) >= matcher.least


@compiled
def _collect(matcher, strands, anchors, start, stop, places, counts, matches):
    """Write the matches of anchors start to stop; their number.  ``places`` and ``counts`` are its own."""
    n = first = np.int64(0)  # the matches from ``first`` on belong to anchor ``owner``
    owner, anchor = np.int64(-1), np.int64(start)
    strand = position = np.int64(0)
    frame = outside = np.uint64(0)
    row = np.int64(anchors.lo[start]) if start < stop else np.int64(0)
    while anchor < stop:
        waiting = 0
        while anchor < stop and waiting < _GROUP:
            n_rows = min(np.int64(anchors.hi[anchor]) - row, _GROUP - waiting)
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
                put_many_in_order(matches, first, n, strand, counts)
                owner, first = places[j, 0], n
                strand, position = anchors.strand[owner], anchors.position[owner]
                frame, outside = frame_of(matcher, strands, strand, position)
            if may_match(matcher, frame, outside, places[j, 1]):
                left, length = extend(matcher, strands, strand, position, places[j, 1])
                if length > 0:
                    matches.position[n] = ((position - left) << 32) | (places[j, 1] - left)
                    matches.length[n] = length
                    n += 1
    put_many_in_order(matches, first, n, strand, counts)
    return n
