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
from .bounds import most_differing_grams

Q = 6
N_GRAMS = 4**Q
BLOCK = 64  # targets whose counts (4 kB each) stay in the cache while the queries pass


@compiled
def count_grams(sequences, counts):
    """Fill ``counts`` uint8[n, 4^Q]."""
    counts[:] = 0
    for s in range(counts.shape[0]):
        gram, known = 0, 0
        for i in range(sequences.starts[s], sequences.starts[s + 1]):
            code = sequences.codes[i]
            gram = ((gram << 2) | (code & 3)) & (N_GRAMS - 1)
            known = known + 1 if code < 4 else 0
            if known >= Q and counts[s, gram] < 255:
                counts[s, gram] += 1


@inlined
def distance(a, b, i, j):
    """L1 distance of row i of ``a`` and row j of ``b``, both flat arrays of rows of 4^Q counters."""
    sums = zero_sums()
    for k in range(0, N_GRAMS, LANES):
        sums = add_difference(sums, load(a, i * N_GRAMS + k), load(b, j * N_GRAMS + k))
    return np.int64(total(sums))


@compiled
def close_pairs(queries, targets, first, last, half, grams_q, grams_t, definition, p, out_query, out_target):
    """Pairs of queries first..last-1 that can reach identity p; returns their number.

    ``half``: only targets after the query (both are one set).  ``grams_q``, ``grams_t``: flat counts, or
    empty arrays, where only lengths are looked at.  Targets come in blocks whose counts stay in the cache.
    """
    n_out, n_targets = 0, targets.starts.size - 1
    for block in range(0, n_targets, BLOCK):
        for query in range(first, last):
            m = queries.starts[query + 1] - queries.starts[query]
            begin = max(block, query + 1) if half else block
            for target in range(begin, min(block + BLOCK, n_targets)):
                n = targets.starts[target + 1] - targets.starts[target]
                allowed = most_differing_grams(definition, p, m, n, Q)
                if allowed < 0:
                    continue
                if grams_q.size and distance(grams_q, grams_t, query, target) > allowed:
                    continue
                out_query[n_out] = query
                out_target[n_out] = target
                n_out += 1
    return n_out
