"""Numbers for what a sparse suffix array finds, and the positions that they stand for.

Its occurrences are not the rows from lo to hi of a suffix array.  Of a read with few rows the positions are
kept as they are found, and numbers from KEPT on count these.  Of one with many an Anchor is kept, and the
occurrences of pattern i are numbers from (i + 1) << PATTERN_SHIFT on, in the order of rows.  Smaller numbers
are rows of the index's other method, by which shorter reads are searched.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at
from ..index.sparse.table import position_in, strand_in
from .hits import all_keys, first_key
from .queries.sparse import (
    Anchor,
    Sparse,
    is_sure,
    left_of_read,
    length_of,
    looks_at_text,
    may_be,
    occurs,
    position_at_row,
    strand_at,
)

KEPT = 1 << 61  # the number of the first position that is kept
PATTERN_SHIFT = 32  # of the number of a pattern, in that of an occurrence
PLACE, STRAND, LO, HI, SORTED, CANDIDATES, N_STATE = range(7)  # columns of the state of reads


class Found(NamedTuple):
    """What a search has found of Patterns: ``positions`` int64 that are kept.

    ``anchors`` int64[n_reads, N_STATE]: those of reads with many rows.
    """

    patterns: Any
    positions: np.ndarray
    anchors: np.ndarray


class Numbered(NamedTuple):
    """Occurrences by their numbers, int64[2 * n_reads] each, as Intervals; ``found``: what they stand for."""

    lo: np.ndarray
    hi: np.ndarray
    found: Found


@inlined
def anchor_of(state, i):
    """The Anchor in row i of ``state``."""
    return Anchor(state[i, PLACE], state[i, STRAND], state[i, LO], state[i, HI], state[i, SORTED])


@inlined
def keep_anchor(state, i, anchor):
    """Put it there."""
    state[i, PLACE], state[i, STRAND], state[i, SORTED] = anchor.place, anchor.strand, anchor.sorted
    state[i, LO], state[i, HI] = anchor.lo, anchor.hi


@inlined
def count_rows(query, patterns, r, anchor):
    """(forward, reverse): occurrences of a read at the rows of its Anchor."""
    left, by_text = (
        left_of_read(query, patterns, r, anchor),
        looks_at_text(query, length_of(patterns, r), anchor),
    )
    n, n_reverse, n_sure = np.int64(0), np.int64(0), np.int64(0)
    if not by_text:  # what rows tell by themselves, in a loop of vectors
        for i in range(anchor.lo, anchor.hi):
            row = at(query.table.rows, i)
            sure = is_sure(query, row)
            is_one = np.int64(may_be(row, left)) & sure
            n += is_one
            n_reverse += is_one & (strand_in(row) ^ anchor.strand)
            n_sure += sure
    if n_sure < anchor.hi - anchor.lo:
        for i in range(anchor.lo, anchor.hi):
            row = at(query.table.rows, i)
            if (not by_text and is_sure(query, row)) or not may_be(row, left):
                continue
            if occurs(query, patterns, r, anchor, row, by_text):
                n += 1
                n_reverse += strand_at(anchor, row)
    forward = n - n_reverse if at(patterns.length, 2 * r) else np.int64(0)
    return forward, n_reverse if at(patterns.length, 2 * r + 1) else np.int64(0)


class Numbers(NamedTuple):
    """Occurrences that hits are chosen from, by their numbers; reads are told by these."""

    query: Sparse
    found: Found
    start: int
    lo: np.ndarray
    hi: np.ndarray


@dataclass(frozen=True)
class SparseLocator:
    """Says where occurrences are that were Numbered in a part, which begins at ``start``.

    ``shorter``: the locator of shorter reads, or None; ``numbered``: what a search has found.
    """

    query: Sparse
    start: int
    shorter: Any
    numbered: Any = None

    @property
    def at_hand(self) -> bool:
        """As of Locator: whether no rows of another method are among the numbers."""
        lo = self.numbered.lo
        return self.shorter is None or not ((lo < 1 << PATTERN_SHIFT) & (lo < self.numbered.hi)).any()

    def of(self, found) -> "SparseLocator":
        """The locator of what a search has Numbered."""
        return replace(self, numbered=found)

    def occurrences(self, lo, hi) -> Numbers:
        """As of Locator, of numbers."""
        return Numbers(self.query, self.numbered.found, self.start, lo, hi)

    def locate(self, lo, size) -> np.ndarray:
        """Text positions, int64, of occurrences lo[i] to lo[i] + size[i], one i after the other."""
        is_row = lo < 1 << PATTERN_SHIFT
        if (is_row & (size > 0)).any():
            positions, by_rows = np.empty(size.sum(), np.int64), np.repeat(is_row, size)
            positions[by_rows] = self.shorter.locate(lo, size * is_row)
            positions[~by_rows] = self.locate(lo, size * ~is_row)
            return positions
        positions = np.empty(size.sum(), np.int64)
        _locate(self.occurrences(lo, lo + size), positions)
        return positions


@compiled
def _locate(numbers, positions):
    n = np.int64(0)
    for i in range(numbers.lo.size):
        n = _positions_of(numbers, numbers.lo[i], numbers.hi[i], positions, n, 0, 0)


@all_keys.register(Numbers)
def _all_keys(numbers, r, keys):
    n = np.int64(0)
    for strand in range(2):
        i = 2 * r + strand
        n = _positions_of(numbers, numbers.lo[i], numbers.hi[i], keys, n, 1, strand)


@inlined
def _positions_of(numbers, lo, hi, out, n, shift, strand):
    """Write the positions of occurrences lo to hi of one pattern, as keys (hits.py) if ``shift`` is 1."""
    if lo >= KEPT:
        for number in range(lo - KEPT, hi - KEPT):
            out[n] = (numbers.start + at(numbers.found.positions, number)) << shift | strand
            n += 1
        return n
    query, patterns = numbers.query, numbers.found.patterns
    pattern, skip, left_over = (lo >> PATTERN_SHIFT) - 1, lo & ((np.int64(1) << PATTERN_SHIFT) - 1), hi - lo
    if left_over == 0:
        return n
    r = pattern >> 1
    anchor, length = anchor_of(numbers.found.anchors, r), length_of(patterns, r)
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
            out[n] = (numbers.start + position_at_row(query, length, anchor, row)) << shift | strand
            n += 1
            left_over -= 1
    return n


@first_key.register(Numbers)
def _first_key(numbers, r):
    smallest = np.int64(1) << 62
    for strand in range(2):
        lo, hi = numbers.lo[2 * r + strand], numbers.hi[2 * r + strand]
        if lo >= KEPT:
            for number in range(lo - KEPT, hi - KEPT):
                smallest = min(smallest, (numbers.start + at(numbers.found.positions, number)) << 1 | strand)
        elif lo < hi:
            smallest = min(
                smallest, (numbers.start + _first_of(numbers, (lo >> PATTERN_SHIFT) - 1)) << 1 | strand
            )
    return smallest


@inlined
def _first_of(numbers, pattern):
    """The first position of a pattern that occurs, of which an Anchor is kept."""
    query, patterns, r, smallest = numbers.query, numbers.found.patterns, pattern >> 1, np.int64(1) << 61
    anchor, length = anchor_of(numbers.found.anchors, r), length_of(patterns, r)
    left, by_text = left_of_read(query, patterns, r, anchor), looks_at_text(query, length, anchor)
    strand = (pattern & 1) ^ anchor.strand
    for i in range(anchor.lo, anchor.hi):
        row = at(query.table.rows, i)
        if position_in(row) >= smallest or not may_be(row, left) or strand_in(row) != strand:
            continue
        if (not by_text and is_sure(query, row)) or occurs(query, patterns, r, anchor, row, by_text):
            smallest = position_in(row)
    return smallest - (length - query.table.k - anchor.place if pattern & 1 else anchor.place)
