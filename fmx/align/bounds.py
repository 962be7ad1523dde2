"""What an identity of at least p asks of a pair, before it is aligned.

An alignment of lengths m and n has D diagonal columns, M of them matches, and m + n - 2 D gap symbols.  So
its score is M match + (D - M) mismatch + (m + n - 2 D) gap, linear in (D, M), and "identity >= p" cuts a
polygon out of the (D, M) plane:

    M ^        / M = D             identity    M at least               D at least
      |      /|                    0           p min(m, n)              p min(m, n)
      |    / #|                    1, 4        p (m + n - D)            p (m + n) / (1 + p)
      |  / ###|                    2           p D                      0
      |   ----- identity           3           D - (1 - p) max(m, n)    0
      +-------|--> D
         min(m, n)

The least score, the most differing q-grams and the most gap symbols are linear too, so each is extreme at a
corner.  If the polygon is empty the pair cannot reach p (this is the length filter).  Corners are taken
without rounding to whole columns: a bound may be a little loose, never wrong.
"""

from math import ceil, floor

import numpy as np

from ..compiler.functions import compiled, inlined

DEFINITIONS = {
    0: "matching columns / length of the shorter sequence",
    1: "matching columns / length of the alignment",
    2: "matching columns / length of the alignment without terminal gaps",
    3: "1 - (mismatches + gap openings) / length of the longer sequence",
    4: "as 1 (BLAST's, for global alignments)",
}
_SLACK = 1e-6


@inlined
def identity(definition, m, n, matches, mismatches, length, terminal, openings):
    """Identity of an alignment from its counts (``terminal`` gap symbols, gap ``openings``); 0 / 0 is 0."""
    below = length
    if definition == 0:
        below = min(m, n)
    elif definition == 2:
        below = length - terminal
    elif definition == 3:
        below = max(m, n)
        return max(0.0, (below - mismatches - openings) / below) if below else 0.0
    return matches / below if below else 0.0


@inlined
def _corners(definition, p, m, n):
    """(least D, largest D, least M at each, least D with M = 0 allowed at definition 3)."""
    short, long = float(min(m, n)), float(max(m, n))
    low, low_m, high_m = 0.0, 0.0, p * short
    if definition == 0:
        low = low_m = p * short
    elif definition == 1 or definition == 4:
        low = low_m = p * (m + n) / (1.0 + p)
        high_m = p * (m + n - short)
    elif definition == 3:
        high_m = max(0.0, short - (1.0 - p) * long)
    return low, short, low_m, high_m


@inlined
def _score(d, matches, m, n, match, mismatch, gap):
    return matches * match + (d - matches) * mismatch + (m + n - 2.0 * d) * gap


@compiled
def least_score(definition, p, m, n, scores):
    """(can the pair reach identity p at all, the score below which it cannot)."""
    match, mismatch, gap = scores
    low, high, low_m, high_m = _corners(definition, p, m, n)
    if low > high + _SLACK or high_m > high + _SLACK:
        return False, np.int64(0)
    least = min(
        min(_score(low, low_m, m, n, match, mismatch, gap), _score(low, low, m, n, match, mismatch, gap)),
        min(_score(high, high_m, m, n, match, mismatch, gap), _score(high, high, m, n, match, mismatch, gap)),
    )
    if definition == 3:  # the corner where M >= 0 meets M >= D - (1 - p) max
        corner = min(high, (1.0 - p) * max(m, n))
        least = min(least, _score(corner, 0.0, m, n, match, mismatch, gap))
    return True, np.int64(floor(least - _SLACK - 1e-9 * abs(least)))


@compiled
def most_gaps(definition, p, m, n, least, scores):
    """Gap symbols that an alignment of identity >= p and score >= ``least`` can hold."""
    match, mismatch, gap = scores
    low = _corners(definition, p, m, n)[0]
    gain = max(match, mismatch) - 2 * gap
    if gain > 0:
        low = max(low, (least - float(m + n) * gap) / gain)
    diagonal = max(np.int64(0), np.int64(ceil(low - _SLACK)))
    return max(np.int64(m + n) - 2 * diagonal, abs(np.int64(m) - np.int64(n)))


@compiled
def most_differing_grams(definition, p, m, n, q):
    """The largest L1 distance of q-gram counts that identity >= p allows: a mismatch replaces q of them in
    each sequence, a gap symbol q in one and q - 1 in the other.  -1: the pair cannot reach p."""
    low, high, low_m, high_m = _corners(definition, p, m, n)
    if low > high + _SLACK or high_m > high + _SLACK:
        return np.int64(-1)
    at_low = 2 * q * (low - low_m) + (2 * q - 1) * (m + n - 2.0 * low)
    at_high = 2 * q * (high - high_m) + (2 * q - 1) * (m + n - 2.0 * high)
    if definition == 3:
        corner = min(high, (1.0 - p) * max(m, n))
        at_high = max(at_high, 2 * q * corner + (2 * q - 1) * (m + n - 2.0 * corner))
    return np.int64(floor(max(at_low, at_high) + _SLACK))


def paper_bound(p, m, n, match, gap):
    """The bound L of Truong et al. 2014, section 5.4.  Holds for identities 1 and 4 where two gaps cost no
    less than a mismatch; kept to be compared with ``least_score``, which is never lower there."""
    longest = max(m, n)
    return longest * p * match + 2 * longest * gap * (1 - p)
