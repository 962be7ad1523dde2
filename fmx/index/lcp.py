"""The LCP and rank arrays of a suffix array: what takes a match from one suffix to its neighbours.

    lcp[row]        symbols that the suffixes of row - 1 and row have in common before a separator; lcp[0] = 0
    rank[position]  row of the suffix at a text position: the inverse of the suffix array

A separator equals nothing, not even another separator, so no common prefix crosses the end of a block.  The
law of LCP arrays holds all the same: rows a < b have min(lcp[a + 1 .. b]) symbols in common.

Values below 255 take one byte each.  The others, rare in genomes, stand in a list sorted by row, and their
byte says 255.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch
from ..compiler.sorting import last_until
from ..machines.threads import run_all, spans

LARGE = 255  # the byte of a value that is in the list
_AHEAD = 24  # symbols between asking for a text position and comparing there


class LCP(NamedTuple):
    """``small`` uint8[n], by row; ``rows`` uint32[m], ascending, and ``values`` uint32[m] of large ones."""

    small: np.ndarray
    rows: np.ndarray
    values: np.ndarray


@inlined
def lcp_at(lcp, row):
    """lcp[row] as int64."""
    value = np.int64(at(lcp.small, row))
    if value < LARGE:
        return value
    return np.int64(at(lcp.values, last_until(lcp.rows, np.int64(0), np.int64(lcp.rows.size), row)))


@inlined
def lcp_below(lcp, row, limit):
    """min(lcp[row], limit), without a look at the list where it cannot matter."""
    value = np.int64(at(lcp.small, row))
    if value < LARGE or limit <= LARGE:
        return min(value, limit)
    return min(lcp_at(lcp, row), limit)


def build_lcp(text: Any, sa: Any, n_threads: int = 1) -> LCP:
    """The LCP array of ``text`` (uint8[n] codes, separator 0) and its suffix array ``sa`` (uint32[n]).

    The Phi algorithm (Karkkainen, Manzini, Puglisi 2009): values in the order of the text, where each is at
    least its predecessor's less one, then moved to their rows.  Linear; takes 5 bytes a symbol, one stays.
    """
    n = sa.size
    permuted = np.empty(n, np.uint32)  # first phi, the suffix sorted before; then the values
    run_all(_link, [(sa, *span, permuted) for span in spans(n, n_threads)], n_threads)
    run_all(_compare, [(text, int(sa[0]), *span, permuted) for span in spans(n, n_threads)], n_threads)
    small = np.empty(n, np.uint8)
    n_large = run_all(_narrow, [(sa, permuted, *span, small) for span in spans(n, n_threads)], n_threads)
    lcp = LCP(small, *(np.empty(sum(n_large), np.uint32) for _ in range(2)))
    _take_large(sa, permuted, lcp)
    return lcp


@compiled
def _link(sa, start, stop, phi):
    for row in range(max(start, 1), stop):
        phi[sa[row]] = sa[row - 1]


@compiled
def _compare(text, first, start, stop, permuted):
    """Put in place of the suffix before (``permuted[i]``) what suffix i has in common with it."""
    common = np.int64(0)
    for i in range(start, stop):
        if i + _AHEAD < stop:
            prefetch(text, np.int64(permuted[i + _AHEAD]) + max(common - _AHEAD, 0))
        if i == first:
            common = np.int64(0)
        else:
            other = np.int64(permuted[i])
            while i + common < text.size and other + common < text.size:
                symbol = text[i + common]
                if symbol == 0 or symbol != text[other + common]:
                    break
                common += 1
        permuted[i] = common
        common = max(common - 1, 0)


@compiled
def _narrow(sa, permuted, start, stop, small):
    """Values of rows start to stop as bytes; the number of large ones."""
    n_large = 0
    for row in range(start, stop):
        if row + _AHEAD < stop:
            prefetch(permuted, np.int64(sa[row + _AHEAD]))
        value = min(permuted[sa[row]], np.uint32(LARGE))
        small[row] = value
        n_large += value == LARGE
    return n_large


@compiled
def _take_large(sa, permuted, lcp):
    n = 0
    for row in range(sa.size):
        if lcp.small[row] == LARGE:
            lcp.rows[n] = row
            lcp.values[n] = permuted[sa[row]]
            n += 1
