"""Rows of words -> near matches: where the whole pattern lies in the text with few enough mismatches.

A row of a word says where its piece is in the text.  There the pattern is compared, 32 symbols at a time.  An
occurrence that several pieces have found is kept for the first of them, so that none is there twice.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.primitives import at, prefetch
from ...index.arrays import part_span
from ...index.contracts import position_of, prefetch_position
from ...index.positions import SampledSA
from ...index.reference import Blocks, find_block
from ...input.sets import NONE, change_at, changes_at, n_changes
from ...machines.jobs import cuts
from ..queries import near

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ..hits import Intervals

AT_ONCE = 1 << 17  # rows that are compared at a time
_AHEAD = 32  # rows between asking for memory and reading it
KEY_BITS = 56  # of a key, below the mismatches: position * 2 + strand


class PartText(NamedTuple):
    """A part of the text, which begins at ``start``, with what says where its rows are.

    ``words`` the packed text of ``n`` symbols, ``blocks`` by positions in the part.
    """

    sa: Any
    layout: Any
    words: np.ndarray
    blocks: Blocks
    n: int
    start: int


def text_of(index: "FMIndex | JoinedIndex", number: int) -> PartText:
    """The PartText of part ``number`` of an index that was opened with its text."""
    part = index.parts[number]
    start, stop = part_span(index.meta, number)
    layout = part.layout if isinstance(part.sa, SampledSA) else part.sa  # else it is not asked
    assert part.text_words is not None, "the index was opened without its text"
    return PartText(part.sa, layout, part.text_words, part.reference.blocks, stop - start, start)


class WordBatch(NamedTuple):
    """Patterns (Sets), their Pieces, the most mismatches; the pattern and piece of each word, int64[n]."""

    sets: Any
    pieces: Any
    most: int
    pattern: np.ndarray
    piece: np.ndarray


class CpuVerifier:
    """Compares rows with a PartText on the CPU."""

    def __init__(self, text: PartText) -> None:
        self.text = text

    def __call__(self, sought: WordBatch, intervals: "Intervals") -> list[np.ndarray]:
        """Matches of words whose Intervals in the part are given: (pattern, key), int64[n], by pattern."""
        lo = intervals.lo.astype(np.int64)
        found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for i, start, stop in cuts(intervals.hi - lo, AT_ONCE):
            stop += lo[i : i + stop.size]
            start += lo[i : i + start.size]
            pattern, key = (np.empty(int((stop - start).sum()), np.int64) for _ in range(2))
            scratch = np.empty((2, _AHEAD), np.int64)
            n = _verify(self.text, sought, i, (start, stop), (pattern, key), scratch)
            found.append((pattern[:n], key[:n]))
        return [np.concatenate(columns) for columns in zip(*found, strict=True)]


@inlined
def key_of(changes, position, strand):
    """What matches of a read are sorted by: mismatches, position in the text, strand."""
    return n_changes(changes) << KEY_BITS | position << 1 | strand


@inlined
def position_in(key):
    """The position of a key."""
    return (key & ((np.int64(1) << KEY_BITS) - 1)) >> 1


@compiled
def _verify(text, sought, first, rows, out, scratch):
    """Write the matches of rows[0][k] to rows[1][k] of words first, first + 1, ...; how many there are.

    ``scratch`` int64[2, _AHEAD]: words and rows, then places in the text, that memory was asked for.
    """
    start, stop = rows
    n, n_waiting = np.int64(0), np.int64(0)
    for k in range(start.size):
        if k + _AHEAD < start.size and start[k + _AHEAD] < stop[k + _AHEAD]:
            prefetch_position(text.sa, start[k + _AHEAD])
        for row in range(start[k], stop[k]):
            word = first + k
            position = place_of_row(text, sought, word, row)
            if position < 0:
                continue
            prefetch(text.words, position >> 5)
            scratch[0, n_waiting], scratch[1, n_waiting] = word, position
            n_waiting += 1
            if n_waiting == _AHEAD:
                n = _compare(text, sought, n_waiting, scratch, out, n)
                n_waiting = np.int64(0)
    return _compare(text, sought, n_waiting, scratch, out, n)


@inlined
def place_of_row(text, sought, word, row):
    """Where in the part a word's pattern begins, if the word is at a row; -1 if it does not fit there."""
    position = position_of(text.sa, text.layout, row) - _offset(sought, word)
    fits = position >= 0 and position + sought.sets.length[sought.pattern[word]] <= text.n
    return position if fits else np.int64(-1)


@inlined
def _offset(sought, word):
    """Where in its pattern a word begins."""
    piece = near.first_column(sought.pattern[word], sought.piece[word])
    return at(sought.pieces.columns, piece + near.START)


@inlined
def _compare(text, sought, n_waiting, scratch, out, n):
    """Compare the places that wait; the number of matches so far."""
    for j in range(n_waiting):
        key = match_at(text, sought, scratch[0, j], scratch[1, j])
        if key >= 0:
            out[0][n], out[1][n] = sought.pattern[scratch[0, j]], key
            n += 1
    return n


@inlined
def match_at(text, sought, word, position):
    """The key of the match of a word's pattern at a position of the part, or -1; to be kept for its piece."""
    i, piece = sought.pattern[word], sought.piece[word]
    changes = changes_at(text.words, position, sought.sets, i, sought.most)
    if changes == NONE:
        return np.int64(-1)
    for j in range(piece):
        if _found_by(sought.pieces, i, j, changes):
            return np.int64(-1)
    block = find_block(text.blocks, position)
    end = at(text.blocks.text_start, block) + at(text.blocks.length, block)
    if position + sought.sets.length[i] > end:
        return np.int64(-1)
    return key_of(changes, text.start + position, i & 1)


@inlined
def _found_by(pieces, i, j, changes):
    """Whether a piece of pattern i finds an occurrence with these changes."""
    piece, inside, n_before = near.first_column(i, j), np.int64(0), np.int64(0)
    start, length = at(pieces.columns, piece + near.START), at(pieces.columns, piece + near.LENGTH)
    inner = at(pieces.columns, piece + near.INNER)
    for k in range(n_changes(changes)):
        where, _ = change_at(changes, k)
        is_inside = start <= where < start + length
        inside += is_inside
        n_before += is_inside and where < inner
    return near.covers(pieces, i, j, inside, n_before)
