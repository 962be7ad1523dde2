"""What reads are compared with: the guides of one library or two, for single reads or for mates."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from .library import Library
from .mates import EITHER, EVERY, LISTED, Pairs, make_pairs
from .table import MANY, NONE, Table, find_neighbours, keys_of, make_table


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

    def rows_of(self, seen) -> Library:
        """The rows of pairs by their keys uint64[n] (mates.key_of), with EVERY."""
        one, two = self.guides
        pairs = [(int(key) >> 32, int(key) & 0xFFFFFFFF) for key in seen]
        joined = [f"{one.ids[i]}|{two.ids[j]}" for i, j in pairs]
        return Library(f"{one.path}, {two.path}", joined, joined, [], [])


def make_targets(libraries, is_paired) -> Targets:
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


def _guides(library) -> Guides:
    return Guides(library.path, library.ids, library.sequences, make_table(library.sequences))
