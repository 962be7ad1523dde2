"""Text positions of rows, from the whole suffix array, or from every s-th position and an LF walk.

A walk takes k-steps, so positions are kept in groups of k: offset o in a block is kept if o mod (k s) < k.
From any position at most s - 1 steps of k lead to a kept one (or more steps of less than k), and the start of
a block is always kept (its row has no preceding k-symbol).  A layout that walks forwards (COFI) also needs
the last k positions of a block.  So 1/s of the positions are kept, plus these.  A bit column marks the kept
rows; the count before a row is the index of its position.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..compiler.primitives import prefetch
from ..machines.jobs import ONE_CORE, Array, Backend, choose, do
from .contracts import neighbour, position_of, prefetch_position
from .layouts.entries import count_in_column, is_set, set_bit

_D, _W = 96, 2  # positions and words of an entry of the marks, one unit: the format on disk (disk.py)


class FullSA(NamedTuple):
    """The whole suffix array: ``positions`` uint32[n], by row."""

    positions: np.ndarray


class SampledSA(NamedTuple):
    """``positions`` uint32[kept], by row; ``marks`` uint64 bit column (d = 96) over the ``n`` rows.

    ``reach``: an upper bound of a walk, in symbols.
    """

    positions: np.ndarray
    marks: np.ndarray
    n: int
    reach: int


def reach_of(s: int, k: int) -> int:
    """Return an upper bound of a walk in symbols if every s-th position is kept, for steps of up to k."""
    return k * (s + 1)


@position_of.register(FullSA)
def _position_full(sa, layout, row):
    return np.int64(sa.positions[row])


@prefetch_position.register(FullSA)
def _prefetch_full(sa, row):
    prefetch(sa.positions, row)


@position_of.register(SampledSA)
def _position_sampled(sa, layout, row):
    distance = np.int64(0)
    while 0 <= row < sa.n and abs(distance) <= sa.reach:  # always true, unless arrays contradict each other
        entry = row // _D
        if is_set(sa.marks, entry * _W, row - entry * _D):
            i = count_in_column(sa.marks, entry * _W, row - entry * _D, 1)
            position = np.int64(sa.positions[i]) + distance if i < sa.positions.size else np.int64(-1)
            return position if 0 <= position < sa.n else np.int64(0)
        row, step = neighbour(layout, row)
        distance -= step
    return np.int64(0)


@prefetch_position.register(SampledSA)
def _prefetch_sampled(sa, row):
    prefetch(sa.marks, row // _D * _W)


def n_mark_words(n: int) -> int:
    """Return the words of the marks of n rows."""
    return (n // _D + 1) * _W


def sample(
    sa: Array, block_starts: np.ndarray, s: int, k: int, ahead: int = 0, backend: Backend = ONE_CORE
) -> SampledSA:
    """Keep every s-th position of ``sa`` (uint32[n], on the backend) for walks of up to k symbols per step.

    ``ahead``: the largest k of layouts that walk forwards, 0 if there is none; ``block_starts``
    int64[n_blocks]: text positions in ascending order.
    """
    bits = np.zeros(sa.size // 8 + 1, np.uint8)
    _keep_positions(sa.size, block_starts, s, k, ahead, bits)
    choice, n_words = SampledRows(sa, backend.from_host(bits)), n_mark_words(sa.size)
    n_rows = n_words // _W * _D
    ends = backend.count(choice, n_rows, _D)
    positions = backend.pick(choice, n_rows, ends, backend.empty(int(ends[-1]), np.uint32), _D)
    marks = backend.zeros(n_words, np.uint64)
    backend.run(Mark(choice, backend.from_host(ends[:-1]), marks), n_rows, backend.stretch_size(n_rows, _D))
    return SampledSA(positions, marks, sa.size, reach_of(s, k))


@compiled
def _keep_positions(n, block_starts, s, k, ahead, bits):
    for block in range(block_starts.size):
        stop = block_starts[block + 1] if block + 1 < block_starts.size else n
        for start in range(block_starts[block], stop, k * s):
            for position in range(start, min(start + k, stop)):
                bits[position >> 3] |= np.uint8(1 << (position & 7))
        for position in range(max(block_starts[block], stop - ahead), stop):
            bits[position >> 3] |= np.uint8(1 << (position & 7))


@choose.of("sa bits")
def SampledRows(choice, row):
    """Return the position of a row if its bit in ``bits`` (uint8, 8 positions each) is set, else -1."""
    if row >= choice.sa.size:
        return np.int64(-1)
    position = np.int64(choice.sa[row])
    return position if (choice.bits[position >> 3] >> np.uint8(position & 7)) & np.uint8(1) else np.int64(-1)


@do.of("choice before marks")
def Mark(job, stretch, start, stop):
    """Write ``marks`` of the chosen rows; ``before`` int64[stretches]: how many are before a stretch."""
    n_kept = job.before[stretch]
    for first in range(start, stop, _D):
        entry = first // _D
        job.marks[entry * _W] = np.uint64(n_kept)
        for row in range(first, first + _D):
            if choose(job.choice, row) >= 0:
                set_bit(job.marks, entry * _W, row - first)
                n_kept += 1
