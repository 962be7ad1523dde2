"""Patterns -> occurrences by a sparse suffix array, some reads at a time, so that memory accesses overlap.

What it finds has numbers in the place of rows (numbers.py).  Reads that are shorter than the sparse suffix
array finds are searched by the index's other method.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch
from ..compiler.simd import LANES
from ..errors import UnsupportedError, n_of, shown
from ..index import layouts
from ..index.sparse.minimizers import ROOM, smallest_kmers
from ..index.sparse.table import bucket_bits, bucket_of, canonical
from ..machines.places import CPU, Device
from .numbers import (
    CANDIDATES,
    HI,
    KEPT,
    LO,
    N_STATE,
    PATTERN_SHIFT,
    PLACE,
    SORTED,
    STRAND,
    Found,
    Numbered,
    anchor_of,
    count_rows,
    keep_anchor,
)
from .queries.sparse import (
    Sparse,
    left_of_read,
    length_of,
    looks_at_text,
    may_be,
    n_hashed,
    n_left,
    narrow,
    occurs,
    position_at_row,
    strand_at,
)

MANY = 64  # rows at which a read may occur, and whose positions are then kept
SCANNED = 1024  # rows that candidates are chosen from,
TELLING = 8  # if they tell so many symbols left of the k-mer
ROOM_A_READ, SPARE = 8, 64  # positions for which there is room: so many a read, and so many more
_GROUP = 2 * LANES  # reads that are searched together


class Desk(NamedTuple):
    """Memory of a search, for each read of a group.

    ``state`` int64[_GROUP, N_STATE]; ``rows`` int64[_GROUP, MANY], its candidates; ``first`` and ``n``
    int64[_GROUP], its first word and how many k-mers are hashed; ``room`` int32[ROOM].
    """

    state: np.ndarray
    rows: np.ndarray
    first: np.ndarray
    n: np.ndarray
    room: np.ndarray


def make_sparse(index) -> Sparse:
    """The query of an FMIndex."""
    n_bits = bucket_bits(index.reference.n_text, index.sparse.w)
    return Sparse(index.sparse, index.text_words, index.reference.blocks, index.reference.n_text, n_bits)


def search(query, patterns) -> Numbered:
    """Search Patterns of both strands (input/reads.py), none of them shorter than k + w - 1."""
    n = patterns.length.size // 2
    found = Found(patterns, np.empty(ROOM_A_READ * n + SPARE, np.int64), np.empty((n, N_STATE), np.int64))
    numbered = Numbered(np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), found)
    state, rows = (np.zeros((_GROUP, n), np.int64) for n in (N_STATE, MANY))
    desk = Desk(state, rows, np.zeros(_GROUP, np.int64), np.zeros(_GROUP, np.int64), np.empty(ROOM, np.int32))
    _search(query, numbered, desk)
    return numbered


@compiled
def _search(query, numbered, desk):
    patterns, state = numbered.found.patterns, desk.state
    n_reads, n_kept = numbered.lo.size // 2, np.int64(0)
    for group in range(0, n_reads, _GROUP):
        size = min(n_reads - group, np.int64(_GROUP))
        _choose_kmers(query, patterns, group, size, desk)
        for i in range(size):
            if state[i, HI] != 0:
                bucket = state[i, LO]
                state[i, LO] = np.int64(at(query.table.starts, bucket))
                state[i, HI] = np.int64(at(query.table.starts, bucket + 1))
                prefetch(query.table.rows, state[i, LO])
        for i in range(size):
            _choose_rows(query, patterns, group + i, i, desk)
        for i in range(size):
            n_kept = _compare(query, numbered, group + i, i, desk, n_kept)


@inlined
def _choose_kmers(query, patterns, group, size, desk):
    """Note the smallest k-mer of each read of a group, and its bucket as the first row."""
    state, k = desk.state, query.table.k
    for half in range(0, size, LANES):
        for i in range(half, half + LANES):
            desk.n[i] = 0
            if i < size and length_of(patterns, group + i) > 0:
                desk.n[i] = n_hashed(query, length_of(patterns, group + i))
                desk.first[i] = at(patterns.first, 2 * (group + i))
        own = slice(half, half + LANES)
        smallest_kmers(patterns.words, desk.first[own], desk.n[own], k, desk.room)
        for i in range(half, min(half + LANES, size)):
            state[i, SORTED] = state[i, LO] = state[i, HI] = 0
            if desk.n[i] > 0:
                state[i, PLACE] = desk.room[i - half]
                kmer, state[i, STRAND] = canonical(patterns.words, desk.first[i], state[i, PLACE], k)
                state[i, LO], state[i, HI] = bucket_of(kmer, query.n_bits), 1
                prefetch(query.table.starts, state[i, LO])


@inlined
def _choose_rows(query, patterns, r, i, desk):
    """Note at which rows a read may occur: candidates, or an Anchor where there are too many."""
    state, anchor, length = desk.state, anchor_of(desk.state, i), length_of(patterns, r)
    n, known = anchor.hi - anchor.lo, n_left(query, length, anchor.place, anchor.strand)
    n_candidates = np.int64(-1)
    if n <= MANY or (n <= SCANNED and known >= TELLING):
        n_candidates = _candidates(query, patterns, r, i, anchor, desk)
    if n_candidates < 0:
        anchor = narrow(query, patterns, r, desk.room, anchor)
        keep_anchor(state, i, anchor)
        if anchor.hi - anchor.lo <= MANY:
            n_candidates = _candidates(query, patterns, r, i, anchor, desk)
    state[i, CANDIDATES] = n_candidates


@inlined
def _candidates(query, patterns, r, i, anchor, desk):
    """Note the rows of an Anchor whose symbols are the read's; how many, -1 if they are more than MANY."""
    left, length = left_of_read(query, patterns, r, anchor), length_of(patterns, r)
    n, by_text = np.int64(0), looks_at_text(query, length, anchor)
    for row in range(anchor.lo, anchor.hi):
        if may_be(at(query.table.rows, row), left):
            if n == MANY:
                return np.int64(-1)
            desk.rows[i, n] = row
            n += 1
    if by_text:
        for j in range(n):
            start = position_at_row(query, length, anchor, at(query.table.rows, desk.rows[i, j]))
            prefetch(query.words, max(start, np.int64(0)) >> 5)
            prefetch(query.words, max(start + length, np.int64(0)) >> 5)
    return n


@inlined
def _compare(query, numbered, r, i, desk, n_kept):
    """Number the occurrences of read r; how many positions are kept."""
    patterns, positions, rows = numbered.found.patterns, numbered.found.positions, desk.rows
    anchor, length, lo, hi = anchor_of(desk.state, i), length_of(patterns, r), numbered.lo, numbered.hi
    n = desk.state[i, CANDIDATES]
    if 0 <= n <= positions.size - n_kept:
        by_text, n_reverse = looks_at_text(query, length, anchor), np.int64(0)
        lo[2 * r] = KEPT + n_kept
        for j in range(n):
            row = at(query.table.rows, rows[i, j])
            if occurs(query, patterns, r, anchor, row, by_text):
                position = position_at_row(query, length, anchor, row)
                if strand_at(anchor, row):
                    rows[i, n_reverse] = position
                    n_reverse += 1
                else:
                    positions[n_kept] = position
                    n_kept += 1
        hi[2 * r] = lo[2 * r + 1] = KEPT + n_kept
        for j in range(n_reverse):
            positions[n_kept] = rows[i, j]
            n_kept += 1
        hi[2 * r + 1] = KEPT + n_kept
        return n_kept
    keep_anchor(numbered.found.anchors, r, anchor)
    n_forward, n_reverse = count_rows(query, patterns, r, anchor)
    lo[2 * r] = np.int64(2 * r + 1) << PATTERN_SHIFT
    lo[2 * r + 1] = np.int64(2 * r + 2) << PATTERN_SHIFT
    hi[2 * r], hi[2 * r + 1] = lo[2 * r] + n_forward, lo[2 * r + 1] + n_reverse
    return n_kept


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
