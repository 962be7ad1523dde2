"""Candidates -> hits: which occurrences of a read are reported, and where they are.

The rule (SelectionPolicy): sort all occurrences of a read, on both strands, by mismatches, contig, position
and strand (+ first). Report the first ``limit`` of them; with a seed, those of the stratum that is not
reported whole are drawn at random by the seed and the read's name. Report none if there are more than
``at_most``. The same pass chooses proper pairs, the candidates of a pair (pairs.py).

Hits are chosen from exact occurrences, numbered from lo[i] to hi[i], where i = 2r for read r and 2r + 1 for
its reverse complement, or from matches by their keys (Candidates). The number of exact occurrences is known
before any is located. The contract ``_position_at`` turns a number into a position: from a row of a suffix
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
from ..limits import ALL

if TYPE_CHECKING:
    from ..input.reads import ReadBatch

KEY_BITS = 56  # bits of a text_key, below the mismatches of a key
_AHEAD = 16  # number of reads, or intervals, ahead whose occurrences are prefetched


class Intervals(NamedTuple):
    """SA intervals, half-open. ``lo``, ``hi`` uint32[2 * n_reads]: row 2r for read r, 2r + 1 for its reverse.

    For all parts of a text together: [n_parts, 2 * n_reads]. Of a sparse suffix array: numbers of occurrences
    (sparse.py), int64, instead of rows.
    """

    lo: np.ndarray
    hi: np.ndarray


class Hits(NamedTuple):
    """Reported occurrences. ``first`` int64[n_reads + 1]: read r has hits first[r] to first[r + 1].

    ``position`` int64[n_hits]: position in the text. ``reverse`` bool[n_hits]. ``total`` int64[n_reads]:
    number of occurrences, reported or not: with ``strata`` (mapping.Near) those of the best stratum, without
    ``counts_all`` those of the strata that were searched; of a mate with proper pairs, their number.
    ``changes`` int64[n_hits]: how each differs from the read (input/sets.py). ``best`` int64[n_reads]: size
    of the best stratum, times 4, plus its mismatches. Without mismatches both may be EXACT.
    """

    first: np.ndarray
    position: np.ndarray
    reverse: np.ndarray
    total: np.ndarray
    changes: Any = EXACT
    best: Any = EXACT


class Candidates(NamedTuple):
    """Matches of reads, near ones or those of stretches: read r has ``keys`` int64[first[r]:first[r + 1]].

    A key is the number of mismatches, shifted by KEY_BITS, and the text_key of the match.
    """

    first: np.ndarray
    keys: np.ndarray

    def cut(self, start: int, stop: int) -> "Candidates":
        """Return those of reads start to stop."""
        first = self.first[start : stop + 1]
        return Candidates(first - first[0], self.keys[first[0] : first[-1]])


class ReadRun(NamedTuple):
    """Reads from number ``start`` of a batch on, and their candidates: exact occurrences, or near matches.

    ``intervals``: Intervals [n_parts, 2 * n], whose numbers ``locators`` locate, one per part, or None.
    ``matches``: sorted Candidates, or None. ``can_occur`` bool[n]: which reads were searched. ``weight``
    int64[n]: copies of each. ``n_reverse`` int64[n]: occurrences on -. ``total``, ``best`` int64[n]:
    as in Hits. If mismatches are allowed, ``fewest`` int64[n]: mismatches of the best one. A NearFinder
    fills in this, ``total`` and, if lengths are counted, ``n_reverse`` as it yields runs of these reads.
    """

    batch: "ReadBatch"
    intervals: Any
    locators: tuple
    total: np.ndarray
    can_occur: np.ndarray
    weight: np.ndarray
    n_reverse: np.ndarray
    fewest: np.ndarray | None = None
    matches: Candidates | None = None
    best: np.ndarray | None = None
    start: int = 0

    def cut(self, a: int, b: int) -> "ReadRun":
        """Return reads a to b of these, as views: what is written to their arrays changes these, too."""
        names = ("total", "can_occur", "weight", "n_reverse", "fewest", "best")
        columns = {name: each[a:b] for name in names if (each := getattr(self, name)) is not None}
        bounds = slice(2 * a, 2 * b)
        return self._replace(
            start=self.start + a,
            intervals=self.intervals and Intervals(*(array[:, bounds] for array in self.intervals)),
            matches=self.matches and self.matches.cut(a, b),
            **columns,
        )


@inlined
def eligible_of(total, at_most):
    """Return the number of a read's occurrences that hits are selected from."""
    return total if total <= at_most else np.int64(0)


@dataclass(frozen=True)
class SelectionPolicy:
    """Up to ``limit`` hits per read, none if there are more than ``at_most``.

    ``seed`` < 0 selects the first ones. A limit of 0 is for runs that only count.
    """

    limit: int = 1
    at_most: int = ALL
    seed: int = -1

    def eligible(self, total: np.ndarray) -> np.ndarray:
        """Return the number of occurrences that hits are selected from, of ``total`` int64[n_reads]."""
        return np.where(total <= self.at_most, total, 0)

    def reported(self, total: np.ndarray) -> np.ndarray:
        """Return the number of occurrences that are reported, of ``total`` int64[n_reads]."""
        return np.minimum(self.eligible(total), self.limit)


@by_type
def _position_at(occurrences, number):
    """Return the text position (int64) of an occurrence."""


class SARows(NamedTuple):
    """Occurrences in one part, as rows; ``sa`` and ``layout`` give their positions."""

    sa: Any
    layout: Any
    lo: np.ndarray
    hi: np.ndarray


@_position_at.register(SARows)
def _position_of_row(rows, row):
    return position_of(rows.sa, rows.layout, row)


@compiled
def lay_out(total, at_most, limit, window, first):
    """Fill in the ``first`` hit of each read; return (number of hits, most eligible occurrences, or 1).

    ``window``: skip so many hits of each read, then take at most so many.
    """
    n_hits, most, (skip, size) = np.int64(0), np.int64(1), window
    for r in range(total.size):
        eligible = eligible_of(total[r], at_most)
        first[r] = n_hits
        n_hits += min(max(min(eligible, limit) - skip, 0), size)
        most = max(most, eligible)
    first[total.size] = n_hits
    return n_hits, most


@compiled
def choose_each(candidates, batch, start, hits, order, room):
    """Fill in ``hits`` of the reads in ``candidates`` (choose_of_read)."""
    n_reads = hits.total.size
    for r in range(n_reads):
        ahead = r + _AHEAD
        if ahead < n_reads and hits.first[ahead] < hits.first[ahead + 1]:
            _prefetch_first(candidates, ahead)
        if hits.first[r] < hits.first[r + 1] and _has_candidates(candidates, r):
            choose_of_read(candidates, batch, start, hits, r, order, room)


@inlined
def choose_of_read(candidates, batch, start, hits, r, order, room):
    """Fill in the hits, one or more, of read start + r of the batch.

    ``order``: seed, and whether hits are sorted by mismatches first. ``room``: scratch, as for sort_keys.
    """
    keys, (seed, best_first) = room.keys, order
    out, n, total = hits.first[r], hits.first[r + 1] - hits.first[r], hits.total[r]
    if n == 1 and seed < 0:
        keys[0] = first_key(candidates, r)
    else:
        all_keys(candidates, r, keys)
        sort_keys(room, total)
        if seed >= 0 and n < total:
            begin, end = np.int64(0), _stratum_end(keys, 0, total)
            while end < n:
                begin, end = end, _stratum_end(keys, end, total)
            _draw(keys[begin:], end - begin, n - begin, hash_name(batch, start + r, seed))
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
def _stratum_end(keys, j, n):
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
    most = np.diff(matches.first).max(initial=1)
    _rank(matches, strata, np.empty(most, np.int64), np.empty(N_DIGITS, np.int64), total, best)
    return total, best


@compiled
def _rank(matches, strata, spare, counts, total, best):
    """Fill in the results of ``rank``. ``spare``, ``counts``: as in ByDigits, for the most of a read."""
    for r in range(total.size):
        n, keys = matches.first[r + 1] - matches.first[r], matches.keys[matches.first[r] :]
        sort_keys(ByDigits(keys, spare, counts), n)
        best[r] = _stratum_end(keys, 0, n) << 2 | (keys[0] >> KEY_BITS if n else 0)
        total[r] = best[r] >> 2 if strata else n


@inlined
def n_occurrences(occurrences, r):
    """Return the number of occurrences of read r."""
    lo, hi = occurrences.lo, occurrences.hi
    return np.int64(hi[2 * r]) - np.int64(lo[2 * r]) + np.int64(hi[2 * r + 1]) - np.int64(lo[2 * r + 1])


@by_type_or_this
def _has_candidates(candidates, r):
    """Return whether a read has any candidates."""
    return candidates.lo[2 * r] < candidates.hi[2 * r] or candidates.lo[2 * r + 1] < candidates.hi[2 * r + 1]


@_has_candidates.register(Candidates)
def _has_matches(candidates, r):
    return candidates.first[r] < candidates.first[r + 1]


@by_type_or_this
def _prefetch_first(candidates, r):
    """Prefetch what is read first of the candidates of a read."""


@_prefetch_first.register(SARows)
def _prefetch_row(rows, r):
    for i in range(2 * r, 2 * r + 2):
        if rows.lo[i] < rows.hi[i]:
            prefetch_position(rows.sa, np.int64(rows.lo[i]))
            break


@by_type_or_this
def first_key(occurrences, r):
    """Return the smallest text_key of a read's occurrences."""
    smallest = np.int64(ALL)
    for strand in range(2):
        i = 2 * r + strand
        for number in range(np.int64(occurrences.lo[i]), np.int64(occurrences.hi[i])):
            smallest = min(smallest, text_key(_position_at(occurrences, number), strand))
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
            keys[n] = text_key(_position_at(occurrences, number), strand)
            n += 1


@all_keys.register(Candidates)
def _copy_keys(candidates, r, keys):
    for j in range(min(candidates.first[r + 1] - candidates.first[r], keys.size)):
        keys[j] = candidates.keys[candidates.first[r] + j]


@inlined
def hash_name(batch, r, seed):
    """Return the 64-bit FNV-1a hash of the seed and the read's name, finished by a multiply and a shift."""
    x = np.uint64(0xCBF29CE484222325) ^ np.uint64(seed)
    for i in range(batch.name_start[r], batch.name_start[r] + batch.name_length[r]):
        x = (x ^ np.uint64(batch.data[i])) * np.uint64(0x100000001B3)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return x ^ (x >> np.uint64(29))


@inlined
def next_random(x):
    """Return the random word after x."""
    return x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)


@inlined
def _draw(keys, total, n, x):
    """Move n of ``total`` keys, drawn by the random word x, to the front and sort them.

    This is a partial Fisher-Yates shuffle of all keys. Proper pairs, which are never listed all, are drawn
    another way (pairs.py): one way for both would change which hits a seed reports.
    """
    for j in range(n):
        x = next_random(x)
        other = j + np.int64((x >> np.uint64(33)) % np.uint64(total - j))
        keys[j], keys[other] = keys[other], keys[j]
    sort(keys, n)


# Positions of occurrences, by rows or located before hits are selected.
#
# A locator turns the rows of a part into text positions: a Locator, or a SparseLocator (sparse.py) with the
# same methods.  If there are several parts, the positions of all occurrences are located first.


class Located(NamedTuple):
    """Occurrences by their text ``positions`` int64, in lists from lo[i] to hi[i], one per read and strand.

    Of pairs: n_strata lists per strand; pairs.py turns them into place_keys and may lower hi.
    """

    positions: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


@_position_at.register(Located)
def _position(located, number):
    return located.positions[number]


class Locator(NamedTuple):
    """The locator of a part on the CPU; the part begins at ``start`` of the text.

    ``is_direct``: whether hits can be chosen from ``occurrences``.
    """

    sa: Any
    layout: Any
    start: int
    is_direct: bool = True

    def occurrences(self, lo: np.ndarray, hi: np.ndarray) -> SARows:
        """Return the occurrences in rows lo[i] to hi[i], for ``choose``."""
        return SARows(self.sa, self.layout, lo, hi)

    def locate(self, lo: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the text positions, int64, of rows lo[i] to lo[i] + size[i] of the part, in order of i."""
        positions = np.empty(size.sum(), np.int64)
        _locate(self.sa, self.layout, self.start, lo, size, positions)
        return positions


@compiled
def _locate(sa, layout, start, lo, size, positions):
    n = 0
    for i in range(size.size):
        ahead = i + _AHEAD
        if ahead < size.size and size[ahead] > 0:
            prefetch_position(sa, np.int64(lo[ahead]))
        for row in range(np.int64(lo[i]), np.int64(lo[i]) + size[i]):
            positions[n] = start + position_of(sa, layout, row)
            n += 1


def are_direct(locators: Sequence[Any]) -> bool:
    """Return whether hits can be chosen from the result of a search, so that others need not be located."""
    return len(locators) == 1 and locators[0].is_direct


def located(locators: Sequence[Any], intervals: Intervals, is_needed: np.ndarray) -> Located:
    """Locate the occurrences of reads, where bool[n] ``is_needed``, by Intervals [n_parts, 2 * n] of all."""
    sizes = (intervals.hi.astype(np.int64) - intervals.lo) * np.repeat(is_needed, 2)
    of_parts = [
        locator.locate(lo, size) for locator, lo, size in zip(locators, intervals.lo, sizes, strict=True)
    ]
    positions, size = of_parts[0], sizes.sum(axis=0)
    if of_parts[1:]:
        which = np.concatenate([np.repeat(np.arange(each.size), each) for each in sizes])
        positions = np.concatenate(of_parts)[np.argsort(which, kind="stable")]
    ends = np.cumsum(size)
    return Located(positions, ends - size, ends)
