"""Shards of inputs: the I-th of N runs of spans.

All inputs, one after another, form a line as long as their bytes on disk, which is divided into N equal
stretches, at places where files may be cut:

    uncompressed   every 8 MiB: with spans of that length, shards have the spans of one run
    BGZF           between blocks
    others         nowhere: they are read in order

The number of newlines before a shard, modulo 4, is found in the shard: of the four lines that may begin a
FASTQ record, all but one give records that are not valid (in a valid file the right one is always valid).  If
several are possible, or none, the newlines before the shard are counted.  When shards are merged, neighbours
are compared (``ShardPlan.begin``, ``end``), so damage where two shards meet is detected as in one run.

Pairs need the numbers of the records: these are counted from the start of the files, by every process once
(``RecordCounts``).  A shard has the pairs whose mates 1 are in its stretch of the files with mates 1; mates 2
are the records of the same numbers, wherever they are.
"""

import os
import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..codecs import PlainRange, after
from ..codecs.bgzf import find_block
from ..errors import InputError
from ..machines.jobs import run_all
from . import ALL, InputRange, PairedFiles, together
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
GUESS = 1 << 18, 1 << 22  # bytes in which the first record is looked for, each more if fewer do not suffice


class CutFile(RecordFile):
    """A RecordFile that may be cut, unless it ``is_whole``: it has no records, or ``is_uncuttable``."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.size = source.size
        self.is_uncuttable = self.file is None or (source.is_gzip and find_block(self.file, 0) > 0)
        self.is_whole = self.is_uncuttable or not self.has_records

    def cut_at(self, place: int) -> int:
        """Return the cut at or near a place, which may lie outside the file; 0 and its size are cuts."""
        if place <= 0 or place >= self.size:
            return 0 if place <= 0 else self.size
        if self.source.is_gzip:
            return find_block(self.file, place)
        n = max(0, place - self.skip) // APART
        return self.skip + n * APART if n else 0

    def before(self, start: int) -> int:
        """Return how many newlines count before a cut, in FASTQ modulo 4, else 1."""
        if not self.is_fastq:
            return 1
        for n in GUESS:
            reader = after(self.file, start) if self.source.is_gzip else PlainRange(self.file, start)
            data = np.empty(n, np.uint8)
            data = data[: reader.readinto(data)]
            data = data[: find_end(data)] if data.size < n else data
            possible = [newlines for newlines in range(4) if _may_begin(data, newlines)]
            if len(possible) == 1:
                return 4 - possible[0]
        return self.count_before(start)

    def count_before(self, start: int) -> int:
        """Return how many newlines count before a cut, which are read.  Raises InputError."""
        for span in self.spans(APART, stop=start):
            span.read()
        return self.behind.result()

    def records_before(self, cut: Cut) -> int:
        """Return how many records begin before a cut."""
        return n_records(cut.before, self.is_fastq)

    def border(self, cut: Cut) -> tuple[str, int, int]:
        """Return a cut as in ShardPlan: (path, byte, newlines from there to the one before a record)."""
        return self.path, cut.at, -cut.before % 4 if self.is_fastq else 0


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
    """Cuts of one file, in order, with the newlines before them: the file is read once, as far as needed.

    ``n_threads`` read it; several shards may ask at the same time.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self._n_threads, self._cuts, self._lock = n_threads, [START], threading.Lock()

    def around(self, file: CutFile, key: Callable[[Cut], int], most: int) -> tuple[Cut, int]:
        """Return (the last Cut whose ``key`` is not more than ``most``, byte of the next one, or the end).

        Keys rise from cut to cut.  Raises InputError.
        """
        with self._lock:
            while key(self._cuts[-1]) <= most:
                spans: list[Any] = [*islice(file.spans(APART, cut=self._cuts[-1]), 2 * self._n_threads)]
                if not spans:
                    break
                run_all(Span.read, [(span,) for span in spans], self._n_threads)
                self._cuts += [Cut(span.end, span.behind.result()) for span in spans]
            i = bisect_right(self._cuts, most, key=key)
            return self._cuts[i - 1], self._cuts[i].at if i < len(self._cuts) else file.size


class ShardPlan:
    """The spans of a shard of an InputRange of regular files, without a range of records.

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
        self._sizes = [max(1, os.path.getsize(paths[0])) for paths in self._files]
        self._counts = [
            [shared(f"records of {os.fspath(path)!r}", lambda: RecordCounts(n_counting)) for path in paths]
            for paths in self._files
        ]
        self._guess: int | None = None  # newlines before ``begin``, if records before it were not counted
        self._end: Callable[[], tuple[str, int, int]] | None = None
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
        n_bytes, after = sum(self._sizes), 0  # of all files, one after another
        begin, end = self._shard.of(n_bytes)
        for number, size in enumerate(self._sizes):
            at, after = after, after + size
            if after <= begin or end <= at:
                continue
            with ExitStack() as stack:
                files = [CutFile(stack.enter_context(Source(path))) for path in self._files[number]]
                one = files[0]
                is_whole = any(file.is_whole for file in files)  # then none of them is cut
                if is_whole and begin > at:
                    if uncut := next((file for file in files if file.is_uncuttable), None):
                        reader = -(-(at + 1) * self._shard.total // n_bytes)
                        who = f"shard {reader}/{self._shard.total} reads all of it"
                        how = "to share the work, compress it with bgzip"
                        self.whole = f"{uncut.path} cannot be split, so {who}; {how}"
                    continue
                start, stop = 0, max(1, one.size)
                if not is_whole:
                    start, stop = one.cut_at(begin - at), one.cut_at(end - at)
                if start < stop:
                    self.is_empty = self.is_empty and not any(file.has_records for file in files)
                    read = self._pairs if self._in_pairs else self._reads
                    first, spans = read(files, self._counts[number], start, stop)
                    for span in spans:
                        yield number, first, span

    def _reads(self, files: Sequence[CutFile], _: Any, start: int, stop: int) -> tuple[int, Iterable[Any]]:
        """Return (number of the first record, spans of a file between two cuts)."""
        (file,), before = files, 0
        if start:
            self._guess = before = file.before(start)
            self.begin = file.border(Cut(start, before))
        if stop < file.size:
            self._end = lambda: file.border(Cut(stop, file.behind.result()))
        spans = file.spans(self._inputs.size, self._inputs.n_threads, cut=Cut(start, before), stop=stop)
        return 1 + n_records(before, file.is_fastq), spans

    def _pairs(
        self, files: Sequence[CutFile], counts: Sequence[RecordCounts], start: int, stop: int
    ) -> tuple[int, Iterable[Any]]:
        """Return (number of the first record, PairSpans with mates 1 from cuts before two places)."""
        one, two, step = files[0], files[-1], 3 - len(files)  # records of a pair in a file
        first, last = 0, ALL.stop  # pairs
        if start:
            cut, _ = counts[0].around(one, lambda cut: cut.at, start)
            first, self.begin = -(-one.records_before(cut) // step), one.border(cut)
            least, _ = counts[-1].around(two, two.records_before, step * first)
            if least.at == two.size:  # mates 2 end earlier
                first = min(first, two.records_before(least) // step)
        if stop < one.size:
            behind, _ = counts[0].around(one, lambda cut: cut.at, stop)
            last, self._end = -(-one.records_before(behind) // step), lambda: one.border(behind)
        if first >= last:
            return 1, ()
        sides, numbers = [], range(step * first, step * last)
        for file, known in zip(files, counts, strict=True):
            cut = known.around(file, file.records_before, numbers.start)[0] if start else START
            is_open = stop >= one.size
            end = file.size if is_open else known.around(file, file.records_before, numbers.stop - 1)[1]
            sides.append(file.spans(self._inputs.size, self._inputs.n_threads, numbers, cut=cut, stop=end))
        return 1 + numbers.start, pair_spans([file.path for file in files], sides)

    @property
    def end(self) -> tuple[str, int, int] | None:
        """Where the shard ends inside a file; valid after all spans were read."""
        return self._end and self._end()

    def renumbered(self, error: InputError) -> InputError:
        """The error with its record's number in the file, found by counting the records before the shard."""
        record = re.fullmatch(r"record (\d+)", error.where)
        if not (record and self.begin and self._guess is not None and self.begin[0] == error.path):
            return error
        with Source(error.path) as source:
            file = CutFile(source)
            before = file.count_before(self.begin[1])
        n_more = n_records(before, file.is_fastq) - n_records(self._guess, file.is_fastq)
        return InputError(error.path, f"record {int(record[1]) + n_more}", error.what)
