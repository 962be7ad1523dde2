"""Bounds that exclude pairs from alignment: what an identity requires, and a distance of q-gram counts.

Each sequence has 4^q counters of one byte (q = 6: 4096 bytes, 128 vector loads). An edit changes few q-grams,
so a pair whose counts differ by more than ``most_differing_grams`` cannot reach the identity and needs no
alignment. Two simplifications make distances smaller, never larger, so no pair is lost:

    counters stop at 255          |min(x, 255) - min(y, 255)| <= |x - y|
    grams with a letter that is not A, C, G, T are not counted
"""

from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.simd import LANES, add_difference, load, total, zero_sums
from .sequences import extent

if TYPE_CHECKING:
    from .sequences import Sequences

Q = 6
_N_GRAMS = 4**Q
BLOCK = 64  # targets whose counts (4 kB each) stay in the cache while all queries are compared


def count_grams(sequences: "Sequences") -> np.ndarray:
    """Return counts of q-grams, uint8[n * 4^Q]: one row of 4^Q for each of n sequences."""
    counts = np.zeros(sequences.n * _N_GRAMS, np.uint8)
    _count(sequences, counts)
    return counts


@compiled
def _count(sequences, counts):
    for s in range(sequences.starts.size - 1):
        gram, known = 0, 0
        start, length = extent(sequences, s)
        for i in range(start, start + length):
            code = sequences.codes[i]
            gram = ((gram << 2) | np.int64(code & 3)) & (_N_GRAMS - 1)
            known = known + 1 if code < 4 else 0
            if known >= Q and counts[s * _N_GRAMS + gram] < 255:
                counts[s * _N_GRAMS + gram] += 1


@inlined
def distance(a, b, i, j):
    """Return the L1 distance, int64, of row i of ``a`` and row j of ``b``, both from ``count_grams``."""
    sums = zero_sums()
    for k in range(0, _N_GRAMS, LANES):
        sums = add_difference(sums, load(a, i * _N_GRAMS + k), load(b, j * _N_GRAMS + k))
    return np.int64(total(sums))


# What an identity of at least p requires of a pair before it is aligned.
#
# An alignment of lengths m and n has D diagonal columns, M of them matches, and m + n - 2 D gap symbols. So
# its score is M match + (D - M) mismatch + (m + n - 2 D) gap, linear in (D, M), and "identity >= p" is a
# polygon in the (D, M) plane:
#
#     M ^        / M = D             identity    M at least               D at least
#       |      /|                    0           p min(m, n)              p min(m, n)
#       |    / #|                    1, 4        p (m + n - D)            p (m + n) / (1 + p)
#       |  / ###|                    2           p D                      0
#       |   ----- identity           3           D - (1 - p) max(m, n)    0
#       +-------|--> D
#          min(m, n)
#
# The score and the numbers of differing q-grams and of gap symbols are linear too, so each is extreme at a
# corner. If the polygon is empty the pair cannot reach p (this is the length filter). Corners are not rounded
# to whole columns: a bound may be slightly loose, but never wrong.

_SLACK = 1e-6


class AlignmentCounts(NamedTuple):
    """Counts of an alignment.

    ``matches``, ``mismatches``; ``length``: columns; ``terminal``: gap symbols at its ends; ``openings`` of
    gaps.
    """

    matches: int
    mismatches: int
    length: int
    terminal: int
    openings: int


@inlined
def identity(definition, m, n, counts):
    """Return the identity of an alignment of lengths m and n from its AlignmentCounts; 0 / 0 is 0.

    0  matching columns / length of the shorter sequence
    1  matching columns / length of the alignment; 4 is the same (BLAST's, for global alignments)
    2  matching columns / length of the alignment without terminal gaps
    3  1 - (mismatches + gap openings) / length of the longer sequence
    """
    below = counts.length
    if definition == 0:
        below = min(m, n)
    elif definition == 2:
        below = counts.length - counts.terminal
    elif definition == 3:
        below = max(m, n)
        return max(0.0, (below - counts.mismatches - counts.openings) / below) if below else 0.0
    return counts.matches / below if below else 0.0


@inlined
def _corners(definition, p, m, n):
    """Return (whether there are any, the five corners (D, M) of the polygon above, some twice)."""
    short, long = float(min(m, n)), float(max(m, n))
    low, low_m, high_m = 0.0, 0.0, p * short
    if definition == 0:
        low = low_m = p * short
    elif definition == 1 or definition == 4:
        low = low_m = p * (m + n) / (1.0 + p)
        high_m = p * (m + n - short)
    kink, kink_m = low, low_m
    if definition == 3:  # where M >= 0 meets M >= D - (1 - p) max
        high_m = max(0.0, short - (1.0 - p) * long)
        kink, kink_m = min(short, (1.0 - p) * long), 0.0
    possible = low <= short + _SLACK and high_m <= short + _SLACK
    return possible, ((low, low_m), (low, low), (short, high_m), (short, short), (kink, kink_m))


@compiled
def least_score(definition, p, m, n, scores):
    """Return (whether the pair can reach identity p at all, the score below which it cannot, int64).

    ``scores``: (match, mismatch, gap), as in ``most_gaps``.
    """
    match, mismatch, gap = scores
    possible, corners = _corners(definition, p, m, n)
    if not possible:
        return False, np.int64(0)
    least = np.inf
    for d, matches in corners:
        least = min(least, matches * match + (d - matches) * mismatch + (m + n - 2.0 * d) * gap)
    return True, np.int64(floor(least - _SLACK - 1e-9 * abs(least)))


@compiled
def most_gaps(definition, p, m, n, least, scores):
    """Return the most gap symbols, int64, of an alignment with identity >= p and score >= ``least``."""
    match, mismatch, gap = scores
    low = _corners(definition, p, m, n)[1][0][0]
    gain = max(match, mismatch) - 2 * gap
    if gain > 0:
        low = max(low, (least - float(m + n) * gap) / gain)
    diagonal = max(np.int64(0), np.int64(ceil(low - _SLACK)))
    return max(np.int64(m + n) - 2 * diagonal, abs(np.int64(m) - np.int64(n)))


@inlined
def _differing(corner, m, n, q):
    d, matches = corner
    return 2 * q * (d - matches) + (2 * q - 1) * (m + n - 2.0 * d)


@compiled
def most_differing_grams(definition, p, m, n, q):
    """Return the largest L1 distance of q-gram counts, int64, that identity >= p allows.

    A mismatch replaces q q-grams in each sequence, a gap symbol q in one and q - 1 in the other. -1: p cannot
    be reached.
    """
    possible, corners = _corners(definition, p, m, n)
    if not possible:
        return np.int64(-1)
    low, _, high, _, kink = corners
    most = max(_differing(low, m, n, q), _differing(high, m, n, q))
    return np.int64(floor(max(most, _differing(kink, m, n, q)) + _SLACK))
