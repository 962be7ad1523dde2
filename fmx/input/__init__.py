"""Bytes in: streams, chunks of records, reads, letters."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol


class Reader(Protocol):
    """What gives bytes in order: PlainRange, BgzfBlocks, GzipStream, Range, Source, CompressedStream,
    Alignments, StreamRest.

    To add one, for a container of reads: write ``readinto`` as it is told here, and let ``Source`` choose it
    by the first bytes of a file.  tests/input/test_reader_protocol.py runs over all of them.
    """

    def readinto(self, view: Any, /) -> int:
        """Fill ``view`` (uint8 array); fewer bytes only at the end, after which it gives 0.

        Raises InputError.
        """


class SpanLike(Protocol):
    """Some records of an input, for any thread to read: Span, PairSpan, SequenceSpan; a Chunk, read.

    To add one: give it these, and let a ``plan`` yield it.  Whoever takes one calls ``read``
    at once: a span may wait for what stands before it.
    """

    @property
    def path(self) -> str:
        """What messages call the input."""

    def read(self, hold: Any = ..., /) -> Any:
        """Its records: a Chunk, of pairs a list of Mates.  Raises InputError."""


class PairedFiles(NamedTuple):
    """``first[i]`` and ``second[i]`` hold mates; without ``second`` each of ``first`` holds both, in turn."""

    first: tuple
    second: tuple = ()

    @property
    def paths(self) -> tuple:
        """All of them."""
        return (*self.first, *self.second)

    def together(self) -> Iterator:
        """For each file, or two that hold mates: a tuple of (its number among all, the path)."""
        numbered = list(enumerate(self.paths))
        n = len(self.first)
        return zip(*(numbered[i : i + n] for i in range(0, len(numbered), n)), strict=True)
