"""TiledDScan-mNW: matrices cut into k x k tiles; one launch computes a strip of tiles of all pairs.

    strip 0   strip 1   strip 2          inside a tile thread t owns row t and is one column
    # . .     . # .     . . #            behind thread t - 1, so a step is an anti-diagonal:
    . . .     # . .     . # .                step 0  1  2  3
    . . .     . . .     # . .            t 0      c0 c1 c2 c3
                                         t 1         c0 c1 c2

The tile stays in shared memory (k^2 ints, 2k codes) and is then written row by row, coalesced.
"""

from ...align.cuda.kernels import cell, extent, query_code
from ...compiler.cuda import cuda, int32, kernel, uint8


@kernel
def tiled_kernel(batch, starts, matrix, k, strip, first_tile, n_tiles):
    """Block b does tile first_tile + b % n_tiles of a ``strip``, of pair b // n_tiles of a Batch,
    into ``matrix`` int32, where the pair's begins at starts[pair] (int64)."""
    pair, t = cuda.blockIdx.x // n_tiles, cuda.threadIdx.x
    tile_row = first_tile + cuda.blockIdx.x % n_tiles
    a, m, b, n = extent(batch, pair)
    row0, column0 = tile_row * k, (strip - tile_row) * k
    if row0 >= m or column0 >= n:
        return
    shared = cuda.shared.array(0, int32)
    codes = cuda.shared.array(0, uint8)
    x, y = 4 * k * k, 4 * k * k + k  # codes of the query and of the target lie behind the tile
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


def run_tiled(matrices, k=32, stream=0):
    """All strips of all pairs (matrices.Matrices)."""
    rows, columns = (-(-length // k) for length in matrices.longest)
    for strip in range(rows + columns - 1 if rows and columns else 0):
        first = max(0, strip - columns + 1)
        n_tiles = min(strip, rows - 1) - first + 1
        launch = tiled_kernel[matrices.n * n_tiles, k, stream, 4 * k * k + 2 * k]
        launch(matrices.batch, matrices.starts, matrices.matrix, k, strip, first, n_tiles)
