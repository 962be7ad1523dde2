"""Rows of words -> Candidates: where the whole pattern is in the text with few enough mismatches.

A row of a word gives the position of its piece in the text. There the pattern is compared, 32 symbols at a
time. An occurrence that several pieces find is kept only for the first of them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.primitives import at, prefetch
from ...index.arrays import part_span
from ...index.contracts import position_of, prefetch_position
from ...index.positions import FullSA, SampledSA
from ...index.reference import Blocks, find_block, text_key
from ...input.sets import NONE, change_at, changes_at, n_changes
from ..hits import KEY_BITS, Candidates, Intervals
from ..queries import near

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ..numbers import Numbered, SparseLocator

_AHEAD = 32  # rows between a prefetch and the access


class PartText(NamedTuple):
    """A part of the text, which begins at ``start``, and what locates its rows.

    ``words``: the packed text of ``n`` symbols. ``blocks``: by positions in the part.
    """

    sa: Any
    layout: Any
    words: np.ndarray
    blocks: Blocks
    n: int
    start: int


def text_of(index: "FMIndex | JoinedIndex", number: int) -> PartText:
    """Return the PartText of part ``number`` of an index that was opened with its text."""
    part = index.parts[number]
    start, stop = part_span(index.meta, number)
    layout = part.layout if isinstance(part.sa, SampledSA) else part.sa  # otherwise it is not used
    assert part.text_words is not None, "the index was opened without its text"
    return PartText(part.sa, layout, part.text_words, part.reference.blocks, stop - start, start)


class WordBatch(NamedTuple):
    """Words to be compared: patterns (Sets), their Pieces, and the most mismatches.

    ``pattern``, ``piece`` int64[n]: those of each word. Words are in the order of their reads.
    """

    sets: Any
    pieces: Any
    most: int
    pattern: np.ndarray
    piece: np.ndarray


class CpuVerifier:
    """Compares rows with a PartText on the CPU, and collects ``n_matches`` at a time."""

    def __init__(self, text: PartText, n_matches: int) -> None:
        self.text, self._n_matches = text, n_matches

    def of(self, found: Intervals) -> "CpuVerifier":
        """Return the verifier for the result of a search: this one, for any Intervals."""
        return self

    def __call__(self, sought: WordBatch, intervals: Intervals) -> tuple[np.ndarray, np.ndarray]:
        """Return the matches of words by their Intervals in the part: (pattern, key), int64[n], by read."""
        found: list[tuple[np.ndarray, np.ndarray]] = []
        done, scratch = np.zeros(2, np.int64), np.empty((2, _AHEAD), np.int64)
        while done[0] < intervals.lo.size or not found:
            pattern, key = np.empty((2, self._n_matches), np.int64)
            n = _verify(self.text, sought, intervals, done, (pattern, key), scratch)
            found.append((pattern[:n], key[:n]))
        return joined(found)


class SparseVerifier(NamedTuple):
    """Compares occurrences by number, which a SparseLocator locates, with a PartText."""

    text: PartText
    locator: "SparseLocator"
    n_matches: int

    def of(self, found: "Numbered") -> "SparseVerifier":
        """Return the verifier for the Numbered result of a search."""
        return self._replace(locator=self.locator.of(found))

    def __call__(self, sought: WordBatch, numbers: Intervals) -> tuple[np.ndarray, np.ndarray]:
        """Return the matches of words by numbers of their occurrences: (pattern, key), int64[n], by read."""
        size = numbers.hi - numbers.lo
        ends = np.cumsum(size)
        sa = FullSA(self.locator.locate(numbers.lo, size) - self.text.start)
        verify = CpuVerifier(self.text._replace(sa=sa, layout=sa), self.n_matches)
        return verify(sought, Intervals(ends - size, ends))


@inlined
def key_of(changes, position, strand):
    """Return the sort key of a match: mismatches, position in the text, strand."""
    return n_changes(changes) << KEY_BITS | text_key(position, strand)


def joined(found: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return (pattern, key) of all of ``found``, one after the other."""
    if len(found) == 1:
        return found[0]
    pattern, key = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return pattern, key


@compiled
def add_rows(intervals, pattern, first_read, rows):
    """Add the rows of each word to ``rows`` int64[n_reads] of its read, by ``pattern`` int64[n_words].

    Read 0 of ``rows`` is number ``first_read``.
    """
    for i in range(intervals.lo.size):
        rows[(pattern[i] >> 1) - first_read] += np.int64(intervals.hi[i]) - np.int64(intervals.lo[i])


@compiled
def _verify(text, sought, intervals, done, out, scratch):
    """Write the matches of words at the rows of their Intervals to ``out`` until it is full.

    Return their number.

    ``done`` int64[2]: how many words, and rows of the next one, are done. ``scratch`` int64[2, _AHEAD]: words
    and text positions that were prefetched.
    """
    lo, hi, most = intervals.lo, intervals.hi, out[0].size
    n, n_waiting, begin = np.int64(0), np.int64(0), done[1]
    for word in range(done[0], lo.size):
        if word + _AHEAD < lo.size and lo[word + _AHEAD] < hi[word + _AHEAD]:
            prefetch_position(text.sa, np.int64(lo[word + _AHEAD]))
        for row in range(np.int64(lo[word]) + begin, np.int64(hi[word])):
            if n + n_waiting == most:
                n = _compare(text, sought, n_waiting, scratch, out, n)
                n_waiting = np.int64(0)
                if n == most:
                    done[0], done[1] = word, row - np.int64(lo[word])
                    return n
            position = place_of_row(text, sought, word, row)
            if position < 0:
                continue
            prefetch(text.words, position >> 5)
            prefetch(text.words, (position + sought.sets.length[sought.pattern[word]] - 1) >> 5)
            scratch[0, n_waiting], scratch[1, n_waiting] = word, position
            n_waiting += 1
            if n_waiting == _AHEAD:
                n = _compare(text, sought, n_waiting, scratch, out, n)
                n_waiting = np.int64(0)
        begin = np.int64(0)
    done[0], done[1] = lo.size, 0
    return _compare(text, sought, n_waiting, scratch, out, n)


@inlined
def place_of_row(text, sought, word, row):
    """Return where in the part a word's pattern begins if the word is at a row.

    Returns -1 if it does not fit there.
    """
    position = position_of(text.sa, text.layout, row) - _offset(sought, word)
    fits = position >= 0 and position + sought.sets.length[sought.pattern[word]] <= text.n
    return position if fits else np.int64(-1)


@inlined
def _offset(sought, word):
    """Return where in its pattern a word begins."""
    piece = near.first_column(sought.pattern[word], sought.piece[word])
    return at(sought.pieces.columns, piece + near.START)


@inlined
def _compare(text, sought, n_waiting, scratch, out, n):
    """Compare the positions that wait; return the number of matches so far."""
    for j in range(n_waiting):
        key = match_at(text, sought, scratch[0, j], scratch[1, j])
        if key >= 0:
            out[0][n], out[1][n] = sought.pattern[scratch[0, j]], key
            n += 1
    return n


@inlined
def match_at(text, sought, word, position):
    """Return the key of the match of a word's pattern at a position of the part, or -1.

    Returns -1 also if an earlier piece finds this match.
    """
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
    """Return whether piece j of pattern i finds an occurrence with these changes."""
    piece, inside, n_beyond = near.first_column(i, j), np.int64(0), np.int64(0)
    start, length = at(pieces.columns, piece + near.START), at(pieces.columns, piece + near.LENGTH)
    inner, outer = at(pieces.columns, piece + near.INNER), at(pieces.columns, piece + near.OUTER)
    for k in range(n_changes(changes)):
        where, _ = change_at(changes, k)
        is_inside = start <= where < start + length
        inside += is_inside
        n_beyond += is_inside and not inner <= where < outer
    return near.covers(pieces, i, j, inside, n_beyond)


def matches_of(found: Sequence[tuple[np.ndarray, np.ndarray]], first_read: int, n_reads: int) -> Candidates:
    """Return the matches of n_reads, the first of which is number ``first_read``.

    ``found``: those of each part: (pattern, key), int64 both, by read.
    """
    pattern, key = joined(found)
    if len(found) > 1:
        order = np.argsort(pattern >> 1, kind="stable")
        pattern, key = pattern[order], key[order]
    first = np.empty(n_reads + 1, np.int64)
    _find_first(pattern, first_read, first)
    return Candidates(first, key)


@compiled
def _find_first(pattern, first_read, first):
    """Fill ``first`` of Candidates by the pattern of each match, int64[n], in order of reads."""
    i = np.int64(0)
    for r in range(first.size):
        while i < pattern.size and (pattern[i] >> 1) - first_read < r:
            i += 1
        first[r] = i
