"""Spans: runs of bytes of an input that any thread can read, cut into whole records by counting newlines."""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..codecs import BgzfBlocks, PlainRange, after
from ..codecs.bgzf import blocks, pread
from ..errors import InputError
from ..machines.jobs import settle, settled, when_settled
from . import Reader, ReadPath
from .chunks import (
    BLANK_LINE,
    CHUNK_SIZE,
    NEWLINE,
    Chunk,
    about_cr,
    begins_fastq,
    count,
    find_blank,
    find_border,
    is_mac,
    read_counted,
    refuse_archive,
    skip_blank,
)
from .streams import Source, is_wrapped

if TYPE_CHECKING:
    from ..system import RegularFile


class SpanBuffer:
    """The first ``n`` bytes of a reader; ``is_end``: it has no more.  ``make`` (n, dtype) allocates."""

    def __init__(self, reader: Reader, make: Callable[[int, Any], np.ndarray] = np.empty) -> None:
        self._reader, self._make, self._buffer = reader, make, np.empty(0, np.uint8)
        self.n, self.is_end = 0, False

    def load(self, own: int, beyond: int, is_fastq: bool) -> int:
        """Read ``own`` bytes and ``beyond`` more; return how many newlines count in the former.

        Raises InputError.
        """
        if isinstance(self._reader, PlainRange):
            descriptor, offset, n = self._reader.left(own + beyond)
            self._make_room(n)
            done, found = read_counted(pread(), descriptor, offset, self._buffer[:n], own, is_fastq)
            if done == n:
                self._reader.skip(n)
                self.n, self.is_end = n, n < own + beyond
                return found
        self.read_on(own + beyond)  # raises the error if there was one
        return count(self.data(), min(self.n, own), is_fastq)

    def read_on(self, more: int) -> None:
        """Read this many more bytes, or to the end.  Raises InputError."""
        n = self.n + more
        self._make_room(n)
        self.n += self._reader.readinto(self._buffer[self.n : n])
        self.is_end = self.n < n

    def _make_room(self, n: int) -> None:
        """Make room for n bytes and a final newline."""
        if n >= self._buffer.size:
            larger = self._make(max(4 * self.n, n) + 1, np.uint8)
            larger[: self.n] = self.data()
            self._buffer = larger

    def room(self) -> int:
        """Return the bytes that can be read without a larger buffer."""
        return self._buffer.size - 1 - self.n

    def data(self) -> np.ndarray:
        """Return the bytes, uint8[n]; on a GPU the middle is undefined before ``whole``."""
        return self._buffer[: self.n]

    def whole(self) -> np.ndarray:
        """Return all bytes, uint8[n]."""
        return self.data()

    def begin(self, left: int, is_fastq: bool) -> int:
        """Return the place after the ``left``-th newline that counts."""
        return find_border(self.data(), 0, left, is_fastq)[0]

    def end_line(self) -> None:
        """Append a newline."""
        self._buffer[self.n] = NEWLINE

    def cut(self, begin: int, stop: int) -> tuple:
        """``data`` and ``there`` of a Chunk of these bytes."""
        return self._buffer[begin:stop], None


# A span of an uncompressed file is a range of its bytes, one of BGZF some of its blocks.  Other streams are
# read span by span, by the thread that asks for the next.  A record belongs to the span that holds the
# newline before it (the first record to the first span); its end is read from beyond the span.  In FASTQ a
# record starts after every fourth newline of the file, whatever qualities begin with; in FASTA after a
# newline that '>' follows.  A span counts its own newlines, receives from the previous span how many came
# earlier, and passes on the sum:
#
#
#     spans           |            0 |            1 |           2 |
#     newlines        0  1  2  3  4    5  6  7  8  9  10 11 12 13     0: assumed before the first record
#     records         1           2             3           4

NOT_READ = "an earlier part of the input could not be read; see the first error"
RANGES_FROM = 4  # threads; with fewer, igzip in one thread is faster: it takes two thirds of the time
BEYOND = 1 << 16  # bytes to read beyond a span for its last record, at first


class Before(NamedTuple):
    """What precedes a span: newlines that count, and the record where blank lines began, or 0."""

    total: int
    blank: int = 0


class Span:
    """``size`` bytes of an input and the records that belong to them.

    ``reader`` reads these bytes, fewer at the end of the input, and then all after them; if ``size`` is None,
    its ``begin`` returns it.  ``before``, ``behind``: Futures of Before, from the previous span and to the
    next; ``end``: where it ends in its file, if known.
    """

    end = 0

    def __init__(
        self, path: str, is_fastq: bool, size: int | None, reader: Any, before: Future, behind: Future
    ) -> None:
        self.path, self.is_fastq, self._size, self._reader = path, is_fastq, size, reader
        self._before, self._behind, self._stop = before, behind, 0
        self._error: BaseException | None = None
        self._hold: Any = SpanBuffer

    def read(self, hold: Callable[[Any], SpanBuffer] = SpanBuffer) -> Chunk:
        """Read its records into a Chunk, once the previous span is counted; ``hold(reader)``: a SpanBuffer.

        Raises InputError.
        """
        self._hold = hold
        return self.cut()[0]

    def cut(self) -> tuple[Chunk, np.ndarray, Before]:
        """Return (Chunk, bytes read beyond it, the Before of those); the next span may receive less."""
        try:
            return self._cut()
        except BaseException:
            settle(self._behind)
            raise

    def leave(self) -> None:
        """Give up reading: later spans need not wait."""
        settle(self._behind)

    def _cut(self) -> tuple[Chunk, np.ndarray, Before]:
        size = self._reader.begin() if self._size is None else self._size
        held = self._hold(self._reader)
        found = held.load(size, min(size, BEYOND), self.is_fastq)
        data, own = held.data(), min(held.n, size)
        when_settled(self._before, partial(self._pass_on, data, own, found, size > 0))
        if (after := self._behind.result()) is None:
            raise self._error or InputError(self.path, "", NOT_READ)
        before = self._before.result()
        if size == 0:
            return Chunk(self.path, data[:0], self.is_fastq, 1, 0), data, before
        is_first, period = before.total == 0, 4 if self.is_fastq else 1
        (total, blank), stop = after, self._stop
        if before.blank and skip_blank(data[:own], 0) < own:
            raise InputError(self.path, f"record {blank}", BLANK_LINE)
        number = 1 + -(-before.total // period)
        n_records = (blank or 1 + -(-total // period)) - number
        if before.blank or n_records == 0:
            chunk = Chunk(self.path, data[:0], self.is_fastq, number, 0)
            return chunk, data[own:], Before(total, blank)
        begin = held.begin(-before.total % period + 1 - is_first, self.is_fastq)
        rest = own
        if not blank:
            left = -total % period  # newlines up to the one before the next record
            stop, rest = self._complete(held, own, left + 1)
            n_records -= self.is_fastq and left == 3 and stop == own  # nothing follows the last newline
            total += left
        here, there = held.cut(begin, stop)
        chunk = Chunk(self.path, here, self.is_fastq, number, n_records, there=there)
        return chunk, held.data()[rest:], Before(total, blank)

    def _pass_on(self, data: np.ndarray, own: int, found: int, is_read: bool, before: Before | None) -> None:
        """Add the newlines ``found`` in its own bytes to those before it, and pass on the sum.

        The thread that knows what is before a span does this for all spans after it that have been read.  If
        each thread waited for the one before, a span would take as long as Python's lock to change threads.
        """
        try:
            self._stop, after = own, before
            if before and is_read:
                after = Before(before.total + (before.total == 0) + found, before.blank)
                if self.is_fastq and not before.blank and data[max(own - 1, 0) : own].tobytes().isspace():
                    self._stop, blank = find_blank(data, own, after.total)
                    after = after._replace(blank=blank)
            settle(self._behind, after)
        except BaseException as error:
            self._error = error
            settle(self._behind)

    def _complete(self, held: SpanBuffer, own: int, left: int) -> tuple[int, int]:
        """Read on to the next record or the end of the input; return (that, where unused bytes begin)."""
        i, beyond = own, BEYOND
        while True:
            i, left = find_border(held.data(), i, left, self.is_fastq)
            if left == 0:
                return i, i - 1
            if held.is_end:
                if held.data()[-1] == NEWLINE:
                    return held.n, held.n
                held.end_line()
                return held.n + 1, held.n
            if is_mac(held.whole()):
                raise InputError(self.path, "record 1", about_cr(held.whole()))
            beyond *= 2
            room = held.room()
            held.read_on(min(beyond, room) if room else beyond)


class StreamRest:
    """The bytes of a Source or Gzip from where ``rest`` (uint8, already read) begins."""

    def __init__(self, file: Reader, rest: np.ndarray) -> None:
        self._file, self.rest, self._is_over = file, rest, False

    def readinto(self, view: np.ndarray) -> int:
        """Fill ``view`` (uint8 array), as far as the stream goes.  Raises InputError."""
        n = min(view.size, self.rest.size)
        view[:n], self.rest = self.rest[:n], self.rest[n:]
        if n < view.size and not self._is_over:
            n += self._file.readinto(view[n:])
            self._is_over = n < view.size
        return n

    def is_at_end(self) -> bool:
        return self._is_over and self.rest.size == 0


def plan(
    paths: Sequence[ReadPath],
    size: int = CHUNK_SIZE,
    check: Callable[[str, int], bool] = begins_fastq,
    n_threads: int = 1,
) -> Generator[Span | Chunk, None, None]:
    """Yield spans of about ``size`` bytes of FASTA or FASTQ files, in order.

    A span waits for those before it: a thread that takes one must read it at once.  A file without records
    yields nothing.  ``check`` (path, first byte) returns whether it is FASTQ, or raises InputError.
    """
    for path in paths:
        with Source(path) as source:
            yield from plan_source(source, size, check, n_threads)


def read_chunks(
    paths: Sequence[ReadPath], size: int = CHUNK_SIZE, check: Callable[[str, int], bool] = begins_fastq
) -> Generator[Chunk, None, None]:
    """Yield the Chunks of several FASTA or FASTQ files in order, read one after another."""
    for span in plan(paths, size, check):
        yield span.read()


def plan_source(
    source: Source,
    size: int,
    check: Callable[[str, int], bool],
    n_threads: int = 1,
    first: tuple[int, np.ndarray] | None = None,
) -> Generator[Span | Chunk, None, None]:
    """Yield the spans of one Source; ``first``: the result of ``first_of``, if it was called."""
    skip, head = first or first_of(source)
    if head.size == 0:
        return
    refuse_archive(source.path, head)
    is_fastq = check(source.path, head[0])
    readers = _readers(source, size, skip, head, n_threads if is_fastq else 1)
    stream, link = yield from _side_by_side(source.path, is_fastq, readers)
    while stream is not None and not stream.is_at_end():
        chunk, rest, before = Span(source.path, is_fastq, size, stream, link, Future()).cut()
        stream.rest, link = np.concatenate([rest, stream.rest]), settled(before)
        if stream.is_at_end() and source.regular() is None:
            source.check_end(head[:1].tobytes())
        yield replace(chunk, end=source.position())


def _side_by_side(
    path: str, is_fastq: bool, readers: Generator[tuple[Any, int | None, int], None, StreamRest | None]
) -> Generator[Span, None, tuple[StreamRest | None, Future]]:
    """Yield a Span for each (reader, size, end); return the result of ``readers``, and the last Future."""
    link = settled(Before(0))
    while True:
        try:
            reader, size, end = next(readers)
        except StopIteration as done:
            return done.value, link
        before, link = link, Future()
        span = Span(path, is_fastq, size, reader, before, link)
        span.end = end
        yield span


def _readers(
    source: Source, size: int, skip: int, head: np.ndarray, n_threads: int
) -> Generator[tuple[Any, int | None, int], None, StreamRest | None]:
    """Yield (reader, its own bytes or None, where they end); return a StreamRest of what is left, or None.

    The first ``skip`` bytes of the input are blank, and ``head`` has been read.
    """
    file, stop = source.regular(), 0
    if source.is_wrapped:
        from .wrapped import WrappedFastq

        return StreamRest(WrappedFastq(StreamRest(source, head)), head[:0])
    if file is None:
        return StreamRest(source, head)
    if not source.is_gzip:
        yield from ranges_of(file, size, skip)
        return None
    if ranges := _gzip_ranges(file, size) if n_threads >= RANGES_FROM and skip == 0 else None:
        yield from ranges.readers()
        rest = ranges.rest()
        return rest and StreamRest(rest, head[:0])
    for made in blocks_of(file, size, skip):
        yield made
        stop = made[2]
    if stop == file.size:
        return None
    return StreamRest(after(file, stop), head[:0]) if stop else StreamRest(source, head)


def _gzip_ranges(file: "RegularFile", size: int) -> Any:
    """Return the Ranges of a gzip file, or None."""
    from ..codecs import parallel_gzip  # imported on first use

    return parallel_gzip.ranges_of(file, size)


def ranges_of(
    file: "RegularFile", size: int, skip: int, stop: int | None = None
) -> Iterator[tuple[PlainRange, int, int]]:
    """Yield (reader, its own bytes, where they end) for spans of an uncompressed file, up to ``stop``."""
    stop = stop or file.size
    for start in range(skip, stop, size):
        n = min(size, stop - start)
        yield PlainRange(file, start), n, start + n


def blocks_of(
    file: "RegularFile", size: int, skip: int, start: int = 0, end: int | None = None
) -> Iterator[tuple[BgzfBlocks, int, int]]:
    """Yield the same for BGZF blocks from ``start`` on, until the file ends or other data begins."""
    n, stops = 0, []
    for stop, more in blocks(file, start, end):
        n += more
        if n <= skip:
            start, skip, n = stop, skip - n, 0
            continue
        stops.append(stop)
        if n - skip >= size:
            yield BgzfBlocks(file, start, stops, skip, n - skip), n - skip, stop
            start, stops, skip, n = stop, [], 0, 0
    if n > skip:
        yield BgzfBlocks(file, start, stops, skip, n - skip), n - skip, stops[-1]


def first_of(source: Source) -> tuple[int, np.ndarray]:
    """Return (number of white-space bytes at the start of a new Source, the bytes that follow, in part)."""
    skip, head = 0, np.empty(BEYOND, np.uint8)
    while n := source.readinto(head):
        blank = skip_blank(head[:n], 0)
        skip += blank
        if blank < n:
            head = head[blank:n]
            source.is_wrapped = head[0] == ord("@") and is_wrapped(head.tobytes())
            return skip, head
    return skip, head[:0]
