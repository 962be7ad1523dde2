"""Positions of occurrences: by rows that are at hand, or located before hits are chosen from them.

A locator says what text positions the rows of a part have: Locator on the CPU, gpu_mapping.GpuLocator on a
GPU.  Over several parts, and where the rows are on a GPU, positions of all occurrences are brought together.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..index.contracts import position_of, prefetch_position
from .hits import Rows, position_at

_AHEAD = 16  # intervals whose rows are prefetched


class Located(NamedTuple):
    """Occurrences by their positions, int64."""

    positions: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


@position_at.register(Located)
def _position(located, number):
    return located.positions[number]


class Locator(NamedTuple):
    """Looks up rows of a part of the text, which begins at ``start``, on the CPU."""

    sa: Any
    layout: Any
    start: int

    def of(self, found) -> "Locator":
        """The locator of what a search has found, here of any Intervals: rows tell where they are."""
        return self

    def locate(self, lo, size) -> np.ndarray:
        """Text positions, int64, of rows lo[i] to lo[i] + size[i] of the part, one i after the other."""
        found = np.empty(size.sum(), np.int64)
        _positions(*self, lo, size, found)
        return found


@compiled
def _positions(sa, layout, start, lo, size, found):
    n = 0
    for i in range(size.size):
        ahead = i + _AHEAD
        if ahead < size.size and size[ahead] > 0:
            prefetch_position(sa, np.int64(lo[ahead]))
        for row in range(np.int64(lo[i]), np.int64(lo[i]) + size[i]):
            found[n] = start + position_of(sa, layout, row)
            n += 1


def at_hand(locators) -> bool:
    """Whether hits can be chosen from rows, so that only those are looked at that may be reported."""
    return len(locators) == 1 and isinstance(locators[0], Locator)


def occurrences_of(locators, intervals, eligible):
    """Rows, or Located, of reads whose Intervals [n_parts, 2 * n] are given.

    ``eligible`` int64[n]: how many occurrences of each may become hits; those with none are not located.
    """
    if at_hand(locators):
        return Rows(locators[0].sa, locators[0].layout, intervals.lo[0], intervals.hi[0])
    return located(locators, intervals, eligible > 0)


def located(locators, intervals, wanted) -> Located:
    """Of reads whose Intervals [n_parts, 2 * n] are given, the occurrences of those ``wanted``, bool[n]."""
    sizes = (intervals.hi.astype(np.int64) - intervals.lo) * np.repeat(wanted, 2)
    first = np.append(0, np.cumsum(sizes.sum(axis=0)))
    positions, free = np.empty(first[-1], np.int64), first[:-1].copy()
    for locator, lo, size in zip(locators, intervals.lo, sizes, strict=True):
        _spread(locator.locate(lo, size), size, free, positions)
    return Located(positions, first[:-1], first[1:].copy())  # bounds that one may move


@compiled
def _spread(found, size, free, positions):
    """Put what a part has of each interval behind what others had: at ``free``, which moves on."""
    n = 0
    for i in range(size.size):
        for _ in range(size[i]):
            positions[free[i]] = found[n]
            free[i] += 1
            n += 1
