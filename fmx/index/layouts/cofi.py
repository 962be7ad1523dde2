"""COFI, the compressed sparse FM-index for large k-steps (Langarita et al. 2020, section 4).

    offsets    first row of every k-symbol: where its column starts in changes; then n
    changes    changes[j] is the j-th row that a k-symbol precedes, one column after another

Within a column the rows ascend, so LF(c, i) is the place of i in column c: two lower-bound searches extend an
interval (lo, hi) by k symbols, the second one among the hi - lo elements from the end of the first.  The row
at place j of changes is the suffix at row j less its first k symbols: changes[j] = ISA[SA[j] + k].

Suffixes that meet a separator after l < k symbols belong to no column, but are between two.  They keep their
rows, with changes = _HOLE + l: more than any row, so that every search ends before them, and in an order that
finds the rows of strings shorter than k:

    row        0 1 2 ...
    changes    _HOLE+0 | column AA: 3 9 17 | _HOLE+1 (C$) | column CA: ...
               offsets:  ^ AA, also of AC, AG, AT if absent: ^      ^ CA

Size: 4 bytes per symbol (changes) and 4 (4^k + 1) bytes (offsets).
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiler import sorting
from ...compiler.functions import inlined, static_type
from ...compiler.primitives import at, prefetch
from ...errors import UnsupportedError
from ...machines.jobs import ONE_CORE, Array, Backend, do
from .. import contracts
from ..bwt import invert
from ..tables import first_rows
from . import ArraySpec, Family

_HOLE = 2**32 - 16


class Cofi(NamedTuple):
    """``offsets`` uint32[4^k + 1], ``changes`` uint32[n]."""

    offsets: np.ndarray
    changes: np.ndarray
    k: int


# Cofi with branching searches, for GPUs.
CofiBranching = static_type("CofiBranching", Cofi._fields, __name__)
_TYPES = {(k, None): Cofi for k in range(15, 1, -1)}


def _forms(k: int, d: int | None, n: int) -> dict:
    """Return the ArraySpec of each array."""
    return {
        "offsets": ArraySpec("uint32", (4**k + 1,), n, ascends=True),
        "changes": ArraySpec("uint32", (n,)),
    }


def _build(text: Array, sa: Array, k: int, d: int | None, backend: Backend = ONE_CORE) -> Any:
    """Build the layout of a text (uint8[n]: separator 0, A C G T 1 to 4) from its suffix array
    (uint32[n])."""
    n = text.size
    if n > _HOLE:
        raise UnsupportedError(
            f"cofi holds at most {_HOLE} symbols of text, but this text has {n}: choose another --layout"
        )
    row_of, changes = invert(backend, sa), backend.empty(n, np.uint32)
    backend.run(FindChanges(text, row_of, k, changes), n)
    del row_of
    return Cofi(first_rows(backend, text, sa, k), changes, k)


@do.of("text row_of k changes")
def FindChanges(job, stretch, start, stop):
    """Write ``changes`` by text position."""
    text, row_of, k = job.text, job.row_of, job.k
    length = np.int64(0)  # symbols from a position to the next separator, at most k
    while length < k and stop + length < text.size and text[stop + length] != 0:
        length += 1
    for position in range(stop - 1, start - 1, -1):
        if position - 32 >= start:
            prefetch(job.changes, np.int64(row_of[position - 32]))
        length = np.int64(0) if text[position] == 0 else min(length + 1, np.int64(k))
        row = np.int64(row_of[position + k]) if length == k else _HOLE + length
        job.changes[row_of[position]] = row


@inlined
def _lower_bound(changes, left, right, row):
    """Return the index of the first element of changes[left:right] not less than ``row`` (left > 0).

    Four halvings suffice for most columns; they always run, so that there are no branches to mispredict.
    """
    n = right - left
    while n >> 4 > 0:
        left, n = _halved(changes, left, n, row)
    for _ in range(4):
        left, n = _halved(changes, left, n, row)
    return left + (n & np.int64(np.int64(at(changes, left - np.int64(n == 0))) < row))


@inlined
def _lower_bound_of_few(changes, left, right, row):
    """Return the result of _lower_bound, for ranges of mostly one element: halve only as often as needed."""
    n = right - left
    while n > 1:
        left, n = _halved(changes, left, n, row)
    return left + (n & np.int64(np.int64(at(changes, left - np.int64(n == 0))) < row))


@inlined
def _halved(changes, left, n, row):
    """Do one branch-free step of a search among n elements; no step for n < 2."""
    half = n >> 1
    return left + (half & -np.int64(np.int64(at(changes, left + half - 1)) < row)), n - half


def _register(cls: type, lower_bound: Any, second: Any) -> None:
    @contracts.units.register(cls)
    def units_cofi(layout):
        return 0

    @contracts.occ.register(cls)
    def occ_cofi(layout, c, i):
        left, right = np.int64(at(layout.offsets, c)), np.int64(at(layout.offsets, c + 1))
        return lower_bound(layout.changes, left, right, i)

    @contracts.extend.register(cls)
    def extend_cofi(layout, c, lo, hi):
        left, right = np.int64(at(layout.offsets, c)), np.int64(at(layout.offsets, c + 1))
        first = lower_bound(layout.changes, left, right, lo)
        return first, second(layout.changes, first, min(right, first + (hi - lo)), hi)

    @contracts.prefetch_symbol.register(cls)
    def prefetch_symbol_cofi(layout, c):
        prefetch(layout.offsets, c)

    @contracts.prefetch_extend.register(cls)
    def prefetch_extend_cofi(layout, c, lo, hi):
        # The first pivot, and either the ends of a short column or the second pivots of a long one.
        left, right = np.int64(at(layout.offsets, c)), np.int64(at(layout.offsets, c + 1))
        pivot = (left + right) >> 1
        spread = (right - left) >> (2 if right - left > 32 else 1)
        prefetch(layout.changes, pivot - spread)
        prefetch(layout.changes, pivot)
        prefetch(layout.changes, pivot + spread)

    @contracts.lookup.register(cls)
    def lookup_cofi(layout, c, length):
        # The rows from the column before the first one with the string; those between columns are HOLEs.
        first, stop = c << (2 * (layout.k - length)), (c + 1) << (2 * (layout.k - length))
        left = np.int64(at(layout.offsets, first - 1)) if first > 0 else np.int64(0)
        lo = sorting.lower_bound(layout.changes, left, np.int64(at(layout.offsets, first)), _HOLE + length)
        left, right = np.int64(at(layout.offsets, stop - 1)), np.int64(at(layout.offsets, stop))
        return lo, sorting.lower_bound(layout.changes, left, right, _HOLE)

    @contracts.neighbour.register(cls)
    def neighbour_cofi(layout, row):
        return np.int64(at(layout.changes, row)), layout.k


@contracts.on_device.register(Cofi)
def _on_device_cofi(layout):
    return CofiBranching(*layout)  # a GPU does not speculate, and branching reads less


_register(Cofi, _lower_bound, _lower_bound_of_few)
_register(CofiBranching, sorting.lower_bound, sorting.lower_bound)
FAMILY = Family(
    _build,
    _forms,
    lambda k, d, n: 4 + 4 * (4**k + 1) / n,
    _TYPES,
    fits=lambda k, n: (
        k == 2 or 4**k + 1 <= n
    ),  # the offsets are no larger than the changes, or as small as can be
    walks_forward=True,
)
