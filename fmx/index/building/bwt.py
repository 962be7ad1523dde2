"""SA -> the k-step Burrows-Wheeler transform: for each row, the k symbols that precede its suffix.

A row whose k preceding symbols hold a separator (or the start of the text) has no k-symbol: it is NONE and
is counted in no column of an occurrence table, which is what makes hi - lo the exact number of occurrences.
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.primitives import prefetch
from ...machines.jobs import ONE_CORE, Backend, do
from ..contracts import NONE, fill
from ..seed_table import first_rows

MAX_K = 3  # 4^3 codes and NONE fit in a byte


class Transform(NamedTuple):
    """``text`` uint8[n], ``sa`` uint32[n] -> ``codes`` uint8[n], see kmer_bwt."""

    text: Any
    sa: Any
    k: int
    codes: Any


class CountCodes(NamedTuple):
    """``totals`` int64[stretches, 4^k]: how often each code is in a stretch of ``codes``; zeros at first."""

    codes: Any
    totals: Any


class FillRuns(NamedTuple):
    """``codes`` into a ``layout``; ``before`` int64[stretches, 4^k]: C + Occ at the start of each stretch."""

    layout: Any
    codes: Any
    before: Any


def kmer_bwt(text: Any, sa: Any, k: int, backend: Backend = ONE_CORE) -> Any:
    """uint8[n]: code of the k symbols before each suffix (first symbol highest), or NONE.

    ``text`` uint8[n] (separator 0, A C G T 1 to 4), ``sa`` uint32[n], 1 <= k <= MAX_K.
    """
    codes = backend.empty(sa.size, np.uint8)
    backend.run(Transform(text, sa, k, codes), sa.size)
    return codes


@do.register(Transform)
def _transform(job, stretch, start, stop):
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


@do.register(CountCodes)
def _count_codes(job, stretch, start, stop):
    for row in range(start, min(stop, job.codes.size)):
        code = np.int64(job.codes[row])
        if code != NONE:
            job.totals[stretch, code] += 1


@do.register(FillRuns)
def _fill_runs(job, stretch, start, stop):
    fill(job.layout, job.codes, start, stop, job.before[stretch])


def fill_layout(
    backend: Backend, layout: Any, text: Any, sa: Any, codes: Any, d: int, runs_together: int = 1
) -> None:
    """Write a k-step BWT into the layout's arrays (zeros), n // d + 1 runs of d rows, the last one not full.

    ``runs_together``: runs that share words.
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
    backend.run(FillRuns(layout, codes, backend.take(before)), n_rows, size)


# The inverse of a suffix array: the rank array, by text position the row of its suffix.


class Invert(NamedTuple):
    """``sa`` uint32[n] -> ``row_of`` uint32[n]."""

    sa: Any
    row_of: Any


def invert(backend: Backend, sa: Any) -> Any:
    """The rank array of ``sa`` (uint32[n], on the backend), uint32[n]."""
    row_of = backend.empty(sa.size, np.uint32)
    backend.run(Invert(sa, row_of), sa.size)
    return row_of


@do.register(Invert)
def _invert(job, stretch, start, stop):
    for row in range(start, stop):
        if row + 32 < stop:
            prefetch(job.row_of, np.int64(job.sa[row + 32]))
        job.row_of[job.sa[row]] = row
