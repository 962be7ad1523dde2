"""One pair: its score and one best path, along the anti-diagonals of a band.

Cell (i, j) of the difference matrix (sequences.py) is on diagonal d = i + j and needs only diagonal d - 1.
``down`` is indexed by row and ``across`` by column from the right, so a diagonal is one contiguous run of
both, with 32 cells per vector:

          j  1 2 3 4 5                 down    [ pad | row 1 .. row m | pad ]      i ascending
      i 1    2 3 4 5 .                 across  [ pad | column n .. column 1 | pad ]   i ascending too
        2    3 4 5 . .
        3    4 5 . . .   d             band    low <= i - j <= high
        4    5 . . . .

Where a vector extends beyond the matrix, or a neighbour is outside the band, the gain or the difference is 0:
a valid lower bound, because H never falls. So the result is exact if all best paths are in the band, which
bounds.most_gaps guarantees. Two bits per cell record where it came from: diagonal before up before left, so
the path does not depend on the band.

The bits of a long pair would not fit into memory. Then the two arrays are saved every STEP diagonals, and the
trace-back recomputes one stretch of diagonals at a time, of which at most STEP rows are needed.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..compiler.simd import LANES, choose, equal_bits, fill, load, maximum, minus, store, within
from .sequences import extent

_PAD = LANES
MATCH, MISMATCH, INSERT, DELETE = range(4)  # =, X, I (query only), D (target only)


class Work(NamedTuple):
    """Scratch of one thread.

    ``query``, ``target`` uint8: codes with pads. ``down``, ``across``: differences. ``bits`` uint32: two
    words per block of 32 cells. ``saved``: the arrays at every ``step`` diagonals. ``runs`` int64: runs of a
    path, length * 4 + operation, last first.
    """

    query: np.ndarray
    target: np.ndarray
    down: np.ndarray
    across: np.ndarray
    bits: np.ndarray
    saved: np.ndarray
    step: np.ndarray
    runs: np.ndarray


def make_work(m: int, n: int, dtype: type, step: int = 8192, n_bits: int = 1 << 24) -> Work:
    """Return scratch for sequences of up to m and n bases.

    One piece has at most ``n_bits`` words of bits (64 MB).
    """
    whole = (m + n) * (((m + n) // 2 + LANES) // LANES) * 2
    piece = step * (step // LANES + 3) * 2
    n_saved = 0
    if whole > n_bits:
        n_saved = ((m + n) // step + 2) * (m + n + 4 * _PAD)
        whole = min(whole, max(n_bits, piece))
    rows, columns = m + 2 * _PAD, n + 2 * _PAD
    return Work(
        np.empty(rows, np.uint8), np.empty(columns, np.uint8),
        np.empty(rows, dtype), np.empty(columns, dtype), np.empty(whole, np.uint32),
        np.empty(n_saved, dtype), np.array([step], np.int64), np.empty(m + n + 1, np.int64),
    )  # fmt: skip


class _Band(NamedTuple):
    """The band of a pair of lengths ``m`` and ``n``.

    Each diagonal has ``rows`` rows, whole blocks of 32, from where i - j is ``low``. The band never drops a
    row or column and takes it up again: the differences would belong to two different places.
    """

    m: int
    n: int
    low: int
    rows: int


class _Stretch(NamedTuple):
    """Diagonals ``first`` + 1 to ``last``, and their rows ``floor`` to ``ceiling``.

    If bits are recorded, they have room for ``n_blocks`` blocks of 32 rows per diagonal.
    """

    first: int
    last: int
    floor: int
    ceiling: int
    n_blocks: int


@inlined
def _copy_codes(task, query, target, work):
    """Copy the codes to the scratch; codes that must never be equal differ on the two sides."""
    start, m = extent(task.queries, query)
    work.query[:_PAD] = 6
    for i in range(m):
        work.query[_PAD + i] = task.queries.codes[start + i]
    work.query[_PAD + m : 2 * _PAD + m] = 6
    start, n = extent(task.targets, target)
    work.target[:_PAD] = 7
    for j in range(n):
        code = task.targets.codes[start + j]
        work.target[_PAD + n - 1 - j] = code if code < 4 else np.uint8(5)
    work.target[_PAD + n : 2 * _PAD + n] = 7
    return m, n


@inlined
def _first_block(d, low, floor):
    """Return (first row of diagonal d in the band, first of its blocks that reaches row ``floor``)."""
    base = (d + low + 1) >> 1
    return base, max(0, floor - base) >> 5


@inlined
def _sweep(work, band, stretch, gains, record):
    """Compute a _Stretch, and its bits if ``record``; return its part of H, int64.

    The part is the sum of differences along the staircase nearest to the straight line; over all diagonals it
    is H.
    """
    down, across, bits = work.down, work.across, work.bits
    m, n, first = band.m, band.n, stretch.first
    match, mismatch = fill(down, gains[0]), fill(down, gains[1])
    h, row = np.int64(0), first * m // (m + n)
    for d in range(first + 1, stretch.last + 1):
        base, block = _first_block(d, band.low, stretch.floor)
        top, bottom = max(1, d - n), min(m, d - 1)
        start = base + (max(block, (top - base) >> 5) << 5)
        stop = min(min(bottom, stretch.ceiling), base + band.rows - 1)
        for i in range(start, stop + 1, LANES):
            r, c = _PAD + i - 1, _PAD + n - d + i
            left, above = load(down, r), load(across, c)
            gain = choose(load(work.query, r), load(work.target, c), match, mismatch)
            if i < top or i + LANES - 1 > bottom:
                gain = within(gain, top - i, bottom - i)
            best = maximum(maximum(gain, above), left)
            store(down, r, minus(best, above))
            store(across, c, minus(best, left))
            if record:
                at = ((d - first - 1) * stretch.n_blocks + ((i - base) >> 5) - block) * 2
                bits[at] = equal_bits(best, gain)
                bits[at + 1] = equal_bits(best, above)
        below = d * m // (m + n)
        if below > row:
            h += np.int64(down[_PAD + below - 1])
        else:
            h += np.int64(across[_PAD + n - (d - below)])
        row = below
    return h


@inlined
def _push(runs, n_runs, operation, length):
    """Add a run to a path of ``n_runs`` runs, int64 length * 4 + operation; return the new number."""
    if length > 0:
        if n_runs and (runs[n_runs - 1] & 3) == operation:
            runs[n_runs - 1] += length << 2
        else:
            runs[n_runs] = (length << 2) | operation
            n_runs += 1
    return n_runs


@inlined
def _walk(work, band, stretch, diagonal, i, j, n_runs):
    """Follow the bits of a _Stretch from (i, j) to its first diagonal or an edge.

    Return (i, j, n_runs) there.
    """
    while i > 0 and j > 0 and i + j > stretch.first:
        d = i + j
        base, block = _first_block(d, band.low, stretch.floor)
        offset = i - base
        at = ((d - stretch.first - 1) * stretch.n_blocks + (offset >> 5) - block) * 2
        bit = np.uint32(1) << np.uint32(offset & 31)
        equal = work.query[_PAD + i - 1] == work.target[_PAD + band.n - j]
        if work.bits[at] & bit and (diagonal[0] if equal else diagonal[1]):
            n_runs = _push(work.runs, n_runs, MATCH if equal else MISMATCH, 1)
            i, j = i - 1, j - 1
        elif work.bits[at + 1] & bit:
            n_runs = _push(work.runs, n_runs, INSERT, 1)
            i -= 1
        else:
            n_runs = _push(work.runs, n_runs, DELETE, 1)
            j -= 1
    return i, j, n_runs


@inlined
def _copy(source, start, target, to, size):
    for i in range(size):
        target[to + i] = source[start + i]


@inlined
def _save(work, band, slot, restore):
    """Save both arrays of differences in a slot, or restore them."""
    size_m, size_n = band.m + 2 * _PAD, band.n + 2 * _PAD
    at = slot * (size_m + size_n)
    if restore:
        _copy(work.saved, at, work.down, 0, size_m)
        _copy(work.saved, at + size_m, work.across, 0, size_n)
    else:
        _copy(work.down, 0, work.saved, at, size_m)
        _copy(work.across, 0, work.saved, at + size_m, size_n)


@inlined
def align_pair(task, query, target, work, low, high, least):
    """Return (H, number of runs in work.runs) of a pair of a Task; no path (0 runs) if H < ``least``.

    ``low``, ``high``: the band, low <= min(0, m - n), high >= max(0, m - n).
    """
    gains, diagonal = task.weights.gains, task.weights.diagonal
    m, n = _copy_codes(task, query, target, work)
    low, high = max(low, -n), min(high, m)
    work.down[: m + 2 * _PAD] = 0
    work.across[: n + 2 * _PAD] = 0
    n_runs, h, everything = 0, np.int64(0), m + n
    if m == 0 or n == 0:
        if h >= least:
            n_runs = _push(work.runs, n_runs, INSERT, m)
            n_runs = _push(work.runs, n_runs, DELETE, n)
        return h, n_runs
    n_blocks = ((high - low) // 2 + LANES) // LANES
    i, j, band = m, n, _Band(m, n, low, n_blocks * LANES)
    if everything * n_blocks * 2 <= work.bits.size:
        whole = _Stretch(0, everything, -everything, m, n_blocks)
        h = _sweep(work, band, whole, gains, True)
        if h < least:
            return h, n_runs
        i, j, n_runs = _walk(work, band, whole, diagonal, i, j, n_runs)
    else:
        step = work.step[0]
        for first in range(0, everything, step):
            _save(work, band, first // step, False)
            piece = _Stretch(first, min(first + step, everything), -everything, m, n_blocks)
            h += _sweep(work, band, piece, gains, False)
        if h < least:
            return h, n_runs
        n_blocks = min(n_blocks, step // LANES + 3)
        while i > 0 and j > 0:
            slot = (i + j - 1) // step
            first, last = slot * step, i + j
            piece = _Stretch(first, last, i - (last - first), i, n_blocks)
            _save(work, band, slot, True)
            _sweep(work, band, piece, gains, True)
            i, j, n_runs = _walk(work, band, piece, diagonal, i, j, n_runs)
    n_runs = _push(work.runs, n_runs, INSERT, i)
    n_runs = _push(work.runs, n_runs, DELETE, j)
    return h, n_runs
