"""The first reads of all inputs, or those after them: counted as spans are read, whoever reads which.

A span learns from the one before it how many records came earlier, and tells the next one.  What lies beyond
the last read that is wanted is neither waited for nor complained of.
"""

import os
import sys
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ..errors import InputError
from ..machines.threads import settle, settled
from .chunks import Chunk, count, find_border
from .spans import NOT_READ, SpanBuffer

if TYPE_CHECKING:
    from .spans import Span


def wanted_range(skip: int, n: int | None) -> range:
    """Numbers, from 0, of ``n`` (None: all) records after the first ``skip``."""
    return range(skip, sys.maxsize if n is None else skip + n)


class ReadRange:
    """Of all records the ``n`` (None: all) after the first ``skip``; ``before``: of those earlier ones that
    are not in the spans."""

    def __init__(self, skip: int, n: int | None, before: int = 0) -> None:
        self._wanted = wanted_range(skip, n)
        self._link = settled(min(before, self._wanted.stop))

    def of(self, spans: Generator[Any, None, None]) -> Generator[Any, None, None]:
        """Yield what reads the chosen records of ``spans``, which go on where those given before end."""
        if self._wanted == range(sys.maxsize):
            yield from spans
            return
        with closing(spans):
            while not self._is_met() and (span := next(spans, None)):
                before, self._link = self._link, Future()
                yield _RangeSpan(span, self._wanted, before, self._link)

    def _is_met(self) -> bool:
        return self._link.done() and self._link.result() == self._wanted.stop


class _RangeSpan:
    """A Span or Chunk of which the records ``wanted`` (a range of all) are read; ``before`` and ``behind``:
    Futures of how many records came earlier, at most ``wanted.stop``."""

    def __init__(self, span: "Chunk | Span", wanted: range, before: Future, behind: Future) -> None:
        self._span, self._wanted, self._before, self._behind = span, wanted, before, behind
        self.path, self.end = span.path, span.end

    def read(self, hold: Any = SpanBuffer) -> Chunk:
        """Its records that are wanted.  Raises InputError."""
        told = None
        try:
            chunk, error = self._read(hold)
            if (earlier := self._before.result()) is None:
                raise error or InputError(self.path, "", NOT_READ)
            if earlier == self._wanted.stop:
                told = earlier
                return Chunk(self.path, np.empty(0, np.uint8), True, 1, 0)
            if chunk is None:
                raise error  # type: ignore[misc]  # one of them is there
            n = n_records_of(chunk)
            told = min(earlier + n, self._wanted.stop)
            start = min(max(self._wanted.start - earlier, 0), n)
            return _part(chunk, start, max(told - earlier, start), n)
        finally:
            settle(self._behind, told)

    def leave(self) -> None:
        """It will not be read any more: who comes after it need not wait."""
        self._span.leave()
        settle(self._behind)

    def _read(self, hold: Any) -> tuple[Chunk | None, InputError | None]:
        try:
            return self._span.read(hold).whole(), None
        except InputError as error:
            return None, error


def n_records_of(chunk: Chunk) -> int:
    """How many records a Chunk holds, an unfinished one included."""
    if chunk.data.size == 0:
        return 0
    n = count(chunk.data, chunk.data.size, chunk.is_fastq)
    return -(-n // 4) if chunk.is_fastq else n + 1


def _part(chunk: Chunk, start: int, stop: int, n: int) -> Chunk:
    """Records ``start`` to ``stop`` of the ``n`` of a Chunk."""
    if (start, stop) == (0, n):
        return chunk
    part = chunk.data[_begin(chunk, start, n) : _begin(chunk, stop, n)]
    return replace(chunk, data=part, number=chunk.number + start, n_bound=stop - start)


def _begin(chunk: Chunk, r: int, n: int) -> int:
    """Where record r of the ``n`` of a Chunk begins, or its end."""
    if r == n:
        return chunk.data.size
    return find_border(chunk.data, 0, 4 * r if chunk.is_fastq else r, chunk.is_fastq)[0]


# What share of its inputs a run has read, by where the spans that were taken end.


class InputShare:
    """Of the files ``paths``; called, it gives a number from 0 to 1, or None where that cannot be known."""

    def __init__(self, paths: Sequence[bytes | Path | str]) -> None:
        is_known = all(not isinstance(path, bytes) and os.path.isfile(path) for path in paths)
        self._sizes = [os.path.getsize(path) for path in paths] if is_known else []
        self._total = sum(self._sizes)
        self._ends: dict = {}  # of files that are read: bytes

    def note(self, number: Any, end: int) -> None:
        """Of the ``number``-th file ``end`` bytes were taken."""
        self._ends[number] = end

    def end(self, number: int) -> None:
        """All of the ``number``-th file was taken."""
        self._ends[number] = self._sizes[number] if self._sizes else 0

    def of(self, spans: Generator[Any, None, None]) -> Generator[Any, None, None]:
        """Yield the spans of the files, one after the other, and note where each ends."""
        number, last = 0, None
        with closing(spans):
            for span in spans:
                if last and (span.path != last.path or span.end < last.end):
                    number += 1
                last = span
                self.note(number, span.end)
                yield span

    def of_pairs(self, spans: Generator[Any, None, None]) -> Generator[Any, None, None]:
        """The same for PairSpans."""
        with closing(spans):
            for span in spans:
                for number, end in span.ends():
                    self.note(number, end)
                yield span

    def __call__(self) -> float | None:
        done = sum(self._ends.values())
        return min(1.0, done / self._total) if done and self._total else None


# Several files at a time, each of which gives its spans to whoever comes, one after the other.


class SpansInTurn(Protocol):
    """A file: ``is_over`` where it has no more spans; ``is_busy`` while somebody takes the next one."""

    is_over: bool

    @property
    def is_busy(self) -> bool: ...

    def close(self) -> None: ...


F = TypeVar("F", bound=SpansInTurn)


def in_turn(files: Iterable[F], n: int) -> Generator[F, None, None]:
    """Yield files, ``n`` of them at a time, each again and again until it is over.

    Those that nobody is busy with come first: one that can only be read in order keeps one worker busy, and
    several keep all of them busy.
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
