"""Scores of one sequence (the query) against many, 32 at a time, one pair a lane.

The matrix of differences of H (see scoring.py) is computed in slices of SLICE columns, as in the paper's
LazyRScan-mNW: a slice keeps its bottom row ``across`` (difference from the left neighbour) and hands only
its last column ``down`` (difference from the neighbour above) to the next slice.

    columns      0 .. 31 | 32 .. 63 |         arrays, lane last (32 bytes a cell)
    row i        . . . . down[i] . .          down     rows x 32
    row i + 1    . . . . down[i+1] .          across   SLICE x 32
    last row     across                       profile  5 letters x SLICE x 32: gain of letter against column

With t = max(gain, left, above) a cell hands on  across' = t - left,  down' = t - above.  Summing ``across``
along the last row up to a lane's own length gives H, so lanes of unequal length need no padding value.
"""

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.simd import LANES, load, maximum, minus, store

SLICE = 32
N_CODES = 5


def work_arrays(longest, dtype):
    """Scratch for one thread: rows up to ``longest``."""
    return (
        np.empty((longest + 4) * LANES, dtype),
        np.empty(SLICE * LANES, dtype),
        np.empty(N_CODES * SLICE * LANES, dtype),
    )


@inlined
def _fill_profile(targets, chosen, first, n_lanes, column, match, mismatch, profile):
    profile[:] = mismatch
    for lane in range(n_lanes):
        start, stop = targets.starts[chosen[first + lane]], targets.starts[chosen[first + lane] + 1]
        for j in range(min(SLICE, stop - start - column)):
            code = targets.codes[start + column + j]
            if code < 4:
                profile[(code * SLICE + j) * LANES + lane] = match


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


@compiled
def score_lanes(queries, targets, query, chosen, gains, down, across, profile, out):
    """H of ``query`` against each of the ``chosen`` targets (ascending lengths waste least), into ``out``.

    ``chosen`` int64[m]; ``gains`` (match, mismatch); ``out`` int64[m].
    """
    codes = queries.codes[queries.starts[query] : queries.starts[query + 1]]
    match, mismatch = gains
    for first in range(0, chosen.size, LANES):
        n_lanes = min(LANES, chosen.size - first)
        longest = 0
        for lane in range(n_lanes):
            c = chosen[first + lane]
            out[first + lane] = 0
            longest = max(longest, targets.starts[c + 1] - targets.starts[c])
        down[: codes.size * LANES] = 0
        for column in range(0, longest, SLICE):
            _fill_profile(targets, chosen, first, n_lanes, column, match, mismatch, profile)
            _run_slice(codes, down, across, profile)
            for lane in range(n_lanes):
                c = chosen[first + lane]
                length = targets.starts[c + 1] - targets.starts[c]
                for j in range(min(SLICE, length - column)):
                    out[first + lane] += np.int64(across[j * LANES + lane])
