"""Patterns -> occurrences by a sparse suffix array, some reads at a time, so that memory accesses overlap.

What a search finds are not rows of a suffix array but numbers: of the occurrences of pattern i those from
(i + 1) << 32 on, in the order of rows.  An Anchor a read is kept, and which of its rows it occurs at where
these are few; a SparseLocator that knows them says where the occurrences are.  Reads that are shorter than
the sparse suffix array finds are searched by the index's other method, whose rows are numbers below 2^32.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch
from ..errors import UnsupportedError, n_of, shown
from ..index import layouts
from ..index.sparse.minimizers import ROOM
from ..index.sparse.table import FEW, bucket_bits
from ..machines.places import CPU, Device
from .queries.sparse import (
    Anchor,
    Sparse,
    choose_kmer,
    left_of_read,
    length_of,
    looks_at_text,
    may_be,
    narrow,
    occurs,
    position_at_row,
    strand_at,
)

GROUP = 64  # reads that are searched together
MANY = 64  # rows, from which on it is not kept at which of them a read occurs
_SHIFT = 32  # of the number of a pattern, in that of an occurrence
PLACE, STRAND, LO, HI, SORTED, N_STATE = range(6)


class Anchors(NamedTuple):
    """Of each read an Anchor, int64[n_reads, N_STATE], and a bit for each row, if they are MANY at most."""

    state: np.ndarray
    at_rows: np.ndarray


class Numbered(NamedTuple):
    """Occurrences by their numbers, int64[2 * n_reads] each, as Intervals; ``patterns`` and their Anchors."""

    lo: np.ndarray
    hi: np.ndarray
    patterns: Any
    anchors: Anchors


def make_sparse(index) -> Sparse:
    """The query of an FMIndex."""
    n_bits = bucket_bits(index.reference.n_text, index.sparse.w)
    return Sparse(index.sparse, index.text_words, index.reference.blocks, index.reference.n_text, n_bits)


def search(query, patterns) -> Numbered:
    """Search Patterns of both strands (input/reads.py), none of them shorter than k + w - 1."""
    n = patterns.length.size // 2
    anchors = Anchors(np.empty((n, N_STATE), np.int64), np.empty(n, np.uint64))
    lo = (np.arange(2 * n, dtype=np.int64) + 1) << _SHIFT
    hi = lo.copy()
    _search(query, patterns, anchors, hi, np.empty(ROOM, np.int32))
    return Numbered(lo, hi, patterns, anchors)


@inlined
def _anchor(state, r):
    return Anchor(state[r, PLACE], state[r, STRAND], state[r, LO], state[r, HI], state[r, SORTED])


@inlined
def _keep(state, r, anchor):
    state[r, PLACE], state[r, STRAND], state[r, SORTED] = anchor.place, anchor.strand, anchor.sorted
    state[r, LO], state[r, HI] = anchor.lo, anchor.hi


@compiled
def _search(query, patterns, anchors, n_found, room):
    """Fill in the anchors, and add to ``n_found`` int64[2 * n_reads]."""
    state, starts, rows = anchors.state, query.table.starts, query.table.rows
    n_reads = state.shape[0]
    for group in range(0, n_reads, GROUP):
        stop = min(group + GROUP, n_reads)
        for r in range(group, stop):
            state[r, HI] = -1
            if length_of(patterns, r) > 0:
                place, strand, bucket = choose_kmer(query, patterns, r, room)
                prefetch(starts, bucket)
                _keep(state, r, Anchor(place, strand, bucket, np.int64(0), np.int64(0)))
        for r in range(group, stop):
            if state[r, HI] == 0:
                bucket = state[r, LO]
                state[r, LO], state[r, HI] = np.int64(at(starts, bucket)), np.int64(at(starts, bucket + 1))
                prefetch(rows, state[r, LO])
            else:
                state[r, LO] = state[r, HI] = 0
        for r in range(group, stop):
            anchor = _anchor(state, r)
            if anchor.hi - anchor.lo > FEW:
                _keep(state, r, narrow(query, patterns, r, room, anchor))
            elif anchor.lo < anchor.hi:
                left, length = left_of_read(query, patterns, r, anchor), length_of(patterns, r)
                for i in range(anchor.lo, anchor.hi):
                    if may_be(at(rows, i), left):
                        start = max(position_at_row(query, length, anchor, at(rows, i)), np.int64(0))
                        prefetch(query.words, start >> 5)
                        prefetch(query.words, (start + length) >> 5)
        for r in range(group, stop):
            anchor = _anchor(state, r)
            if anchor.lo < anchor.hi:
                _compare(query, patterns, r, anchor, anchors, n_found)


@inlined
def _compare(query, patterns, r, anchor, anchors, n_found):
    """Count the occurrences of a read at the rows of its anchor, and note which these are."""
    left = left_of_read(query, patterns, r, anchor)
    by_text = looks_at_text(query, length_of(patterns, r), anchor)
    at_rows = np.uint64(0)
    for i in range(anchor.lo, anchor.hi):
        row = at(query.table.rows, i)
        if may_be(row, left) and occurs(query, patterns, r, anchor, row, by_text):
            n_found[2 * r + strand_at(anchor, row)] += 1
            at_rows |= np.uint64(1) << np.uint64((i - anchor.lo) & 63)
    anchors.at_rows[r] = at_rows


def where_searched(index, device) -> Device:
    """Where an index is searched, if a Device is asked for: by a sparse suffix array on the CPU.

    Raises UnsupportedError where it must be a GPU.
    """
    if device.engine == "cpu" or all(part.method != "sparse" for part in index.parts):
        return device
    if device.engine != "auto":
        raise UnsupportedError(
            "a sparse suffix array is searched on the CPU: leave out --engine, or name another method or "
            "layout of the index, as --method verify"
        )
    return CPU


def least_bases(index) -> int:
    """Bases of the shortest reads that may be searched in an opened index; 0 if there is no limit."""
    alone = [part.sparse for part in index.parts if part.method == "sparse" and not part.shorter]
    return max((table.k + table.w - 1 for table in alone), default=0)


def refuse_shorter(batch, least) -> None:
    """Raise UnsupportedError that names the first read of a batch with fewer bases than ``least``."""
    if least == 0:
        return
    short = np.flatnonzero(batch.searchable & (batch.length < least))
    if short.size:
        r, start = short[0], batch.name_start[short[0]]
        name = shown(bytes(batch.data[start : start + batch.name_length[r]]).decode("latin-1"))
        raise UnsupportedError(
            f"read {name} has {n_of(batch.length[r], 'base')}, and this index finds reads of {least} or "
            f"more: build one with a layout for shorter ones, as --layout sparse,{layouts.DEFAULT}"
        )


@dataclass(frozen=True)
class SparseSearcher:
    """Searches a part by its sparse suffix array, and shorter reads by ``shorter``, a searcher, or None."""

    query: Sparse
    shorter: Any

    @property
    def shortest(self) -> int:
        """Bases of the shortest reads that the sparse suffix array finds."""
        return self.query.table.k + self.query.table.w - 1

    def __call__(self, patterns) -> Numbered:
        is_short = (patterns.length > 0) & (patterns.length < self.shortest)
        if not is_short.any():
            return search(self.query, patterns)
        found = search(self.query, patterns._replace(length=np.where(is_short, 0, patterns.length)))
        own = self.shorter(patterns._replace(length=np.where(is_short, patterns.length, 0)))
        for ours, theirs in zip((found.lo, found.hi), (own.lo, own.hi), strict=True):
            ours[is_short] = theirs[is_short]
        return found


class SparseLocator(NamedTuple):
    """Says where occurrences are that were Numbered in a part, which begins at ``start``.

    ``shorter``: the locator of shorter reads, or None; ``found``: what they were Numbered by.
    """

    query: Sparse
    start: int
    shorter: Any
    found: Any = None

    def of(self, found) -> "SparseLocator":
        """The locator of what a search has Numbered."""
        return self._replace(found=found)

    def locate(self, lo, size) -> np.ndarray:
        """Text positions, int64, of occurrences lo[i] to lo[i] + size[i], one i after the other."""
        is_row = lo < 1 << _SHIFT
        if (is_row & (size > 0)).any():
            positions, by_rows = np.empty(size.sum(), np.int64), np.repeat(is_row, size)
            positions[by_rows] = self.shorter.locate(lo, size * is_row)
            positions[~by_rows] = self.locate(lo, size * ~is_row)
            return positions
        positions = np.empty(size.sum(), np.int64)
        _locate(self.query, self.start, self.found.patterns, self.found.anchors, lo, size, positions)
        return positions


@compiled
def _locate(query, begin, patterns, anchors, lo, size, positions):
    n = np.int64(0)
    for i in range(size.size):
        if size[i] > 0:
            pattern, skipped = (lo[i] >> _SHIFT) - 1, lo[i] & ((np.int64(1) << _SHIFT) - 1)
            which = np.int64(pattern), skipped, np.int64(size[i])
            n = _locate_pattern(query, begin, patterns, anchors, which, positions, n)


@inlined
def _locate_pattern(query, begin, patterns, anchors, which, positions, n):
    """Write positions of occurrences, as ``which`` says: (pattern, first, how many); where to go on."""
    pattern, skip, left_over = which
    r, strand = pattern >> 1, pattern & 1
    anchor, length = _anchor(anchors.state, r), length_of(patterns, r)
    left, by_text = left_of_read(query, patterns, r, anchor), looks_at_text(query, length, anchor)
    is_kept = anchor.hi - anchor.lo <= MANY
    i = anchor.lo
    while left_over > 0:
        row = at(query.table.rows, i)
        if is_kept:
            is_here = (at(anchors.at_rows, r) >> np.uint64(i - anchor.lo)) & np.uint64(1) != 0
        else:
            is_here = may_be(row, left) and occurs(query, patterns, r, anchor, row, by_text)
        if is_here and strand_at(anchor, row) == strand:
            if skip > 0:
                skip -= 1
            else:
                positions[n] = begin + position_at_row(query, length, anchor, row)
                n += 1
                left_over -= 1
        i += 1
    return n
