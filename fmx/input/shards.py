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
start of the files, by every process once (``RecordCounts``).  A shard has the pairs whose mates 1 are in its
stretch of the files with mates 1; mates 2 are the records of the same numbers, wherever they are.
"""

import os
import re
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..codecs import PlainRange, gzip_from
from ..codecs.bgzf import find_block
from ..errors import InputError
from ..machines.jobs import run_all
from . import ALL, InputRange, PairedFiles, records_after, together
from .chunks import CHUNK_SIZE, Chunk, count, find_border, find_end
from .mates import pair_spans
from .reads import parse
from .spans import START, Cut, RecordFile, Span, n_records
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

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.size = source.size
        self.is_uncuttable = self.file is None or (source.is_gzip and find_block(self.file, 0) > 0)
        self.is_whole = self.is_uncuttable or not self.has_records

    def cut_at(self, place: int) -> int:
        """Return the cut at or near a place, which may lie outside the file; 0 and its size are cuts."""
        if place <= 0 or place >= self.size or self.is_whole:
            return 0 if place <= 0 else self.size
        if self.source.is_gzip:
            return find_block(self.file, place)
        n = max(0, place - self.skip) // APART
        return self.skip + n * APART if n else 0

    def before(self, start: int) -> int:
        """Return how many newlines count before a cut: in FASTQ exactly, or 1 to 4, equal mod 4; else 1."""
        if not self.is_fastq:
            return 1
        for n in GUESS:
            reader = gzip_from(self.file, start) if self.source.is_gzip else PlainRange(self.file, start)
            data = np.empty(n, np.uint8)
            data = data[: reader.readinto(data)]
            data = data[: find_end(data)] if data.size < n else data
            possible = [newlines for newlines in range(4) if _may_begin(data, newlines)]
            if len(possible) == 1:
                return 4 - possible[0]
        return RecordCounts().at(self, start).before


def _may_begin(data: np.ndarray, newlines: int) -> bool:
    """Return whether FASTQ records may begin after ``newlines`` + 1 newlines of ``data``."""
    begin, left = find_border(data, 0, newlines + 1, True)
    n = 0 if left else count(data[begin:], data.size - begin, True) // 4
    if n == 0:
        return True
    stop, _ = find_border(data, begin, 4 * n, True)
    try:
        parse(Chunk("", data[begin:stop], True, 1, n))
    except InputError:
        return False
    return True


class RecordCounts:
    """Cuts of one file with the numbers of records before them: the file is read once, as far as needed.

    ``n_threads`` read it; several shards may ask at the same time.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self._n_threads, self._cuts, self._lock = n_threads, [START], threading.Lock()

    def at(self, file: CutFile, place: int) -> Cut:
        """Return the Cut at a place where the file may be cut.  Raises InputError."""
        with self._lock:
            i = bisect_right(self._cuts, place, key=lambda cut: cut.at)
            if self._cuts[i - 1].at < place:
                self._cuts[i:i] = self._counted(file, self._cuts[i - 1], place)
                i = bisect_right(self._cuts, place, key=lambda cut: cut.at)
            return self._cuts[i - 1]

    def around(self, file: CutFile, records: range) -> tuple[Cut, Cut]:
        """Return the last Cut that is not behind the first of these records, and one that is not before their
        end, or the end of the file.  Raises InputError."""
        is_open = records.stop > ALL.stop // 2  # without an end, even after records_after
        stop = records.start if is_open else records.stop

        def n_of(cut: Cut) -> int:
            return n_records(cut.before, file.is_fastq)

        with self._lock:
            if n_of(self._cuts[-1]) < stop and self._cuts[-1].at < file.size:
                self._cuts += self._counted(file, self._cuts[-1], file.size, stop)
            first = self._cuts[bisect_right(self._cuts, records.start, key=n_of) - 1]
            last = min(bisect_left(self._cuts, stop, key=n_of), len(self._cuts) - 1)
            return first, Cut(file.size) if is_open else self._cuts[last]

    def _counted(self, file: CutFile, cut: Cut, stop: int, n: int = ALL.stop) -> Iterator[Cut]:
        """Yield the Cuts after one, to the place ``stop``, or to one with n records before it."""
        spans: Iterator[Any] = file.spans(APART, records=range(n), cut=cut, stop=stop)
        if file.is_whole:
            for span in spans:
                span.read()
            yield Cut(file.size, file.behind.result())
        while several := list(islice(spans, 2 * self._n_threads)):
            run_all(Span.read, [(span,) for span in several], self._n_threads)
            for span in several:
                yield Cut(span.end, span.behind.result())


class ShardPlan:
    """The spans of a shard of an InputRange of regular files.

    ``n_counting``: threads that count records; ``shared(key, make)``: the result of ``make()`` that all
    shards of a process share.

    ``begin``, ``end``: where the shard begins and ends inside a file (of mates 1), or None: path, byte, and
    newlines from there to the one before a record.  ``is_empty``: whether it has
    no spans, as for short files; ``whole``: a message about a file that cannot be cut, and that another shard
    reads, or "".
    """

    def __init__(
        self,
        shard: Shard,
        inputs: InputRange,
        n_counting: int = 1,
        shared: Callable[[str, Callable[[], Any]], Any] = lambda key, make: make(),
    ) -> None:
        self._shard, self._inputs = shard, inputs
        self._in_pairs, self._files = isinstance(inputs.files, PairedFiles), together(inputs.files)
        self._step = 2 if self._in_pairs and len(self._files[0]) == 1 else 1  # records of a pair in a file
        self._sizes = [max(1, os.path.getsize(paths[0])) for paths in self._files]
        self._counts = [
            [shared(f"records of {os.fspath(path)!r}", lambda: RecordCounts(n_counting)) for path in paths]
            for paths in self._files
        ]
        self._records = [inputs.records] * len(self._files)  # numbers of reads or pairs in each file
        self._guess: int | None = None  # ``before`` of a Cut at ``begin``, if it may not be exact
        self._last: tuple[CutFile, int, Callable[[], int]] | None = None  # file, byte, newlines before it
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
        line, after = self._wanted_bytes(), 0
        begin, end = (line.start + at for at in self._shard.of(len(line)))
        for number, size in enumerate(self._sizes):
            at, after = after, after + size  # the bytes of the file in the line of all files
            if after <= begin or end <= at:
                continue
            with ExitStack() as stack:
                files = self._opened(number, stack)
                start, stop = files[0].cut_at(begin - at), files[0].cut_at(end - at)
                if files[0].is_whole and begin > at:
                    if uncut := next((file for file in files if file.is_uncuttable), None):
                        reader = -(-(at - line.start + 1) * self._shard.total // len(line))
                        who = f"shard {reader}/{self._shard.total} reads all of it"
                        how = (
                            "write each read in four lines" if uncut.is_wrapped else "compress it with bgzip"
                        )
                        self.whole = f"{uncut.path} cannot be split, so {who}; to share the work, {how}"
                elif files[0].is_whole or start < stop:
                    self.is_empty = self.is_empty and not any(file.has_records for file in files)
                    first, spans = self._spans_of(number, files, start, stop)
                    for span in spans:
                        yield number, first, span

    def _opened(self, number: int, stack: ExitStack) -> list[CutFile]:
        """Open a file, or two of mates; if one cannot be cut, or has no records, neither is cut."""
        files = [CutFile(stack.enter_context(Source(path))) for path in self._files[number]]
        is_whole = any(file.is_whole for file in files)
        for file in files:
            file.is_whole = is_whole
        return files

    def _wanted_bytes(self) -> range:
        """Return the range of the bytes of all files (of mates 1), joined, that has the run's records."""
        records, begin, end, at, n = self._inputs.records, 0, 0, 0, 0
        if records == ALL:
            return range(sum(self._sizes))
        is_open = records.stop == ALL.stop
        needed = range(records.start, records.start + 1) if is_open else records
        for number, size in enumerate(self._sizes):
            self._records[number] = records_after(records, n)
            if n < needed.stop:
                with ExitStack() as stack:
                    file, part = self._opened(number, stack)[0], records_after(needed, n)
                    first, last = self._counts[number][0].around(file, self._numbers(part))
                begin = at + first.at if n <= needed.start else begin
                end = at + last.at
                n += self._n_before(file, last.before)
            at += size
        return range(begin, at if is_open else end)

    def _numbers(self, reads: range) -> range:
        """Return the numbers of the records of reads or pairs in a file."""
        return range(self._step * reads.start, self._step * reads.stop)

    def _n_before(self, file: CutFile, newlines: int) -> int:
        """Return how many reads or pairs begin before a place with so many newlines before it."""
        return -(-n_records(newlines, file.is_fastq) // self._step)

    def _spans_of(
        self, number: int, files: Sequence[CutFile], start: int, stop: int
    ) -> tuple[int, Iterable[Any]]:
        """Return (number of the first record, spans of a file, or PairSpans, whose mates 1 are between two
        cuts)."""
        one, size, n_threads = files[0], self._inputs.size, self._inputs.n_threads
        if not self._in_pairs and self._inputs.records == ALL:
            before = one.before(start) if start else 0
            if start:
                self._guess, self.begin = before, _border(one, start, before)
            self._last = (one, stop, lambda: one.behind.result()) if stop < one.size else None
            first = 1 + n_records(before, one.is_fastq)
            return first, one.spans(size, n_threads, cut=Cut(start, before), stop=stop)
        counts, reads = self._counts[number], self._records[number]
        if start:
            before = counts[0].at(one, start).before
            self.begin = _border(one, start, before)
            first = max(reads.start, self._n_before(one, before))
            least, _ = counts[-1].around(files[-1], range(first, first + 1))
            if least.at == files[-1].size:  # mates 2 end earlier
                first = min(first, n_records(least.before, files[-1].is_fastq) // self._step)
            reads = range(first, reads.stop)
        if stop < one.size:
            behind = counts[0].at(one, stop).before
            self._last = one, stop, lambda: behind
            reads = range(reads.start, min(reads.stop, self._n_before(one, behind)))
        if not reads:
            return 1, ()
        numbers, sides = self._numbers(reads), []
        for file, known in zip(files, counts, strict=True):
            cuts = (START, Cut(file.size)) if file.is_whole else known.around(file, numbers)
            sides.append(file.spans(size, n_threads, numbers, cut=cuts[0], stop=cuts[1].at))
        paths = [file.path for file in files]
        return 1 + numbers.start, pair_spans(paths, sides) if self._in_pairs else sides[0]

    @property
    def end(self) -> tuple[str, int, int] | None:
        """Where the shard ends inside a file; valid after all spans were read."""
        return self._last and _border(*self._last[:2], self._last[2]())

    def renumbered(self, error: InputError) -> InputError:
        """The error with its record's number in the file, found by counting the records before the shard."""
        record = re.fullmatch(r"record (\d+)", error.where)
        if not (record and self.begin and self._guess is not None and self.begin[0] == error.path):
            return error
        with Source(error.path) as source:
            file = CutFile(source)
            before = RecordCounts().at(file, self.begin[1]).before
        n_more = n_records(before, file.is_fastq) - n_records(self._guess, file.is_fastq)
        return InputError(error.path, f"record {int(record[1]) + n_more}", error.what)


def _border(file: CutFile, at: int, before: int) -> tuple[str, int, int]:
    return file.path, at, -before % 4 if file.is_fastq else 0
