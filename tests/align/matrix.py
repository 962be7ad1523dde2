"""The path of a pair whose whole matrix was kept (by one of the matrix kernels), as the paper traces back.

``matrix`` holds H (scoring.py) of cells (1, 1) to (m, n), row by row; row and column 0 are zeros, not kept.
"""

import numpy as np
from kept import compiled

from fmx.align.band import DELETE, INSERT, MATCH, MISMATCH, push
from fmx.compiler.functions import inlined


@inlined
def _at(matrix, first, n, i, j):
    return matrix[first + (i - 1) * n + j - 1] if i > 0 and j > 0 else matrix[0] * 0


@compiled
def walk_matrix(queries, query, targets, target, matrix, first, gains, diagonal, runs):
    """Runs of the best path, last first, into ``runs``; returns (H, number of runs).

    The same path as band.align_pair: diagonal before up before left.
    """
    a, m = queries.starts[query], queries.starts[query + 1] - queries.starts[query]
    b, n = targets.starts[target], targets.starts[target + 1] - targets.starts[target]
    i, j, n_runs = m, n, 0
    while i > 0 and j > 0:
        here = _at(matrix, first, n, i, j)
        equal = queries.codes[a + i - 1] == targets.codes[b + j - 1] and queries.codes[a + i - 1] < 4
        gain = gains[0] if equal else gains[1]
        may = diagonal[0] if equal else diagonal[1]
        if may and here == _at(matrix, first, n, i - 1, j - 1) + gain:
            n_runs = push(runs, n_runs, MATCH if equal else MISMATCH, 1)
            i, j = i - 1, j - 1
        elif here == _at(matrix, first, n, i - 1, j):
            n_runs = push(runs, n_runs, INSERT, 1)
            i -= 1
        else:
            n_runs = push(runs, n_runs, DELETE, 1)
            j -= 1
    n_runs = push(runs, n_runs, INSERT, i)
    n_runs = push(runs, n_runs, DELETE, j)
    return np.int64(_at(matrix, first, n, m, n)), n_runs
