"""Batches of pairs for the papers' kernels, and the memory each kernel needs.

The first row and column of H are zeros, which are therefore neither stored nor copied: a matrix is m x n.
"""

import numpy as np

from ...align.cuda.batch import Batch
from ...align.cuda.lazy import shared_bytes as lazy_shared_bytes
from ...compiler.cuda import cuda


def make_batch(queries, targets, pair_query, pair_target, gains) -> Batch:
    """Copy a batch to the device."""
    return Batch(
        cuda.to_device(np.append(queries.codes, np.uint8(0))),
        cuda.to_device(queries.starts),
        cuda.to_device(np.append(targets.codes, np.uint8(0))),
        cuda.to_device(targets.starts),
        cuda.to_device(np.ascontiguousarray(pair_query, np.int32)),
        cuda.to_device(np.ascontiguousarray(pair_target, np.int32)),
        cuda.to_device(np.array(gains, np.int32)),
    )


def matrix_starts(queries, targets, pair_query, pair_target) -> np.ndarray:
    """int64[batch + 1]: where each pair's m x n matrix begins."""
    sizes = queries.lengths()[pair_query] * targets.lengths()[pair_target]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


INT, CHAR = 4, 1


def global_bytes(kernel, batch, longest) -> int:
    """Global memory beside the sequences (the paper's Table 1), for sequences of one length."""
    cells = {"lazy": longest, "packed": longest / 2}.get(kernel, longest * longest)
    return int(batch * cells * INT)


def shared_bytes(kernel, k, block=0, longest=0) -> int:
    """Shared memory of a block: the paper's Table 1, and 16 bytes a thread more for RScan (see there).
    DScan: of strips of at most k rows."""
    if kernel == "tiled":
        return k * k * INT + 2 * k * CHAR
    if kernel == "dscan":
        rows = min(longest, k)
        return 3 * rows * INT + 2 * rows * CHAR
    if kernel == "rscan":
        return (2 * k * INT + k * CHAR) * block + 16 * block
    if kernel == "lazy":
        return lazy_shared_bytes(k, block)
    return 0
