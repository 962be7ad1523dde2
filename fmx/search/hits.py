"""Candidates -> hits: which occurrences of a read are reported, and where they are.

The rule (SelectionPolicy): sort all occurrences of a read, on both strands, by mismatches, contig, position
and strand (+ first). Report the first ``limit`` of them; with a seed, those of the stratum that is not
reported whole are drawn at random by the seed and the read's name. Report none if there are more than
``at_most``.

Candidates are exact occurrences, numbered from lo[i] to hi[i], where i = 2r for read r and 2r + 1 for its
reverse complement, or near matches by their keys (Candidates). The number of exact occurrences is known
before any is located. The contract ``position_at`` turns a number into a position: from a row of a suffix
array (SARows), or from positions that were located before (Located).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import by_type, by_type_or_this, compiled, inlined
from ..compiler.sorting import N_DIGITS, ByDigits, sort, sort_keys
from ..index.contracts import position_of, prefetch_position
from ..index.reference import is_reverse, position_of_text_key, text_key
from ..input.sets import EXACT

if TYPE_CHECKING:
    from ..input.reads import ReadBatch

ALL = 2**62  # a limit that has no effect
KEY_BITS = 56  # bits of a text_key, below the mismatches of a key
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
    exact number of occurrences, reported or not. ``changes`` int64[n_hits]: how each differs from the read
    (input/sets.py). ``best`` int64[n_reads]: number of a read's occurrences with the fewest mismatches, times
    4, plus these mismatches. Without mismatches both may be EXACT.
    """

    first: np.ndarray
    position: np.ndarray
    reverse: np.ndarray
    total: np.ndarray
    changes: Any = EXACT
    best: Any = EXACT


class Candidates(NamedTuple):
    """Near matches of reads: read r has ``keys`` int64 from ``first[r]`` to ``first[r + 1]``.

    A key is the number of mismatches, shifted by KEY_BITS, and the text_key of the match.
    """

    first: np.ndarray
    keys: np.ndarray


class ReadRun(NamedTuple):
    """Candidates of some consecutive reads of a batch: for each read exact occurrences, or near matches.

    ``intervals``: Intervals [n_parts, 2 * n] of row numbers for ``locators``, or None. ``matches``: sorted
    Candidates, or None. ``total``, ``best`` int64[n]: as in Hits; ``best`` may be None. ``weight`` int64[n]:
    copies of each read. ``sources``: of the matches (near.py).
    """

    intervals: Intervals | None
    locators: tuple
    matches: Candidates | None
    total: np.ndarray
    best: np.ndarray | None
    weight: np.ndarray
    sources: tuple = ()

    def part(self, start: int, stop: int) -> "ReadRun":
        """Return reads start to stop of the run."""
        matches = self.matches and self.matches._replace(first=self.matches.first[start : stop + 1])
        best = None if self.best is None else self.best[start:stop]
        total, weight = self.total[start:stop], self.weight[start:stop]
        sources = cut_sources(self.sources, start, stop)
        return ReadRun(
            cut_intervals(self.intervals, start, stop), self.locators, matches, total, best, weight, sources
        )


def cut_sources(sources: tuple, start: int, stop: int) -> tuple:
    """Return the ``sources`` of the matches of reads start to stop (near.py)."""
    return tuple((patterns, rows[start:stop]) for patterns, rows in sources)


def cut_intervals(intervals: Any, start: int, stop: int) -> Any:
    """Return the Intervals [n_parts, 2 * n] of reads start to stop; None of None."""
    return intervals and Intervals(*(array[:, 2 * start : 2 * stop] for array in intervals))


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


def choose(
    candidates: "Sequence[Candidates | Located | SARows]", batch: "ReadBatch", start: int, total: np.ndarray,
    policy: SelectionPolicy, best: np.ndarray | None = None, best_first: bool = True,
) -> Hits:  # fmt: skip
    """Return the Hits of a batch's reads from ``start`` on, which have ``total`` int64[n] occurrences.

    Each read has occurrences in at most one of ``candidates``; Candidates are sorted. ``best``: that of Hits,
    if these may have mismatches; all changes are 0. ``best_first``: as in Near.
    """
    first = np.empty(total.size + 1, np.int64)
    n_hits, most = lay_out(total, policy.at_most, policy.limit, first)
    hits = Hits(first, np.empty(n_hits, np.int64), np.empty(n_hits, np.bool_), total)
    room = ByDigits(*(np.empty(n, np.int64) for n in (most, most, N_DIGITS)))
    for each in candidates:
        _choose(each, batch, start, hits, (policy.seed, best_first), room)
    return hits if best is None else hits._replace(changes=np.zeros(n_hits, np.int64), best=best)


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
def _choose(candidates, batch, start, hits, order, room):
    """Fill in ``hits`` of the reads in ``candidates``. ``room`` is scratch for the most of a read."""
    n_reads = hits.total.size
    for r in range(n_reads):
        ahead = r + _AHEAD
        if ahead < n_reads and hits.first[ahead] < hits.first[ahead + 1]:
            prefetch_first(candidates, ahead)
        if has_candidates(candidates, r):
            choose_of_read(candidates, batch, start, hits, r, order, room)


@inlined
def choose_of_read(candidates, batch, start, hits, r, order, room):
    """Fill in the hits of read start + r of the batch.

    ``order``: seed, and whether hits are sorted by mismatches first. ``room`` (sort_keys) is scratch.
    """
    keys, (seed, best_first) = room.keys, order
    out, n, total = hits.first[r], hits.first[r + 1] - hits.first[r], hits.total[r]
    if n == 0:
        return
    if n == 1 and seed < 0:
        keys[0] = first_key(candidates, r)
    else:
        sorted_keys(candidates, r, total, room)
        if seed >= 0 and n < total:
            begin, end = np.int64(0), stratum_end(keys, 0, total)
            while end < n:
                begin, end = end, stratum_end(keys, end, total)
            draw(keys[begin:], end - begin, n - begin, hash_name(batch, start + r, seed))
        if not best_first:
            for j in range(n):
                keys[j] &= (np.int64(1) << KEY_BITS) - 1
            sort(keys, n)
    for j in range(n):
        hits.position[out + j], hits.reverse[out + j] = text_position(keys[j]), is_reverse(keys[j])


@inlined
def text_position(key):
    """Return the position in a key of Candidates."""
    return position_of_text_key(key & ((np.int64(1) << KEY_BITS) - 1))


@inlined
def stratum_end(keys, j, n):
    """Return the end of those of n sorted keys with as many mismatches as key j."""
    end = j
    while end < n and keys[end] >> KEY_BITS == keys[j] >> KEY_BITS:
        end += 1
    return end


def rank(matches: Candidates, strata: bool) -> tuple[np.ndarray, np.ndarray]:
    """Sort the matches of each read; return (total, best) of Hits, int64[n_reads] both.

    With ``strata``, only those with the fewest mismatches count.
    """
    total, best = np.empty((2, matches.first.size - 1), np.int64)
    spare, counts = (np.empty(n, np.int64) for n in (_most_of_a_read(matches), N_DIGITS))
    _rank(matches, strata, spare, counts, total, best)
    return total, best


@compiled
def _most_of_a_read(matches):
    """Return the largest number of matches of a read, or 1."""
    most = np.int64(1)
    for r in range(matches.first.size - 1):
        most = max(most, matches.first[r + 1] - matches.first[r])
    return most


@compiled
def _rank(matches, strata, spare, counts, total, best):
    """Fill in the results of ``rank``. ``spare``, ``counts``: as in ByDigits, for the most of a read."""
    for r in range(total.size):
        n, keys = matches.first[r + 1] - matches.first[r], matches.keys[matches.first[r] :]
        sort_keys(ByDigits(keys, spare, counts), n)
        best[r] = stratum_end(keys, 0, n) << 2 | (keys[0] >> KEY_BITS if n else 0)
        total[r] = best[r] >> 2 if strata else n


@by_type_or_this
def has_candidates(candidates, r):
    """Return whether a read has any candidates."""
    return candidates.lo[2 * r] < candidates.hi[2 * r] or candidates.lo[2 * r + 1] < candidates.hi[2 * r + 1]


@has_candidates.register(Candidates)
def _is_candidate(candidates, r):
    return candidates.first[r] < candidates.first[r + 1]


@by_type_or_this
def prefetch_first(candidates, r):
    """Prefetch what is read first of the candidates of a read."""
    for i in range(2 * r, 2 * r + 2):
        if candidates.lo[i] < candidates.hi[i]:
            prefetch_at(candidates, np.int64(candidates.lo[i]))
            break


@prefetch_first.register(Candidates)
def _prefetch_none(candidates, r):
    pass


@by_type_or_this
def sorted_keys(candidates, r, total, room):
    """Write the sorted keys of a read, which has ``total`` candidates, into ``room.keys``."""
    all_keys(candidates, r, room.keys)
    sort_keys(room, total)


@sorted_keys.register(Candidates)
def _copy_keys(candidates, r, total, room):
    for j in range(total):
        room.keys[j] = candidates.keys[candidates.first[r] + j]


@by_type_or_this
def first_key(occurrences, r):
    """Return the smallest text_key of a read's occurrences."""
    smallest = np.int64(ALL)
    for strand in range(2):
        i = 2 * r + strand
        for number in range(np.int64(occurrences.lo[i]), np.int64(occurrences.hi[i])):
            smallest = min(smallest, text_key(position_at(occurrences, number), strand))
    return smallest


@first_key.register(Candidates)
def _first_match(candidates, r):
    return candidates.keys[candidates.first[r]]


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
# A locator turns the rows of a part into text positions: a Locator, or a SparseLocator (sparse.py) with the
# same methods.  If there are several parts, the positions of all occurrences are located first.

_INTERVALS_AHEAD = 16  # number of intervals ahead whose rows are prefetched


class Located(NamedTuple):
    """Occurrences by their positions, int64."""

    positions: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


@position_at.register(Located)
def _position(located, number):
    return located.positions[number]


class Locator(NamedTuple):
    """The locator of a part on the CPU; the part begins at ``start`` of the text."""

    sa: Any
    layout: Any
    start: int

    @property
    def is_direct(self) -> bool:
        """Whether hits can be chosen from ``occurrences``."""
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


def are_direct(locators: Sequence[Any]) -> bool:
    """Return whether hits can be chosen from the result of a search, so that only these are located."""
    return len(locators) == 1 and locators[0].is_direct


def occurrences_of(locators: Sequence[Any], intervals: Intervals, eligible: np.ndarray) -> Located | SARows:
    """Return the occurrences of reads as SARows or Located, from their Intervals [n_parts, 2 * n].

    ``eligible`` int64[n]: number of occurrences of each read that may become hits. Reads with 0 are not
    located.
    """
    if are_direct(locators):
        return locators[0].occurrences(intervals.lo[0], intervals.hi[0])
    return located(locators, intervals, eligible > 0)


def located(locators: Sequence[Any], intervals: Intervals, wanted: np.ndarray) -> Located:
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
