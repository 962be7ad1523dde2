"""RScan-mNW: a thread a pair, row by row, in slices of k columns; two rows of the slice in shared memory.

    compute     thread t fills its new row from its previous one; the left-most value comes from the matrix
    write       the threads of the block together write each pair's row, coalesced

Shared: (2k ints, k codes) x block, behind 16 bytes a thread that say where its matrix lies: the write phase
asks for every pair of the block.  Value c of thread t lies at c * block + (t + c) % block, so that neither
phase meets a bank twice.
"""

import numpy as np

from ...align.cuda.kernels import cell, extent, query_code
from ...compiler.cuda import cuda, int32, int64, kernel, uint8


@kernel
def rscan_kernel(batch, starts, matrix, k, n_pairs):
    """A thread a pair of a Batch: its matrix, by rows, into ``matrix`` int32 from int64 starts[pair] on."""
    block, t = cuda.blockDim.x, cuda.threadIdx.x
    first = cuda.blockIdx.x * block
    pair = first + t
    shared = cuda.shared.array(0, int32)
    codes = cuda.shared.array(0, uint8)
    places = cuda.shared.array(0, int64)  # where each pair's matrix begins, then (as int32) n and m of each
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
                    turn = p + t if p + t < block else p + t - block  # the same for t + block, ...
                    for c in range(t, min(k, columns - column0), block):
                        matrix[place + c] = shared[new + c * block + turn]
            cuda.syncthreads()
            new, previous = previous, new


def run_rscan(matrices, block=32, k=32, stream=0):
    """All pairs (matrices.Matrices) in one launch."""
    shared = (9 * k + 16) * block
    launch = rscan_kernel[-(-matrices.n // block), block, stream, shared]
    launch(matrices.batch, matrices.starts, matrices.matrix, k, matrices.n)
