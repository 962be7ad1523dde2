"""Input: streams, chunks of records, reads, packed bases."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol


class Reader(Protocol):
    """A source of bytes in order: PlainRange, BgzfBlocks, GzipStream, Range, Source, CompressedStream,
    Alignments, StreamRest, WrappedFastq.

    To add one for a container of reads, write ``readinto`` as described here, and let ``Source`` choose it by
    the first bytes of a file.  tests/input/test_reader_protocol.py tests all of them.
    """

    def readinto(self, view: Any, /) -> int:
        """Fill ``view`` (uint8 array) and return the number of bytes: fewer only at the end, then 0.

        Raises InputError.
        """


class SpanLike(Protocol):
    """Some records of an input, for any thread to read: Span, PairSpan, SequenceSpan, or a Chunk.

    To add one, implement these and let a ``plan`` yield it.  A thread that takes one must call ``read`` at
    once, as later spans may wait for it.
    """

    @property
    def path(self) -> str:
        """Name of the input in messages."""

    def read(self, hold: Any = ..., /) -> Any:
        """Read the records: a Chunk, or a list of Mates for pairs.  Raises InputError."""


ReadPath = str | os.PathLike[str] | bytes  # of a file, or its contents


class PairedFiles(NamedTuple):
    """Files of mates: ``first[i]`` and ``second[i]``; without ``second`` each file alternates mates."""

    first: tuple[ReadPath, ...]
    second: tuple[ReadPath, ...] = ()

    @property
    def paths(self) -> tuple[ReadPath, ...]:
        """All files."""
        return (*self.first, *self.second)

    def together(self) -> Iterator[tuple[tuple[int, ReadPath], ...]]:
        """For each file, or two files of mates: a tuple of (its number among all, its path)."""
        numbered = list(enumerate(self.paths))
        n = len(self.first)
        return zip(*(numbered[i : i + n] for i in range(0, len(numbered), n)), strict=True)


ReadFiles = Sequence[ReadPath] | PairedFiles


def paths_of(files: ReadFiles) -> Sequence[ReadPath]:
    """Return the paths of all files."""
    return files.paths if isinstance(files, PairedFiles) else files
