"""Occurrences -> hits: which occurrences of a read are reported, and where they are.

The rule (SelectionPolicy): sort all occurrences of a read, on both strands, by contig, position and strand (+
first). Report the first ``limit`` of them, or ``limit`` drawn at random by a seed and the read's name; report
none if there are more than ``at_most``. The number of occurrences is known before any is located.

Occurrences are numbered from lo[i] to hi[i], where i = 2r for read r and 2r + 1 for its reverse complement.
The contract ``position_at`` turns a number into a position: from a row of a suffix array (SARows), or from
positions that were located before (Located).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..compiler.functions import by_type, by_type_or_this, compiled, inlined
from ..compiler.sorting import N_DIGITS, ByDigits, sort, sort_keys
from ..index.contracts import position_of, prefetch_position
from ..index.reference import is_reverse, position_of_text_key, text_key

if TYPE_CHECKING:
    from ..input.reads import ReadBatch

ALL = 2**62  # a limit that has no effect
_AHEAD = 16  # number of reads ahead whose occurrences are prefetched


class Intervals(NamedTuple):
    """SA intervals, half-open. ``lo``, ``hi`` uint32[2 * n_reads]: row 2r for read r, 2r + 1 for its reverse.

    For all parts of a text together: uint32[n_parts, 2 * n_reads].
    """

    lo: np.ndarray
    hi: np.ndarray


class Hits(NamedTuple):
    """Reported occurrences. ``first`` int64[n_reads + 1]: read r has hits first[r] to first[r + 1].

    ``position`` int64[n_hits]: position in the text. ``reverse`` bool[n_hits]. ``total`` int64[n_reads]:
    exact number of occurrences, reported or not.
    """

    first: np.ndarray
    position: np.ndarray
    reverse: np.ndarray
    total: np.ndarray


def count(intervals: Intervals) -> np.ndarray:
    """Return each read's exact number of occurrences, int64[n_reads], by Intervals [n_parts, 2 * n_reads]."""
    total = np.empty(intervals.lo.shape[1] // 2, np.int64)
    _count(intervals, total)
    return total


@compiled
def _count(intervals, total):
    total[:] = 0
    for part in range(intervals.lo.shape[0]):
        for i in range(2 * total.size):
            total[i >> 1] += np.int64(intervals.hi[part, i]) - np.int64(intervals.lo[part, i])


@inlined
def eligible_of(total, at_most):
    """Return the number of a read's occurrences that hits are selected from."""
    return total if total <= at_most else np.int64(0)


@compiled
def _at_most(total, at_most, limit, wanted):
    """Fill ``wanted`` int64[n] with the number of eligible occurrences of each read, at most ``limit``."""
    for r in range(total.size):
        wanted[r] = min(eligible_of(total[r], at_most), limit)


@dataclass(frozen=True)
class SelectionPolicy:
    """Up to ``limit`` hits per read, none if there are more than ``at_most``.

    ``seed`` < 0 selects the first ones.

    A limit of 0 is for runs that only count.
    """

    limit: int = 1
    at_most: int = ALL
    seed: int = -1

    def eligible(self, total: np.ndarray) -> np.ndarray:
        """Return the number of occurrences that hits are selected from.

        ``total`` int64[n_reads] counts all.
        """
        return self._wanted(total, ALL)

    def reported(self, total: np.ndarray) -> np.ndarray:
        """Return the number of occurrences that are reported; ``total`` int64[n_reads] counts all."""
        return self._wanted(total, self.limit)

    def _wanted(self, total: np.ndarray, limit: int) -> np.ndarray:
        wanted = np.empty(total.size, np.int64)
        _at_most(total, self.at_most, limit, wanted)
        return wanted


@dataclass(frozen=True)
class Near:
    """Options of near matches: up to ``mismatches``.

    With ``iupac``, IUPAC codes stand for their sets of bases.

    ``strata``: report only the near matches with the fewest mismatches. ``best_first``: sort by mismatches,
    otherwise by position. ``counts_all``: count all occurrences of a read, not only those found by the time
    that there are enough hits.
    """

    mismatches: int
    iupac: bool = False
    strata: bool = False
    best_first: bool = True
    counts_all: bool = True


@by_type
def position_at(occurrences, number):
    """Return the text position (int64) of an occurrence."""


@by_type_or_this
def prefetch_at(occurrences, number):
    """Prefetch what ``position_at`` reads first."""


class SARows(NamedTuple):
    """Occurrences in one part, as rows; ``sa`` and ``layout`` give their positions."""

    sa: Any
    layout: Any
    lo: np.ndarray
    hi: np.ndarray


@position_at.register(SARows)
def _position_of_row(rows, row):
    return position_of(rows.sa, rows.layout, row)


@prefetch_at.register(SARows)
def _prefetch_row(rows, row):
    prefetch_position(rows.sa, row)


def select(
    occurrences: "Located | SARows",
    batch: "ReadBatch",
    start: int,
    total: np.ndarray,
    policy: SelectionPolicy,
) -> Hits:
    """Return the Hits of a batch's reads from ``start`` on, which have ``total`` int64[n] occurrences."""
    first = np.empty(total.size + 1, np.int64)
    n_hits, most = lay_out(total, policy.at_most, policy.limit, first)
    hits = Hits(first, np.empty(n_hits, np.int64), np.empty(n_hits, np.bool_), total)
    room = ByDigits(*(np.empty(n, np.int64) for n in (most, most, N_DIGITS)))
    _select(occurrences, batch, start, hits, policy.seed, room)
    return hits


@compiled
def lay_out(total, at_most, limit, first):
    """Fill in the first hit of each read.

    Return (number of hits, largest number of eligible occurrences, or 1).
    """
    n_hits, most = np.int64(0), np.int64(1)
    for r in range(total.size):
        eligible = eligible_of(total[r], at_most)
        first[r] = n_hits
        n_hits += min(eligible, limit)
        most = max(most, eligible)
    first[total.size] = n_hits
    return n_hits, most


@compiled
def _select(occurrences, batch, start, hits, seed, room):
    """Fill ``hits``, except its counts. ``room`` is scratch for the most occurrences of a read."""
    n_reads = hits.total.size
    for r in range(n_reads):
        if r + _AHEAD < n_reads:
            has_hits = hits.first[r + _AHEAD] < hits.first[r + _AHEAD + 1]
            for i in range(2 * (r + _AHEAD), 2 * (r + _AHEAD) + 2):
                if has_hits and occurrences.lo[i] < occurrences.hi[i]:
                    prefetch_at(occurrences, np.int64(occurrences.lo[i]))
                    break
        select_of_read(occurrences, batch, start, hits, r, seed, room)


@inlined
def select_of_read(occurrences, batch, start, hits, r, seed, room):
    """Fill in the hits of read start + r of the batch. ``room`` (sort_keys) is scratch."""
    keys = room.keys
    out, n = hits.first[r], hits.first[r + 1] - hits.first[r]
    if n == 0:
        return
    if n == 1 and seed < 0:
        keys[0] = first_key(occurrences, r)
    else:
        total = hits.total[r]
        all_keys(occurrences, r, keys)
        sort_keys(room, total)
        if seed >= 0 and n < total:
            draw(keys, total, n, hash_name(batch, start + r, seed))
    for j in range(n):
        hits.position[out + j], hits.reverse[out + j] = position_of_text_key(keys[j]), is_reverse(keys[j])


@by_type_or_this
def first_key(occurrences, r):
    """Return the smallest text_key of a read's occurrences."""
    smallest = np.int64(ALL)
    for strand in range(2):
        i = 2 * r + strand
        for number in range(np.int64(occurrences.lo[i]), np.int64(occurrences.hi[i])):
            smallest = min(smallest, text_key(position_at(occurrences, number), strand))
    return smallest


@by_type_or_this
def all_keys(occurrences, r, keys):
    """Write the text_keys of all occurrences of a read into ``keys``."""
    n = 0
    for strand in range(2):
        i = 2 * r + strand
        for number in range(np.int64(occurrences.lo[i]), np.int64(occurrences.hi[i])):
            keys[n] = text_key(position_at(occurrences, number), strand)
            n += 1


@inlined
def hash_name(batch, r, seed):
    """Return the 64-bit FNV-1a hash of the seed and the read's name, finished by a multiply and a shift."""
    x = np.uint64(0xCBF29CE484222325) ^ np.uint64(seed)
    for i in range(batch.name_start[r], batch.name_start[r] + batch.name_length[r]):
        x = (x ^ np.uint64(batch.data[i])) * np.uint64(0x100000001B3)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return x ^ (x >> np.uint64(29))


@inlined
def draw(keys, total, n, x):
    """Move n of ``total`` keys, drawn by the random word x, to the front and sort them.

    This is a partial Fisher-Yates shuffle.
    """
    for j in range(n):
        x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = j + np.int64((x >> np.uint64(33)) % np.uint64(total - j))
        keys[j], keys[other] = keys[other], keys[j]
    sort(keys, n)


# Positions of occurrences, by rows or located before hits are selected.
#
# A locator turns the rows of a part into text positions.  If there are several parts, the positions of all
# occurrences are located first.

_INTERVALS_AHEAD = 16  # number of intervals ahead whose rows are prefetched


class Located(NamedTuple):
    """Occurrences by their positions, int64."""

    positions: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


@position_at.register(Located)
def _position(located, number):
    return located.positions[number]


class LocatesRows(Protocol):
    """Interface of a part's locator: Locator, GpuLocator, SparseLocator; ``occurrences`` if ``at_hand``."""

    @property
    def at_hand(self) -> bool:
        """Whether hits can be selected from ``occurrences`` directly."""

    def of(self, found: Any, /) -> "LocatesRows":
        """Return the locator for the result of a search."""

    def locate(self, lo: np.ndarray, size: np.ndarray, /) -> np.ndarray:
        """Return the text positions, int64, of rows lo[i] to lo[i] + size[i] of the part, in order of i."""


class Locator(NamedTuple):
    """The locator of a part on the CPU; the part begins at ``start`` of the text."""

    sa: Any
    layout: Any
    start: int

    @property
    def at_hand(self) -> bool:
        """Whether hits can be selected from ``occurrences`` directly."""
        return True

    def of(self, found: Intervals) -> "Locator":
        """Return the locator for the result of a search: this one, for any Intervals."""
        return self

    def occurrences(self, lo: np.ndarray, hi: np.ndarray) -> SARows:
        """Return the occurrences in rows lo[i] to hi[i], for ``select``."""
        return SARows(self.sa, self.layout, lo, hi)

    def locate(self, lo: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the text positions, int64, of rows lo[i] to lo[i] + size[i] of the part, in order of i."""
        found = np.empty(size.sum(), np.int64)
        _positions(*self, lo, size, found)
        return found


@compiled
def _positions(sa, layout, start, lo, size, found):
    n = 0
    for i in range(size.size):
        ahead = i + _INTERVALS_AHEAD
        if ahead < size.size and size[ahead] > 0:
            prefetch_position(sa, np.int64(lo[ahead]))
        for row in range(np.int64(lo[i]), np.int64(lo[i]) + size[i]):
            found[n] = start + position_of(sa, layout, row)
            n += 1


def at_hand(locators: Sequence[LocatesRows]) -> bool:
    """Return whether hits can be selected from the search result directly, so that only these are located."""
    return len(locators) == 1 and locators[0].at_hand


def occurrences_of(
    locators: Sequence[LocatesRows], intervals: Intervals, eligible: np.ndarray
) -> Located | SARows:
    """Return the occurrences of reads as SARows or Located, from their Intervals [n_parts, 2 * n].

    ``eligible`` int64[n]: number of occurrences of each read that may become hits. Reads with 0 are not
    located.
    """
    if at_hand(locators):
        first: Any = locators[0]
        return first.occurrences(intervals.lo[0], intervals.hi[0])
    return located(locators, intervals, eligible > 0)


def located(locators: Sequence[LocatesRows], intervals: Intervals, wanted: np.ndarray) -> Located:
    """Locate the occurrences of the ``wanted`` reads, bool[n], by Intervals [n_parts, 2 * n] of all reads."""
    sizes = np.empty(intervals.lo.shape, np.int64)
    for lo, hi, size in zip(*intervals, sizes, strict=True):
        _find_sizes(lo, hi, wanted, size)
    first = np.append(0, np.cumsum(sizes.sum(axis=0) if len(sizes) > 1 else sizes[0]))
    found = [
        locator.locate(lo, size) for locator, lo, size in zip(locators, intervals.lo, sizes, strict=True)
    ]
    positions = found[0]
    if len(found) > 1:
        positions, free = np.empty(first[-1], np.int64), first[:-1].copy()
        for own, size in zip(found, sizes, strict=True):
            _spread(own, size, free, positions)
    return Located(positions, first[:-1], first[1:].copy())  # a copy, so that callers may change either bound


@compiled
def _find_sizes(lo, hi, wanted, size):
    """Fill ``size`` int64[2 * n]: the sizes of the intervals of ``wanted`` reads, bool[n], 0 for others."""
    for i in range(size.size):
        size[i] = np.int64(hi[i]) - np.int64(lo[i]) if wanted[i >> 1] else np.int64(0)


@compiled
def _spread(found, size, free, positions):
    """Append the positions found in a part to those of each interval, at ``free``; advance ``free``."""
    n = 0
    for i in range(size.size):
        for _ in range(size[i]):
            positions[free[i]] = found[n]
            free[i] += 1
            n += 1
