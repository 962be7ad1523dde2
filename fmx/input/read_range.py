"""A range of the reads of all inputs, by --skip and --first, counted while spans are read in any order.

A span receives from the previous one the number of earlier records, and passes the sum on.  What lies after
the last wanted read is not waited for, and its errors are not reported.
"""

import os
import sys
from collections.abc import Generator, Hashable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ..errors import InputError
from ..machines.jobs import settle, settled
from . import ReadFiles, ReadPath
from .chunks import Chunk, count, find_record
from .spans import NOT_READ, SpanBuffer

if TYPE_CHECKING:
    from .spans import Span


ALL = range(sys.maxsize)  # numbers, from 0, of all records


def wanted_range(skip: int, n: int | None) -> range:
    """Numbers, from 0, of ``n`` (None: all) records after the first ``skip``."""
    return range(skip, ALL.stop if n is None else skip + n)


def records_of_pairs(wanted: range, step: int) -> range:
    """Numbers of the records of ``wanted`` pairs in a file with ``step`` records per pair."""
    return range(step * wanted.start, ALL.stop if wanted.stop == ALL.stop else step * wanted.stop)


class InputRange(NamedTuple):
    """The reads, or pairs, ``wanted`` of ``files``, by their numbers from 0.

    ``size``: bytes of the spans that they are read in; ``n_threads``: how many threads read them.
    """

    files: ReadFiles
    size: int
    n_threads: int = 1
    wanted: range = ALL


class ReadRange:
    """The ``wanted`` records, by their numbers; ``before``: how many earlier records are not in the spans."""

    def __init__(self, wanted: range, before: int = 0) -> None:
        self._wanted, self._link = wanted, settled(min(before, wanted.stop))

    def of(self, spans: Generator[Any, None, Any]) -> Generator[Any, None, None]:
        """Yield spans with the wanted records only; further calls continue the count."""
        if self._wanted == ALL:
            yield from spans
            return
        with closing(spans):
            while not self._is_met() and (span := next(spans, None)):
                before, self._link = self._link, Future()
                yield _RangeSpan(span, self._wanted, before, self._link)

    def _is_met(self) -> bool:
        return self._link.done() and self._link.result() == self._wanted.stop


class _RangeSpan:
    """A Span or Chunk of which only the records ``wanted`` (a range of all) are read; ``before``, ``behind``:
    Futures of the number of earlier records, at most ``wanted.stop``."""

    def __init__(self, span: "Chunk | Span", wanted: range, before: Future, behind: Future) -> None:
        self._span, self._wanted, self._before, self._behind = span, wanted, before, behind
        self.path, self.end = span.path, span.end

    def read(self, hold: Any = SpanBuffer) -> Chunk:
        """Read the wanted records.  Raises InputError."""
        told = None
        try:
            chunk, error = self._read(hold)
            if (earlier := self._before.result()) is None:
                raise error or InputError(self.path, "", NOT_READ)
            if earlier == self._wanted.stop:
                told = earlier
                return Chunk(self.path, np.empty(0, np.uint8), True, 1, 0)
            if chunk is None:
                raise error  # type: ignore[misc]  # set if chunk is None
            n = n_records_of(chunk)
            told = min(earlier + n, self._wanted.stop)
            start = min(max(self._wanted.start - earlier, 0), n)
            return _part(chunk, start, max(told - earlier, start), n)
        finally:
            settle(self._behind, told)

    def leave(self) -> None:
        """Give up reading: later spans need not wait."""
        self._span.leave()
        settle(self._behind)

    def _read(self, hold: Any) -> tuple[Chunk | None, InputError | None]:
        try:
            return self._span.read(hold).whole(), None
        except InputError as error:
            return None, error


def n_records_of(chunk: Chunk) -> int:
    """Return the number of records in a Chunk, including an incomplete one."""
    if chunk.data.size == 0:
        return 0
    n = count(chunk.data, chunk.data.size, chunk.is_fastq)
    return -(-n // 4) if chunk.is_fastq else n + 1


def _part(chunk: Chunk, start: int, stop: int, n: int) -> Chunk:
    """Return the records ``start`` to ``stop`` of a Chunk with n records."""
    if (start, stop) == (0, n):
        return chunk
    part = chunk.data[_begin(chunk, start, n) : _begin(chunk, stop, n)]
    return replace(chunk, data=part, number=chunk.number + start, n_bound=stop - start)


def _begin(chunk: Chunk, r: int, n: int) -> int:
    """Return where record r of a Chunk with n records begins; its end for r = n."""
    return chunk.data.size if r == n else find_record(chunk.data, r, chunk.is_fastq)


# Fraction of the inputs that a run has read, by the ends of the spans taken.


class InputShare:
    """The fraction of the files ``paths`` that has been read: call it for a number; None if unknown."""

    def __init__(self, paths: Sequence[ReadPath]) -> None:
        is_known = all(not isinstance(path, bytes) and os.path.isfile(path) for path in paths)
        self._sizes = [os.path.getsize(path) for path in paths] if is_known else []
        self._total = sum(self._sizes)
        self._ends: dict = {}  # bytes read, by file

    def note(self, number: Hashable, end: int) -> None:
        """Note that ``end`` bytes of a file were taken."""
        self._ends[number] = end

    def end(self, number: int) -> None:
        """Note that all of a file was taken."""
        self._ends[number] = self._sizes[number] if self._sizes else 0

    def of(self, spans: Generator[Any, None, None]) -> Generator[Any, None, None]:
        """Yield the spans of the files in order, and note where each ends."""
        number, last = 0, None
        with closing(spans):
            for span in spans:
                if last and (span.path != last.path or span.end < last.end):
                    number += 1
                last = span
                self.note(number, span.end)
                yield span

    def of_pairs(self, spans: Generator[Any, None, None]) -> Generator[Any, None, None]:
        """Yield PairSpans, and note where each ends."""
        with closing(spans):
            for span in spans:
                for number, end in span.ends():
                    self.note(number, end)
                yield span

    def __call__(self) -> float | None:
        done = sum(self._ends.values())
        return min(1.0, done / self._total) if done and self._total else None


# Several files at a time, each of which yields its spans in order.


class SpansInTurn(Protocol):
    """A file: ``is_over`` if it has no more spans; ``is_busy`` while a thread takes the next one."""

    is_over: bool

    @property
    def is_busy(self) -> bool: ...

    def close(self) -> None: ...


F = TypeVar("F", bound=SpansInTurn)


def in_turn(files: Iterable[F], n: int) -> Generator[F, None, None]:
    """Yield files, ``n`` of them at a time, each repeatedly until it is over.

    Files that are not busy come first: a file that can only be read in order keeps one worker busy, several
    keep all of them busy.
    """
    left = iter(files)
    opened = list(islice(left, n))
    try:
        while opened:
            file = next((each for each in opened if not each.is_busy), opened[0])
            opened.remove(file)
            if file.is_over:
                file.close()
                opened += islice(left, 1)
            else:
                opened.append(file)
                yield file
    finally:
        for file in opened:
            file.close()
