"""LazyRScan-mNW: a thread a pair, in slices of k columns, of which only the last column is kept.

    slice 0       slice 1             hybrid row   h[0..c-1] already of this row, h[c..k-1] of the row above
    . . . .#|     . . . .#|           diagonal     in a register: what h[c - 1] held before
    . . . .#|     . . . .#|           column       #: int32 [row][thread], so a warp's accesses are one line
                                      codes        of the slice, in shared memory

Global: batch x l ints.  Shared: (k ints, k codes) x block.  Only scores come back.
"""

import numpy as np

from ...compiler.cuda import cuda, int32, kernel, uint8
from .batch import cell, extent, query_code


@kernel
def lazy_kernel(batch, column, out, k, n_pairs):
    """H of each pair of a Batch by a thread of its own (Truong et al. 2014: LazyRScan-mNW), ``k`` columns at
    a time: ``column`` int32[longest m x n_pairs]; ``out`` int32[n_pairs]; shared memory: ``shared_bytes``."""
    block, t = cuda.blockDim.x, cuda.threadIdx.x
    pair = cuda.blockIdx.x * block + t
    if pair >= n_pairs:
        return
    shared = cuda.shared.array(0, int32)
    codes = cuda.shared.array(0, uint8)
    y = 4 * k * block
    match, mismatch = batch.gains[0], batch.gains[1]
    zero = match * 0
    # unsigned indices: no test for negative ones in the inner loop
    first_place, first_code, step = np.uint64(t), np.uint64(y + t), np.uint64(block)
    a, m, b, n = extent(batch, pair)
    left = zero
    for column0 in range(0, n, k):
        width = min(k, n - column0)
        for c in range(width):
            codes[y + c * block + t] = batch.target[b + column0 + c]
            shared[c * block + t] = zero
        diagonal = left = zero
        for row in range(m):
            letter, place, code = query_code(batch, a + row), first_place, first_code
            left = column[row * n_pairs + pair] if column0 > 0 else zero
            next_diagonal = left
            for _ in range(width):
                up = shared[place]
                left = cell(letter, codes[code], match, mismatch, diagonal, up, left)
                shared[place] = left
                diagonal = up
                place, code = place + step, code + step
            column[row * n_pairs + pair] = left
            diagonal = next_diagonal
    out[pair] = left


def shared_bytes(k, block) -> int:
    """Shared memory of a block (the paper's Table 1): k values of int32 and k codes a thread."""
    return 5 * k * block


def run_lazy(batch, column, out, n_pairs, block=64, k=16, stream=0):
    """Start ``lazy_kernel`` for all pairs of a Batch."""
    grid, shared = -(-n_pairs // block), shared_bytes(k, block)
    lazy_kernel[grid, block, stream, shared](batch, column, out, k, n_pairs)
