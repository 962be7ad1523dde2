"""Layouts of entries, and the rows without a k-symbol (the k symbols before them include a separator).

Bit planes have no code for such a row and show it as the k-symbol 0, so a count of 0 subtracts them.  One
array of uint32 holds a shift, then for each run of 2^shift rows the start of its rows, then the rows:

    shift | start of run 0, of run 1 ... end | row row row ...

There are about as many runs as rows, but at least some thousand, so that most runs are empty, which is seen
at once.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at
from ...compiler.sorting import lower_bound
from ...machines.jobs import ONE_CORE, Array, Backend, choose
from ..arrays import ArraySpec
from ..contracts import NONE, ROW
from . import Family

_BEYOND = ROW + 1  # rows after the last that may be requested: no entry is longer
_MIN_RUNS = 4096


@choose.of("codes")
def WithoutSymbol(choice, row):
    """Choose the rows without k-symbol of ``codes``."""
    return row if at(choice.codes, row) == NONE else np.int64(-1)


def build_missing(codes: Array, backend: Backend) -> Array:
    """Return the array for a k-step BWT (``codes`` uint8[n] of bwt.kmer_bwt), on the backend."""
    rows = backend.to_host(backend.select(WithoutSymbol(codes), codes.size))
    shift = ((codes.size + _BEYOND) // max(rows.size, _MIN_RUNS)).bit_length()
    starts = _starts(rows, codes.size, shift)
    return backend.take(np.concatenate([[shift], starts, rows]).astype(np.uint32))


def _starts(rows: Array, n: int, shift: int) -> np.ndarray:
    n_runs = (n + _BEYOND >> shift) + 1
    return np.searchsorted(rows, np.arange(n_runs + 1) << shift) + n_runs + 2


def form_of_missing(n: int) -> ArraySpec:
    """Return the ArraySpec of the array for a BWT of n rows."""

    def holds(missing: np.ndarray) -> bool:
        shift = int(missing[0]) if missing.size else 64
        n_starts = (n + _BEYOND >> shift) + 2
        if shift > 32 or missing.size < 1 + n_starts:
            return False
        rows = missing[1 + n_starts :].astype(np.int64)
        ascend = bool((np.diff(rows) > 0).all()) and (rows.size == 0 or rows[-1] < n)
        return ascend and np.array_equal(missing[1 : 1 + n_starts], _starts(rows, n, shift))

    return ArraySpec("uint32", (None,), holds=holds)


@inlined
def missing_between(missing, start, stop):
    """Return the number of rows without k-symbol in [start, stop)."""
    shift = np.int64(at(missing, 0))
    first_run, last_run = 1 + (start >> shift), 1 + (stop >> shift)
    if at(missing, first_run) == at(missing, last_run + 1):
        return np.int64(0)
    return _index(missing, last_run, stop) - _index(missing, first_run, start)


@inlined
def _index(missing, run, row):
    """Return the index in the array of the first row that is not before ``row``, which is in run ``run``."""
    return lower_bound(missing, np.int64(at(missing, run)), np.int64(at(missing, run + 1)), row)


@inlined
def or_none(layout, c, row):
    """Return c, the k-symbol that planes show before a row, or -1 if the row has none."""
    return np.int64(-1) if c == 0 and missing_between(layout.missing, row, row + 1) > 0 else c


# Layouts of entries, which are runs of rows with counters and bits: their arrays, builder and Family.


def family_of_entries(
    types: dict,
    n_words: Callable[[int, int, int], int],
    bytes_per_symbol: Callable[[int, int, int], float],
    runs_together: int = 1,
) -> Family:
    """Return the Family of layouts whose ``entries`` are ``n_words(k, d, n)`` uint64; they register ``fill``.

    ``types`` by (k, d); a type with a field ``missing`` shows rows without k-symbol as the k-symbol 0.
    ``runs_together``: number of runs of d rows that share words.
    """

    def forms(k: int, d: int, n: int) -> dict[str, ArraySpec]:
        of_field = {"entries": ArraySpec("uint64", (n_words(k, d, n),)), "missing": form_of_missing(n)}
        return {field: of_field[field] for field in types[k, d]._fields if field in of_field}

    def build(text: Array, sa: Array, k: int, d: int, backend: Backend = ONE_CORE) -> NamedTuple:
        from ..building.bwt import fill_layout, kmer_bwt  # not needed for a search

        codes = kmer_bwt(text, sa, k, backend)
        arrays = {"entries": backend.zeros(n_words(k, d, codes.size), np.uint64)}
        if "missing" in types[k, d]._fields:
            arrays["missing"] = build_missing(codes, backend)
        layout = types[k, d](**arrays, k=k)
        fill_layout(backend, layout, text, sa, codes, d, runs_together)
        return layout

    return Family(build, forms, bytes_per_symbol, types)
