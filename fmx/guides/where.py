"""Where a guide stands in a read: at some offsets, next to flanks, or anywhere.

    read       TTGTGGAAAGGACGAAACACCG GCAGGCGGTACTCAAGGGCA GTTTTAGAGC
    forward                    after|      guide         |before
    reverse    what follows, the guide and what precedes it, all as reverse complement

All are told in letters of the read, so what stands before a guide of the reverse strand is the reverse
complement of the flank behind it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at
from ..input.reads import FORWARD, REVERSE
from ..input.sets import DEGENERATE


class Where(NamedTuple):
    """The windows of a read that may be a guide, by ``offset`` int64[n] and ``reverse`` bool[n].

    With ``is_scanned`` all windows of ``strands`` that have the right neighbours: ``before`` and ``behind``
    uint8[] of the forward strand, ``reverse_before`` and ``reverse_behind`` of the other, a set of letters
    as bits for each.
    """

    offset: np.ndarray
    reverse: np.ndarray
    is_scanned: bool
    strands: int
    before: np.ndarray
    behind: np.ndarray
    reverse_before: np.ndarray
    reverse_behind: np.ndarray


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
    before = where.reverse_before if reverse else where.before
    behind = where.reverse_behind if reverse else where.behind
    if i < before.size or i + n + behind.size > batch.length[r]:
        return False
    begin = batch.start[r] + i
    return _spells(before, batch.data, bit, begin - before.size) and _spells(
        behind, batch.data, bit, begin + n
    )


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
