"""Rows -> text positions: the whole suffix array, or every s-th position and an LF walk.

A walk takes k-steps, so positions are kept in groups of k: offset o in a block is kept if o mod (k s) < k.
From any position at most s - 1 steps of k lead to a kept one (or more steps of less than k), and the start
of a block is always kept (its row has no preceding k-symbol).  A layout that walks forwards (COFI) needs the
last k positions of a block too.  1/s of the positions are kept, and these.  A bit column marks the kept rows;
the count before a row is the index of its position.
"""

from typing import NamedTuple

import numpy as np

from .bitcolumn import count_before, is_set, set_bit
from .contracts import neighbour, position_of, prefetch_position
from .jit import compiled, prefetch

_D, _W = 96, 2  # positions and words of an entry of the marks, one lane


class FullSA(NamedTuple):
    """``positions`` uint32[n], by row (of located.py: int64)."""

    positions: np.ndarray


class SampledSA(NamedTuple):
    """``positions`` uint32[kept], by row; ``marks`` uint64 bit column (d = 96) over the n rows."""

    positions: np.ndarray
    marks: np.ndarray


@position_of.register(FullSA)
def _position_full(sa, layout, row):
    return np.int64(sa.positions[row])


@prefetch_position.register(FullSA)
def _prefetch_full(sa, row):
    prefetch(sa.positions, row)


@position_of.register(SampledSA)
def _position_sampled(sa, layout, row):
    steps = 0
    while True:
        entry = row // _D
        if is_set(sa.marks, entry * _W, row - entry * _D):
            return np.int64(sa.positions[count_before(sa.marks, entry * _W, row - entry * _D, 1)]) + steps
        row, step = neighbour(layout, row)
        steps -= step


@prefetch_position.register(SampledSA)
def _prefetch_sampled(sa, row):
    prefetch(sa.marks, row // _D * _W)


def sample(sa, block_starts, s, k, ahead=0) -> SampledSA:
    """Keep every s-th position of ``sa`` (uint32[n]) for walks of up to k symbols a step.

    ``ahead`` is the largest k of the layouts that walk forwards, 0 if there is none; ``block_starts``
    int64[n_blocks], text positions in ascending order.
    """
    kept = np.zeros(sa.size // 8 + 1, np.uint8)
    _keep_positions(sa.size, block_starts, s, k, ahead, kept)
    marks = np.zeros((sa.size // _D + 1) * _W, np.uint64)
    positions = np.empty(_count(kept), np.uint32)
    _mark(sa, kept, marks, positions)
    return SampledSA(positions, marks)


@compiled
def _keep_positions(n, block_starts, s, k, ahead, kept):
    """Set the bits of the kept text positions."""
    for block in range(block_starts.size):
        stop = block_starts[block + 1] if block + 1 < block_starts.size else n
        for start in range(block_starts[block], stop, k * s):
            for position in range(start, min(start + k, stop)):
                kept[position >> 3] |= np.uint8(1 << (position & 7))
        for position in range(max(block_starts[block], stop - ahead), stop):
            kept[position >> 3] |= np.uint8(1 << (position & 7))


def _count(bits) -> int:
    return int(np.bitwise_count(bits).sum(dtype=np.int64))


@compiled
def _mark(sa, kept, marks, positions):
    n_kept = np.int64(0)
    for row in range(sa.size):
        entry = row // _D
        if row % _D == 0:
            marks[entry * _W] |= np.uint64(n_kept)
        position = np.int64(sa[row])
        if (kept[position >> 3] >> np.uint8(position & 7)) & np.uint8(1):
            set_bit(marks, entry * _W, row - entry * _D)
            positions[n_kept] = sa[row]
            n_kept += 1
    if sa.size % _D == 0:
        marks[sa.size // _D * _W] |= np.uint64(n_kept)
