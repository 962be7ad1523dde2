"""Where files may be cut, and the records and newlines before a cut.

    uncompressed   every 8 MiB: with spans of that length, shards have the spans of one run
    BGZF           between blocks
    others         nowhere: they are read in order

A record belongs to the side of a cut that holds the newline before it, as with spans.
"""

import os
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..codecs import PlainRange, after
from ..codecs.bgzf import blocks, find_block
from ..errors import InputError
from ..machines.jobs import run_all, settled
from . import Reader
from .chunks import CHUNK_SIZE, Chunk, begins_fastq, count, find_border
from .read_range import ALL, n_records_of
from .reads import parse
from .spans import Before, Span, blocks_of, first_of, plan_source, ranges_of
from .streams import Source


class CutSizes(NamedTuple):
    """Numbers of bytes.

    ``apart``: between the cuts of an uncompressed file, independent of a machine's spans. ``guess``: in which
    the first record is looked for, each more if fewer do not suffice.
    """

    apart: int = CHUNK_SIZE
    guess: tuple[int, ...] = (1 << 18, 1 << 22)


CUT_SIZES = CutSizes()


class Cut(NamedTuple):
    """Byte ``at`` of a file, with the number of records that begin earlier and the Before there."""

    at: int
    n_before: int = 0
    before: Before = Before(0)


START = Cut(0)


class RecordCounts:
    """Cuts of one file with the numbers of records before them: the file is read once, as far as needed.

    ``n_threads`` read it; several shards may ask at the same time.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self._n_threads, self._cuts, self._lock = n_threads, [START], threading.Lock()

    def at(self, file: "Cuts", place: int) -> Cut:
        """Return the Cut at a place where the file may be cut.  Raises InputError."""
        with self._lock:
            i = bisect_right(self._cuts, place, key=lambda cut: cut.at)
            if self._cuts[i - 1].at < place:
                self._cuts[i:i] = self._counted(file, self._cuts[i - 1], place)
                i = bisect_right(self._cuts, place, key=lambda cut: cut.at)
            return self._cuts[i - 1]

    def around(self, file: "Cuts", records: range) -> list[Cut]:
        """Return successive Cuts, from the last one that is not behind the first of these records.

        The last one is not before their end, or the end of the file.  Raises InputError.
        """
        is_open = records.stop == ALL.stop
        stop = records.start + (records.start > 0) if is_open else records.stop
        with self._lock:
            last = self._cuts[-1]
            if last.n_before < stop and last.at < file.size:
                for cut in self._counted(file, last, file.size, stop):
                    self._cuts.append(cut)
                    if cut.n_before >= stop:
                        break
            begin = bisect_right(self._cuts, records.start, key=lambda cut: cut.n_before) - 1
            found = self._cuts[begin : bisect_left(self._cuts, stop, begin, key=lambda cut: cut.n_before) + 1]
        return [*found, Cut(file.size, ALL.stop)] if is_open and found[-1].at < file.size else found

    def _counted(self, file: "Cuts", cut: Cut, end: int, stop: int = ALL.stop) -> Iterator[Cut]:
        """Yield the Cuts after one, to the place ``end``, or to one with ``stop`` records before it."""
        at, n, link = cut.at, cut.n_before, settled(cut.before)
        if file.is_whole:
            for span in plan_source(file.source, CHUNK_SIZE, begins_fastq, 1, file.begun):
                n += n_records_of(span.read())
                if n >= stop:
                    break
            yield Cut(file.size, n)
            return
        spans = file.spans_between(file.sizes.apart, cut, end)
        while several := list(islice(spans, 2 * self._n_threads)):
            found = run_all(_n_records, [(span,) for span, _, _ in several], self._n_threads)
            for more, (_, at, link) in zip(found, several, strict=True):
                n += more
                yield Cut(at, n, link.result())
        if at < end:  # only empty blocks follow
            yield Cut(end, n, link.result())


def _n_records(span: Span) -> int:
    return span.read().n_bound


class Cuts:
    """Where the file of a new Source may be cut; ``sizes``: CUT_SIZES by default.

    ``is_whole``: nowhere, as it has no records, or ``is_uncuttable``.
    """

    def __init__(self, source: Source, sizes: CutSizes | None = None) -> None:
        self.source, self.path, self.sizes = source, source.path, sizes or CUT_SIZES
        self.begun = self._skip, head = first_of(source)
        self.file: Any = source.regular()  # None if uncuttable
        self.is_gzip, self.size = source.is_gzip, os.path.getsize(source.path)
        self.is_uncuttable = (
            self.file is None or source.is_wrapped or (self.is_gzip and find_block(self.file, 0) > 0)
        )
        self.has_records = head.size > 0
        self.is_whole = self.is_uncuttable or not self.has_records
        self.is_fastq = self.has_records and begins_fastq(source.path, head[0])
        self.period = 4 if self.is_fastq else 1  # newlines that count per record

    def at(self, place: int) -> int:
        """Return the cut at or near a place, which may lie outside the file; 0 and its size are cuts."""
        if place <= 0 or place >= self.size or self.is_whole:
            return 0 if place <= 0 else self.size
        if self.is_gzip:
            return find_block(self.file, place)
        n = max(0, place - self._skip) // self.sizes.apart
        return self._skip + n * self.sizes.apart if n else 0

    def spans(self, size: int, start: int, stop: int) -> Iterator[tuple[Any, int, int]]:
        """Return (reader, its own bytes, where they end) of spans between two cuts."""
        skip = 0 if start else self._skip
        if self.is_gzip:
            return blocks_of(self.file, size, skip, start, stop)
        return ranges_of(self.file, size, start + skip, stop)

    def spans_between(self, size: int, cut: Cut, stop: int) -> Iterator[tuple[Span, int, Future]]:
        """Yield (Span, where it ends, Future of the Before there) between two cuts.  Raises InputError."""
        link, end = settled(cut.before), cut.at
        for reader, n, end in self.spans(size, cut.at, stop):
            before, link = link, Future()
            yield Span(self.path, self.is_fastq, n, reader, before, link), end, link
        ends = [end, *(end for end, _ in blocks(self.file, end, stop))] if self.is_gzip else [stop]
        if ends[-1] != stop:
            raise InputError(
                self.path, "", "BGZF mixed with other gzip cannot be split: recompress it with bgzip"
            )

    def reader(self, start: int) -> Reader:
        """Return a reader of the bytes from a cut on."""
        return after(self.file, start) if self.is_gzip else PlainRange(self.file, start)


def before_cut(file: Cuts, start: int) -> Before:
    """Return the Before at a cut, as far as it matters there."""
    if not file.is_fastq:
        return Before(1)
    for n in file.sizes.guess:
        data = np.empty(n, np.uint8)
        data = data[: file.reader(start).readinto(data)]
        found = [newlines for newlines in range(4) if _may_begin(data, newlines)]
        if len(found) == 1:
            return Before(4 - found[0])
    return count_records(file, start)


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


def count_records(file: Cuts, start: int) -> Before:
    """Return the Before at a cut, found by reading everything before it."""
    return RecordCounts().at(file, start).before
