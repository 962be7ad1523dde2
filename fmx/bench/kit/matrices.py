"""Pairs on a GPU with room for what the papers' kernels write, and a row of what was measured.

The first row and column of H are zeros, which are therefore neither stored nor copied: a matrix is m x n.
"""

import numpy as np

from ...align.cuda.kernels import Batch, run_lazy
from ...align.scoring import Scoring
from ...machines import gpu
from .dscan import run_dscan
from .rscan import run_rscan
from .tiled import run_tiled

GAINS = Scoring().gains


def make_batch(queries, targets, pair_query, pair_target, gains=GAINS) -> Batch:
    """Copy a batch to the GPU."""
    return Batch(
        gpu.to_device(np.append(queries.codes, np.uint8(0))),
        gpu.to_device(queries.starts),
        gpu.to_device(np.append(targets.codes, np.uint8(0))),
        gpu.to_device(targets.starts),
        gpu.to_device(np.ascontiguousarray(pair_query, np.int32)),
        gpu.to_device(np.ascontiguousarray(pair_target, np.int32)),
        gpu.to_device(np.array(gains, np.int32)),
    )


class Matrices:
    """A ``batch`` of ``n`` pairs with room for whole matrices: int32 ``matrix``, that of a pair from
    ``starts`` int64[n + 1] on; ``longest`` (m, n) of the sequences."""

    def __init__(self, queries, targets, pair_query, pair_target, gains=GAINS):
        m, n = queries.lengths(), targets.lengths()
        self.n, self.longest = len(pair_query), (queries.longest, targets.longest)
        self.batch = make_batch(queries, targets, pair_query, pair_target, gains)
        starts = np.append(0, np.cumsum(m[pair_query] * n[pair_target])).astype(np.int64)
        self.starts = gpu.to_device(starts)
        self.matrix = gpu.empty(int(starts[-1]) + 1, np.int32)

    def run(self, kernel, block=0, k=32, stream=0):
        """Start a kernel: tiled, dscan or rscan."""
        if kernel == "tiled":
            run_tiled(self, k, stream)
        elif kernel == "dscan":
            run_dscan(self, block or 512, stream=stream)
        else:
            run_rscan(self, block or 32, k, stream)


class Columns:
    """A ``batch`` of ``n`` pairs with room for a column of each and for H, ``out`` int32[n] (LazyRScan)."""

    def __init__(self, queries, targets, pair_query, pair_target, gains=GAINS):
        self.n = len(pair_query)
        self.batch = make_batch(queries, targets, pair_query, pair_target, gains)
        self.column = gpu.empty(self.n * queries.longest, np.int32)
        self.out = gpu.empty(self.n, np.int32)

    def run(self, block, k):
        """Start the kernel."""
        run_lazy(self.batch, self.column, self.out, self.n, block, k)
