"""Names of contigs as bytes, from which str are made only for who asks: there may be a million."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import UnsupportedError

NEWLINE = 10


class Names(NamedTuple):
    """``data`` uint8, where a newline ends each name; name i is data[first[i] : first[i + 1] - 1].

    ``first`` int64[n + 1].  The last newline may be missing, unless that name is empty.
    """

    data: np.ndarray
    first: np.ndarray


def names_of(lines: np.ndarray) -> Names:
    """Of an array of names, uint8, each with a newline behind it, but perhaps the last."""
    ends = np.flatnonzero(lines == NEWLINE)
    if lines.size and lines[-1] != NEWLINE:
        ends = np.append(ends, lines.size)
    return Names(lines, np.append(0, ends + 1))


def names_in(array: np.ndarray) -> list:
    """The names, str, in an array of names, uint8, with newlines between them."""
    return array.tobytes().decode().split("\n")


class ContigNames(Sequence):
    """Names of contigs by their number, each a str; ``held``: the Names that they are of."""

    def __init__(self, lines: np.ndarray) -> None:
        """``lines`` uint8: the names, with newlines between them."""
        self.held = names_of(lines)

    def __len__(self) -> int:
        return self.held.first.size - 1

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return list(self)[number]
        i = range(len(self))[number]
        data, first = self.held
        return data[first[i] : first[i + 1] - 1].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return iter(names_in(self.held.data))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented


# Groups of contigs, each contig in one: the files that a reference was read of, or what a table says.
#
# A strain, a species, a host: whatever reads are counted by.


class Groups(NamedTuple):
    """``names`` list of str, in the order of their first contigs; ``of_contig`` uint32[n_contigs]."""

    names: list
    of_contig: np.ndarray


def grouped(names_of_contigs: Iterable[str]) -> Groups:
    """Groups by the name of each contig's."""
    numbers: dict = {}
    of_contig = [numbers.setdefault(name, len(numbers)) for name in names_of_contigs]
    return Groups(list(numbers), np.array(of_contig, np.uint32))


def are_names(names: Any) -> bool:
    """Whether groups may be called so: what is printed, no two alike."""
    return all(name and name.isprintable() for name in names) and len(set(names)) == len(names)


def groups_of(index: Any) -> Groups:
    """The Groups of an opened index.  Raises UnsupportedError where it has none."""
    if index.reference.groups is None:
        raise UnsupportedError(
            f"{index.path} has no groups of contigs: build it of several files or with --groups, or add them "
            f"with 'fmx index --add --groups TABLE {index.path}'"
        )
    return index.reference.groups
