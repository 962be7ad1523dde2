"""DScan-mNW: a block a pair, the matrix anti-diagonal by anti-diagonal, three of them in shared memory.

    before last   before   new            new[r] = max(before_last[r - 1] + gain, before[r - 1], before[r])
       r - 1       r - 1                  then written to the matrix (row-major, so not coalesced)
                   r         r

A matrix with more rows than fit is taken in strips of ``rows`` rows; a strip reads the last row of the one
above from global memory.  Shared: 3 rows ints, 2 rows codes; target codes are a ring, one new a step.
"""

from ...align.cuda.kernels import cell, extent, query_code
from ...compiler.cuda import cuda, int32, kernel, uint8

ROWS, ROW_BYTES = 3072, 14  # 42 kB of the 48 that every GPU gives a block


@kernel
def dscan_kernel(batch, starts, matrix, rows):
    """A block a pair of a Batch: its matrix, row by row, into ``matrix`` int32 from int64 starts[pair] on."""
    pair, t, n_threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    a, m, b, n = extent(batch, pair)
    shared = cuda.shared.array(0, int32)
    codes = cuda.shared.array(0, uint8)
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


def run_dscan(matrices, block=512, rows=ROWS, stream=0):
    """All pairs (matrices.Matrices) in one launch."""
    rows = max(1, min(rows, matrices.longest[0]))
    launch = dscan_kernel[matrices.n, block, stream, ROW_BYTES * rows]
    launch(matrices.batch, matrices.starts, matrices.matrix, rows)
