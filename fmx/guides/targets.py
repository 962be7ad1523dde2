"""What reads are counted for: guides of one or two libraries, rows for pairs of mates, and their sums."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..errors import InputError
from .assign import UNSURE, Assignments
from .library import Library
from .table import MANY, NONE, GuideTable, find, find_others, hash_table, keys_of, make_table

RECOMBINED = -4  # instead of a guide: both mates have guides, but they are not a pair of the library
_READS, INEXACT = 0, 5  # in GuideTally.totals; between them the reads for NONE to RECOMBINED
_N_TOTALS = 6
_AT_ONCE = 1 << 22  # keys of pairs that are kept before they are added up
FIRST = 1 << 20  # reads per file whose windows are kept if unassigned
OFFSETS = 512  # offsets that are counted separately; the last one includes all beyond


class GuideTally(NamedTuple):
    """``counts`` int64[n]: reads per row; ``totals`` int64[_N_TOTALS]; ``hits`` int64[4, OFFSETS]: counted
    reads by strand and offset of the guide (rows 2 and 3: mates 2); ``left`` uint64[2, k]: keys of windows of
    unassigned reads, and (number of the file << 32 | number of the read in it); ``pairs`` uint64[2, k]: keys
    of pairs and their counts, if rows are not known in advance.
    """

    counts: np.ndarray
    totals: np.ndarray
    hits: np.ndarray
    left: np.ndarray
    pairs: np.ndarray

    @classmethod
    def of_nothing(cls, n: int) -> "GuideTally":
        """Return an empty tally with n rows."""
        sums = np.zeros(n, np.int64), np.zeros(_N_TOTALS, np.int64), np.zeros((4, OFFSETS), np.int64)
        return cls(*sums, np.empty((2, 0), np.uint64), np.empty((2, 0), np.uint64))

    def after(self, n_reads: list, most: int) -> "GuideTally":
        """Return the tally of the same reads after ``n_reads`` others of each file.

        Only those among the first ``most`` reads of a file remain in ``left``.
        """
        keys, places = self.left
        places = places + np.array(n_reads, np.uint64)[(places >> np.uint64(32)).astype(np.int64)]
        is_first = (places & np.uint64(0xFFFFFFFF)) <= most
        return self._replace(left=np.stack([keys[is_first], places[is_first]]))

    @property
    def reads(self) -> int:
        return int(self.totals[_READS])

    @property
    def assigned(self) -> int:
        return self.reads - sum(self.without(why) for why in (NONE, MANY, UNSURE, RECOMBINED))

    def without(self, why: int) -> int:
        """Return the number of reads without a guide; ``why``: NONE, MANY, UNSURE or RECOMBINED."""
        return int(self.totals[-why])


class TallySum:
    """The sum of tallies with n rows."""

    def __init__(self, n: int) -> None:
        self._whole, self._n_pairs = GuideTally.of_nothing(n), 0
        self._left: list = []
        self._pairs: list = []

    def add(self, tally: GuideTally) -> None:
        for mine, more in zip(self._whole[:3], tally[:3], strict=True):
            mine += more
        self._left.append(tally.left)
        self._pairs.append(tally.pairs)
        self._n_pairs += tally.pairs.shape[1]
        if self._n_pairs > _AT_ONCE:
            self._pairs = [_added(self._pairs)]
            self._n_pairs = 0

    def tally(self) -> GuideTally:
        """Return the sum so far."""
        left = np.concatenate([self._whole.left, *self._left], axis=1)
        return self._whole._replace(left=left, pairs=_added([self._whole.pairs, *self._pairs]))


def _added(pairs: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays of keys and counts as one, in which the counts of equal keys are added up."""
    keys, n = np.concatenate(pairs, axis=1)
    unique, place = np.unique(keys, return_inverse=True)
    total = np.zeros(unique.size, np.uint64)
    np.add.at(total, place, n)
    return np.stack([unique, total])


def pair_keys(tallies: Sequence[GuideTally]) -> np.ndarray:
    """Return the different keys of pairs in all tallies, uint64[n], sorted."""
    return np.unique(np.concatenate([tally.pairs[0] for tally in tallies]))


def counts_of_pairs(tallies: Sequence[GuideTally]) -> np.ndarray:
    """Return the counts of pairs in each tally, int64[n_tallies, n], in the order of pair_keys."""
    seen = pair_keys(tallies)
    counts = np.zeros((len(tallies), seen.size), np.int64)
    for row, (keys, n) in zip(counts, (tally.pairs for tally in tallies), strict=True):
        row[np.searchsorted(seen, keys)] = n
    return counts


@compiled
def _add_counts(guide, off, tally):
    """Count reads by ``guide`` int32[n]; ``off`` uint8[n]: mismatches."""
    for r in range(guide.size):
        if guide[r] >= 0:
            tally.counts[guide[r]] += 1
            tally.totals[INEXACT] += off[r]
        else:
            tally.totals[-np.int64(guide[r])] += 1
    tally.totals[_READS] += guide.size


@compiled
def add_hits(guide, assigned, mate, hits):
    """Count the offsets of guides of mates number ``mate`` (0 or 1) in reads with a ``guide`` int32[n]."""
    for r in range(guide.size):
        if guide[r] >= 0 and assigned.guide[r] >= 0:
            offset = min(np.int64(assigned.begin[r]), OFFSETS - 1)
            hits[2 * mate + np.int64(assigned.reverse[r]), offset] += 1


EITHER, LISTED, _EVERY = range(3)  # a guide in one mate; a pair of a library; any pair of guides


class GuidePairs(NamedTuple):
    """How guides of mates are combined: ``kind``; with LISTED, a ``table`` of pairs by key (the number of
    the first guide << 32 | that of the second), else an empty one."""

    kind: int
    table: GuideTable


def _make_pairs(kind: int, one: Sequence[int] = (), two: Sequence[int] = ()) -> GuidePairs:
    """Return the GuidePairs of a kind; ``one``, ``two``: numbers of the guides of each listed pair, without
    repeats."""
    keys = (np.array(one, np.uint64) << np.uint64(32)) | np.array(two, np.uint64)
    return GuidePairs(kind, hash_table([0], [(keys, np.arange(keys.size, dtype=np.int32))]))


@compiled
def _join(assigned, pairs, guide, off, keys):
    """Find the row of each pair of mates from both assignments: ``guide`` int32[n], ``off`` uint8[n].

    With _EVERY the row is 0, and ``keys`` uint64[n] identify the pair.
    """
    mates, others = assigned
    for r in range(guide.size):
        one, two = np.int64(mates.guide[r]), np.int64(others.guide[r])
        if pairs.kind == EITHER:
            guide[r] = MANY if one >= 0 and two >= 0 else min(one, two)
            if one in (NONE, two) or two == NONE:
                guide[r] = max(one, two) if one >= 0 or two >= 0 else min(one, two)
        elif one >= 0 and two >= 0:
            keys[r] = (np.uint64(one) << np.uint64(32)) | np.uint64(two)
            row = np.int64(0) if pairs.kind == _EVERY else find(pairs.table, 0, keys[r])
            guide[r] = RECOMBINED if row == NONE else row
        else:
            guide[r] = NONE if one == NONE or two == NONE else MANY if one == MANY or two == MANY else UNSURE
        off[r] = (mates.off[r] if one >= 0 else 0) | (others.off[r] if two >= 0 else 0)


@dataclass(frozen=True, eq=False)
class _Guides:
    """Guides that a mate may contain: ``ids`` and ``sequences`` by number, and their ``table``."""

    path: str
    ids: list
    sequences: list
    table: GuideTable

    def others(self) -> np.ndarray:
        """Return int64[2, n]: the guide that has one mismatch to each, and that of its reverse complement.

        Or NONE or MANY; NONE for guides with IUPAC codes.
        """
        others = np.full((2, len(self.ids)), NONE, np.int64)
        for which, length in enumerate(self.table.lengths):
            numbers = [i for i, x in enumerate(self.sequences) if len(x) == length and not x.strip("ACGT")]
            of_length = np.empty((2, len(numbers)), np.int64)
            find_others(self.table, which, keys_of([self.sequences[i] for i in numbers]), *of_length)
            others[:, numbers] = of_length
        return others


@dataclass(frozen=True)
class Targets:
    """``guides`` of single reads, or of mates 1 and mates 2; ``pairs``: how those of mates are combined.

    ``library``: a row for each guide or pair; None with _EVERY, whose rows are the pairs seen.
    """

    guides: tuple
    pairs: GuidePairs | None
    library: Library | None

    @property
    def n_rows(self) -> int:
        return len(self.library) if self.library else 1

    def tally(
        self, assigned: Sequence[Assignments], n_left: int, place: int
    ) -> tuple[GuideTally, np.ndarray]:
        """Return the GuideTally of reads, or of mates 1 and mates 2, and the row of each, int32[n].

        The row may be NONE, MANY, UNSURE or RECOMBINED.  ``left`` has windows of the first ``n_left`` reads;
        ``place``: that of the first read.
        """
        guide, off, tally = assigned[0].guide, assigned[0].off, GuideTally.of_nothing(self.n_rows)
        if self.pairs:
            n = guide.size
            guide, off, keys = np.empty(n, np.int32), np.empty(n, np.uint8), np.empty(n, np.uint64)
            _join(tuple(assigned), self.pairs, guide, off, keys)
            if self.pairs.kind == _EVERY:
                unique, times = np.unique(keys[guide >= 0], return_counts=True)
                tally = tally._replace(pairs=np.stack([unique, times.astype(np.uint64)]))
        left = np.flatnonzero(assigned[0].has_left & (guide[:n_left] == NONE))
        places = (left + place).astype(np.uint64)
        tally = tally._replace(left=np.stack([assigned[0].left[left], places]))
        _add_counts(guide, off, tally)
        for mate, each in enumerate(assigned):
            add_hits(guide, each, mate, tally.hits)
        return tally, guide

    def rows(self, tallies: Sequence[GuideTally]) -> tuple[Library, np.ndarray]:
        """Return the library of the rows, and the counts of each tally, int64[n_tallies, n_rows]."""
        if self.library:
            return self.library, np.array([tally.counts for tally in tallies])
        one, two = self.guides
        ids = [f"{one.ids[key >> 32]}|{two.ids[key & 0xFFFFFFFF]}" for key in pair_keys(tallies).tolist()]
        return Library(f"{one.path}, {two.path}", ids, ids, [], []), counts_of_pairs(tallies)


def make_targets(libraries: Sequence[Library], is_paired: bool) -> Targets:
    """Return the Targets of libraries without duplicates, one or two.  Raises InputError without mates."""
    library = libraries[0]
    if not is_paired and len(libraries) > 1:
        what = "a second library is for mates, with -1 and -2; to count single reads, join both into one file"
        raise InputError(libraries[1].path, "", what)
    if not is_paired and library.seconds:
        raise InputError(
            library.path, "", "this is a library of pairs: give the files of both mates with -1 and -2"
        )
    for each in libraries[1:]:
        if each.seconds or library.seconds:
            what = "one of two libraries has pairs: give one library of pairs, or two libraries of guides"
            raise InputError(each.path, "", what)
    if len(libraries) > 1:
        return Targets(tuple(map(_guides, libraries)), _make_pairs(_EVERY), None)
    if not library.seconds:
        guides = _guides(library)
        return Targets(
            (guides, guides) if is_paired else (guides,), _make_pairs(EITHER) if is_paired else None, library
        )
    sides, numbers = [], []
    for sequences in (library.sequences, library.seconds):
        first: dict = {}
        for i, sequence in enumerate(sequences):
            first.setdefault(sequence, i)
        number = {sequence: n for n, sequence in enumerate(first)}
        numbers.append([number[sequence] for sequence in sequences])
        ids = [library.ids[i] for i in first.values()]
        sides.append(_guides(replace(library, ids=ids, sequences=list(first))))
    return Targets(tuple(sides), _make_pairs(LISTED, *numbers), library)


def _guides(library: Library) -> _Guides:
    return _Guides(library.path, library.ids, library.sequences, make_table(library.sequences))
