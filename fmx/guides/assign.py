"""Reads -> guides: the windows of a read that may be a guide, and which guide they spell.

Windows stand at some offsets, next to flanks, or anywhere:

    read       TTGTGGAAAGGACGAAACACCG GCAGGCGGTACTCAAGGGCA GTTTTAGAGC
    forward                    after|      guide         |before
    reverse    what follows, the guide and what precedes it, all as reverse complement

All are told in letters of the read, so what stands before a guide of the reverse strand is the reverse
complement of the flank after it.

Windows that spell a guide come first; where none does and ``mismatches`` is 1, those one letter apart from
one; and of these the longest.  A read counts for a guide if all these windows agree, else it is ambiguous.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at
from ..input.dna import CODE, WORD, reverse_complement, symbols
from ..input.reads import FORWARD, REVERSE, pack_read
from ..input.sets import DEGENERATE
from ..input.sets import PLAIN as BIT
from .table import MANY, NONE, GuideTable, find, near


class Where(NamedTuple):
    """The windows of a read that may be a guide, by ``offset`` int64[n] and ``reverse`` bool[n].

    With ``is_scanned`` all windows of ``strands`` between the right flanks: ``left`` and ``right``
    uint8[] of the forward strand, ``reverse_left`` and ``reverse_right`` of the other, a set of letters
    as bits for each.
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
    """Windows that begin at these (offset, is it reverse) of a read."""
    nothing = np.empty(0, np.uint8)
    offset = np.array([offset for offset, _ in places], np.int64)
    reverse = np.array([is_reverse for _, is_reverse in places], np.bool_)
    return Where(offset, reverse, False, FORWARD | REVERSE, nothing, nothing, nothing, nothing)


def scanned(strands: int, after: str = "", before: str = "") -> Where:
    """All windows of ``strands`` right after the one flank and right before the other (IUPAC letters)."""
    flanks = [DEGENERATE[list(flank.encode())] for flank in (after, before)]
    return Where(
        np.empty(0, np.int64), np.empty(0, np.bool_), True, strands, *flanks, *map(_reverse, flanks[::-1])
    )


def _reverse(flank: np.ndarray) -> np.ndarray:
    """The reverse complement of sets of bases: A and T, C and G change places."""
    bits = flank[::-1]
    return (bits & 1) << 3 | (bits & 2) << 1 | (bits & 4) >> 1 | (bits & 8) >> 3


@inlined
def n_windows(where, length):
    """How many windows of a read of ``length`` letters are looked at, or their number at most."""
    return 2 * length if where.is_scanned else where.offset.size


@inlined
def window(where, i):
    """(where window i begins, whether it is read backwards)."""
    if where.is_scanned:
        return i >> 1, (i & 1) == 1
    return where.offset[i], where.reverse[i]


@inlined
def reach(where, length, longest):
    """(first, last + 1) of the letters of a read that windows of up to ``longest`` letters may hold."""
    if where.is_scanned:
        return np.int64(0), length
    first, last = length, np.int64(0)
    for i in range(where.offset.size):
        first, last = min(first, where.offset[i]), max(last, where.offset[i] + longest)
    return first, min(last, length)


@inlined
def fits(where, batch, r, bit, place):
    """Whether a window (begin, letters, is it reverse) of read r is of a strand that is looked at, with the
    right letters around it; ``bit`` is sets.PLAIN."""
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
    """Whether each letter of ``data`` from i on is one of the flank's."""
    j = 0
    while j < flank.size and flank[j] & at(bit, data[i + j]):
        j += 1
    return j == flank.size


# Where guides are looked for in a read, as asked.


@dataclass(frozen=True)
class GuideWindow:
    """``offsets`` of a read; ``after`` and ``before``: flanks; ``anywhere``; none of them: the offsets that
    the first reads tell.  ``strands`` as bits."""

    offsets: tuple = ()
    after: str = ""
    before: str = ""
    anywhere: bool = False
    strands: int = FORWARD | REVERSE

    def __str__(self) -> str:
        where = f"at {', '.join(map(str, self.offsets))}" if self.offsets else "at offsets of the first reads"
        if self.after or self.before or self.anywhere:
            where = f"after {self.after}" if self.after else ""
            where += f" before {self.before}" if self.before else ""
            where = where.strip() or "anywhere"
        strands = {FORWARD: "forward", REVERSE: "reverse", FORWARD | REVERSE: "both strands"}[self.strands]
        return f"{where}, {strands}"

    def where(self) -> Where | None:
        """Where guides are looked for; None if the first reads tell."""
        if self.offsets:
            both = [(False, FORWARD), (True, REVERSE)]
            strands = [reverse for reverse, strand in both if self.strands & strand]
            return at_offsets([(offset, reverse) for offset in self.offsets for reverse in strands])
        if self.after or self.before or self.anywhere:
            return scanned(self.strands, self.after, self.before)
        return None


# The guide of each read, in compiled code.

if TYPE_CHECKING:
    from ..input.reads import ReadBatch

UNSURE = -3  # in place of a guide, as NONE and MANY: a letter of it is of low quality
WORST = 33  # the least quality, as a character
PLAIN = np.where(CODE < 4, CODE, 0).astype(np.uint8)  # byte -> code of its letter, 0 for others


class Rules(NamedTuple):
    """``table`` of guides, ``where`` they stand; ``mismatches`` 0 or 1; ``quality``: the least character that
    each letter of a guide must have; of bytes, uint8[256], their code (``plain``) and set of bases
    (``bit``)."""

    table: GuideTable
    where: Where
    mismatches: int
    quality: int
    plain: np.ndarray = PLAIN
    bit: np.ndarray = BIT


class Assignments(NamedTuple):
    """Reads by their guide: ``guide`` int32[n] (NONE, MANY and UNSURE too), ``begin`` int32[n] of its window,
    ``reverse`` bool[n], ``off`` uint8[n]: letters that differ.

    ``left`` uint64[k], for the first k reads: the key of the window of an unassigned one, of ``left_length``
    letters, if ``has_left`` bool[k].
    """

    guide: np.ndarray
    begin: np.ndarray
    reverse: np.ndarray
    off: np.ndarray
    left: np.ndarray
    has_left: np.ndarray
    left_length: int


def assign(rules: Rules, batch: "ReadBatch", n: int, n_left: int) -> Assignments:
    """The guides of the first n reads of a ReadBatch; windows are kept for n_left of them."""
    assigned = Assignments(
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.bool_), np.empty(n, np.uint8),
        np.empty(min(n, n_left), np.uint64), np.zeros(min(n, n_left), np.bool_), int(rules.table.lengths[0]),
    )  # fmt: skip
    words = np.empty(int(batch.length[:n].max(initial=0)) // WORD + 2, np.uint64)
    _assign(rules, batch, words, assigned)
    return assigned


class GuideHit(NamedTuple):
    """A guide, NONE or MANY; where its window begins and ends, and whether it is of the reverse strand."""

    guide: np.int64
    begin: np.int64
    end: np.int64
    reverse: bool


@inlined
def unknown_letters(batch, r, bit, begin, n, reverse):
    """(how many of n letters are not A C G T U, the low bit of the last of them in the window's key)."""
    count, wild = 0, np.uint64(0)
    if not batch.searchable[r]:
        for j in range(n):
            if at(bit, batch.data[batch.start[r] + begin + j]) == 0:
                count += 1
                wild = np.uint64(1) << np.uint64(2 * (j if reverse else n - 1 - j))
    return count, wild


@inlined
def look_up(rules, batch, r, packed, n_off):
    """The guide that windows of read r spell with ``n_off`` letters (0 or 1) off.

    ``packed``: (words uint64, the letter of the read that they begin with).
    """
    table, where, best = rules.table, rules.where, GuideHit(np.int64(NONE), np.int64(0), np.int64(0), False)
    for which in range(table.lengths.size):
        n = table.lengths[which]
        for i in range(n_windows(where, batch.length[r])):
            begin, reverse = window(where, i)
            if begin + n > batch.length[r] or not fits(where, batch, r, rules.bit, (begin, n, reverse)):
                continue
            unknown, wild = unknown_letters(batch, r, rules.bit, begin, n, reverse)
            if unknown > n_off:
                continue
            key = symbols(packed[0], 0, begin - packed[1], n)
            if reverse:
                key = reverse_complement(key, n)
            guide = near(table, which, key, wild) if n_off else find(table, which, key)
            if guide == NONE:
                continue
            if guide == MANY or (best.guide != NONE and best.guide != guide):
                return GuideHit(np.int64(MANY), best.begin, best.end, best.reverse)
            if best.guide == NONE:
                best = GuideHit(guide, begin, begin + n, reverse)
        if best.guide != NONE:
            break
    return best


@inlined
def is_sure(batch, r, begin, end, least):
    """Whether no letter of [begin, end) of read r has a quality below ``least``; FASTA has none."""
    if least > WORST and batch.quality_start[r] >= 0:
        for j in range(begin, end):
            if batch.data[batch.quality_start[r] + j] < least:
                return False
    return True


@inlined
def keep_left(rules, batch, r, packed, assigned):
    """Keep the first window of an unassigned read, if it holds only A C G T U."""
    n = assigned.left_length
    for i in range(n_windows(rules.where, batch.length[r])):
        begin, reverse = window(rules.where, i)
        if begin + n <= batch.length[r] and fits(rules.where, batch, r, rules.bit, (begin, n, reverse)):
            unknown, _ = unknown_letters(batch, r, rules.bit, begin, n, reverse)
            key = symbols(packed[0], 0, begin - packed[1], n)
            assigned.left[r] = reverse_complement(key, n) if reverse else key
            assigned.has_left[r] = unknown == 0
            return


@compiled
def _assign(rules, batch, words, assigned):
    """Fill ``assigned``; ``words`` uint64 have room for the letters of any read and a spare word."""
    for r in range(assigned.guide.size):
        first, last = reach(rules.where, batch.length[r], rules.table.lengths[0])
        found, n_off = GuideHit(np.int64(NONE), np.int64(0), np.int64(0), False), 0
        if first < last:
            pack_read(batch.data, batch.start[r] + first, last - first, rules.plain, words, 0)
            for n_off in range(rules.mismatches + 1):  # it is used below
                found = look_up(rules, batch, r, (words, first), n_off)
                if found.guide != NONE:
                    break
        guide = found.guide
        if guide >= 0 and not is_sure(batch, r, found.begin, found.end, rules.quality):
            guide = np.int64(UNSURE)
        if guide == NONE and first < last and r < assigned.left.size:
            keep_left(rules, batch, r, (words, first), assigned)
        assigned.guide[r], assigned.begin[r] = guide, found.begin
        assigned.reverse[r], assigned.off[r] = found.reverse, n_off
