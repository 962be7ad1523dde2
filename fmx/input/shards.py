"""Shards of inputs: the I-th of N runs of spans, found without reading the parts of other shards.

All inputs, one after another, form a line as long as their bytes on disk, which is divided into N equal
stretches.  Where a file may be cut depends on its type:

    uncompressed   every 8 MiB: with spans of that length, shards have the spans of one run
    BGZF           between blocks
    others         nowhere: they are read in order

A record belongs to the shard that holds the newline before it, as with spans.  The number of newlines before
a shard, modulo 4, is found in the shard: of the four lines that may begin a FASTQ record, all but one give
records that are not valid (in a valid file the right one is always valid).  If several are possible, or none,
the newlines before the shard are counted.  When shards are merged, neighbours are compared (``Border``), so
damage where two shards meet is detected as in one run.
"""

import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..codecs.bgzf import blocks, find_block
from ..codecs.readers import PlainRange, after
from ..errors import InputError
from ..machines.jobs import settled
from .chunks import CHUNK_SIZE, Chunk, begins_fastq, count, find_border
from .read_range import n_records_of
from .reads import parse
from .spans import Before, Span, blocks_of, first_of, plan_source, ranges_of
from .streams import Source

if TYPE_CHECKING:
    from . import Reader, ReadPath


class CutSizes(NamedTuple):
    """Numbers of bytes.

    ``apart``: between the cuts of an uncompressed file, independent of a machine's spans. ``guess``: in which
    the first record is looked for, each more if fewer do not suffice. ``reach``: at first, on both sides of
    the place where a mate is expected.
    """

    apart: int = CHUNK_SIZE
    guess: tuple[int, ...] = (1 << 18, 1 << 22)
    reach: int = 1 << 20


CUT_SIZES = CutSizes()


class Shard(NamedTuple):
    """Shard ``number``, from 1, of ``total``."""

    number: int
    total: int

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def of(self, n: int) -> tuple:
        """Return (start, stop): its part of n items."""
        return n * (self.number - 1) // self.total, n * self.number // self.total

    def with_thing(self, i: int, n: int) -> "Shard":
        """Return the shard that has item ``i`` of ``n``."""
        return self._replace(number=-(-(i + 1) * self.total // n))


class Border(NamedTuple):
    """Where a shard begins or ends in a file: byte ``at``; ``newlines`` from there to the one before a
    record, or -1 after the last record."""

    path: str
    at: int
    newlines: int


class ShardStretch(NamedTuple):
    """Bytes ``first`` to ``last`` of all files, one after another; ``before``: number of earlier records."""

    first: int
    last: int
    before: int = 0


def stretches_of(
    paths: "Sequence[ReadPath]", wanted: range, is_whole: Callable[[int], bool] = lambda number: False
) -> list:
    """Stretches, one after another, that hold the ``wanted`` records of files, which are counted once.

    They begin and end where a file may be cut; ``is_whole(number)``: a file that may not.
    """
    cuts, n, at = [(0, 0)], 0, 0  # (byte, number of records before it)
    for number, path in enumerate(paths):
        with Source(path) as source:
            for n_records, end in _counted_spans(source):
                n += n_records
                if end is not None and not is_whole(number):
                    cuts.append((at + end, n))
                if n >= wanted.stop:
                    break
        at += os.path.getsize(path)
        cuts.append((at, n))
        if n >= wanted.stop:
            break
    first = max(i for i, (_, n) in enumerate(cuts) if n <= wanted.start)
    last = next((i for i, (_, n) in enumerate(cuts) if n >= wanted.stop), len(cuts) - 1)
    cuts = cuts[first : max(first, last) + 1]
    return [ShardStretch(cuts[i][0], cuts[i + 1][0], cuts[i][1]) for i in range(len(cuts) - 1)]


def _counted_spans(source: Source) -> Iterator[tuple[int, int | None]]:
    """Yield (number of records, where they end if the file may be cut there) of the spans of a file."""
    begun = first_of(source)
    if begun[1].size == 0:
        return
    cuts = Cuts(source, begun[0])
    is_fastq = begins_fastq(source.path, begun[1][0])
    if cuts.is_whole:
        for span in plan_source(source, CHUNK_SIZE, begins_fastq, 1, begun):
            yield n_records_of(span.read()), None
        return
    link = settled(Before(0))
    for reader, n, end in cuts.spans(cuts.sizes.apart, 0, cuts.size):
        before, link = link, Future()
        yield n_records_of(Span(source.path, is_fastq, n, reader, before, link).read()), end


class ShardPlan:
    """The spans of a shard of regular files, or of a ``stretch`` of them.

    ``begin``, ``end``: its Borders inside files, or None; ``is_empty``: whether it has no spans, as for short
    files; ``whole``: a message about a file that cannot be cut, and that another shard reads, or "".
    """

    def __init__(
        self,
        shard: Shard,
        paths: "Sequence[ReadPath]",
        size: int = CHUNK_SIZE,
        check: Callable[[str, int], bool] = begins_fastq,
        n_threads: int = 1,
        stretch: ShardStretch | None = None,
        cut_sizes: CutSizes | None = None,
    ) -> None:
        self._shard, self._paths, self._size, self._check = shard, paths, size, check
        self.stretch, self._cut_sizes = stretch, cut_sizes
        self._first: int | None = None  # number of the file in which the shard begins
        self._n_threads = n_threads
        self.begin: Border | None = None
        self.is_empty = True
        self.whole = ""
        self._assumed: tuple | None = None  # at ``begin``: whether it is FASTQ, and the Before
        self._last: tuple | None = None  # at the end: path, byte, whether FASTQ, Future after it

    def spans(self) -> Generator[Span | Chunk, None, None]:
        """Yield spans, in order.  Raises InputError."""
        for _, span in self.numbered():
            yield span

    def numbered(self) -> Generator[tuple[int, Span | Chunk], None, None]:
        """Yield (number of the file, from 0, span)."""
        for number, first, last in self.stretches():
            with Source(self._paths[number]) as source:
                begun = first_of(source)
                if begun[1].size:
                    cuts = Cuts(source, begun[0], self._cut_sizes)
                    if first > 0 and cuts.is_whole:
                        self.note_whole(number, source.path)
                    for span in self.between(source, begun, cuts, cuts.at(first), cuts.at(last)):
                        yield number, span

    def stretches(self) -> Iterator[tuple[int, int, int]]:
        """Yield (number, first, last) of each file with bytes in the shard; either may lie outside it."""
        sizes = [os.path.getsize(path) for path in self._paths]
        first, last = self.stretch[:2] if self.stretch else self._shard.of(sum(sizes))
        at = 0
        for number, size in enumerate(sizes):
            if at < last and first < at + size:
                self._first = number if self._first is None else self._first
                yield number, first - at, last - at
            at += size

    def note_whole(self, number: int, path: str, instead: str = "compress it with bgzip") -> None:
        """Note that ``path``, file ``number``, cannot be cut: the shard in which it begins reads it."""
        sizes = [os.path.getsize(each) for each in self._paths]
        reader = self._shard.with_thing(sum(sizes[:number]), sum(sizes))
        self.whole = (
            f"{path} cannot be split, so shard {reader} reads all of it; to share the work, {instead}"
        )

    @property
    def end(self) -> Border | None:
        """Where the shard ends inside a file; valid after all spans were read."""
        if self._last is None:
            return None
        path, at, is_fastq, link = self._last
        return Border(path, at, _newlines(link.result(), is_fastq))

    def first_number(self, number: int) -> int:
        """Number of the first record in the spans of a file; valid after its first span was yielded."""
        if not (self.begin and self._assumed and self._first == number):
            return 1
        is_fastq, assumed = self._assumed
        return 1 - (-assumed.total // (4 if is_fastq else 1))

    def renumbered(self, error: InputError) -> InputError:
        """The error with its record's number in the file, found by counting the records before the shard."""
        found = re.fullmatch(r"record (\d+)", error.where)
        if not (found and self.begin and self._assumed and self.begin.path == error.path):
            return error
        is_fastq, assumed = self._assumed
        with Source(error.path) as source:
            skip, _ = first_of(source)
            before = count_records(Cuts(source, skip, self._cut_sizes), is_fastq, self.begin.at)
        number = int(found[1]) + (before.total - assumed.total) // (4 if is_fastq else 1)
        return InputError(error.path, f"record {number}", error.what)

    def between(
        self, source: Source, begun: tuple[int, np.ndarray], cuts: "Cuts", start: int, stop: int
    ) -> Generator[Span | Chunk, None, None]:
        """Yield the spans between two cuts; ``begun``: the result of first_of."""
        is_fastq = self._check(source.path, begun[1][0])
        self.is_empty = self.is_empty and start == stop
        if start == 0 and stop == cuts.size:
            yield from plan_source(source, self._size, self._check, self._n_threads, begun)
        elif start < stop:
            yield from self._inside(cuts, is_fastq, start, stop)

    def _inside(self, cuts: "Cuts", is_fastq: bool, start: int, stop: int) -> Iterator[Span]:
        path, before, end = cuts.file.path, Before(0), start
        if start:
            before = before_cut(cuts, is_fastq, start)
            self.begin, self._assumed = Border(path, start, _newlines(before, is_fastq)), (is_fastq, before)
        link = settled(before)
        for reader, n, reached in cuts.spans(self._size, start, stop):
            here, link, end = link, Future(), reached
            yield Span(path, is_fastq, n, reader, here, link)
        if not cuts.is_reached(stop, end):
            raise InputError(path, "", "BGZF mixed with other gzip cannot be split: recompress it with bgzip")
        if stop < cuts.size:
            self._last = path, stop, is_fastq, link


class Cuts:
    """Where a file may be cut: nowhere if it ``is_whole``.  ``skip``: bytes of white space before records.

    ``sizes``: CUT_SIZES by default.
    """

    def __init__(self, source: Source, skip: int, sizes: CutSizes | None = None) -> None:
        self.sizes = sizes or CUT_SIZES
        self.file: Any = source.regular()  # None if it is_whole
        self.is_gzip, self.size = source.is_gzip, os.path.getsize(source.path)
        self._skip = skip
        self.is_whole = (
            self.file is None or source.is_wrapped or (self.is_gzip and find_block(self.file, 0) > 0)
        )

    def at(self, place: int) -> int:
        """Return the cut at or near a place, which may lie outside the file; 0 and its size are cuts."""
        if place <= 0 or place >= self.size or self.is_whole:
            return 0 if place <= 0 else self.size
        if self.is_gzip:
            return find_block(self.file, place)
        n = max(0, place - self._skip) // self.sizes.apart
        return self._skip + n * self.sizes.apart if n else 0

    def beyond(self, start: int, n: int) -> int:
        """Return a cut after byte n of the data from a cut on."""
        if not self.is_gzip:
            return self.at(start + n + self.sizes.apart)
        for stop, size in blocks(self.file, start):
            n -= size
            if n < 0:
                return stop
        return self.size

    def spans(self, size: int, start: int, stop: int) -> Iterator[tuple[Any, int, int]]:
        """Return (reader, its own bytes, where they end) of spans between two cuts."""
        skip = 0 if start else self._skip
        if self.is_gzip:
            return blocks_of(self.file, size, skip, start, stop)
        return ranges_of(self.file, size, start + skip, stop)

    def is_reached(self, stop: int, end: int) -> bool:
        """Return whether blocks continue from the end of the last span to the cut ``stop``."""
        ends = [end, *(end for end, _ in blocks(self.file, end, stop))] if self.is_gzip else [stop]
        return ends[-1] == stop

    def reader(self, start: int) -> "Reader":
        """Return a reader of the bytes from a cut on."""
        return after(self.file, start) if self.is_gzip else PlainRange(self.file, start)


def _newlines(before: Before, is_fastq: bool) -> int:
    return -1 if before.blank else -before.total % 4 if is_fastq else 0


def before_cut(cuts: Cuts, is_fastq: bool, start: int) -> Before:
    """Return the Before at a cut, as far as it matters there."""
    if not is_fastq:
        return Before(1)
    for n in cuts.sizes.guess:
        data = np.empty(n, np.uint8)
        data = data[: cuts.reader(start).readinto(data)]
        found = [newlines for newlines in range(4) if _may_begin(data, newlines)]
        if len(found) == 1:
            return Before(4 - found[0])
    return count_records(cuts, is_fastq, start)


def _may_begin(data: np.ndarray, newlines: int) -> bool:
    """Return whether FASTQ records may begin after ``newlines`` + 1 newlines of ``data``."""
    begin, left = find_border(data, 0, newlines + 1, True)
    n_records = 0 if left else count(data[begin:], data.size - begin, True) // 4
    if n_records == 0:
        return True
    stop, _ = find_border(data, begin, 4 * n_records, True)
    try:
        parse(Chunk("", data[begin:stop], True, 1, n_records + 1))
    except InputError:
        return False
    return True


def count_records(cuts: Cuts, is_fastq: bool, start: int) -> Before:
    """Return the Before at a cut, found by reading everything before it."""
    link = settled(Before(0))
    for reader, n, _ in cuts.spans(CHUNK_SIZE, 0, start):
        before, link = link, Future()
        Span(cuts.file.path, is_fastq, n, reader, before, link).cut()
    return link.result()
