"""Windows of strands: comparison of a query with the text, 32 symbols at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at, leading_zeros, low_bits, trailing_zeros
from ..index.reference import Blocks, block_end, find_block
from ..index.seed_table import SeedTable
from ..input.dna import WORD, symbols
from .strands import Matches, Strands, collected, seek


class Subquery(NamedTuple):
    """Symbols ``i`` to ``m`` (half-open) of the packed string at word ``first``; a spare word follows it."""

    words: np.ndarray
    first: int
    i: int
    m: int


@inlined
def symbol(words, first, i):
    """Return symbol i of the packed string at word ``first``, as a uint64."""
    return (at(words, first + (i >> 5)) >> np.uint64(62 - 2 * (i & 31))) & np.uint64(3)


@inlined
def common_prefix(words, position, subquery, known, most):
    """Return how many symbols the text from ``position`` and a subquery share, at most ``most``.

    ``known`` symbols are known to be equal. ``words``: the packed text.
    """
    done = known
    while done < most:
        ours = symbols(words, 0, position + done, WORD)
        difference = ours ^ symbols(subquery.words, subquery.first, subquery.i + done, WORD)
        if difference:
            return min(done + (leading_zeros(difference) >> 1), most)
        done += WORD
    return most


@inlined
def common_suffix(words, position, subquery, most):
    """Return how many symbols are equal before ``position`` and before a subquery, at most ``most``."""
    done = np.int64(0)
    while done < most:
        k = min(most - done, WORD)
        ours = symbols(words, 0, position - done - k, k)
        difference = ours ^ symbols(subquery.words, subquery.first, subquery.i - done - k, k)
        if difference:
            return done + (trailing_zeros(difference) >> 1)
        done += k
    return most


@inlined
def compare(text, position, subquery, known):
    """Return (symbols in common, order) of the suffix at ``position`` and a subquery, which share ``known``.

    The order is -1, 0 or 1 for a subquery that sorts before the suffix, is a prefix of it, or sorts after it.
    ``text`` has the packed ``words`` and ``blocks``.
    """
    m = subquery.m - subquery.i
    if known == m:
        return known, np.int64(0)
    stop = block_end(text.blocks, position) - position
    length = common_prefix(text.words, position, subquery, known, min(m, stop))
    if length == m:
        return length, np.int64(0)
    if length == stop:
        return length, np.int64(1)
    ours = symbol(text.words, 0, position + length)
    theirs = symbol(subquery.words, subquery.first, subquery.i + length)
    return length, np.int64(1) if theirs > ours else np.int64(-1)


# Windows of strands, their rows and the matches around them: the default matcher on CPU and GPU.
#
# seeds.py describes the method.

MANY = 512
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
    many: int = MANY

    def slices(self, strands: Strands) -> Iterator[Matches]:
        """Yield the Matches of strands in order (strands.Matcher)."""
        return collected(self, strands, seek(self, strands))


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
def lookup(matcher, strands, i, position):
    """Return where the seed table has a window's first row (-1 for row 0) and the row after its last."""
    width = np.int64(matcher.width)
    spare = 2 * (matcher.seeds.s - width)
    seed = np.int64(symbols(strands.words, at(strands.first, i), position, width))
    # A suffix that ends within s symbols may start with a window shorter than s: it is in the preceding run.
    return (seed << spare) - (spare > 0), (seed + 1) << spare


@inlined
def rows_of(matcher, first, end):
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
def frame_of(matcher, strands, i, position):
    """Return 32 symbols around a window, and a word that marks those beyond the strand as different."""
    before = n_before(matcher)
    begin = max(position - before, 0)
    gone = before - (position - begin)  # symbols before the strand
    beyond = max(32 - gone - (at(strands.length, i) - begin), 0)
    frame = symbols(strands.words, at(strands.first, i), begin, 32 - gone)
    return frame, ~(low_bits(64 - 2 * gone) ^ low_bits(2 * beyond)) & _ODD


@inlined
def n_before(matcher):
    """Return the number of symbols of a frame before its window."""
    return min(step_of(matcher), np.int64(16 - (matcher.width >> 1)))


@inlined
def may_match(matcher, frame, outside, text):
    """Return whether the symbols around a text position allow a match there; most do not."""
    before = n_before(matcher)
    if text < before:
        return True
    differ = symbols(matcher.words, 0, text - before, 32) ^ frame
    differ = ((differ | (differ >> np.uint64(1))) & _ODD) | outside
    shift = np.uint64(2 * before)
    left = trailing_zeros((differ >> np.uint64(1)) >> (np.uint64(63) - shift))
    right = leading_zeros(differ << shift)
    return (left >> 1) + (right >> 1) >= min(np.int64(matcher.least), 32)  # 64: equal up to the frame's end
