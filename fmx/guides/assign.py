"""Assigns reads to guides: looks up windows of a read in the table of guides.

Windows are at given offsets, next to flanks, or anywhere:

    read       TTGTGGAAAGGACGAAACACCG GCAGGCGGTACTCAAGGGCA GTTTTAGAGC
    forward                    after|      guide         |before
    reverse    what follows, the guide and what precedes it, all as reverse complement

Positions are those of the read as given: before a guide on the reverse strand is the reverse complement of
the flank ``after``.

Windows that equal a guide come first; if there is none and ``mismatches`` is 1, windows with one mismatch to
a guide; among these, the longest.  A read counts towards a guide if all these windows agree; otherwise it is
ambiguous.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at
from ..dna import CODE, DEGENERATE, FORWARD, PLAIN, REVERSE, WORD, pack_read, reverse_complement, symbols
from ..input.reads import ReadBatch
from .table import MANY, NONE, GuideTable, find, near


class Where(NamedTuple):
    """The windows of a read to look up, by ``offset`` int64[n] and ``reverse`` bool[n].

    With ``is_scanned``, all windows of ``strands`` between matching flanks: ``left`` and ``right`` uint8[]
    for the forward strand, ``reverse_left`` and ``reverse_right`` for the reverse strand, with the set of
    allowed bases as bits for each position.
    """

    offset: np.ndarray
    reverse: np.ndarray
    is_scanned: bool
    strands: int
    left: np.ndarray
    right: np.ndarray
    reverse_left: np.ndarray
    reverse_right: np.ndarray


def at_offsets(places: Sequence[tuple[int, bool]]) -> Where:
    """Return the windows that begin at these places: (offset, whether on the reverse strand)."""
    nothing = np.empty(0, np.uint8)
    offset = np.array([offset for offset, _ in places], np.int64)
    reverse = np.array([is_reverse for _, is_reverse in places], np.bool_)
    return Where(offset, reverse, False, FORWARD | REVERSE, nothing, nothing, nothing, nothing)


def scanned(strands: int, after: str = "", before: str = "") -> Where:
    """Return all windows of ``strands`` immediately after one flank and before the other, in IUPAC codes."""
    left, right = [DEGENERATE[list(flank.encode())] for flank in (after, before)]
    reverse = [  # swaps A and T, C and G
        (bits & 1) << 3 | (bits & 2) << 1 | (bits & 4) >> 1 | (bits & 8) >> 3
        for bits in (right[::-1], left[::-1])
    ]
    return Where(np.empty(0, np.int64), np.empty(0, np.bool_), True, strands, left, right, *reverse)


@inlined
def _n_windows(where, length):
    """Return the number of windows in a read of ``length`` bases; an upper bound if they are scanned."""
    return 2 * length if where.is_scanned else where.offset.size


@inlined
def _window(where, i):
    """Return (begin of window i, whether it is on the reverse strand)."""
    if where.is_scanned:
        return i >> 1, (i & 1) == 1
    return where.offset[i], where.reverse[i]


@inlined
def _reach(where, length, longest):
    """Return (first, last + 1) of the bases that windows of up to ``longest`` bases cover."""
    if where.is_scanned:
        return np.int64(0), length
    first, last = length, np.int64(0)
    for i in range(where.offset.size):
        first, last = min(first, where.offset[i]), max(last, where.offset[i] + longest)
    return first, min(last, length)


@inlined
def _fits(where, batch, r, bit, place):
    """Return whether a window of read r is on a searched strand, between matching flanks.

    ``place``: (begin, length, whether on the reverse strand); ``bit``: dna.PLAIN.
    """
    i, n, reverse = place
    if not where.is_scanned:
        return True
    if not where.strands & (REVERSE if reverse else FORWARD):
        return False
    left = where.reverse_left if reverse else where.left
    right = where.reverse_right if reverse else where.right
    if i < left.size or i + n + right.size > batch.length[r]:
        return False
    begin = batch.start[r] + i
    return _spells(left, batch.data, bit, begin - left.size) and _spells(right, batch.data, bit, begin + n)


@inlined
def _spells(flank, data, bit, i):
    """Return whether the bases of ``data`` from i on match the flank."""
    j = 0
    while j < flank.size and flank[j] & at(bit, data[i + j]):
        j += 1
    return j == flank.size


@dataclass(frozen=True)
class GuideWindow:
    """Where to look for guides: ``offsets`` in a read, ``after`` and ``before`` (flanks), or ``anywhere``;
    with none of them, at the offsets found in the first reads.  ``strands``: bits."""

    offsets: tuple = ()
    after: str = ""
    before: str = ""
    anywhere: bool = False
    strands: int = FORWARD | REVERSE

    @property
    def is_flanked(self) -> bool:
        """Whether guides are next to certain bases, which also tell their strand."""
        return bool(self.after or self.before)

    def where(self) -> Where | None:
        """Return the windows; None if they depend on the first reads."""
        if self.offsets:
            both = [(False, FORWARD), (True, REVERSE)]
            strands = [reverse for reverse, strand in both if self.strands & strand]
            return at_offsets([(offset, reverse) for offset in self.offsets for reverse in strands])
        if self.is_flanked or self.anywhere:
            return scanned(self.strands, self.after, self.before)
        return None


@dataclass(frozen=True)
class CountOptions:
    """Where to look for guides (``looked``: one GuideWindow, or two for mates), and what counts:
    ``mismatches`` 0 or 1; ``quality`` of each base of a guide."""

    looked: tuple = (GuideWindow(),)
    mismatches: int = 0
    quality: int = 0
    n_threads: int = 1


UNSURE = -3  # instead of a guide, like NONE and MANY: a base of the guide has low quality
WORST = 33  # the lowest quality as a character
_CODES = np.where(CODE < 4, CODE, 0).astype(np.uint8)  # byte -> code of its base, 0 for other bytes


class Rules(NamedTuple):
    """How to assign reads: ``table`` of guides; ``where`` to look; ``mismatches`` 0 or 1; ``quality``: lowest
    quality character of each base of a guide; ``plain`` and ``bit``: code and base set of each byte,
    uint8[256]."""

    table: GuideTable
    where: Where
    mismatches: int
    quality: int
    plain: np.ndarray = _CODES
    bit: np.ndarray = PLAIN


class Assignments(NamedTuple):
    """Guides of reads: ``guide`` int32[n], or NONE, MANY, UNSURE; ``begin`` int32[n] of its window;
    ``reverse`` bool[n]; ``off`` uint8[n]: mismatches.

    For the first k reads: ``left`` uint64[k], the key of a window of an unassigned read, with ``left_length``
    bases, if ``has_left`` bool[k].
    """

    guide: np.ndarray
    begin: np.ndarray
    reverse: np.ndarray
    off: np.ndarray
    left: np.ndarray
    has_left: np.ndarray
    left_length: int


def assign(rules: Rules, batch: ReadBatch, n: int, n_left: int) -> Assignments:
    """Assign the first n reads of a batch; windows of unassigned reads are kept for the first n_left."""
    assigned = Assignments(
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.bool_), np.empty(n, np.uint8),
        np.empty(min(n, n_left), np.uint64), np.zeros(min(n, n_left), np.bool_), int(rules.table.lengths[0]),
    )  # fmt: skip
    words = np.empty(int(batch.length[:n].max(initial=0)) // WORD + 2, np.uint64)
    _assign(rules, batch, words, assigned)
    return assigned


class _GuideHit(NamedTuple):
    """A guide, NONE or MANY; begin and end of its window, and whether it is on the reverse strand."""

    guide: np.int64
    begin: np.int64
    end: np.int64
    reverse: bool


@inlined
def _unknown_letters(batch, r, bit, begin, n, reverse):
    """Return (number of the n bases that are not A, C, G, T or U, low bit of the last of them in the key)."""
    count, wild = 0, np.uint64(0)
    if not batch.searchable[r]:
        for j in range(n):
            if at(bit, batch.data[batch.start[r] + begin + j]) == 0:
                count += 1
                wild = np.uint64(1) << np.uint64(2 * (j if reverse else n - 1 - j))
    return count, wild


@inlined
def _look_up(rules, batch, r, packed, n_off):
    """Return the guide that windows of read r match with ``n_off`` mismatches, 0 or 1.

    ``packed``: (words uint64, position in the read of their first base).
    """
    table, where, best = rules.table, rules.where, _GuideHit(np.int64(NONE), np.int64(0), np.int64(0), False)
    for which in range(table.lengths.size):
        n = table.lengths[which]
        for i in range(_n_windows(where, batch.length[r])):
            begin, reverse = _window(where, i)
            if begin + n > batch.length[r] or not _fits(where, batch, r, rules.bit, (begin, n, reverse)):
                continue
            unknown, wild = _unknown_letters(batch, r, rules.bit, begin, n, reverse)
            if unknown > n_off:
                continue
            key = symbols(packed[0], 0, begin - packed[1], n)
            if reverse:
                key = reverse_complement(key, n)
            guide = near(table, which, key, wild) if n_off else find(table, which, key)
            if guide == NONE:
                continue
            if guide == MANY or (best.guide != NONE and best.guide != guide):
                return _GuideHit(np.int64(MANY), best.begin, best.end, best.reverse)
            if best.guide == NONE:
                best = _GuideHit(guide, begin, begin + n, reverse)
        if best.guide != NONE:
            break
    return best


@inlined
def _is_sure(batch, r, begin, end, least):
    """Return whether all bases in [begin, end) of read r have quality ``least`` or more; true for FASTA."""
    if least > WORST and batch.quality_start[r] >= 0:
        for j in range(begin, end):
            if batch.data[batch.quality_start[r] + j] < least:
                return False
    return True


@inlined
def _keep_left(rules, batch, r, packed, assigned):
    """Keep the first window of an unassigned read, if all its bases are A, C, G, T or U."""
    n = assigned.left_length
    for i in range(_n_windows(rules.where, batch.length[r])):
        begin, reverse = _window(rules.where, i)
        if begin + n <= batch.length[r] and _fits(rules.where, batch, r, rules.bit, (begin, n, reverse)):
            unknown, _ = _unknown_letters(batch, r, rules.bit, begin, n, reverse)
            key = symbols(packed[0], 0, begin - packed[1], n)
            assigned.left[r] = reverse_complement(key, n) if reverse else key
            assigned.has_left[r] = unknown == 0
            return


@compiled
def _assign(rules, batch, words, assigned):
    """Fill ``assigned``; ``words`` uint64: room for the bases of the longest read and one more word."""
    for r in range(assigned.guide.size):
        first, last = _reach(rules.where, batch.length[r], rules.table.lengths[0])
        hit, n_off = _GuideHit(np.int64(NONE), np.int64(0), np.int64(0), False), 0
        if first < last:
            pack_read(batch.data, batch.start[r] + first, last - first, rules.plain, words, 0)
            for n_off in range(rules.mismatches + 1):  # n_off is used after the loop
                hit = _look_up(rules, batch, r, (words, first), n_off)
                if hit.guide != NONE:
                    break
        guide = hit.guide
        if guide >= 0 and not _is_sure(batch, r, hit.begin, hit.end, rules.quality):
            guide = np.int64(UNSURE)
        if guide == NONE and first < last and r < assigned.left.size:
            _keep_left(rules, batch, r, (words, first), assigned)
        assigned.guide[r], assigned.begin[r] = guide, hit.begin
        assigned.reverse[r], assigned.off[r] = hit.reverse, n_off
