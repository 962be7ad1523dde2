"""Arrays derived from a suffix array: the k-step Burrows-Wheeler transform, the rank array, the LCP array.

The transform has, for each row, the k symbols before its suffix.  If these include a separator (or the start
of the text), the row has no k-symbol: its code is NONE, and no column of an occurrence table counts it.  This
makes hi - lo the exact number of occurrences.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch
from ..compiler.sorting import last_until
from ..machines.jobs import ONE_CORE, Array, Backend, do, run_all, spans
from .contracts import LARGE_LCP, NONE, fill
from .tables import first_rows


def kmer_bwt(text: Array, sa: Array, k: int, backend: Backend = ONE_CORE) -> Array:
    """Return uint8[n]: the code of the k symbols before each suffix (first symbol highest), or NONE.

    ``text`` uint8[n] (separator 0, A C G T 1 to 4), ``sa`` uint32[n], k from 1 to 3.
    """
    codes = backend.empty(sa.size, np.uint8)
    backend.run(Transform(text, sa, k, codes), sa.size)
    return codes


@do.of("text sa k codes")
def Transform(job, stretch, start, stop):
    """Make ``codes`` uint8[n], as kmer_bwt returns them, from ``text`` uint8[n] and ``sa`` uint32[n]."""
    text, sa, k = job.text, job.sa, job.k
    for row in range(start, stop):
        ahead = row + 32
        if ahead < stop:
            prefetch(text, max(np.int64(sa[ahead]) - 1, 0))
        position = np.int64(sa[row])
        code = 0
        if position < k:
            code = NONE
        else:
            for j in range(position - k, position):
                symbol = np.int64(text[j])
                if symbol == 0:
                    code = NONE
                    break
                code = code * 4 + symbol - 1
        job.codes[row] = code


@do.of("codes totals")
def CountCodes(job, stretch, start, stop):
    """Add the occurrences of each code in a stretch of ``codes`` to ``totals`` int64[stretches, 4^k]."""
    for row in range(start, min(stop, job.codes.size)):
        code = np.int64(job.codes[row])
        if code != NONE:
            job.totals[stretch, code] += 1


@do.of("layout codes before")
def FillRuns(job, stretch, start, stop):
    """Fill a ``layout`` with ``codes``; ``before`` int64[stretches, 4^k]: C + Occ where a stretch starts."""
    fill(job.layout, job.codes, start, stop, job.before[stretch])


def fill_layout(
    backend: Backend, layout: Any, text: Array, sa: Array, codes: Array, d: int, runs_together: int = 1
) -> None:
    """Write a k-step BWT to the layout's arrays (zeros): n // d + 1 runs of d rows, the last one incomplete.

    ``runs_together``: number of runs that share words.
    """
    n_rows = (codes.size // d + 1) * d
    size = backend.stretch_size(n_rows, d * runs_together)
    n_codes, n_parts = 4**layout.k, -(-n_rows // size)
    totals = backend.zeros((n_parts, n_codes), np.int64)
    backend.run(CountCodes(codes, totals), n_rows, size)
    before = np.empty((n_parts, n_codes), np.int64)
    before[0] = backend.to_host(first_rows(backend, text, sa, layout.k))[:-1]
    np.cumsum(backend.to_host(totals)[:-1], axis=0, out=before[1:])
    before[1:] += before[0]
    backend.run(FillRuns(layout, codes, backend.from_host(before)), n_rows, size)


# The rank array, the inverse of a suffix array: for each text position, the row of its suffix.


def invert(backend: Backend, sa: Array) -> Array:
    """Return the rank array of ``sa`` (uint32[n], on the backend) as uint32[n]."""
    row_of = backend.empty(sa.size, np.uint32)
    backend.run(Invert(sa, row_of), sa.size)
    return row_of


@do.of("sa row_of")
def Invert(job, stretch, start, stop):
    """Make ``row_of`` uint32[n] from ``sa`` uint32[n]."""
    for row in range(start, stop):
        if row + 32 < stop:
            prefetch(job.row_of, np.int64(job.sa[row + 32]))
        job.row_of[job.sa[row]] = row


# The LCP array and the rank array, which extend a match of one suffix to its neighbours.
#
#     lcp[row]        symbols that the suffixes of row - 1 and row share before a separator; lcp[0] = 0
#     rank[position]  row of the suffix at a text position: the inverse of the suffix array
#
# A separator equals nothing, not even another separator, so no common prefix crosses the end of a block.  As
# in any LCP array, the suffixes of rows a < b share min(lcp[a + 1 .. b]) symbols.
#
# Values below 255 take one byte each.  The others, rare in genomes, are in a list sorted by row, and their
# byte is 255.

_AHEAD = 24  # symbols between prefetching a text position and comparing there


class LCP(NamedTuple):
    """``small`` uint8[n], by row; ``rows`` uint32[m], ascending, and ``values`` uint32[m] of large values."""

    small: np.ndarray
    rows: np.ndarray
    values: np.ndarray


@inlined
def lcp_below(lcp, row, limit):
    """Return min(lcp[row], limit) as int64; the list is searched only if it matters."""
    value = np.int64(at(lcp.small, row))
    if value == LARGE_LCP and limit > LARGE_LCP:
        value = np.int64(at(lcp.values, last_until(lcp.rows, np.int64(0), np.int64(lcp.rows.size), row)))
    return min(value, limit)


def build_lcp(text: Array, sa: Array, n_threads: int = 1) -> LCP:
    """Return the LCP array of ``text`` (uint8[n] codes, separator 0) with suffix array ``sa`` (uint32[n]).

    The Phi algorithm (Karkkainen, Manzini, Puglisi 2009): compute values in text order, where each is at
    least its predecessor less one, then move them to their rows.  Linear time; takes 5 bytes per symbol,
    and the result 1.
    """
    n = sa.size
    permuted = np.empty(n, np.uint32)  # first phi, the suffix sorted before; then the values
    run_all(_link, [(sa, *span, permuted) for span in spans(n, n_threads)], n_threads)
    run_all(_compare, [(text, int(sa[0]), *span, permuted) for span in spans(n, n_threads)], n_threads)
    small = np.empty(n, np.uint8)
    run_all(_narrow, [(sa, permuted, *span, small) for span in spans(n, n_threads)], n_threads)
    rows = np.flatnonzero(small == LARGE_LCP).astype(np.uint32)
    return LCP(small, rows, permuted[sa[rows]])


@compiled
def _link(sa, start, stop, phi):
    for row in range(max(start, 1), stop):
        phi[sa[row]] = sa[row - 1]


@compiled
def _compare(text, first, start, stop, permuted):
    """Replace the previous suffix (``permuted[i]``) by the number of symbols that suffix i shares with it."""
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
    for row in range(start, stop):
        if row + _AHEAD < stop:
            prefetch(permuted, np.int64(sa[row + _AHEAD]))
        small[row] = min(permuted[sa[row]], np.uint32(LARGE_LCP))
