"""``fmx count``: reads files of samples span by span, finds offsets, adds up counts."""

import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..dna import FORWARD, REVERSE
from ..errors import InputError, n_of
from ..input import InputRange, InputShare, PairedFiles, ReadFiles, spans
from ..input.chunks import CHUNK_SIZE
from ..input.mates import PairSpan
from ..input.reads import ReadBatch, parse
from ..input.streams import input_name
from ..machines.pipeline import Emit, run_ordered
from ..machines.progress import Clock, Measurement, Progress, RunCounts
from ..output.files import ReadsOutput
from ..report import JobOutput, Report
from .assign import WORST, Assignments, CountOptions, Rules, assign, at_offsets, scanned
from .library import Library
from .results import CountResult, pack, say_samples
from .samples import Sample
from .table import MANY, NONE
from .targets import EITHER, FIRST, LISTED, OFFSETS, GuideTally, TallySum, Targets, add_hits, make_targets


class Reads(NamedTuple):
    """Parsed ``batches`` of reads, or of mates 1 and mates 2; ``number``: that of the first in its file."""

    batches: tuple[ReadBatch, ...]
    number: int


Find: TypeAlias = Callable[[Sequence[str], tuple[ReadBatch, ...]], tuple]  # Counter.find


class SampleFile:
    """File number ``file`` of sample number ``sample``, or two files of mates: ``paths``, read span by span.

    ``where``: the windows for guides, known after the first reads; ``share`` records how much has been read.
    """

    def __init__(
        self, sample: int, file: int, paths: tuple, n_threads: int, share: InputShare | None = None
    ) -> None:
        self.sample, self.file, self.paths = sample, file, paths
        self.where: tuple | None = None
        self.is_over, self.lock = False, threading.Lock()  # locked while a thread reads the next span
        files = PairedFiles(paths[:1], paths[1:]) if paths[1:] else paths
        self._spans = spans.plan(files, n_threads=n_threads, share=share)

    def read(self, find: Find) -> tuple["SampleFile", list[Reads]]:
        """Return (itself, the Reads of its next span; empty at the end).  Raises InputError."""
        with self.lock:
            span = self.take(find)
        return span.read(find) if span else (self, [])

    def take(self, find: Find) -> "FileSpan | None":
        """Return the next span; None at the end.  Raises InputError.

        In the first span with reads, ``find`` finds where the guides are.
        """
        span = None if self.is_over else next(self._spans, None)
        self.is_over = span is None
        if span is None:
            return None
        parts = None
        if self.where is None:
            try:
                if parts := _reads_of(span):
                    self.where = find(list(map(input_name, self.paths)), parts[0].batches)
            except BaseException:
                self.is_over = True  # other threads stop reading this file
                raise
        return FileSpan(self, span, parts)

    def close(self) -> None:
        """Close the file, unless a thread is still reading it, as after an interrupt."""
        if self.lock.acquire(blocking=False):
            try:
                self._spans.close()
            finally:
                self.lock.release()


def _opened_first(file: tuple[int, int, tuple], find: Find) -> SampleFile:
    """Return a SampleFile of which only the first reads were read, to find where guides are; it is closed."""
    with closing(SampleFile(*file, 1)) as first:
        while first.where is None and not first.is_over:
            first.read(find)
    return first


class FileSpan(NamedTuple):
    """A span of a SampleFile, and its Reads if they have been parsed.

    ``first``: number in the file of the shard's first read; ``read`` numbers the reads of a shard from 1 on.
    """

    file: SampleFile
    span: Any
    parts: list[Reads] | None
    first: int = 1

    def read(self, _: object) -> tuple[SampleFile, list[Reads]]:
        """Return (its file, its Reads).  Raises InputError."""
        parts = _reads_of(self.span) if self.parts is None else self.parts
        return self.file, [reads._replace(number=reads.number - self.first + 1) for reads in parts]


def _reads_of(span: Any) -> list[Reads]:
    """Return the Reads of a Span or PairSpan; empty if it has none."""
    if isinstance(span, PairSpan):
        pairs = span.read(is_sam=False)
        parts = [Reads((mates.one, mates.two), mates.origins[0][1]) for mates in pairs]
    else:
        chunk = span.read()
        parts = [Reads((parse(chunk),), chunk.number)]
    return [reads for reads in parts if reads.batches[0].length.size]


def _files_of(samples: Sequence[Sample]) -> list[tuple[int, int, tuple]]:
    """Return (number of the sample, number of the file in it, path or paths of mates) of all files."""
    return [
        (i, file, paths) for i, sample in enumerate(samples) for file, paths in enumerate(sample.together())
    ]


def _spans_of(
    samples: Sequence[Sample], n_threads: int, share: InputShare
) -> Generator[SampleFile, None, None]:
    """Yield the SampleFiles of samples, n_threads of them at a time, each repeatedly until it is over.

    Files that are not busy come first: a file that can only be read in order keeps one worker busy, several
    keep all of them busy.
    """
    files = _files_of(samples)
    n_readers = max(1, n_threads // len(files))
    left = (SampleFile(*one, n_readers, share) for one in files)
    opened = list(islice(left, n_threads))
    try:
        while opened:
            file = next((each for each in opened if not each.lock.locked()), opened[0])
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


def _spans_in_order(
    samples: Sequence[Sample], n_threads: int, share: InputShare, find: Find
) -> Generator[FileSpan, None, None]:
    """Yield all spans of samples, one file after the other."""
    for one in _files_of(samples):
        with closing(SampleFile(*one, n_threads, share)) as file:
            while span := file.take(find):
                yield span


_LOOKED_AT = 10_000  # first reads of a file, in which offsets and strands of guides are found
_LEAST = 0.01  # least fraction of the guides found at an offset
_CHANCE = 5  # times the number expected by chance

_NOT_FOUND = (
    "no guide found in the first {}: is it the right library{}? If guides are rare or start late, say "
    "where they are with --offset, --after or --before, or search whole reads with --anywhere"
)
_SEVERAL = (
    "cannot choose between the several guides in the first {}: say which one to count with --offset, "
    "--after or --before{}"
)
_OTHER_STRAND = {
    FORWARD: "the guides in the first {} are reverse complements: leave out --forward-only",
    REVERSE: "the guides in the first {} are not reverse complements: leave out --reverse-only",
}


class Counter:
    """Counts the guides of Targets in spans of reads or pairs of ``samples``; ``warn`` receives warnings."""

    def __init__(
        self, targets: Targets, options: CountOptions, samples: Sequence[Sample],
        warn: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.targets, self.options, self._samples, self._warn = targets, options, samples, warn
        self._judge = options.mismatches, options.quality + WORST

    @property
    def _kind(self) -> int | None:
        """How guides of mates are combined; None for single reads."""
        return self.targets.pairs.kind if self.targets.pairs else None

    def work(
        self, emit: Emit, span: SampleFile | FileSpan, clock: Clock, output: ReadsOutput
    ) -> tuple[SampleFile, GuideTally] | None:
        """Return (its file, GuideTally) of a span, or of the next span of a SampleFile; None without reads.

        Emits the reads for ``output``.
        """
        with clock.timed("read"):
            file, parts = span.read(self.find)
        if not (parts and file.where):
            return None
        with clock.timed("count"):
            total = TallySum(self.targets.n_rows)
            for reads in parts:
                tally, guide = self.count(reads.batches, file.where, file.file, reads.number)
                total.add(tally)
                if files := tuple(output.files.values()):
                    from ..output.reads import split  # not needed without files of reads

                    n = len(output.targets)  # with that of ambiguous reads
                    number = (
                        np.where(guide >= 0, guide, n - (guide == MANY)) if n else np.where(guide < 0, 1, 0)
                    )
                    for piece in split(files, reads.batches, np.arange(guide.size), number.astype(np.int64)):
                        emit(piece)
            return file, total.tally()

    def count(self, batches: tuple, where: tuple, file: int, number: int) -> tuple[GuideTally, np.ndarray]:
        """Return the GuideTally of a batch of reads, or of batches of mates, and the row of each, int32[n].

        ``number``: that of the first read.  The row may be NONE, MANY, UNSURE or RECOMBINED.
        """
        n, n_left = batches[0].length.size, max(0, FIRST + 1 - number)
        assigned = [
            assign(Rules(guides.table, place, *self._judge), batch, n, n_left)
            for guides, place, batch in zip(self.targets.guides, where, batches, strict=True)
        ]
        return self.targets.tally(assigned, n_left, (file << 32) + number)

    def find(self, names: Sequence[str], batches: tuple[ReadBatch, ...]) -> tuple:
        """Return where guides are, by the options or by the first reads of files.

        Raises InputError if there are none, unless the first reads of another file have guides.
        """
        where, empty = self._where(batches)
        if empty:
            n, mate, both = min(_LOOKED_AT, batches[0].length.size), empty[0], FORWARD | REVERSE
            batch, strands = batches[mate], self.options.looked[mate].strands
            n_several = np.count_nonzero(self._assigned(mate, batch, n, strands).guide == MANY)
            what = _SEVERAL if 2 * n_several >= n else _NOT_FOUND
            if strands != both and self._places(mate, batch, n, strands ^ both):
                what = _OTHER_STRAND[strands]
            order = ", and are -1 and -2 in the right order" if self._kind == LISTED else ""
            reads = "read" if n == 1 else n_of(n, "read")
            error = InputError(names[mate], "", what.format(reads, order))
            if what != _NOT_FOUND or not self._has_guides_elsewhere:
                raise error
            self._warn(f"{error}; its reads count as unassigned")
        return where

    @cached_property
    def _has_guides_elsewhere(self) -> bool:
        """Whether the first reads of any file have guides; standard input and pipes are left out."""

        def look(_: object, batches: tuple[ReadBatch, ...]) -> tuple:
            where, empty = self._where(batches)
            return () if empty else where

        files = (file for file in _files_of(self._samples) if all(map(os.path.isfile, file[2])))
        return any(_opened_first(file, look).where for file in files)

    def _where(self, batches: tuple[ReadBatch, ...]) -> tuple[tuple, list]:
        """Return (where guides are, the mates without any if no read or pair can count)."""
        where = [looked.where() for looked in self.options.looked]
        n = min(_LOOKED_AT, batches[0].length.size)
        for mate, batch in enumerate(batches):
            if where[mate] is None:
                where[mate] = at_offsets(self._places(mate, batch, n, self.options.looked[mate].strands))
        empty = [i for i, place in enumerate(where) if not place.is_scanned and place.offset.size == 0]
        return tuple(where), empty if len(empty) > (1 if self._kind == EITHER else 0) else []

    def _places(self, mate: int, batch: ReadBatch, n: int, strands: int) -> list:
        """Return where guides begin on ``strands`` in the first n reads of a ``mate``, without chance hits.

        Each place is (offset, whether on the reverse strand); the most frequent comes first.
        """
        assigned, table = self._assigned(mate, batch, n, strands), self.targets.guides[mate].table
        hits = GuideTally.of_nothing(0).hits
        add_hits(assigned.guide, assigned, 0, hits)
        keys = np.add.reduceat((table.guides >= 0).astype(np.int64), table.first)
        by_chance = n * float((keys / 4.0**table.lengths).sum())
        least = max(_LEAST * hits[:2].sum(), _CHANCE * by_chance, 1)
        places = [
            (-int(hits[strand, offset]), offset, bool(strand))
            for strand in range(2)
            for offset in range(OFFSETS - 1)
            if hits[strand, offset] >= least
        ]
        return [(offset, reverse) for _, offset, reverse in sorted(places)]

    def _assigned(self, mate: int, batch: ReadBatch, n: int, strands: int) -> Assignments:
        """Assign guides anywhere on ``strands`` to the first n reads of files of a ``mate``."""
        return assign(Rules(self.targets.guides[mate].table, scanned(strands), 0, WORST), batch, n, 0)


def make_counter(
    libraries: Sequence[Library], samples: Sequence[Sample], options: CountOptions, progress: Progress
) -> Counter:
    """Return the Counter for one library, or two for mates; reports what is odd about library and samples.

    Duplicate sequences of a library are left out.
    """
    without = [re.sub(r"_L\d{1,3}(?![^_])", "", each.name) for each in samples]
    if lanes := [x.name for x, name in zip(samples, without, strict=True) if without.count(name) > 1]:
        progress.warn(
            f"samples {_some(lanes)} look like lanes of the same sample: give them as one argument, "
            "separated by commas"
        )
    unique = []
    for library in libraries:
        fewer, left = library.unique()
        unique.append(fewer)
        if left:
            have = n_of(len(left), "guide has", "guides have")
            pairs = _some(f"{one}, same as {other}" for one, other in left)
            progress.say(f"{library.path}: {have} the same sequence as an earlier guide: left out ({pairs})")
        if lost := sorted(library.gene_names() - fewer.gene_names()):
            what = n_of(len(lost), "gene has", "genes have")
            progress.warn(f"{library.path}: {what} no guide left: {_some(lost)}")
    targets = make_targets(unique, bool(samples[0].second))
    windows = list(zip(targets.guides, options.looked, strict=True))
    for guides in dict.fromkeys(targets.guides):
        ids, numbers, (close, opposite) = guides.ids, np.arange(len(guides.ids)), guides.others()
        if n := int(np.count_nonzero(close != NONE)):
            examples = (f" (such as {ids[i]} and {ids[close[i]]})" for i in np.flatnonzero(close >= 0))
            what = "; reads that match both are ambiguous" if options.mismatches else ""
            are = n_of(n, "guide differs", "guides differ")
            progress.say(
                f"{guides.path}: {are} from another guide in only one base{next(examples, '')}{what}"
            )
        both = (each for of, each in windows if of is guides and each.strands == FORWARD | REVERSE)
        pairs = np.stack([numbers, opposite], axis=1)[(opposite >= 0) & (opposite != numbers)]
        if pairs.size and not all(each.is_flanked for each in both):
            one, other = pairs[0]
            progress.warn(
                f"{guides.path}: {np.unique(pairs).size:,} guides are reverse complements of other guides "
                f"(such as {ids[one]} and {ids[other]}): reads with them are ambiguous if both strands are "
                "searched; give --forward-only or --reverse-only"
            )
    return Counter(targets, options, samples, progress.warn)


def _some(words: Iterable[str]) -> str:
    """Return the first words, comma-separated, and how many more there are."""
    first, n = list(words), 10
    return ", ".join(first[:n]) + (f" and {len(first) - n:,} more" if first[n:] else "")


def _spans_of_shard(samples: Sequence[Sample], shard: Any, counter: Counter) -> Iterator[FileSpan]:
    """Yield the spans of a ``shard`` (jobs.shard.ShardRun) of samples.

    Each file is opened once more to find where guides are in its first reads.
    """
    files = _files_of(samples)
    opened: dict[int, SampleFile] = {}
    first, *second = zip(*(paths for _, _, paths in files), strict=True)
    paths: ReadFiles = PairedFiles(first, *second) if second else first
    plan = shard.cut(InputRange(paths, CHUNK_SIZE, counter.options.n_threads))
    for number, before, span in plan.numbered():
        if number not in opened:
            opened[number] = _opened_first(files[number], counter.find)
        yield FileSpan(opened[number], span, None, before)


_NO_READS = ReadsOutput()


@dataclass(frozen=True)
class CountSummary(RunCounts):
    """Summary of a run over reads."""

    reads: int
    assigned: int

    things = "reads"

    def sentence(self) -> str:
        """Return the summary in one line."""
        n, things = self.seen()
        return f"{n_of(n, things[:-1])}: {self.assigned:,} assigned ({100 * self.assigned / max(n, 1):.2f} %)"


class _PairCountSummary(CountSummary):
    """Summary of a run over pairs, which are counted as its ``reads``."""

    things = "pairs"

    @property
    def pairs(self) -> int:
        return self.reads


def count(
    counter: Counter, samples: Sequence[Sample], output: JobOutput, run: Any, progress: Progress
) -> CountSummary:
    """Count guides in samples, and write the ``output``, or store the counts of a shard.

    ``counter``: made for these samples; ``run``: the part of the samples to read, and where to write.
    """
    measurement = Measurement(output.report or Report((), {}))
    measurement.begin(progress.wall)
    with run.opened(output) as outputs:
        inputs = None if run.is_whole else _spans_of_shard(samples, run, counter)
        with progress.wall.spending("counting"):
            result = count_all(
                counter, samples, progress, measurement.clock, inputs, output.reads, outputs.write
            )
        progress.wall.turn_to("writing")
        outputs.write(result.table(output.kind))
        n, assigned = (sum(getattr(each, name) for each in result.tallies) for name in ("reads", "assigned"))
        summary = (_PairCountSummary if samples[0].second else CountSummary)(n, assigned)

        def facts() -> dict:
            return measurement.facts(["the CPU"], result, {} if inputs else result.details())

        counts = pack(result) if inputs else b""
        outputs.finish(summary, facts=facts if output.report else None, counts=counts)
    if not inputs:
        say_samples(result, progress, counter.options)
    return summary


def count_all(
    counter: Counter, samples: Sequence[Sample], progress: Progress, clock: Clock | None = None,
    inputs: Iterator[FileSpan] | None = None, output: ReadsOutput = _NO_READS,
    write: Callable[[Any], object] | None = None,
) -> CountResult:  # fmt: skip
    """Count the guides of a Counter in samples, or in ``inputs`` of a shard; ``clock`` measures the time.

    ``write`` receives what is to be written to the files of ``output``.
    """
    items: Iterable[Any] | None = inputs
    if items is None:
        share = InputShare([path for sample in samples for path in sample.paths])
        progress.follow(share)
        if output.files:
            items = _spans_in_order(samples, counter.options.n_threads, share, counter.find)
        else:
            items = _spans_of(samples, counter.options.n_threads, share)
    targets, n_threads = counter.targets, counter.options.n_threads
    unit, n, start = "pair" if targets.pairs else "read", 0, time.monotonic()
    sums = [TallySum(targets.n_rows) for _ in samples]
    n_reads = [[0] * len(sample.first) for sample in samples]
    workers = [partial(Counter.work, counter, clock=clock or Clock(), output=output)] * n_threads
    with closing(run_ordered(items, workers, write)) as parts:
        for part in parts:
            if part is not None:
                file, tally = part
                sums[file.sample].add(tally)
                n_reads[file.sample][file.file] += tally.reads
                n += tally.reads
            rate = n / max(time.monotonic() - start, 1e-9)
            progress.show(f"{n_of(n, unit)}, {rate:,.0f} {unit}s/s")
    tallies = [each.tally() for each in sums]
    library, counts = targets.rows(tallies)
    left_length = int(targets.guides[0].table.lengths[0])
    return CountResult(library, list(samples), tallies, counts, left_length, n_reads)
