"""Chunks of reads -> pieces of output, by several threads, in order, in bounded memory.

bytes -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> records
"""

import time
from collections import deque
from dataclasses import dataclass, field, fields
from functools import partial, reduce

import numpy as np

from ..index.parts import part_span
from ..input import chunks, reads
from ..machines.pipeline import travel
from ..machines.progress import Progress
from . import hits, located
from .engines import cpu
from .located import Locator
from .queries import Exact, Verify
from .tally import tally

SLICE_HITS = 1 << 17  # hits located and formatted at a time
FORWARD, REVERSE = reads.FORWARD, reads.REVERSE
BOTH = FORWARD | REVERSE


@dataclass
class MapOptions:
    """How reads are mapped."""

    policy: hits.SelectionPolicy = field(default_factory=hits.SelectionPolicy)
    strands: int = BOTH
    n_threads: int = 1
    chunk_size: int = chunks.CHUNK_SIZE


@dataclass
class Summary:
    """What a run has seen, in reads (``hits`` in occurrences)."""

    reads: int = 0
    bases: int = 0
    mapped: int = 0
    unique: int = 0
    suppressed: int = 0
    hits: int = 0
    hopeless: int = 0  # nothing in them can be searched

    def sentence(self, seconds: float) -> str:
        """What happened, in one line."""
        share = 100 * self.mapped / max(self.reads, 1)
        more = f", {self.suppressed:,} with too many" if self.suppressed else ""
        hopeless = f"; {self.hopeless:,} cannot occur: empty, or a letter other than A C G T U"
        return (
            f"{self.reads:,} reads: {self.mapped:,} occur ({share:.2f} %), "
            f"{self.unique:,} of them once{more}; "
            f"{self.hits:,} occurrences; {seconds:.1f} s, {self.reads / max(seconds, 1e-9):,.0f} reads/s"
            f"{hopeless if self.hopeless else ''}"
        )

    def add(self, other) -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


def make_query(index):
    """The query that an index was opened for."""
    if index.method == "backward":
        return Exact(index.prefix, index.layout)
    return Verify(index.prefix, index.seeds, index.sa.positions, index.text_words, index.reference.blocks)


class Mapper:
    """Turns chunks into pieces of output, with one set of options.

    Of each part of the text ``searchers`` hold what turns Patterns into Intervals, ``locators`` what turns
    rows into positions (located.py); both are of the CPU or of a GPU.
    """

    def __init__(self, index, options: MapOptions, n_tally: int, searchers, locators):
        self.index, self.options, self.n_tally = index, options, n_tally
        self.searchers, self.locators = searchers, locators
        self.starts = [part_span(index.meta, number)[0] for number in range(len(locators))]
        self.tallies: deque = deque()  # one table for each thread that is counting

    def search(self, chunk):
        """(ReadBatch, intervals) of a chunk."""
        batch = reads.parse(chunk)
        return batch, self.intervals(reads.pack(batch, self.options.strands))

    def intervals(self, patterns) -> list:
        """Intervals of patterns in each part of the text."""
        return [search(patterns) for search in self.searchers]

    def count(self, intervals) -> np.ndarray:
        """Exact number of occurrences of each read, int64[n_reads]."""
        return reduce(np.add, map(hits.count, intervals))

    def select(self, batch, intervals, span):
        """The hits of reads span[0] to span[1]."""
        return located.select(self.parts_of(intervals), batch, span, self.options.policy)

    def parts_of(self, intervals) -> list:
        """Of each part of the text (locator, intervals, where it starts)."""
        return list(zip(self.locators, intervals, self.starts, strict=True))

    def hits_of(self, batch, intervals):
        """Yield (start, Hits) for runs of reads with at most SLICE_HITS reported hits, or one read."""
        options = self.options
        total = self.count(intervals)
        reported = np.where(total > options.policy.at_most, 0, np.minimum(total, options.policy.limit))
        if self.n_tally:
            table = self._take_tally()
            tally(self.parts_of(intervals), self.index.reference.blocks, total, options.policy.at_most, table)
            self.tallies.append(table)
        ends = np.cumsum(np.maximum(reported, 1))
        start, n_reads = 0, batch.length.size
        while start < n_reads:
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + SLICE_HITS, "right")))
            yield start, self.select(batch, intervals, (start, stop))
            start = stop

    def _take_tally(self):
        try:
            return self.tallies.pop()
        except IndexError:
            return np.zeros((self.n_tally, 2), np.int64)

    def tally(self) -> np.ndarray:
        """(reads, hits) of each contig, int64[n_contigs, 2]."""
        return np.sum(self.tallies, axis=0) if self.tallies else np.zeros((self.n_tally, 2), np.int64)

    def summarise(self, batch, intervals) -> Summary:
        total = self.count(intervals)
        suppressed = total > self.options.policy.at_most
        return Summary(
            reads=total.size,
            bases=int(batch.length.sum()),
            mapped=int(np.count_nonzero((total > 0) & ~suppressed)),
            unique=int(np.count_nonzero((total == 1) & ~suppressed)),
            suppressed=int(np.count_nonzero(suppressed)),
            hits=int(total[~suppressed].sum()),
            hopeless=int(np.count_nonzero(~batch.searchable)),
        )


def make_mapper(index, options: MapOptions, n_tally: int = 0) -> Mapper:
    """What maps to an FMIndex or a JoinedIndex on the CPU."""
    searchers = [partial(cpu.search, make_query(part)) for part in index.parts]
    return Mapper(index, options, n_tally, searchers, [Locator(part.sa, part.layout) for part in index.parts])


def map_reads(mapper, paths, writer, sink, progress=None) -> Summary:
    """Map files of reads, in order, and write the records to ``sink`` (a binary file)."""
    return map_chunks(mapper, chunks.read_chunks(paths, mapper.options.chunk_size), writer, sink, progress)


def map_chunks(mapper, source, writer, sink, progress=None) -> Summary:
    """The same for chunks, in order."""
    progress, summary, start = progress or Progress(quiet=True), Summary(), time.monotonic()

    def work(emit, chunk):
        batch, intervals = mapper.search(chunk)
        if writer.is_sam:
            reads.check_sam(chunk, batch)
        for piece in _pieces(mapper, batch, intervals, writer):
            emit(piece)
        return mapper.summarise(batch, intervals)

    for part in travel(source, work, mapper.options.n_threads, sink.write):
        summary.add(part)
        rate = summary.reads / max(time.monotonic() - start, 1e-9)
        progress.show(f"{summary.reads:,} reads, {rate:,.0f} reads/s, {summary.mapped:,} mapped")
    sink.write(writer.end())
    return summary


def compile_all(mapper, writer) -> None:
    """Map one made-up read, so that what is not compiled yet is compiled before the clock starts."""
    fastq = np.frombuffer(b"@r\nACGT\n+\nIIII\n", np.uint8).copy()
    batch, intervals = mapper.search(chunks.Chunk("", fastq, True, 1, 1))
    for _ in _pieces(mapper, batch, intervals, writer):
        pass
    mapper.tallies.clear()


def _pieces(mapper, batch, intervals, writer):
    """Yield the records of a chunk in pieces."""
    for start, found in mapper.hits_of(batch, intervals):
        for first in range(0, max(1, found.position.size), SLICE_HITS):
            yield writer.format(batch, found, start, first, first + SLICE_HITS)
