"""Contracts of layouts, queries and suffix arrays: functions chosen by the type of their first argument.

A new layout, query or suffix array is one file that registers its bodies here; engines call only these
functions.  Rows, symbols and counts are int64.
"""

import numpy as np

from ..compiler.functions import by_type, by_type_or_this
from ..compiler.primitives import at

# Layouts.  An entry is fetched in units of 16 bytes (two words of ``layout.entries``, uint64), and its count
# is a sum over its units, so an engine may load and add the units in any way:
#
#     word, offset, surplus = address(layout, c, i)
#     occ(c, i) = sum over units of share(layout, unit, a, b, c, offset) - surplus
#
# where a and b are the words ``word + 2 * unit`` and ``word + 2 * unit + 1``.  A layout whose count is no
# such sum has 0 units, and registers its own ``occ`` and ``extend``.

# Limits of layouts with units.  GPU engines keep rows, counts and numbers of units in 32 bits, and pack a
# k-symbol and two offsets into 32 bits.  An entry has at most 64 units, so that those of a warp's threads fit
# into the shared memory of a block.
SYMBOL_BITS, OFFSET_BITS, _ROW_BITS = 6, 12, 10  # k is at most 3
ROW = (1 << _ROW_BITS) - 1  # of an offset; an entry counts in at most ROW + 1 rows
MAX_ROWS = 2**32 - 2
NONE = 255  # code of a row without k-symbol
LARGE_LCP = 255  # byte of an LCP value that is in a list (bwt.py)


@by_type
def units(layout):
    """Return the number of units of an entry; a constant of the layout's type."""


@by_type
def address(layout, c, i):
    """Return (word, offset, surplus) of row i for the k-symbol c.

    ``word`` is the first of its entry, and even.  ``offset`` is the input of ``share``: the bits of ROW
    depend on i, the two above them only on c and the entry.  ``surplus`` is the
    excess that the entry counts: rows without k-symbol.
    """


@by_type
def share(layout, unit, a, b, c, offset):
    """Return what words a and b of a unit add to C[c] + Occ(c, i) + surplus."""


@by_type_or_this
def occ(layout, c, i):
    """Return C[c] + Occ(c, i), the LF mapping of row i for the k-symbol c (0 <= i <= n), by one thread."""
    word, offset, surplus = address(layout, c, i)
    total = np.int64(-surplus)
    for unit in range(units(layout)):
        a, b = at(layout.entries, word + 2 * unit), at(layout.entries, word + 2 * unit + 1)
        total += share(layout, unit, a, b, c, offset)
    return total


@by_type_or_this
def extend(layout, c, lo, hi):
    """Do one step of backward search: from the interval (lo, hi) of a string to that of c followed by it."""
    return occ(layout, c, lo), occ(layout, c, hi)


@by_type
def prefetch_extend(layout, c, lo, hi):
    """Prefetch what ``extend`` reads first."""


@by_type_or_this
def prefetch_symbol(layout, c):
    """Prefetch what ``prefetch_extend`` reads; called one step before it."""


@by_type
def fill(layout, codes, start, stop, counts):
    """Write rows [start, stop) of a k-step BWT (``codes``) to the layout's arrays, which hold zeros.

    These are whole runs; the last one may extend beyond the last row.  ``counts`` int64[4^k] holds C + Occ(.,
    start) on entry, and that of ``stop`` on return.  Not for layouts without entries.
    """


@by_type_or_this
def lookup(layout, c, length):
    """Return the interval of a string of ``length`` < k symbols that is too long for the prefix table.

    Called only for a layout whose k exceeds tables.MIN_PREFIX + 1; search/queries/backward.py refuses such
    a layout if it registers no body, instead of this one, which is never called.
    """
    return np.int64(0), np.int64(0)


@by_type
def preceding(layout, row):
    """Return the k-symbol before the suffix of a row, or -1 if it includes a separator."""


@by_type_or_this
def neighbour(layout, row):
    """Return (row, distance): a row whose suffix starts ``distance`` symbols further on; by default k before.

    Not called at the ends of a block, where there is none (positions.sample keeps those positions).
    """
    return occ(layout, max(preceding(layout, row), np.int64(0)), row), -layout.k


@by_type_or_this
def on_device(layout):
    """Return the layout or query in its fastest form for a GPU, perhaps another type over the same arrays."""
    return layout


@by_type
def position_of(sa, layout, row):
    """Return the text position of a row (int64)."""


@by_type
def prefetch_position(sa, row):
    """Prefetch what ``position_of`` reads first."""


@by_type
def begin(query, patterns, i, state, slot):
    """Put pattern i into a slot of the engine's state and prefetch what its first step reads."""


@by_type
def advance(query, patterns, state, slot):
    """Do one step in a slot; return True when state[slot, LO] and state[slot, HI] are the answer."""


@by_type
def find(query, patterns, i):
    """Return (lo, hi), the interval of pattern i, empty if it does not occur, by one thread of a GPU.

    Only queries by seed and verify register this.
    """


@by_type
def own_launch(query):
    """Return the Launch (search/gpu/engines.py) of a query that finds both strands of a read at once."""


@by_type
def start(query, patterns, i):
    """Return (lo, hi, left): the interval of the last symbols of pattern i, and how many symbols remain.

    ``left`` is a multiple of ``query.layout.k``.  Only queries by backward search register this.
    """


# Columns of an engine's state, one row per slot; a query may use those from FREE on.
PATTERN, LO, HI, LEFT, FREE = range(5)
N_STATE = 12
