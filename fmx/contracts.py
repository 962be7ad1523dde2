"""What layouts, queries and suffix arrays promise: functions joined by the type of their first argument.

A new layout, query or suffix array is one file that registers its bodies here; engines call only these.
Rows, symbols and counts are int64.
"""

import numpy as np

from .jit import by_type, inlined

# Layouts.  An entry is fetched in lanes of 16 bytes (two words of ``layout.entries``, uint64), and what it
# counts is a sum over its lanes, so that an engine may bring the lanes in and add them up as it likes:
#
#     entry, offset = address(layout, c, i)
#     occ(c, i) = sum over lanes of share(layout, lane, a, b, c, offset)


@by_type
def lanes(layout):
    """Number of lanes of an entry; a constant of the layout's type."""


@by_type
def address(layout, c, i):
    """(entry, offset) of row i for the k-symbol c; the entry starts at word 2 * lanes * entry."""


@by_type
def share(layout, lane, a, b, c, offset):
    """What words a and b of a lane add to C[c] + Occ(c, i); separators are never counted."""


@by_type
def extend(layout, c, lo, hi):
    """One backward-search step: the interval (lo, hi) of a string to that of the k-symbol c before it."""


@by_type
def prefetch_extend(layout, c, lo, hi):
    """Ask the memory system for what ``extend`` will read first."""


@by_type
def preceding(layout, row):
    """The k-symbol that precedes the suffix of a row, or -1 if it holds a separator."""


@by_type
def position_of(sa, layout, row):
    """Text position of a row (int64)."""


@by_type
def prefetch_position(sa, row):
    """Ask the memory system for what ``position_of`` will read first."""


@by_type
def begin(query, patterns, i, state, slot):
    """Put pattern i into a slot of the engine's state and prefetch what its first step reads."""


@by_type
def advance(query, patterns, state, slot):
    """Take one step in a slot; True when state[slot, LO] and state[slot, HI] are the answer."""


@inlined
def occ(layout, c, i):
    """C[c] + Occ(c, i): LF mapping of row i for the k-symbol c (0 <= i <= n), by one thread."""
    entry, offset = address(layout, c, i)
    n_lanes = lanes(layout)
    total = np.int64(0)
    for lane in range(n_lanes):
        word = 2 * (entry * n_lanes + lane)
        total += share(layout, lane, layout.entries[word], layout.entries[word + 1], c, offset)
    return total


# Columns of an engine's state, one row a slot; a query may use those from FREE on as it likes.
PATTERN, LO, HI, LEFT, FREE = range(5)
N_STATE = 12
