"""Spans: runs of bytes of an input that any thread can read, cut into whole records by counting newlines.

A span of an uncompressed file is a range of its bytes, one of BGZF some of its blocks.  Other streams are
read span by span, by the thread that asks for the next.  A record belongs to the span that holds the newline
before it (the first record to the first span); its end is read from beyond the span.  In FASTQ a record
starts after every fourth newline of the file, whatever qualities begin with; in FASTA after a newline that
'>' follows.  A span counts its own newlines, receives from the previous span how many came earlier, and
passes on the sum:

    spans           |            0 |            1 |           2 |
    newlines        0  1  2  3  4    5  6  7  8  9  10 11 12 13     0: assumed before the first record
    records         1           2             3           4

The sum is also the number of a record, by which ranges (--skip, --first), pairs and shards choose theirs.
"""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..codecs import BgzfBlocks, CompressedStream, PlainRange, gzip_from
from ..codecs.bgzf import blocks, pread
from ..errors import InputError
from ..machines.jobs import future_of, pass_on, run_all, set_once
from . import ALL, InputShare, PairedFiles, Reader, ReadFiles, records_after, together
from .chunks import (
    CHUNK_SIZE,
    NEWLINE,
    NOT_READ,
    Chunk,
    begins_fastq,
    count,
    find_border,
    find_end,
    read_counted,
    refuse_archive,
    skip_blank,
)
from .streams import Source, WrappedFastq, is_wrapped

if TYPE_CHECKING:
    from ..system import RegularFile

_RANGES_FROM = 4  # threads; with fewer, isal in one thread is faster: it takes two thirds of the time
_BEYOND = 1 << 16  # bytes to read beyond a span for its last record, at first


class SpanBuffer:  # reads_gpu.GpuSpanBuffer overrides its methods
    """The first ``n`` bytes of a reader; ``is_end``: it has no more.  ``make`` (n, dtype) allocates."""

    def __init__(self, reader: Reader, make: Callable[[int, Any], np.ndarray] = np.empty) -> None:
        self._reader, self._make, self._buffer = reader, make, np.empty(0, np.uint8)
        self.n, self.is_end = 0, False

    def load(self, size: int, beyond: int, is_fastq: bool) -> int:
        """Read ``size`` bytes and ``beyond`` more; return how many newlines count in the former.

        Raises InputError.
        """
        if isinstance(self._reader, PlainRange):
            descriptor, offset, n = self._reader.left(size + beyond)
            self._make_room(n)
            done, n_newlines = read_counted(pread(), descriptor, offset, self._buffer[:n], size, is_fastq)
            if done == n:
                self._reader.skip(n)
                self.n, self.is_end = n, n < size + beyond
                return n_newlines
        self.read_on(size + beyond)  # raises the error if there was one
        return count(self.data(), min(self.n, size), is_fastq)

    def read_on(self, more: int) -> None:
        """Read this many more bytes, but no more than fit into the buffer if any do.  Raises InputError."""
        room = self._buffer.size - 1 - self.n
        n = self.n + (min(more, room) if room > 0 else more)
        self._make_room(n)
        self.n += self._reader.readinto(self._buffer[self.n : n])
        self.is_end = self.n < n

    def drop_blank(self, size: int) -> int:
        """Drop the end of the last line of FASTQ, and blank lines after it; return how many newlines these
        had in the first ``size`` bytes."""
        end = find_end(self.data())
        dropped = self.data()[end:size]
        self.n = end
        return count(dropped, dropped.size, True)

    def _make_room(self, n: int) -> None:
        """Make room for n bytes and a final newline."""
        if n >= self._buffer.size:
            larger = self._make(max(4 * self.n, n) + 1, np.uint8)
            larger[: self.n] = self.data()
            self._buffer = larger

    def data(self) -> np.ndarray:
        """Return the bytes, uint8[n]; on a GPU the middle may be undefined."""
        return self._buffer[: self.n]

    def after_newlines(self, n: int, is_fastq: bool) -> int:
        """Return the place after the n-th newline that counts."""
        return find_border(self.data(), 0, n, is_fastq)[0]

    def end_line(self) -> int:
        """Append a newline unless there is one; return the number of bytes with it."""
        if self.data()[-1:] == NEWLINE:
            return self.n
        self._buffer[self.n] = NEWLINE
        return self.n + 1

    def cut(self, begin: int, stop: int) -> tuple:
        """``data`` and ``on_gpu`` of a Chunk of these bytes."""
        return self._buffer[begin:stop], None


class Span:
    """``size`` bytes of a RecordFile and the reads that begin there, as far as they are in ``reads``.

    ``reader`` reads these bytes, fewer at the end of the input, and then all after them; if ``size`` is None,
    its ``begin`` returns it.  ``before``, ``behind``: Futures of the newlines that count up to it, from the
    previous span, and with its own, to the next; ``end``: where it ends in its file, if known; ``reads``:
    the numbers, from 0, of reads, or of pairs if a file has both mates in turn.
    """

    def __init__(
        self, file: "RecordFile", size: int | None, reader: Any, before: Future, reads: range, end: int
    ) -> None:
        self._file, self._size, self._reader = file, size, reader
        self._before, self.behind, self._reads, self.end = before, Future[Any](), reads, end

    def read(self, hold: Callable[[Any], SpanBuffer] = SpanBuffer) -> Chunk:
        """Read its reads into a Chunk, once the previous span is counted; ``hold(reader)``: a SpanBuffer.

        Of what lies after the last of ``reads``, no errors are reported.  Raises InputError.
        """
        is_fastq = self._file.is_fastq
        try:
            size = self._reader.begin() if self._size is None else self._size
            buffer = hold(self._reader)
            n_newlines = buffer.load(size, _BEYOND, is_fastq)
            if is_fastq and buffer.is_end:
                n_newlines -= buffer.drop_blank(size)
        except BaseException as error:
            before = self._before.result() if isinstance(error, InputError) else None
            is_past = before is not None and self._file.n_reads(before) >= self._reads.stop
            set_once(self.behind, before if is_past else None)
            if is_past:
                return self._file.chunk(np.empty(0, np.uint8), self._reads.stop, 0)
            raise
        n = min(buffer.n, size)

        def newlines_behind(before: int) -> int:
            return before + (before == 0 < n) + n_newlines

        if (behind := pass_on(self._before, self.behind, newlines_behind)) is None:
            raise InputError(self._file.path, "", NOT_READ)
        chunk = self._chunk(buffer, n, self._before.result(), behind)
        if isinstance(self._reader, StreamRest):
            self._reader.put_back(buffer.data()[n:])
        return chunk

    def _chunk(self, buffer: SpanBuffer, n: int, before: int, behind: int) -> Chunk:
        """Return the reads that begin after ``before`` newlines and not after ``behind``."""
        file, period = self._file, self._file.step * self._file.lines
        n_before, n_behind = file.n_reads(before), file.n_reads(behind)
        first, last = max(self._reads.start, n_before), min(self._reads.stop, n_behind)
        if first >= last:
            return file.chunk(np.empty(0, np.uint8), n_before, 0)
        ahead = -before % period + (before > 0)  # newlines before the first read here
        begin, missing = buffer.after_newlines(ahead + period * (first - n_before), file.is_fastq), 0
        if last < n_behind:
            stop = buffer.after_newlines(ahead + period * (last - n_before), file.is_fastq)
        else:
            stop, missing = self._complete(buffer, n, -behind % period + 1)
        data, on_gpu = buffer.cut(begin, stop)
        return file.chunk(data, first, file.step * (last - first) - missing // file.lines, on_gpu)

    def _complete(self, buffer: SpanBuffer, i: int, left: int) -> tuple[int, int]:
        """Read on to the ``left``-th newline from byte i on, or to the end.

        Return (the place after it, how many of its newlines the last read lacks).
        """
        beyond = _BEYOND
        while True:
            i, left = find_border(buffer.data(), i, left, self._file.is_fastq)
            if left == 0:
                return i, 0
            if buffer.is_end:
                return buffer.end_line(), left - 1
            beyond *= 2
            buffer.read_on(beyond)


class StreamRest:
    """The bytes of a Source or Gzip from where ``rest`` (uint8, already read) begins."""

    def __init__(self, file: Reader, rest: np.ndarray) -> None:
        self._file, self._rest, self._is_over = file, rest, False

    def readinto(self, view: np.ndarray) -> int:
        """Fill ``view`` (uint8 array), as far as the stream goes.  Raises InputError."""
        n = min(view.size, self._rest.size)
        view[:n], self._rest = self._rest[:n], self._rest[n:]
        if n < view.size and not self._is_over:
            n += self._file.readinto(view[n:])
            self._is_over = n < view.size
        return n

    def put_back(self, data: np.ndarray) -> None:
        """Let the next bytes be these, which were the last ones read."""
        self._rest = np.concatenate([data, self._rest])

    def is_at_end(self) -> bool:
        return self._is_over and self._rest.size == 0


class Cut(NamedTuple):
    """Byte ``at`` of a file where spans may begin or end; newlines that count ``before`` it, or mod 4."""

    at: int
    before: int = 0


START = Cut(0)


class RecordFile:
    """A new Source of FASTA or FASTQ, as spans.

    ``check`` (path, first byte) returns whether it is FASTQ, or raises InputError; ``step``: records of a
    read, 1, or of a pair, 2, if the mates of each are in turn; ``lines``: newlines of a record that count.
    ``file``: a RegularFile, or None if it is read in order; ``is_wrapped``: it is FASTQ with sequences in
    several lines; ``behind``: that of the last span that was planned.
    """

    def __init__(
        self, source: Source, check: Callable[[str, int], bool] = begins_fastq, step: int = 1
    ) -> None:
        self.source, self.path, self.behind, self.step = source, source.path, future_of(0), step
        self.skip, self._head = 0, np.empty(0, np.uint8)  # white space at the start, and bytes after it
        data = np.empty(_BEYOND, np.uint8)
        while self._head.size == 0 and (n := source.readinto(data)):
            blank = skip_blank(data[:n], 0)
            self.skip, self._head = self.skip + blank, data[blank:n]
        self.has_records = self._head.size > 0
        if self.has_records:
            refuse_archive(self.path, self._head)
        self.is_fastq = self.has_records and check(self.path, self._head[0])
        self.lines = 4 if self.is_fastq else 1
        self.is_wrapped = self.is_fastq and is_wrapped(self._head.tobytes())
        self.file: Any = None if self.is_wrapped else source.regular()

    def n_reads(self, newlines: int) -> int:
        """Return how many reads begin after so many newlines that count, with the one before the first."""
        return -(-newlines // (self.step * self.lines))

    def chunk(self, data: np.ndarray, first: int, n_records: int, on_gpu: Any = None) -> Chunk:
        """Return the Chunk of records from read number ``first``, from 0, on."""
        return Chunk(self.path, data, self.is_fastq, self.step * first + 1, n_records, on_gpu)

    def spans(
        self, size: int, n_threads: int = 1, reads: range = ALL, share: InputShare | None = None,
        cut: Cut = START, stop: int | None = None,
    ) -> Generator[Span | Chunk, None, None]:  # fmt: skip
        """Yield spans of about ``size`` bytes with the ``reads`` of these numbers, in order.

        ``n_threads`` will read them; ``share`` notes how far spans were taken; ``cut`` and ``stop``: where
        they begin and end, if not with the file.
        """
        self.behind, file = future_of(cut.before), object()
        for reader, n, end in self._readers(size, n_threads, cut.at, stop) if self.has_records else ():
            before = self.behind.result() if self.behind.done() else None
            if before is not None and self.n_reads(before) >= reads.stop:
                return
            span = Span(self, n, reader, self.behind, reads, end)
            self.behind, is_stream = span.behind, isinstance(reader, StreamRest)
            chunk = span.read() if is_stream else None
            if is_stream and reader.is_at_end() and self.source.regular() is None:
                self.source.check_end(self._head[:1].tobytes())
            if share:
                share.note(file, self.source.position() if is_stream else end)
            yield chunk or span

    def _readers(
        self, size: int, n_threads: int, start: int, stop: int | None
    ) -> Iterator[tuple[Any, int | None, int]]:
        """Yield (reader, its own bytes or None, where they end)."""
        file, skip, nothing = self.file, 0 if start else self.skip, self._head[:0]
        if self.is_wrapped:
            yield from _in_order(WrappedFastq(StreamRest(self.source, self._head)), nothing, size)
        elif file is None:
            yield from _in_order(self.source, self._head, size)
        elif not self.source.is_gzip:
            yield from _ranges_of(file, size, skip, start, stop)
        else:
            is_whole, end = start == 0 and stop is None, start
            if is_whole and self.is_fastq and n_threads >= _RANGES_FROM and skip == 0:
                from ..codecs import parallel_gzip  # imported on first use

                for part, end in parallel_gzip.readers_of(file, size):
                    if isinstance(part, CompressedStream):
                        yield from _in_order(part, nothing, size)
                    else:
                        yield part, None, end
                if end:
                    return
            end = yield from _blocks_of(file, size, skip, start, stop)
            if end < (file.size if stop is None else stop):
                if not is_whole:
                    what = "BGZF mixed with other gzip cannot be split: recompress it with bgzip"
                    raise InputError(self.path, "", what)
                left: Reader = gzip_from(file, end) if end else self.source
                yield from _in_order(left, nothing if end else self._head, size)


def _ranges_of(
    file: "RegularFile", size: int, skip: int, start: int = 0, stop: int | None = None
) -> Iterator[tuple[PlainRange, int, int]]:
    """Yield (reader, its own bytes, where they end) for ranges of an uncompressed file, without ``skip``."""
    stop = file.size if stop is None else stop
    for at in range(start + skip, stop, size):
        end = min(at + size, stop)
        yield PlainRange(file, at), end - at, end


def _blocks_of(
    file: "RegularFile", size: int, skip: int, start: int = 0, stop: int | None = None
) -> Generator[tuple[BgzfBlocks, int, int], None, int]:
    """Yield the same for BGZF blocks, until other data begins; return where."""
    n, ends, end = 0, [], start  # type: tuple[int, list[int], int]
    for end, more in blocks(file, start, stop):
        n += more
        if skip and n <= skip:
            start, skip, n = end, skip - n, 0
            continue
        ends.append(end)
        if n - skip >= size:
            yield BgzfBlocks(file, start, ends, skip, n - skip), n - skip, end
            start, ends, skip, n = end, [], 0, 0
    if ends:
        yield BgzfBlocks(file, start, ends, skip, n - skip), n - skip, ends[-1]
    is_blank = skip and not ends and stop is None  # they hold a part of what to skip, and nothing else
    return 0 if is_blank else end


def _in_order(reader: Reader, rest: np.ndarray, size: int) -> Iterator[tuple[StreamRest, int, int]]:
    """Yield the same for each span of a StreamRest, which is read before the next one is taken."""
    stream = StreamRest(reader, rest)
    while not stream.is_at_end():
        yield stream, size, 0


def plan(
    files: ReadFiles, size: int = CHUNK_SIZE, n_threads: int = 1, records: range = ALL,
    share: InputShare | None = None, check: Callable[[str, int], bool] = begins_fastq,
) -> Generator[Any, None, None]:  # fmt: skip
    """Yield spans of about ``size`` bytes of FASTA or FASTQ files in order, or PairSpans of PairedFiles.

    ``records``: the numbers, from 0, of the reads or pairs; the others are as in RecordFile.  A span waits
    for those before it: a thread that takes one must read it at once.
    """
    in_pairs = isinstance(files, PairedFiles)
    for paths in together(files):
        with ExitStack() as stack:
            step = 2 if in_pairs and len(paths) == 1 else 1
            opened = [RecordFile(stack.enter_context(Source(path)), check, step) for path in paths]
            sides = [file.spans(size, n_threads, records, share) for file in opened]
            if in_pairs:
                from .mates import pair_spans  # not needed for single reads

                yield from pair_spans([file.path for file in opened], sides)
            else:
                yield from sides[0]
            if records != ALL and (before := opened[0].behind.result()):
                records = records_after(records, opened[0].n_reads(before))


def read_chunks(
    files: ReadFiles, size: int = CHUNK_SIZE, check: Callable[[str, int], bool] = begins_fastq
) -> Generator[Chunk, None, None]:
    """Yield the Chunks of several FASTA or FASTQ files in order, read one after another."""
    for span in plan(files, size, check=check):
        yield span.read()


def read_whole(
    source: Source, n_threads: int = 1, tell: Callable[[], object] = lambda: None, size: int = CHUNK_SIZE
) -> np.ndarray:
    """Return all bytes of a new Source, uint8: of uncompressed files and BGZF by all threads, else in order.

    ``size``: bytes read at once; ``tell`` is called repeatedly while it is read in order.  Raises InputError.
    """
    file, end, n, pieces = source.regular(), 0, 0, []
    if file is not None:
        for reader, more, stop in (_blocks_of if source.is_gzip else _ranges_of)(file, size, 0):
            pieces.append((reader, n, n + more))
            n, end = n + more, stop
    data = np.empty(n or 4 * source.size or 1 << 20, np.uint8)
    run_all(lambda reader, first, last: reader.readinto(data[first:last]), pieces, n_threads)
    if file is not None and end == file.size:
        return data[:n]
    rest: Reader = gzip_from(file, end) if file is not None and end else source
    while True:
        if n == data.size:
            data = np.concatenate([data, np.empty(n // 2 + size, np.uint8)])
        more = rest.readinto(data[n : n + size])
        tell()
        if more == 0:
            break
        n += more
    if file is None:
        source.check_end(data[:1].tobytes())
    return data[:n]
