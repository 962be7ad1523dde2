"""Shards of inputs: shard I of N has the I-th of N parts of the spans.

All inputs, one after another, form a line as long as their bytes on disk, which is divided into N equal
stretches, at places where files may be cut:

    uncompressed   every 8 MiB: with spans of that length, shards have the spans of one run
    BGZF           between blocks
    others         nowhere: they are read in order

The number of newlines before a shard, modulo 4, is found in the shard: of the four lines that may begin a
FASTQ record, all but one give records that are not valid (in a valid file the right one is always valid).  If
several are possible, or none, the newlines before the shard are counted.  When shards are merged, neighbours
are compared (``ShardPlan.begin``, ``end``), so damage where two shards meet is detected as in one run.

Pairs, and the reads of a range (--skip, --first), need the numbers of the records: these are counted from the
start of the files, by every process once (``RecordCounts``), and shards begin at the Cuts of that.  A shard
has the pairs whose mates 1 are in its stretch of the files with mates 1; mates 2 are the records of the same
numbers, wherever they are.
"""

import os
import re
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..codecs import PlainRange, gzip_from
from ..codecs.bgzf import find_block
from ..errors import InputError
from ..machines.jobs import run_all
from . import ALL, InputRange, PairedFiles, records_after, together
from .chunks import CHUNK_SIZE, begins_fastq, count, find_border, find_end
from .mates import pair_spans
from .reads import parse
from .spans import START, Cut, RecordFile, Span
from .streams import Source


class Shard(NamedTuple):
    """Shard ``number``, from 1, of ``total``."""

    number: int
    total: int

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def of(self, n: int) -> tuple:
        """Return (start, stop): its part of n items."""
        return n * (self.number - 1) // self.total, n * self.number // self.total


APART = CHUNK_SIZE  # bytes between the cuts of an uncompressed file, whatever the spans of a machine
GUESS = 1 << 18, 1 << 22  # bytes in which the first record is looked for: the second number if needed


class CutFile(RecordFile):
    """A RecordFile that may be cut, unless it ``is_whole``: it has no records, or ``is_uncuttable``."""

    def __init__(self, source: Source, step: int = 1) -> None:
        super().__init__(source, begins_fastq, step)
        self.size = source.size
        self.is_uncuttable = self.file is None or (source.is_gzip and find_block(self.file, 0) > 0)
        self.is_whole = self.is_uncuttable or not self.has_records

    def cut_at(self, place: int, counts: "RecordCounts | None" = None) -> Cut:
        """Return the Cut at or near a place, which may lie outside the file; 0 and its size are cuts.

        Newlines before others are 0, or known from ``counts``, whose Cuts are then taken.
        """
        if place <= 0 or place >= self.size or self.is_whole:
            return START if place <= 0 else Cut(self.size)
        if counts:
            return counts.last_at(self, place)
        if self.source.is_gzip:
            return Cut(find_block(self.file, place))
        n = max(0, place - self.skip) // APART
        return Cut(self.skip + n * APART) if n else START

    def before(self, start: int) -> int:
        """Return how many newlines count before a cut, as a number of 1 to 4 that is equal mod 4."""
        if not self.is_fastq or start == 0:
            return min(start, 1)
        for n in GUESS:
            reader = gzip_from(self.file, start) if self.source.is_gzip else PlainRange(self.file, start)
            data = np.empty(n, np.uint8)
            data = data[: reader.readinto(data)]
            data = data[: find_end(data)] if data.size < n else data
            possible = [newlines for newlines in range(4) if self._may_begin(data, newlines)]
            if len(possible) == 1:
                return 4 - possible[0]
        return 1 + (self.newlines_before(start) - 1) % 4

    def _may_begin(self, data: np.ndarray, newlines: int) -> bool:
        """Return whether FASTQ records may begin after ``newlines`` + 1 newlines of ``data``."""
        begin, left = find_border(data, 0, newlines + 1, True)
        n = 0 if left else count(data[begin:], data.size - begin, True) // 4
        if n > 0:
            stop, _ = find_border(data, begin, 4 * n, True)
            try:
                parse(self.chunk(data[begin:stop], 0, n))
            except InputError:
                return False
        return True

    def newlines_before(self, stop: int | None, n: int = ALL.stop) -> int:
        """Count the newlines that count before a cut, or the end, as far as n reads need.

        Raises InputError.
        """
        for span in self.spans(APART, reads=range(n), stop=stop):
            span.read()
        return self.behind.result()


class RecordCounts:
    """Cuts of one file with the numbers of records before them: the file is read once, as far as needed.

    ``n_threads`` read it; several shards may ask at the same time.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self._n_threads, self._cuts, self._lock = n_threads, [START], threading.Lock()

    def last_at(self, file: CutFile, place: int) -> Cut:
        """Return the last Cut at or before a place inside the file.  Raises InputError."""
        with self._lock:
            self._count(file, place, ALL.stop)
            return self._cuts[bisect_right(self._cuts, place, key=lambda cut: cut.at) - 1]

    def around(self, file: CutFile, reads: range) -> tuple[Cut, int | None, range]:
        """Return the last Cut that is not behind the first of these reads, a byte that is not before their
        end (None: the end of the file), and those in later files.  Raises InputError."""
        is_open = reads.stop > ALL.stop // 2  # without an end, even after records_after

        def n_of(cut: Cut) -> int:
            return file.n_reads(cut.before)

        with self._lock:
            self._count(file, file.size, reads.start + 1 if is_open else reads.stop)
            first = self._cuts[bisect_right(self._cuts, reads.start, key=n_of) - 1]
            behind = self._cuts[bisect_left(self._cuts, reads.stop, key=n_of) :]
            rest = records_after(reads, n_of(self._cuts[-1]))
            return first, behind[0].at if behind else None, rest

    def _count(self, file: CutFile, place: int, n: int) -> None:
        """Add Cuts up to one at or behind a place, or with n reads or pairs before it."""
        cuts, several = self._cuts, [None]  # type: tuple[list[Cut], list[Any]]
        spans = file.spans(APART, cut=cuts[-1], stop=file.size)
        while cuts[-1].at < place and file.n_reads(cuts[-1].before) < n and several:
            if file.is_whole:
                cuts.append(Cut(file.size, file.newlines_before(None, n)))
                return
            several = list(islice(spans, 2 * self._n_threads))
            run_all(Span.read, [(span,) for span in several], self._n_threads)
            cuts += [Cut(span.end, span.behind.result()) for span in several]


class ShardPlan:
    """The spans of a shard of an InputRange of regular files.

    ``n_counting``: threads that count records; ``shared(key, make)``: the result of ``make()`` that all
    shards of a process share.

    ``begin``, ``end``: where the shard begins and ends inside a file (of mates 1), or None: path, byte, and
    newlines from there to the one before a record.  ``is_empty``: whether it has no spans, as for short
    files; ``whole``: a message about a file that cannot be cut, and that another shard reads, or "".
    """

    def __init__(
        self,
        shard: Shard,
        inputs: InputRange,
        n_counting: int = 1,
        shared: Callable[[str, Callable[[], Any]], Any] = lambda key, make: make(),
    ) -> None:
        self._shard, self._inputs, self._files = shard, inputs, together(inputs.files)
        self._in_pairs = isinstance(inputs.files, PairedFiles)
        self._is_counted = self._in_pairs or inputs.records != ALL
        self._sizes = [max(1, os.path.getsize(paths[0])) for paths in self._files]
        self._counts = [
            [shared(f"records of {os.fspath(path)!r}", lambda: RecordCounts(n_counting)) for path in paths]
            for paths in self._files
        ]
        self._reads = [inputs.records] * len(self._files)  # numbers of reads or pairs in each file
        self._last: tuple[CutFile, Cut] | None = None
        self.begin: tuple[str, int, int] | None = None
        self.is_empty = True
        self.whole = ""

    def spans(self) -> Generator[Any, None, None]:
        """Yield Spans, Chunks or PairSpans, in order.  Raises InputError."""
        for _, _, span in self.numbered():
            yield span

    def numbered(self) -> Generator[tuple[int, int, Any], None, None]:
        """Yield (number of the file, or of that of mates 1, from 0; number of its first record that is in the
        shard, from 1; span)."""
        line, after = self._line(), 0
        begin, end = (line.start + at for at in self._shard.of(len(line)))
        for number, size in enumerate(self._sizes):
            at, after = after, after + size  # the bytes of the file in the line of all files
            if after <= begin or end <= at:
                continue
            with ExitStack() as stack:
                files = self._opened(number, stack)
                if not files[0].is_whole or begin <= at:
                    first, spans = self._spans_of(number, files, begin - at, end - at)
                    for span in spans:
                        yield number, first, span
                elif uncut := next((file for file in files if file.is_uncuttable), None):
                    reader = -(-(at - line.start + 1) * self._shard.total // len(line))
                    who = f"shard {reader}/{self._shard.total} reads all of it"
                    how = "compress FASTA or FASTQ with bgzip"
                    if uncut.is_wrapped:
                        how = "write each read in four lines"
                    self.whole = f"{uncut.path} cannot be split, so {who}; to share the work, {how}"

    def _opened(self, number: int, stack: ExitStack) -> list[CutFile]:
        """Open a file, or two of mates; if one cannot be cut, or has no records, neither is cut."""
        paths = self._files[number]
        step = 2 if self._in_pairs and len(paths) == 1 else 1
        files = [CutFile(stack.enter_context(Source(path)), step) for path in paths]
        is_whole = any(file.is_whole for file in files)
        for file in files:
            file.is_whole = is_whole
        return files

    def _line(self) -> range:
        """Return the bytes of all files (of mates 1), joined, that have the run's reads."""
        reads, begin, end, at = self._inputs.records, 0, 0, 0
        if reads == ALL:
            return range(sum(self._sizes))
        for number, size in enumerate(self._sizes):
            self._reads[number] = reads
            if reads:
                with ExitStack() as stack:
                    file = self._opened(number, stack)[0]
                    first, stop, rest = self._counts[number][0].around(file, reads)
                begin = at + first.at if reads.start else begin
                end, reads = at + (size if stop is None else stop), rest
            at += size
        return range(begin, end)

    def _spans_of(
        self, number: int, files: Sequence[CutFile], begin: int, end: int
    ) -> tuple[int, Iterable[Any]]:
        """Return (number of the first record, spans of a file, or PairSpans), of mates 1 from about byte
        ``begin`` to ``end``."""
        one, counts, reads = files[0], self._counts[number], self._reads[number]
        start, stop = (one.cut_at(at, counts[0] if self._is_counted else None) for at in (begin, end))
        if start.at >= stop.at and not one.is_whole:
            return 1, ()
        self.is_empty = self.is_empty and not any(file.has_records for file in files)
        if not self._is_counted:
            start = start._replace(before=one.before(start.at))
        first, is_inside = max(reads.start, one.n_reads(start.before)), stop.at < one.size
        self.begin = _border(one, start) if start.at else self.begin
        self._last = (one, stop) if is_inside else None
        cuts = [(start, stop.at if is_inside else None)] * len(files)
        if self._is_counted:
            if start.at:
                least, _, _ = counts[-1].around(files[-1], range(first, first + 1))
                if least.at == files[-1].size:  # mates 2 end earlier
                    first = min(first, files[-1].n_reads(least.before))
            reads = range(first, min(reads.stop, one.n_reads(stop.before)) if is_inside else reads.stop)
            if not reads:
                return 1, ()
            if not one.is_whole:
                cuts = [known.around(file, reads)[:2] for file, known in zip(files, counts, strict=True)]
        sides = [
            file.spans(self._inputs.size, self._inputs.n_threads, reads, cut=cut, stop=stop_at)
            for file, (cut, stop_at) in zip(files, cuts, strict=True)
        ]
        spans = pair_spans([file.path for file in files], sides) if self._in_pairs else sides[0]
        return 1 + one.step * first, spans

    @property
    def end(self) -> tuple[str, int, int] | None:
        """Where the shard ends inside a file; valid after all spans were read."""
        if self._last is None:
            return None
        file, cut = self._last
        return _border(file, Cut(cut.at, cut.before or file.behind.result()))

    def renumbered(self, error: InputError) -> InputError:
        """The error with its record's number in the file, found by counting the records before the shard."""
        record = re.fullmatch(r"record (\d+)", error.where)
        if self._is_counted or not (record and self.begin and self.begin[0] == error.path):
            return error
        with Source(error.path) as source:
            file = CutFile(source)
            n_more = file.n_reads(file.newlines_before(self.begin[1])) - 1  # one is assumed
        return InputError(error.path, f"record {int(record[1]) + n_more}", error.what)


def _border(file: CutFile, cut: Cut) -> tuple[str, int, int]:
    return file.path, cut.at, -cut.before % 4 if file.is_fastq else 0
