"""Comparing a query with the text, 32 symbols at a time."""

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
    """Symbol i of the packed string at word ``first``, as a uint64."""
    return (at(words, first + (i >> 5)) >> np.uint64(62 - 2 * (i & 31))) & np.uint64(3)


@inlined
def common_prefix(words, position, subquery, known, most):
    """How many symbols, ``most`` at most, the text from ``position`` and a subquery share; ``known`` do.

    ``words`` the packed text.
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
    """How many symbols, ``most`` at most, are the same just before ``position`` and before a subquery."""
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
    """(symbols in common, order) of the suffix at ``position`` and a subquery, which share ``known`` ones.

    The order is -1, 0, 1 for a subquery that sorts before the suffix, is a prefix of it, sorts after it.
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
# See seeds.py for the idea.

MANY = 512
_ODD = np.uint64(0x5555555555555555)


class Seeds(NamedTuple):
    """``sa`` uint32[n], the whole suffix array; ``words`` the packed text; ``least`` l and ``width`` w.

    The CPU takes windows of more than ``many`` rows as two.
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
    """Where the seed table tells a window's first row, -1 for row 0, and the row after its last."""
    width = np.int64(matcher.width)
    spare = 2 * (matcher.seeds.s - width)
    seed = np.int64(symbols(strands.words, at(strands.first, i), position, width))
    # A suffix that ends within s symbols may start with a window shorter than s: it lies in the run before.
    return (seed << spare) - (spare > 0), (seed + 1) << spare


@inlined
def rows_of(matcher, first, end):
    """The rows [lo, hi) that ``lookup`` has told the place of; some may not start with the window."""
    starts = matcher.seeds.starts
    return np.int64(at(starts, first)) if first >= 0 else np.int64(0), np.int64(at(starts, end))


@inlined
def extend(matcher, strands, i, position, text, reach, n_text):
    """(left, length): the match around a window and a place in the text; length 0 if it is none wanted.

    ``left`` symbols of it lie before the window; with ``reach`` or more there it belongs to another window.
    """
    least = np.int64(matcher.least)
    window = Subquery(strands.words, at(strands.first, i), position, at(strands.length, i))
    left = common_suffix(matcher.words, text, window, min(reach, min(position, text)))
    block = np.int64(-1)
    if left == reach:  # it covers the window before this one, unless it crosses into the block before
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
    """32 symbols around a window, and a word that marks those beyond the strand as different."""
    before = n_before(matcher)
    begin = max(position - before, 0)
    gone = before - (position - begin)  # symbols before the strand
    beyond = max(32 - gone - (at(strands.length, i) - begin), 0)
    frame = symbols(strands.words, at(strands.first, i), begin, 32 - gone)
    return frame, ~(low_bits(64 - 2 * gone) ^ low_bits(2 * beyond)) & _ODD


@inlined
def n_before(matcher):
    """Symbols of a frame before its window."""
    return min(step_of(matcher), np.int64(16 - (matcher.width >> 1)))


@inlined
def may_match(matcher, frame, outside, text):
    """Whether the symbols around a place in the text leave room for a match there: most places do not."""
    before = n_before(matcher)
    if text < before:
        return True
    differ = symbols(matcher.words, 0, text - before, 32) ^ frame
    differ = ((differ | (differ >> np.uint64(1))) & _ODD) | outside
    shift = np.uint64(2 * before)
    left = trailing_zeros((differ >> np.uint64(1)) >> (np.uint64(63) - shift))
    right = leading_zeros(differ << shift)
    return (left >> 1) + (right >> 1) >= min(np.int64(matcher.least), 32)  # 64: equal up to the frame's end
