"""Rows without a k-symbol (a separator is among the k symbols before them): how many lie before a row.

Bit planes have no code for such a row and show it as the k-symbol 0, so who counts 0 takes them off again.
One array of uint32 holds a shift, then for each run of 2^shift rows where its rows start, then the rows:

    shift | start of run 0, of run 1 ... end | row row row ...

There are about as many runs as rows, so a genome of few blocks needs a handful of numbers in all.
"""

import numpy as np

from .bwt import NONE
from .jit import inlined

_BEYOND = 1024  # rows after the last that may be asked for: no entry is longer


def build_missing(codes) -> np.ndarray:
    """The array of a k-step BWT (``codes`` uint8[n] of bwt.kmer_bwt)."""
    rows = np.flatnonzero(codes == NONE)
    n = codes.size + _BEYOND
    shift = (n // max(rows.size, 1)).bit_length()
    n_runs = (n >> shift) + 1
    starts = np.searchsorted(rows, np.arange(n_runs + 1) << shift) + n_runs + 2
    return np.concatenate([[shift], starts, rows]).astype(np.uint32)


@inlined
def missing_between(missing, start, stop):
    """Number of rows without k-symbol in [start, stop)."""
    return _index(missing, stop) - _index(missing, start)


@inlined
def _index(missing, row):
    """Index of the first row of the array that is not before ``row``."""
    run = 1 + (row >> np.int64(missing[0]))
    low, high = np.int64(missing[run]), np.int64(missing[run + 1])
    while low < high:
        middle = (low + high) >> 1
        if np.int64(missing[middle]) < row:
            low = middle + 1
        else:
            high = middle
    return low
