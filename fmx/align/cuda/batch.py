"""A batch of pairs on the GPU, and the cell that all kernels compute: H of scoring.py."""

from typing import NamedTuple

import numpy as np

from ...compiler.cuda import device_function


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


@device_function
def extent(batch, pair):
    """(first code of the query, its length m, first code of the target, its length n)."""
    query, target = batch.pair_query[pair], batch.pair_target[pair]
    a, b = batch.query_starts[query], batch.target_starts[target]
    m, n = batch.query_starts[query + 1] - a, batch.target_starts[target + 1] - b
    return a, np.int32(m), b, np.int32(n)


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
