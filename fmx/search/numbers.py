"""Numbers of the occurrences that a sparse suffix array finds, and their positions.

Its occurrences are not the rows from lo to hi of a suffix array. For a read with few rows the positions are
kept, and numbers from KEPT on index them. For a read with many rows an Anchor is kept, and the occurrences of
pattern i have the numbers from (i + 1) << PATTERN_SHIFT on, in the order of rows. Smaller numbers are rows of
the index's other method, which searches shorter reads.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at
from ..index.reference import text_key
from ..index.sparse.table import position_in
from .hits import Locator, all_keys, first_key
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

KEPT = 1 << 61  # number of the first kept position
NONE = np.uint64(2**64 - 1)  # larger than any row
_STRETCH = 1024  # rows that are counted in one loop
PATTERN_SHIFT = 32  # shift of a pattern's number in an occurrence's number
PLACE, STRAND, LO, HI, SORTED, N_ANCHOR = range(6)  # columns of an Anchor in an array
LEAST, LEAST_REVERSE, N_KEPT = range(N_ANCHOR, N_ANCHOR + 3)  # further columns, see Found


class Found(NamedTuple):
    """Result of a search of Patterns: ``positions`` int64 are the kept positions.

    ``anchors`` int64[n_reads, N_KEPT]: Anchors of reads with many rows, and the first position at which the
    read occurs on either strand.
    """

    patterns: Any
    positions: np.ndarray
    anchors: np.ndarray


class Numbered(NamedTuple):
    """Occurrences by numbers, int64[2 * n_reads] each, arranged as in Intervals.

    ``found`` gives their positions.
    """

    lo: np.ndarray
    hi: np.ndarray
    found: Found


@inlined
def anchor_of(state, i):
    """Return the Anchor in row i of ``state``."""
    return Anchor(state[i, PLACE], state[i, STRAND], state[i, LO], state[i, HI], state[i, SORTED])


@inlined
def keep_anchor(state, i, anchor):
    """Write an Anchor to row i of ``state``."""
    state[i, PLACE], state[i, STRAND], state[i, SORTED] = anchor.place, anchor.strand, anchor.sorted
    state[i, LO], state[i, HI] = anchor.lo, anchor.hi


@inlined
def count_rows(query, patterns, r, anchor):
    """Return at how many rows of its Anchor a read occurs on + and on -, and the smallest positions."""
    left, by_text = (
        left_of_read(query, patterns, r, anchor),
        looks_at_text(query, length_of(patterns, r), anchor),
    )
    n, n_reverse, least, least_reverse = np.int64(0), np.int64(0), NONE, NONE
    for start in range(anchor.lo, anchor.hi, _STRETCH):
        stop = min(start + _STRETCH, anchor.hi)
        if not by_text:  # rows that need no look at the text, in a loop that the compiler vectorizes
            n_sure = np.int64(0)
            for i in range(start, stop):
                row = at(query.table.rows, i)
                sure, reverse = np.int64(is_sure(query, row)), strand_at(anchor, row)
                is_one = np.int64(may_be(row, left)) & sure
                n += is_one
                n_reverse += is_one & reverse
                n_sure += sure
                own = row | np.uint64(is_one - 1)
                least = min(least, own | np.uint64(-reverse))
                least_reverse = min(least_reverse, own | np.uint64(reverse - 1))
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
    return forward, reverse, position_in(least), position_in(least_reverse)


class OccurrenceNumbers(NamedTuple):
    """Occurrences by numbers, for the selection of hits."""

    query: Sparse
    found: Found
    start: int
    lo: np.ndarray
    hi: np.ndarray


@dataclass(frozen=True)
class SparseLocator:
    """The locator of Numbered occurrences in a part, which begins at ``start``.

    ``shorter``: the locator of shorter reads, or None. ``numbered``: result of a search.
    """

    query: Sparse
    start: int
    shorter: "Locator | None"
    numbered: Numbered | None = None

    @property
    def is_direct(self) -> bool:
        """Whether hits can be chosen from ``occurrences``: none of the numbers is a row of another method."""
        assert self.numbered
        lo, hi = self.numbered.lo, self.numbered.hi
        return self.shorter is None or not ((lo < 1 << PATTERN_SHIFT) & (lo < hi)).any()

    def of(self, found: Numbered) -> "SparseLocator":
        """Return the locator for the Numbered result of a search."""
        return replace(self, numbered=found)

    def occurrences(self, lo: np.ndarray, hi: np.ndarray) -> OccurrenceNumbers:
        """Return the occurrences with numbers lo[i] to hi[i], for ``select``."""
        assert self.numbered
        return OccurrenceNumbers(self.query, self.numbered.found, self.start, lo, hi)

    def locate(self, lo: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the text positions, int64, of occurrences lo[i] to lo[i] + size[i], for all i in order."""
        is_row = lo < 1 << PATTERN_SHIFT
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
def _locate(numbers, positions):
    n = np.int64(0)
    for i in range(numbers.lo.size):
        n = _positions_of(numbers, numbers.lo[i], numbers.hi[i], positions, n, 0, 0)


@all_keys.register(OccurrenceNumbers)
def _all_keys(numbers, r, keys):
    n = np.int64(0)
    for strand in range(2):
        i = 2 * r + strand
        n = _positions_of(numbers, numbers.lo[i], numbers.hi[i], keys, n, 1, strand)


@inlined
def _positions_of(numbers, lo, hi, out, n, shift, strand):
    """Write the positions of occurrences lo to hi of one pattern, as text_keys if ``shift`` is 1.

    Return the new n.
    """
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


@first_key.register(OccurrenceNumbers)
def _first_key(numbers, r):
    smallest = np.int64(1) << 62
    for strand in range(2):
        lo, hi = numbers.lo[2 * r + strand], numbers.hi[2 * r + strand]
        if lo >= KEPT:
            for number in range(lo - KEPT, hi - KEPT):
                smallest = min(
                    smallest, text_key(numbers.start + at(numbers.found.positions, number), strand)
                )
        elif lo < hi:
            first = _first_of(numbers, (lo >> PATTERN_SHIFT) - 1)
            smallest = min(smallest, text_key(numbers.start + first, strand))
    return smallest


@inlined
def _first_of(numbers, pattern):
    """Return the first position of a pattern that has an Anchor."""
    r, reverse = pattern >> 1, pattern & 1
    length, place = length_of(numbers.found.patterns, r), numbers.found.anchors[r, PLACE]
    offset = length - numbers.query.table.k - place if reverse else place
    return numbers.found.anchors[r, LEAST + reverse] - offset
