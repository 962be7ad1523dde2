"""Intervals -> hits: which occurrences of a read are reported, and where they are.

The rule (SelectionPolicy): all occurrences of a read, of both strands, in the order of contig, position,
strand (+ first); of these the first ``limit``, or ``limit`` of them drawn by a seed and the read's name;
none if there are more than ``at_most``.  The number of occurrences is known before any is located.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.sorting import sort
from ..index.contracts import position_of, prefetch_position

ALL = 2**62  # a limit that is none
_AHEAD = 16  # reads whose rows are prefetched


class Intervals(NamedTuple):
    """SA intervals, half-open.  ``lo``, ``hi`` uint32[2 * n_reads]: row 2r is read r, 2r + 1 its reverse.

    Of located.py, int64.
    """

    lo: np.ndarray
    hi: np.ndarray


class Hits(NamedTuple):
    """Reported occurrences.  ``first`` int64[n_reads + 1]; read r has hits first[r] to first[r + 1].

    ``position`` int64[n_hits], in the text; ``reverse`` bool[n_hits]; ``total`` int64[n_reads], the exact
    number of occurrences, reported or not.
    """

    first: np.ndarray
    position: np.ndarray
    reverse: np.ndarray
    total: np.ndarray


@dataclass(frozen=True)
class SelectionPolicy:
    """At most ``limit`` hits of a read, none if more than ``at_most``; ``seed`` < 0: the first ones."""

    limit: int = 1
    at_most: int = ALL
    seed: int = -1


def count(intervals) -> np.ndarray:
    """Exact number of occurrences of each read, int64[n_reads]."""
    size = intervals.hi.astype(np.int64) - intervals.lo
    return size[0::2] + size[1::2]


def select(sa, layout, batch, intervals, span, policy) -> Hits:
    """The hits of reads span[0] to span[1] of a batch."""
    start, stop = span
    total = count(Intervals(intervals.lo[2 * start : 2 * stop], intervals.hi[2 * start : 2 * stop]))
    reported = np.where(total > policy.at_most, 0, np.minimum(total, policy.limit))
    first = np.zeros(stop - start + 1, np.int64)
    np.cumsum(reported, out=first[1:])
    hits = Hits(first, np.empty(first[-1], np.int64), np.empty(first[-1], np.bool_), total)
    scratch = np.empty(max(1, int(total.max(initial=0))), np.int64)
    _select(sa, layout, batch, intervals, start, hits, policy.seed, scratch)
    return hits


@compiled
def _select(sa, layout, batch, intervals, start, hits, seed, scratch):
    n_reads = hits.total.size
    for r in range(n_reads):
        if r + _AHEAD < n_reads:
            row = 2 * (start + r + _AHEAD)
            if intervals.lo[row] < intervals.hi[row]:
                prefetch_position(sa, np.int64(intervals.lo[row]))
            elif intervals.lo[row + 1] < intervals.hi[row + 1]:
                prefetch_position(sa, np.int64(intervals.lo[row + 1]))
        out, n = hits.first[r], hits.first[r + 1] - hits.first[r]
        if n == 0:
            continue
        total = hits.total[r]
        if n == 1 and seed < 0:
            key = _first_key(sa, layout, intervals, 2 * (start + r))
            hits.position[out], hits.reverse[out] = key >> 1, key & 1
            continue
        _all_keys(sa, layout, intervals, 2 * (start + r), scratch)
        sort(scratch, total)
        if seed >= 0 and n < total:
            _draw(scratch, total, n, _hash_name(batch, start + r, seed))
        for j in range(n):
            hits.position[out + j], hits.reverse[out + j] = scratch[j] >> 1, scratch[j] & 1


@inlined
def _first_key(sa, layout, intervals, row):
    """The smallest key, position * 2 + strand, of a read's occurrences."""
    smallest = np.int64(ALL)
    for strand in range(2):
        for i in range(np.int64(intervals.lo[row + strand]), np.int64(intervals.hi[row + strand])):
            smallest = min(smallest, position_of(sa, layout, i) * 2 + strand)
    return smallest


@inlined
def _all_keys(sa, layout, intervals, row, keys):
    n = 0
    for strand in range(2):
        for i in range(np.int64(intervals.lo[row + strand]), np.int64(intervals.hi[row + strand])):
            keys[n] = position_of(sa, layout, i) * 2 + strand
            n += 1


@inlined
def _hash_name(batch, r, seed):
    """64-bit FNV-1a of the seed and the read's name, finished by a multiply and shift."""
    x = np.uint64(0xCBF29CE484222325) ^ np.uint64(seed)
    for i in range(batch.name_start[r], batch.name_start[r] + batch.name_length[r]):
        x = (x ^ np.uint64(batch.data[i])) * np.uint64(0x100000001B3)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return x ^ (x >> np.uint64(29))


@inlined
def _draw(keys, total, n, x):
    """Move n keys drawn by the random word x to the front, in order (a partial Fisher-Yates shuffle)."""
    for j in range(n):
        x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = j + np.int64((x >> np.uint64(33)) % np.uint64(total - j))
        keys[j], keys[other] = keys[other], keys[j]
    sort(keys, n)
