"""Reads inputs: streams, spans and chunks of records, reads, packed bases; here: files and their ranges."""

import os
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol


class Reader(Protocol):
    """A source of bytes in order, such as PlainRange, BgzfBlocks, CompressedStream, Source or Alignments.

    To add one for a container of reads, write ``readinto`` as described here, and let ``Source`` choose it by
    the first bytes of a file.
    """

    def readinto(self, view: Any, /) -> int:
        """Fill ``view`` (uint8 array) and return the number of bytes: fewer only at the end, then 0.

        Raises InputError.
        """


ReadPath = str | os.PathLike[str] | bytes  # of a file, or its contents


class PairedFiles(NamedTuple):
    """Files of mates: ``first[i]`` and ``second[i]``; without ``second`` each file alternates mates."""

    first: tuple[ReadPath, ...]
    second: tuple[ReadPath, ...] = ()


ReadFiles = Sequence[ReadPath] | PairedFiles


def paths_of(files: ReadFiles) -> Sequence[ReadPath]:
    """Return the paths of all files."""
    return (*files.first, *files.second) if isinstance(files, PairedFiles) else files


def together(files: ReadFiles) -> list[tuple[ReadPath, ...]]:
    """Return the paths of files that are read together: one, or two of mates."""
    if isinstance(files, PairedFiles) and files.second:
        return list(zip(files.first, files.second, strict=True))
    return [(path,) for path in paths_of(files)]


# A range of the reads or pairs of all inputs, by --skip and --first, and the fraction that has been read.

ALL = range(1 << 62)  # numbers, from 0, of all records


def records_after(records: range, n: int) -> range:
    """Return the numbers of the same records, if the first n are not counted."""
    return range(max(0, records.start - n), max(0, records.stop - n))


class InputShare:
    """The fraction of the files ``paths`` that has been read: a call returns it, or None if it is unknown."""

    def __init__(self, paths: Sequence[ReadPath]) -> None:
        is_known = all(not isinstance(path, bytes) and os.path.isfile(path) for path in paths)
        self._total = sum(map(os.path.getsize, paths)) if is_known else 0
        self._ends: dict[Hashable, int] = {}

    def note(self, file: Hashable, end: int) -> None:
        """Note that a file was taken up to byte ``end``."""
        self._ends[file] = end

    def __call__(self) -> float | None:
        done = sum(self._ends.values())
        return min(1.0, done / self._total) if done and self._total else None


class InputRange(NamedTuple):
    """The ``records`` of ``files``, reads or pairs, by their numbers from 0.

    ``size``: bytes of a span; ``n_threads``: number of threads that read; ``share``: where the fraction that
    was read is noted.
    """

    files: ReadFiles
    size: int
    n_threads: int = 1
    records: range = ALL
    share: InputShare | None = None
