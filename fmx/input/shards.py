"""Shards of inputs: the I-th of N runs of spans.

All inputs, one after another, form a line as long as their bytes on disk, which is divided into N equal
stretches, at places where files may be cut (cuts.py).

The number of newlines before a shard, modulo 4, is found in the shard: of the four lines that may begin a
FASTQ record, all but one give records that are not valid (in a valid file the right one is always valid).  If
several are possible, or none, the newlines before the shard are counted.  When shards are merged, neighbours
are compared (``Border``), so damage where two shards meet is detected as in one run.

Pairs, and the reads of a range (--skip, --first), need the numbers of the records: these are counted from the
start of the files, by every process once (``RecordCounts``).  A shard has the pairs whose mates 1 are in its
stretch of the files with mates 1; mates 2 are the records of the same numbers, wherever they are.
"""

import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import InputError
from ..machines.jobs import settled
from . import PairedFiles, pair_spans
from .chunks import Chunk, begins_fastq
from .cuts import START, Cut, Cuts, CutSizes, RecordCounts, before_cut, count_records
from .read_range import ALL, InputRange, ReadRange, records_of_pairs
from .spans import Before, Span, plan_source
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

    def with_thing(self, i: int, n: int) -> "Shard":
        """Return the shard that has item ``i`` of ``n``."""
        return self._replace(number=-(-(i + 1) * self.total // n))


class Border(NamedTuple):
    """Where a shard begins or ends in a file: byte ``at``; ``newlines`` from there to the one before a
    record, or -1 after the last record."""

    path: str
    at: int
    newlines: int


class ShardPlan:
    """The spans of a shard of an InputRange of regular files.

    ``n_counting``: threads that count records; ``shared(key, make)``: the result of ``make()`` that all
    shards of a process share.

    ``begin``, ``end``: the shard's Borders inside files (of mates 1), or None; ``is_empty``: whether it has
    no spans, as for short files; ``whole``: a message about a file that cannot be cut, and that another shard
    reads, or "".
    """

    def __init__(
        self,
        shard: Shard,
        inputs: InputRange,
        n_counting: int = 1,
        shared: Callable[[str, Callable[[], Any]], Any] = lambda key, make: make(),
        cut_sizes: CutSizes | None = None,
    ) -> None:
        files, self._size, self._n_threads, self._wanted = inputs
        self._shard, self._cut_sizes, self._are_pairs = shard, cut_sizes, isinstance(files, PairedFiles)
        self._files = list(
            files.together() if isinstance(files, PairedFiles) else ((each,) for each in enumerate(files))
        )
        self._step = 2 if self._are_pairs and len(self._files[0]) == 1 else 1  # records of a pair in a file
        self._sizes = [max(1, os.path.getsize(paths[0][1])) for paths in self._files]
        self._counts = [
            [shared(f"records of file {i}", lambda: RecordCounts(n_counting)) for i, _ in paths]
            for paths in self._files
        ]
        self._n_earlier = [0] * len(self._files)  # reads or pairs in earlier files, as far as they matter
        self._first_numbers: dict[int, int] = {}
        self._assumed: tuple | None = None  # at ``begin``: whether it is FASTQ, and the Before
        self._last: tuple | None = None  # at the end: path, byte, whether FASTQ, Future of the Before
        self.begin: Border | None = None
        self.is_empty = True
        self.whole = ""

    def spans(self) -> Generator[Any, None, None]:
        """Yield Spans, Chunks or PairSpans, in order.  Raises InputError."""
        for _, span in self.numbered():
            yield span

    def numbered(self) -> Generator[tuple[int, Any], None, None]:
        """Yield (number of the file, or of that of mates 1, from 0, span)."""
        line = self._wanted_bytes()
        begin, end = (line.start + at for at in self._shard.of(len(line)))
        after = 0
        for number, size in enumerate(self._sizes):
            at, after = after, after + size  # the bytes of the file in the line of all files
            if after <= begin or end <= at:
                continue
            with ExitStack() as stack:
                files = self._opened(number, stack)
                start, stop = files[0].at(begin - at), files[0].at(end - at)
                if files[0].is_whole and begin > at:
                    self._note_whole(files, self._shard.with_thing(at - line.start, len(line)))
                elif files[0].is_whole or start < stop:
                    self.is_empty = self.is_empty and not any(file.has_records for file in files)
                    for span in self._spans_of(number, files, start, stop):
                        yield number, span

    def _wanted_bytes(self) -> range:
        """Return which bytes of all files (of mates 1), one after another, hold the wanted records."""
        if self._wanted == ALL:
            return range(sum(self._sizes))
        begin, end, at, n = 0, 0, 0, 0
        is_open = self._wanted.stop == ALL.stop
        needed = range(self._wanted.start, self._wanted.start + 1) if is_open else self._wanted
        for number, size in enumerate(self._sizes):
            self._n_earlier[number] = n
            if n < needed.stop:
                with ExitStack() as stack:
                    one = self._opened(number, stack)[0]
                    own = range(max(0, needed.start - n), needed.stop - n)
                    cuts = self._counts[number][0].around(one, records_of_pairs(own, self._step))
                begin = at + cuts[0].at if n <= needed.start else begin
                n += -(-cuts[-1].n_before // self._step)
                end = at + cuts[-1].at
            at += size
        return range(begin, at if is_open else end)

    def _opened(self, number: int, stack: ExitStack) -> list["Cuts"]:
        """Open a file, or two of mates; if one cannot be cut, or has no records, neither is cut."""
        sources = [stack.enter_context(Source(path)) for _, path in self._files[number]]
        files = [Cuts(source, self._cut_sizes) for source in sources]
        is_whole = any(file.is_whole for file in files)
        for file in files:
            file.is_whole = is_whole
        return files

    def _note_whole(self, files: Sequence["Cuts"], reader: Shard) -> None:
        """Note that shard ``reader`` reads all of files that cannot be cut."""
        if uncut := next((file for file in files if file.is_uncuttable), None):
            how = "write each read in four lines" if uncut.source.is_wrapped else "compress it with bgzip"
            self.whole = (
                f"{uncut.path} cannot be split, so shard {reader} reads all of it; to share the work, {how}"
            )

    def _spans_of(self, number: int, files: Sequence["Cuts"], start: int, stop: int) -> Iterator[Any]:
        """Yield the spans of a file, or PairSpans, whose mates 1 are between two cuts."""
        if not self._are_pairs and self._wanted == ALL:
            yield from self._guessed(number, files[0], start, stop)
            return
        one, counts, step = files[0], self._counts[number], self._step
        pairs = range(
            max(0, self._wanted.start - self._n_earlier[number]),
            ALL.stop if self._wanted.stop == ALL.stop else self._wanted.stop - self._n_earlier[number],
        )
        if start:
            cut = counts[0].at(one, start)
            self.begin = Border(one.path, start, _newlines(cut.before, one.is_fastq))
            pairs = range(max(pairs.start, -(-cut.n_before // step)), pairs.stop)
            least = counts[-1].around(files[-1], range(pairs.start, pairs.start + 1))[0]
            if least.at == files[-1].size:  # mates 2 end earlier
                pairs = range(min(pairs.start, least.n_before // step), pairs.stop)
        if stop < one.size:
            cut = counts[0].at(one, stop)
            self._last = one.path, stop, one.is_fastq, settled(cut.before)
            pairs = range(pairs.start, min(pairs.stop, -(-cut.n_before // step)))
        if not pairs:
            return
        self._first_numbers[number] = 1 + step * pairs.start
        records = records_of_pairs(pairs, step)
        sides = [self._side(*each, records) for each in zip(files, counts, strict=True)]
        names = [(i, file.path) for (i, _), file in zip(self._files[number], files, strict=True)]
        yield from pair_spans.items(names, sides) if self._are_pairs else sides[0]

    def _side(self, file: "Cuts", counts: "RecordCounts", records: range) -> Generator[Any, None, None]:
        """Yield spans with these records of a file."""
        cuts = [START, Cut(file.size, ALL.stop)] if file.is_whole else counts.around(file, records)
        first, last = cuts[0], cuts[-1]
        exact = [cut for cut in cuts if records.start <= cut.n_before <= records.stop]
        bounds = [first, *exact[:1], *exact[-1:], last]  # only spans at the ends may have other records
        for i, (cut, end) in enumerate(pairwise(bounds)):
            if cut.at < end.at:
                spans = self._between(file, cut, end.at)
                yield from spans if i == 1 else ReadRange(records, cut.n_before).of(spans)

    def _guessed(self, number: int, file: "Cuts", start: int, stop: int) -> Iterator[Span | Chunk]:
        """Yield the spans of single reads between two cuts, without what precedes them."""
        before = Before(0)
        if start:
            before = before_cut(file, start)
            self.begin = Border(file.path, start, _newlines(before, file.is_fastq))
            self._assumed = file.is_fastq, before
            self._first_numbers[number] = 1 - (-before.total // file.period)
        link = yield from self._between(file, Cut(start, 0, before), stop)
        if stop < file.size:
            self._last = file.path, stop, file.is_fastq, link

    def _between(self, file: "Cuts", cut: "Cut", stop: int) -> Generator[Any, None, Future]:
        """Yield the spans between two cuts; return the Future of the Before after them."""
        if cut.at == 0 and stop == file.size:
            yield from plan_source(file.source, self._size, begins_fastq, self._n_threads, file.begun)
            return settled(None)
        behind = settled(cut.before)
        for span, _, link in file.spans_between(self._size, cut, stop):
            behind = link
            yield span
        return behind

    @property
    def end(self) -> Border | None:
        """Where the shard ends inside a file; valid after all spans were read."""
        if self._last is None:
            return None
        path, at, is_fastq, link = self._last
        return Border(path, at, _newlines(link.result(), is_fastq))

    def first_number(self, number: int) -> int:
        """Number of the first record in the spans of a file; valid after its first span was yielded."""
        return self._first_numbers.get(number, 1)

    def renumbered(self, error: InputError) -> InputError:
        """The error with its record's number in the file, found by counting the records before the shard."""
        found = re.fullmatch(r"record (\d+)", error.where)
        if not (found and self.begin and self._assumed and self.begin.path == error.path):
            return error
        is_fastq, assumed = self._assumed
        with Source(error.path) as source:
            before = count_records(Cuts(source, self._cut_sizes), self.begin.at)
        number = int(found[1]) + (before.total - assumed.total) // (4 if is_fastq else 1)
        return InputError(error.path, f"record {number}", error.what)


def _newlines(before: Before, is_fastq: bool) -> int:
    return -1 if before.blank else -before.total % 4 if is_fastq else 0
