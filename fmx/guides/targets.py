"""The guides of two mates -> the row that their pair counts for, in compiled code."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..errors import InputError
from .assign import UNSURE
from .library import Library
from .table import MANY, NONE, Table, find, find_neighbours, hash_table, keys_of, make_table
from .tally import RECOMBINED

EITHER, LISTED, EVERY = range(3)  # what mates hold: a guide in one of them; a pair of a library; any pair


class Pairs(NamedTuple):
    """What pairs of guides are: ``kind``; with LISTED a ``table`` of them by their keys (``key_of``), else
    an empty one."""

    kind: int
    table: Table


@inlined
def key_of(one, two):
    """A pair of guides as a key."""
    return (np.uint64(one) << np.uint64(32)) | np.uint64(two)


def make_pairs(kind: int, one: Any = (), two: Any = ()) -> Pairs:
    """The Pairs of these guides (numbers), if LISTED; they differ."""
    keys = (np.array(one, np.uint64) << np.uint64(32)) | np.array(two, np.uint64)
    return Pairs(kind, hash_table([0], [(keys, np.arange(keys.size, dtype=np.int32))]))


@compiled
def join(assigned, pairs, guide, off, keys):
    """The row int32[n] of each pair of mates, of their two Assigned, into ``guide``; ``off`` uint8[n].

    With EVERY a row is 0 and ``keys`` uint64[n] tell the pair.
    """
    mates, others = assigned
    for r in range(guide.size):
        one, two = np.int64(mates.guide[r]), np.int64(others.guide[r])
        if pairs.kind == EITHER:
            guide[r] = _either(one, two)
        elif one >= 0 and two >= 0:
            keys[r] = key_of(one, two)
            row = np.int64(0) if pairs.kind == EVERY else find(pairs.table, 0, keys[r])
            guide[r] = RECOMBINED if row == NONE else row
        else:
            guide[r] = NONE if one == NONE or two == NONE else MANY if one == MANY or two == MANY else UNSURE
        off[r] = (mates.off[r] if one >= 0 else 0) | (others.off[r] if two >= 0 else 0)


@inlined
def _either(one, two):
    """The guide of a pair in one of whose mates it is."""
    if one in (NONE, two) or two == NONE:
        return max(one, two) if one >= 0 or two >= 0 else min(one, two)
    return np.int64(MANY) if one >= 0 and two >= 0 else min(one, two)


# What reads are compared with: the guides of one library or two, for single reads or for mates.


@dataclass(frozen=True, eq=False)
class Guides:
    """Guides that one mate may hold: ``ids`` and ``sequences`` by number, and their ``table``."""

    path: str
    ids: list
    sequences: list
    table: Table

    def neighbours(self) -> tuple:
        """(how many guides are one letter apart from another one, two of them or None)."""
        n_close, example = 0, None
        for which, length in enumerate(self.table.lengths):
            own = [i for i, x in enumerate(self.sequences) if len(x) == length and not x.strip("ACGT")]
            into = np.empty(len(own), np.int64)
            find_neighbours(self.table, which, keys_of([self.sequences[i] for i in own]), into)
            n_close += int(np.count_nonzero(into != NONE))
            for i, other in zip(own, into.tolist(), strict=True):
                if example is None and other not in (NONE, MANY):
                    example = self.ids[i], self.ids[other]
        return n_close, example


@dataclass(frozen=True)
class Targets:
    """``guides`` of single reads, or of mates 1 and of mates 2, whose pairs count for rows as ``pairs`` says.

    ``library``: a row for each guide or pair; with EVERY None, for rows are the pairs that are seen.
    """

    guides: tuple
    pairs: Pairs | None
    library: Any

    @property
    def n_rows(self) -> int:
        return len(self.library) if self.library else 1

    def rows_of(self, seen: Any) -> Library:
        """The rows of pairs by their keys uint64[n] (mates.key_of), with EVERY."""
        one, two = self.guides
        pairs = [(int(key) >> 32, int(key) & 0xFFFFFFFF) for key in seen]
        joined = [f"{one.ids[i]}|{two.ids[j]}" for i, j in pairs]
        return Library(f"{one.path}, {two.path}", joined, joined, [], [])


def make_targets(libraries: Sequence[Library], is_paired: bool) -> Targets:
    """The Targets of one Library or two, each without doubles.  Raises InputError where mates are missing."""
    library = libraries[0]
    if not is_paired and (len(libraries) > 1 or library.seconds):
        raise InputError(library.path, "", "guides of pairs: give the files of both mates, with -1 and -2")
    for each in libraries[1:]:
        if each.seconds or library.seconds:
            raise InputError(each.path, "", "give one library of pairs, or two libraries of single guides")
    if len(libraries) > 1:
        return Targets(tuple(map(_guides, libraries)), make_pairs(EVERY), None)
    if not library.seconds:
        guides = _guides(library)
        return Targets(
            (guides, guides) if is_paired else (guides,), make_pairs(EITHER) if is_paired else None, library
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
    return Targets(tuple(sides), make_pairs(LISTED, *numbers), library)


def _guides(library: Library) -> Guides:
    return Guides(library.path, library.ids, library.sequences, make_table(library.sequences))
