"""How many reads a read stands for: the N of a name that ends with _xN, as miRDeep2 writes it."""

import numpy as np

from ..compiler.functions import compiled, inlined

MOST = 9 * 10**12  # that weights may add up to: tables count millionths in 64 bits
_DIGITS = 13  # of a weight, at most: those of MOST


@inlined
def weight_of(batch, r):
    """(weight of read r of a batch, letters of its name without it): a name that tells none stays whole."""
    start, n = batch.name_start[r], batch.name_length[r]
    weight, scale, i = np.int64(0), np.int64(1), n
    while i > 0 and n - i < _DIGITS and 48 <= batch.data[start + i - 1] <= 57:
        i -= 1
        weight += scale * np.int64(batch.data[start + i] - 48)
        scale *= 10
    if weight == 0 or i < 2 or batch.data[start + i - 2] != ord("_") or batch.data[start + i - 1] != ord("x"):
        return np.int64(1), n
    return weight, i - 2


def weights_of(batch) -> np.ndarray:
    """The weight of each read of a batch, int64[n_reads]."""
    weight = np.empty(batch.length.size, np.int64)
    _fill(batch, weight)
    return weight


@compiled
def _fill(batch, weight):
    for r in range(weight.size):
        weight[r] = weight_of(batch, r)[0]


@inlined
def put_weight(out, at, weight):
    """Write _xN into ``out`` uint8 from ``at`` on: the place after it."""
    out[at], out[at + 1] = ord("_"), ord("x")
    n, left = 1, weight
    while left >= 10:
        left //= 10
        n += 1
    for i in range(at + 1 + n, at + 1, -1):
        out[i] = 48 + weight % 10
        weight //= 10
    return at + 2 + n
