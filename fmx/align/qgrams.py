"""Counts of q-grams: a distance of two sequences that costs nanoseconds.

Each sequence gets 4^q counters of a byte (q = 6: 4096 bytes, 128 vector loads).  An edit changes few q-grams,
so a pair whose counts differ by more than ``bounds.most_differing_grams`` cannot reach the identity: no
alignment is needed.  Both shortcuts make distances smaller, never larger, so no pair is lost:

    counters stop at 255          |min(x, 255) - min(y, 255)| <= |x - y|
    grams with a letter that is not A, C, G, T are not counted
"""

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.simd import LANES, add_difference, load, total, zero_sums
from .sequences import extent

Q = 6
N_GRAMS = 4**Q
BLOCK = 64  # targets whose counts (4 kB each) stay in the cache while the queries pass


def count_grams(sequences) -> np.ndarray:
    """Counts of q-grams, uint8[n * 4^Q]: a row of 4^Q for each of n sequences."""
    counts = np.zeros(sequences.n * N_GRAMS, np.uint8)
    _count(sequences, counts)
    return counts


@compiled
def _count(sequences, counts):
    for s in range(sequences.starts.size - 1):
        gram, known = 0, 0
        start, length = extent(sequences, s)
        for i in range(start, start + length):
            code = sequences.codes[i]
            gram = ((gram << 2) | (code & 3)) & (N_GRAMS - 1)
            known = known + 1 if code < 4 else 0
            if known >= Q and counts[s * N_GRAMS + gram] < 255:
                counts[s * N_GRAMS + gram] += 1


@inlined
def distance(a, b, i, j):
    """L1 distance, int64, of row i of ``a`` and row j of ``b``, both as ``count_grams`` gives them."""
    sums = zero_sums()
    for k in range(0, N_GRAMS, LANES):
        sums = add_difference(sums, load(a, i * N_GRAMS + k), load(b, j * N_GRAMS + k))
    return np.int64(total(sums))
