"""Any layout without prefetching: what that is worth is measured by leaving it out."""

from typing import Any, NamedTuple

from ...index.contracts import extend, lookup, neighbour, occ, prefetch_extend, units


class Unprefetched(NamedTuple):
    """``layout`` searched without prefetching; ``k`` its own."""

    layout: Any
    k: int


@units.register(Unprefetched)
def _units(layout):
    return 0


@occ.register(Unprefetched)
def _occ(layout, c, i):
    return occ(layout.layout, c, i)


@extend.register(Unprefetched)
def _extend(layout, c, lo, hi):
    return extend(layout.layout, c, lo, hi)


@lookup.register(Unprefetched)
def _lookup(layout, c, length):
    return lookup(layout.layout, c, length)


@neighbour.register(Unprefetched)
def _neighbour(layout, row):
    return neighbour(layout.layout, row)


@prefetch_extend.register(Unprefetched)
def _prefetch_extend(layout, c, lo, hi):
    return None
