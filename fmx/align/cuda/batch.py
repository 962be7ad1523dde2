"""A batch of pairs on the device, the cell that all kernels compute, and the memory each kernel needs.

All kernels compute H of scoring.py: its first row and column are zeros, which are therefore neither stored
nor copied, and a matrix is m x n.
"""

from typing import NamedTuple

import numpy as np

from ...compiler.cuda import cuda, device_function


class Batch(NamedTuple):
    """``query``, ``target`` uint8 codes and their ``*_starts`` int64[n + 1]; ``pair_query``, ``pair_target``
    int32[batch]; ``gains`` int32[2], what a match and a mismatch add."""

    query: np.ndarray
    query_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray
    pair_query: np.ndarray
    pair_target: np.ndarray
    gains: np.ndarray


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


@device_function
def extent(batch, pair):
    """(first code of the query, m, first code of the target, n)."""
    query, target = batch.pair_query[pair], batch.pair_target[pair]
    a, b = batch.query_starts[query], batch.target_starts[target]
    return (
        a,
        np.int32(batch.query_starts[query + 1] - a),
        b,
        np.int32(batch.target_starts[target + 1] - b),
    )


@device_function
def query_code(batch, i):
    """The query's code at i; a letter that equals nothing gets a code that no target has."""
    code = batch.query[i]
    return code if code < 4 else np.uint8(8)


@device_function
def cell(a, b, match, mismatch, diagonal, up, left):
    """One cell of H, for the query's letter a (from ``query_code``) and the target's b."""
    gain = match if a == b else mismatch
    return max(diagonal + gain, max(up, left))


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
        return (k * INT + k * CHAR) * block
    return 0
