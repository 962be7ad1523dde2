"""Samples -> counts of their guides: files read span by span, offsets found, counts added up.

A worker takes the next span of the first file that nobody else is reading.  So one compressed file, which
can only be read in order, keeps one worker busy, and several keep all of them busy.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..errors import InputError, n_of, shown
from ..input import pair_spans, spans
from ..input.mates import PairedFiles
from ..input.read_range import InputShare
from ..input.reads import FORWARD, REVERSE, ReadBatch, parse
from ..input.streams import STANDARD
from ..machines.pipeline import add_up, run_ordered
from ..machines.threads import settle
from .assign import WORST, GuideWindow, Rules, assign, at_offsets, scanned
from .table import NONE, GuideTable
from .targets import (
    EITHER,
    EVERY,
    OFFSETS,
    GuideTally,
    TallySum,
    Targets,
    add_counts,
    add_hits,
    join,
    unique_pairs,
)

if TYPE_CHECKING:
    from ..input.chunks import Chunk
    from ..input.spans import Span
    from .samples import Sample


class Reads(NamedTuple):
    """Parsed ``batches`` of reads, or of mates 1 and of mates 2; the first is that ``number`` of its file."""

    batches: tuple[ReadBatch, ...]
    number: int


class SampleInput:
    """File number ``file`` of sample number ``sample``, or two of mates: ``paths``; ``where`` guides stand,
    told by its first span."""

    def __init__(self, sample: int, file: int, paths: tuple, n_threads: int) -> None:
        self.sample, self.file, self.paths, self.where = sample, file, paths, Future[Any]()
        self._is_new, self._is_paired = True, len(paths) > 1
        self._spans: Any = (
            pair_spans.plan(PairedFiles(paths[:1], paths[1:]), n_threads=n_threads)
            if self._is_paired
            else spans.plan(paths, n_threads=n_threads)
        )

    @property
    def names(self) -> list:
        """Its paths, as messages say them."""
        return list(map(named, self.paths))

    def next(self) -> tuple[Callable[[], list[Reads]], bool, list[tuple[int, int]]] | None:
        """(what gives a list of the next Reads, is it the first, where its spans end); None at the end."""
        span, is_first = next(self._spans, None), self._is_new
        self._is_new = False
        if span is None:
            return None
        if self._is_paired:
            return partial(read_mates, span), is_first, span.ends()
        return partial(read_batch, span), is_first, [(0, span.end)]

    def close(self) -> None:
        self._spans.close()


def named(path: str) -> str:
    """A path as messages say it."""
    return "standard input" if path == STANDARD else shown(path)


def read_batch(span: "Chunk | Span") -> list:
    """The Reads of a span, a list of one."""
    chunk = span.read()
    return [Reads((parse(chunk),), chunk.number)]


def read_mates(span: Any) -> list:
    """The Reads of a PairSpan."""
    return [Reads((mates.one, mates.two), mates.origins[0].number) for mates in span.read(is_sam=False)]


class SampleInputs:
    """The files of Samples, for n_threads workers.

    It is an iterator that gives itself as long as there may be a span left to ``take``.
    """

    def __init__(self, samples: "Sequence[Sample]", n_threads: int) -> None:
        files = [
            (i, file, paths)
            for i, sample in enumerate(samples)
            for file, paths in enumerate(sample.together())
        ]
        each = max(1, n_threads // len(files))
        self._inputs = [SampleInput(*one, each) for one in files]
        self.share = InputShare([path for _, _, paths in files for path in paths])
        self._changed, self._n_open = threading.Condition(), len(files)
        self._free = list(range(len(files)))  # a heap: those that nobody is reading

    def __iter__(self) -> "Iterator[SampleInputs]":
        return self

    def __next__(self) -> "SampleInputs":
        with self._changed:
            if self._n_open:
                return self
        raise StopIteration

    def take(self) -> tuple[SampleInput, Callable[[], list[Reads]], bool] | None:
        """As NextSpan has it."""
        while True:
            with self._changed:
                while not self._free:
                    if not self._n_open:
                        return None
                    self._changed.wait()
                number = heappop(self._free)
            taken = None
            try:
                taken = self._inputs[number].next()
            finally:
                with self._changed:
                    if taken:
                        heappush(self._free, number)
                    else:
                        self._n_open -= 1
                    self._changed.notify_all()
            if taken:
                for i, end in taken[2]:
                    self.share.note((number, i), end)
                return self._inputs[number], *taken[:2]

    def close(self) -> None:
        """Close those that nobody is reading: after an interrupt somebody may be left who waits for one."""
        for number in self._free:
            self._inputs[number].close()


# Where the guides of a file stand, as its first reads tell: at which offsets, on which strand.

if TYPE_CHECKING:
    from ..machines.progress import Progress

LOOKED_AT = 10_000  # reads
LEAST = 0.01  # share of the guides found that an offset must have
CHANCE = 5  # times as many as by chance

NOT_FOUND = (
    "no guide is found in the first {}: is it the right library? If guides are rare here, say where "
    "they stand with --offset, --after, --before or --anywhere"
)
OTHER_STRAND = {
    FORWARD: "the first {} hold guides as reverse complements: leave --forward-only out",
    REVERSE: "the first {} hold guides as they are, not as reverse complements: leave --reverse-only out",
}


def choose(table: GuideTable, hits: np.ndarray, n_reads: int) -> list:
    """The (offset, is it reverse) of guides, the most frequent first.

    ``hits`` int64[2, OFFSETS] of the first n_reads of a file.
    """
    keys = np.add.reduceat((table.guides >= 0).astype(np.int64), table.first)
    by_chance = n_reads * float((keys / 4.0**table.lengths).sum())
    least = max(LEAST * hits.sum(), CHANCE * by_chance, 1)
    places = [
        (-int(hits[strand, offset]), offset, bool(strand))
        for strand in range(2)
        for offset in range(OFFSETS - 1)
        if hits[strand, offset] >= least
    ]
    return [(offset, reverse) for _, offset, reverse in sorted(places)]


# Samples -> counts of their guides: spans in one queue, what is seen in them added up.

FIRST = 1 << 20  # reads of a file whose windows are kept where they are unassigned


@dataclass(frozen=True)
class CountOptions:
    """Where guides are ``looked`` for in reads, or in mates 1 and mates 2, and what counts: ``mismatches`` 0
    or 1; ``quality`` of each letter of a guide."""

    looked: tuple = (GuideWindow(),)
    mismatches: int = 0
    quality: int = 0
    n_threads: int = 1

    def __str__(self) -> str:
        where = "; mates 2 ".join(map(str, self.looked))
        return f"{where}, mismatches {self.mismatches}, quality {self.quality}"


class NextSpan(Protocol):
    """What a Counter takes its next span from."""

    def take(self) -> tuple[SampleInput, Callable[[], list[Reads]], bool] | None:
        """(the file, what reads its next span, is it the first of the file), or None when nothing is left.

        Raises InputError.
        """
        ...


class CountInputs(Protocol):
    """The files of samples, given to several workers span by span: all of them, or a shard of them.

    To add one: write these two, and name it in tests/guides/test_count_inputs.py.
    """

    share: InputShare  # how much of the files is read

    def __iter__(self) -> Iterator[NextSpan]:
        """As many as there are spans, or more."""
        ...


class Counter:
    """Counts the guides of Targets in spans of reads, or of pairs."""

    def __init__(self, targets: Targets, options: CountOptions) -> None:
        self.targets, self._looked = targets, options.looked
        self._judge = options.mismatches, options.quality + WORST

    def work(self, emit: Callable[..., Any], inputs: NextSpan) -> tuple[int, GuideTally] | None:
        """(number of the sample, GuideTally) of the next span, or None."""
        taken = inputs.take()
        if taken is None:
            return None
        source, read, is_first = taken
        seen = TallySum(self.targets.n_rows)
        try:
            found = read()
            if is_first:
                source.where.set_result(self.find(source.names, found[0].batches if found else ()))
        finally:
            if is_first:
                settle(source.where)
        where = source.where.result()
        if where is None:  # the first span has failed, and says so
            return None
        for reads in found:
            seen.add(self.count(reads.batches, where, source.file, reads.number))
        return source.sample, seen.tally()

    def count(self, batches: tuple, where: tuple, file: int, number: int) -> GuideTally:
        """The GuideTally of a ReadBatch, or of those of mates, whose first is read ``number`` of a file."""
        n, n_left = batches[0].length.size, max(0, FIRST + 1 - number)
        assigned = [
            assign(Rules(guides.table, place, *self._judge), batch, n, n_left)
            for guides, place, batch in zip(self.targets.guides, where, batches, strict=True)
        ]
        guide, off, tally = assigned[0].guide, assigned[0].off, GuideTally.of_nothing(self.targets.n_rows)
        if pairs := self.targets.pairs:
            guide, off, keys = np.empty(n, np.int32), np.empty(n, np.uint8), np.empty(n, np.uint64)
            join(tuple(assigned), pairs, guide, off, keys)
            if pairs.kind == EVERY:
                tally = tally._replace(pairs=unique_pairs(keys[guide >= 0]))
        kept = np.flatnonzero(assigned[0].has_left & (guide[:n_left] == NONE))
        places = (kept + ((file << 32) + number)).astype(np.uint64)
        tally = tally._replace(left=np.stack([assigned[0].left[kept], places]))
        add_counts(guide, off, tally)
        for mate, each in enumerate(assigned):
            add_hits(guide, each, mate, tally.hits)
        return tally

    def find(self, names: Sequence[str], batches: tuple[ReadBatch, ...]) -> tuple:
        """Where guides stand: as asked, or as the first reads of files tell.  Raises InputError."""
        where = [looked.where() for looked in self._looked]
        if not batches:
            return tuple(place or at_offsets([]) for place in where)
        n = min(LOOKED_AT, batches[0].length.size)
        for mate, batch in enumerate(batches):
            if where[mate] is None:
                where[mate] = at_offsets(self._places(mate, batch, n, self._looked[mate].strands))
        empty = [i for i, place in enumerate(where) if not place.is_scanned and place.offset.size == 0]
        is_either = self.targets.pairs is not None and self.targets.pairs.kind == EITHER
        if n and len(empty) > (1 if is_either else 0):
            what = self._why_none(empty[0], batches[empty[0]], n)
            raise InputError(names[empty[0]], "", what.format(n_of(n, "read")))
        return tuple(where)

    def _why_none(self, mate: int, batch: ReadBatch, n: int) -> str:
        """What to say of files of a ``mate`` in whose first n reads no guide is."""
        strands = self._looked[mate].strands
        if strands != (FORWARD | REVERSE) and self._places(mate, batch, n, strands ^ (FORWARD | REVERSE)):
            return OTHER_STRAND[strands]
        return NOT_FOUND

    def _places(self, mate: int, batch: ReadBatch, n: int, strands: int) -> list:
        """(offset, is it reverse) of the guides on ``strands`` of the first n reads."""
        table = self.targets.guides[mate].table
        found = assign(Rules(table, scanned(strands), 0, WORST), batch, n, 0)
        hits = GuideTally.of_nothing(0).hits
        add_hits(found.guide, found, 0, hits)
        return choose(table, hits[:2], n)


class SampleTallies:
    """The tallies of ``n_samples`` samples, with rows for ``n_rows`` guides or pairs, added up."""

    def __init__(self, n_samples: int, n_rows: int) -> None:
        self.reads, self._sums = 0, [TallySum(n_rows) for _ in range(n_samples)]

    def add(self, part: tuple[int, GuideTally] | None) -> None:
        """Add what ``Counter.work`` gives."""
        if part is not None:
            number, tally = part
            self._sums[number].add(tally)
            self.reads += tally.reads

    def tallies(self) -> list[GuideTally]:
        """That of each sample, in order."""
        return [each.tally() for each in self._sums]


def count_samples(
    counter: Counter, inputs: CountInputs, n_samples: int, n_threads: int, progress: "Progress"
) -> list[GuideTally]:
    """A GuideTally for each sample of ``inputs``, in order."""
    unit = "pair" if counter.targets.pairs else "read"

    def say(total: SampleTallies, seconds: float) -> str:
        return f"{n_of(total.reads, unit)}, {total.reads / seconds:,.0f} {unit}s/s"

    progress.follow(inputs.share)
    parts = run_ordered(inputs, [counter.work] * n_threads, None)
    return add_up(parts, SampleTallies(n_samples, counter.targets.n_rows), progress, say).tallies()
