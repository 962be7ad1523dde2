"""What layouts, queries and suffix arrays promise: functions joined by the type of their first argument.

A new layout, query or suffix array is one file that registers its bodies here; engines call only these.
"""

from .jit import by_type


@by_type
def occ(layout, c, i):
    """C[c] + Occ(c, i): LF mapping of row i for the k-symbol c (int64 in and out; 0 <= i <= n)."""


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


# Columns of an engine's state, one row a slot; a query may use those from FREE on as it likes.
PATTERN, LO, HI, LEFT, FREE = range(5)
N_STATE = 8
