"""Scores of one sequence (the query) against many, 32 at a time, one pair a lane.

The matrix of differences of H (see sequences.py) is computed in slices of SLICE columns, as in the paper's
LazyRScan-mNW: a slice keeps its bottom row ``across`` (difference from the left neighbour) and hands only
its last column ``down`` (difference from the neighbour above) to the next slice.

    columns      0 .. 31 | 32 .. 63 |         arrays, lane last (32 bytes a cell)
    row i        . . . . down[i] . .          down     rows x 32
    row i + 1    . . . . down[i+1] .          across   SLICE x 32
    last row     across                       profile  5 letters x SLICE x 32: gain of letter against column

With t = max(gain, left, above) a cell hands on  across' = t - left,  down' = t - above.  Summing ``across``
along the last row up to a lane's own length gives H, so lanes of unequal length need no padding value.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.simd import LANES, load, maximum, minus, store
from .sequences import extent

SLICE = 32
N_CODES = 5


class Lanes(NamedTuple):
    """Scratch of one thread, flat arrays of differences, lane last, as drawn above."""

    down: np.ndarray
    across: np.ndarray
    profile: np.ndarray


def make_lanes(longest: int, dtype: type) -> Lanes:
    """Lanes for queries of up to ``longest`` letters; ``dtype`` is that of Scoring."""
    return Lanes(*(np.empty(n * LANES, dtype) for n in (longest + 4, SLICE, N_CODES * SLICE)))


@inlined
def _fill_profile(targets, chosen, column, gains, profile):
    """The gain of each letter against SLICE columns of the ``chosen`` targets, one a lane."""
    profile[:] = gains[1]
    for lane in range(chosen.size):
        start, length = extent(targets, chosen[lane])
        for j in range(min(SLICE, length - column)):
            code = targets.codes[start + column + j]
            if code < 4:
                profile[(code * SLICE + j) * LANES + lane] = gains[0]


@inlined
def _cell(gain, left, above):
    best = maximum(maximum(gain, above), left)
    return minus(best, left), minus(best, above)


@inlined
def _run_slice(codes, down, across, profile):
    """All rows of one slice, four at a time: their cells stay in registers, column after column."""
    across[:] = 0
    n, i = codes.size, 0
    while i + 3 < n:
        p0, p1 = np.intp(codes[i]) * SLICE * LANES, np.intp(codes[i + 1]) * SLICE * LANES
        p2, p3 = np.intp(codes[i + 2]) * SLICE * LANES, np.intp(codes[i + 3]) * SLICE * LANES
        d0, d1 = load(down, i * LANES), load(down, (i + 1) * LANES)
        d2, d3 = load(down, (i + 2) * LANES), load(down, (i + 3) * LANES)
        for j in range(SLICE):
            o = j * LANES
            x = load(across, o)
            x, d0 = _cell(load(profile, p0 + o), d0, x)
            x, d1 = _cell(load(profile, p1 + o), d1, x)
            x, d2 = _cell(load(profile, p2 + o), d2, x)
            x, d3 = _cell(load(profile, p3 + o), d3, x)
            store(across, o, x)
        store(down, i * LANES, d0)
        store(down, (i + 1) * LANES, d1)
        store(down, (i + 2) * LANES, d2)
        store(down, (i + 3) * LANES, d3)
        i += 4
    while i < n:
        p0, d0 = np.intp(codes[i]) * SLICE * LANES, load(down, i * LANES)
        for j in range(SLICE):
            o = j * LANES
            x, d0 = _cell(load(profile, p0 + o), d0, load(across, o))
            store(across, o, x)
        store(down, i * LANES, d0)
        i += 1


@inlined
def _score_chosen(task, query, chosen, work, out):
    """H of ``query`` against the ``chosen`` targets, int64, at most one a lane, into ``out`` int64."""
    start, m = extent(task.queries, query)
    codes, longest = task.queries.codes[start : start + m], 0
    for lane in range(chosen.size):
        out[lane] = 0
        longest = max(longest, extent(task.targets, chosen[lane])[1])
    work.down[: m * LANES] = 0
    for column in range(0, longest, SLICE):
        _fill_profile(task.targets, chosen, column, task.weights.gains, work.profile)
        _run_slice(codes, work.down, work.across, work.profile)
        for lane in range(chosen.size):
            for j in range(min(SLICE, extent(task.targets, chosen[lane])[1] - column)):
                out[lane] += np.int64(work.across[j * LANES + lane])


@compiled
def score_lanes(task, pairs, work, out):
    """H of each pair of a Task into ``out`` int64[n]; ``pairs`` as Job.order has them; ``work``: Lanes."""
    begin, n = 0, pairs.query.size
    while begin < n:
        query, end = pairs.query[begin], begin + 1
        while end < min(begin + LANES, n) and pairs.query[end] == query:
            end += 1
        _score_chosen(task, query, pairs.target[begin:end], work, out[begin:end])
        begin = end
