"""Kernels of Truong et al. 2014 that fmx pairwise does not use: DScan, RScan and TiledDScan write matrices.

The first row and column of H are zeros and are neither stored nor copied: a matrix is m x n.
"""

from typing import Any

import numpy as np

from fmx.align.gpu import Batch, cell, extent, query_code, run_lazy
from fmx.align.sequences import Scoring, Sequences
from fmx.compiler.warp import INT32, INT64, UINT8, cuda, kernel
from fmx.machines import gpu

GAINS = Scoring().gains


class PairBatch:
    """A ``batch`` of ``n`` pairs, int64 indices of queries and targets, on the GPU.

    ``longest``: (m, n) of the sequences.
    """

    def __init__(
        self,
        queries: Sequences,
        targets: Sequences,
        pair_query: np.ndarray,
        pair_target: np.ndarray,
        gains: tuple[int, int] = GAINS,
    ) -> None:
        self.n, self.longest = len(pair_query), (queries.longest, targets.longest)
        m, n = queries.lengths(), targets.lengths()
        self.cells = m[pair_query] * n[pair_target]
        arrays = [
            np.append(queries.codes, np.uint8(0)), queries.starts,
            np.append(targets.codes, np.uint8(0)), targets.starts,
            pair_query.astype(np.int32), pair_target.astype(np.int32), np.array(gains, np.int32),
        ]  # fmt: skip
        self.batch = Batch._make(map(gpu.to_device, arrays))


class MatrixBatch(PairBatch):
    """A PairBatch with room for whole matrices.

    ``matrix`` int32: the matrix of a pair from ``starts`` int64[n + 1] on.
    """

    def __init__(self, *pairs: Any) -> None:
        super().__init__(*pairs)
        starts = np.append(0, np.cumsum(self.cells)).astype(np.int64)
        self.starts = gpu.to_device(starts)
        self.matrix = gpu.empty(int(starts[-1]) + 1, np.int32)


class ColumnBatch(PairBatch):
    """A PairBatch with room for a column of each pair, and for H, ``out`` int32[n] (LazyRScan)."""

    def __init__(self, *pairs: Any) -> None:
        super().__init__(*pairs)
        n_threads = -(-self.n // 512) * 512  # of any block
        self.column, self.out = (gpu.empty(n, np.int32) for n in (n_threads * self.longest[0], self.n))

    def run(self, block: int, k: int) -> None:
        """Launch the kernel."""
        run_lazy(self.batch, self.column, self.out, self.n, (-(-self.n // block), block), k)


# DScan-mNW: one block per pair, the matrix anti-diagonal by anti-diagonal, three of them in shared memory.
#
#     before last   before   new            new[r] = max(before_last[r - 1] + gain, before[r - 1], before[r])
#        r - 1       r - 1                  then written to the matrix (row-major, so not coalesced)
#                    r         r
#
# A matrix with more rows than fit is computed in strips of ``rows`` rows; a strip reads the last row of the
# one above from global memory. Shared memory: 3 rows ints, 2 rows codes; target codes are a ring buffer, one
# new per step.

ROWS, ROW_BYTES = 3072, 14  # 42 of the 48 kB that every GPU gives a block


@kernel
def dscan_kernel(batch, starts, matrix, rows):
    """Compute the matrix of each pair of a Batch, one block per pair.

    Written by rows to ``matrix`` int32, from int64 starts[pair] on.
    """
    pair, t, n_threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    a, m, b, n = extent(batch, pair)
    shared = cuda.shared.array(0, INT32)
    codes = cuda.shared.array(0, UINT8)
    x, y = 12 * rows, 13 * rows
    match, mismatch, base = batch.gains[0], batch.gains[1], starts[pair]
    zero = match * 0
    for row0 in range(0, m, rows):
        height = min(rows, m - row0)
        for r in range(t, height, n_threads):
            codes[x + r] = query_code(batch, a + row0 + r)
        new, before, before_last, newest = 0, rows, 2 * rows, 0  # newest: d % rows
        for d in range(height + n - 1):
            if t == 0 and d < n:
                codes[y + newest] = batch.target[b + d]
            cuda.syncthreads()
            for r in range(max(0, d - n + 1) + t, min(height, d + 1), n_threads):
                c = d - r
                up = left = diagonal = zero
                if c > 0:
                    left = shared[before + r]
                if r > 0:
                    up = shared[before + r - 1]
                    if c > 0:
                        diagonal = shared[before_last + r - 1]
                elif row0 > 0:
                    up = matrix[base + (row0 - 1) * n + c]
                    if c > 0:
                        diagonal = matrix[base + (row0 - 1) * n + c - 1]
                at = newest - r if newest >= r else newest - r + rows
                value = cell(codes[x + r], codes[y + at], match, mismatch, diagonal, up, left)
                shared[new + r] = value
                matrix[base + (row0 + r) * n + c] = value
            before_last, before, new = before, new, before_last
            newest = newest + 1 if newest + 1 < rows else 0
        cuda.syncthreads()


def run_dscan(matrices: MatrixBatch, block: int = 512, rows: int = ROWS, stream: Any = 0) -> None:
    """Compute all pairs of a MatrixBatch in one launch."""
    rows = max(1, min(rows, matrices.longest[0]))
    launch = dscan_kernel[matrices.n, block, stream, ROW_BYTES * rows]
    launch(matrices.batch, matrices.starts, matrices.matrix, rows)


# RScan-mNW: one thread per pair, row by row, in slices of k columns; two rows of the slice in shared memory.
#
#     compute     thread t fills its new row from its previous one; the left-most value comes from the matrix
#     write       the threads of the block together write each pair's row, coalesced
#
# Shared memory: (2k ints, k codes) x block, after 16 bytes per thread with the place of its matrix, which the
# write phase needs for every pair of the block. Value c of thread t is at c * block + (t + c) % block, so
# that neither phase has bank conflicts.


@kernel
def rscan_kernel(batch, starts, matrix, k, n_pairs):
    """Compute the matrix of each pair of a Batch, one thread per pair.

    Written by rows to ``matrix`` int32, from int64 starts[pair] on.
    """
    block, t = cuda.blockDim.x, cuda.threadIdx.x
    first = cuda.blockIdx.x * block
    pair = first + t
    shared = cuda.shared.array(0, INT32)
    codes = cuda.shared.array(0, UINT8)
    places = cuda.shared.array(0, INT64)  # where each pair's matrix begins, then (as int32) n and m of each
    widths, heights, rows_at = 2 * block, 3 * block, 4 * block
    y = 16 * block + 8 * k * block
    match, mismatch = batch.gains[0], batch.gains[1]
    zero, one, step = match * 0, np.uint64(1), np.uint64(block)  # unsigned indices: none is negative
    longest_m = longest_n = 0
    for p in range(first, min(first + block, n_pairs)):
        _, rows, _, columns = extent(batch, p)
        longest_m, longest_n = max(longest_m, rows), max(longest_n, columns)
    a, m, b, n = extent(batch, min(pair, n_pairs - 1))
    if pair >= n_pairs:
        m = 0
    base = starts[min(pair, n_pairs - 1)]
    places[t], shared[widths + t], shared[heights + t] = base, n, m
    cuda.syncthreads()
    for column0 in range(0, longest_n, k):
        width = min(k, n - column0)
        for c in range(width):
            codes[y + c * block + t] = batch.target[b + column0 + c]
            shared[rows_at + c * block + (t + c) % block] = zero
        new, previous, diagonal = rows_at + k * block, rows_at, zero
        for row in range(longest_m):
            if row < m and width > 0:
                left = zero
                if column0 > 0:
                    left = matrix[base + row * n + column0 - 1]
                next_diagonal = left
                letter, turn, code = query_code(batch, a + row), np.uint64(t), np.uint64(y + t)
                old, fresh = np.uint64(previous), np.uint64(new)
                for _ in range(width):
                    up = shared[old + turn]
                    left = cell(letter, codes[code], match, mismatch, diagonal, up, left)
                    shared[fresh + turn] = left
                    diagonal = up
                    turn = turn + one if turn + one < step else np.uint64(0)
                    old, fresh, code = old + step, fresh + step, code + step
                diagonal = next_diagonal
            cuda.syncthreads()
            for p in range(min(block, n_pairs - first)):
                if row < shared[heights + p]:
                    columns = shared[widths + p]
                    place = places[p] + row * columns + column0
                    turn = p + t if p + t < block else p + t - block  # equal for t + block, ...
                    for c in range(t, min(k, columns - column0), block):
                        matrix[place + c] = shared[new + c * block + turn]
            cuda.syncthreads()
            new, previous = previous, new


def run_rscan(matrices: MatrixBatch, block: int = 32, k: int = 32, stream: Any = 0) -> None:
    """Compute all pairs of a MatrixBatch in one launch."""
    shared = (9 * k + 16) * block
    launch = rscan_kernel[-(-matrices.n // block), block, stream, shared]
    launch(matrices.batch, matrices.starts, matrices.matrix, k, matrices.n)


# TiledDScan-mNW: matrices cut into k x k tiles; one launch computes a strip of tiles of all pairs.
#
#     strip 0   strip 1   strip 2          inside a tile thread t owns row t and is one column
#     # . .     . # .     . . #            behind thread t - 1, so a step is an anti-diagonal:
#     . . .     # . .     . # .                step 0  1  2  3
#     . . .     . . .     # . .            t 0      c0 c1 c2 c3
#                                          t 1         c0 c1 c2
#
# The tile stays in shared memory (k^2 ints, 2k codes) and is then written row by row, coalesced.


@kernel
def tiled_kernel(batch, starts, matrix, k, strip, first_tile, n_tiles):
    """Compute one tile per block, of a ``strip``: tile first_tile + b % n_tiles of pair b // n_tiles.

    Writes to ``matrix`` int32, where the matrix of a pair begins at starts[pair] (int64).
    """
    pair, t = cuda.blockIdx.x // n_tiles, cuda.threadIdx.x
    tile_row = first_tile + cuda.blockIdx.x % n_tiles
    a, m, b, n = extent(batch, pair)
    row0, column0 = tile_row * k, (strip - tile_row) * k
    if row0 >= m or column0 >= n:
        return
    shared = cuda.shared.array(0, INT32)
    codes = cuda.shared.array(0, UINT8)
    x, y = 4 * k * k, 4 * k * k + k  # codes of the query and of the target are after the tile
    n_rows, n_columns = min(k, m - row0), min(k, n - column0)
    if t < n_rows:
        codes[x + t] = query_code(batch, a + row0 + t)
    if t < n_columns:
        codes[y + t] = batch.target[b + column0 + t]
    cuda.syncthreads()
    match, mismatch, base = batch.gains[0], batch.gains[1], starts[pair]
    row = row0 + t
    left = diagonal = matrix[0] * 0
    if t < n_rows and column0 > 0:
        left = matrix[base + row * n + column0 - 1]
        if row > 0:
            diagonal = matrix[base + (row - 1) * n + column0 - 1]
    for step in range(n_rows + n_columns - 1):
        c = step - t
        if t < n_rows and c >= 0 and c < n_columns:
            up = left * 0
            if t > 0:
                up = shared[(t - 1) * k + c]
            elif row > 0:
                up = matrix[base + (row - 1) * n + column0 + c]
            left = cell(codes[x + t], codes[y + c], match, mismatch, diagonal, up, left)
            diagonal = up
            shared[t * k + c] = left
        cuda.syncthreads()
    if t < n_columns:
        for r in range(n_rows):
            matrix[base + (row0 + r) * n + column0 + t] = shared[r * k + t]


def run_tiled(matrices: MatrixBatch, k: int = 32, stream: Any = 0) -> None:
    """Compute all strips of all pairs of a MatrixBatch."""
    rows, columns = (-(-length // k) for length in matrices.longest)
    for strip in range(rows + columns - 1 if rows and columns else 0):
        first = max(0, strip - columns + 1)
        n_tiles = min(strip, rows - 1) - first + 1
        launch = tiled_kernel[matrices.n * n_tiles, k, stream, 4 * k * k + 2 * k]
        launch(matrices.batch, matrices.starts, matrices.matrix, k, strip, first, n_tiles)
