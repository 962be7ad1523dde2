"""Chunks of reads -> pieces of output, by several threads, in order, in bounded memory.

bytes -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> records
"""

import time
from collections import deque
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..index.parts import part_span
from ..input import chunks, reads
from ..machines.pipeline import travel
from ..machines.progress import Progress
from . import hits, located
from .engines import cpu
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


class Mapping:
    """One set of options; turns chunks into pieces of output.  A mapper is one of these for an index."""

    def __init__(self, options: MapOptions, n_tally: int = 0):
        self.options, self.n_tally = options, n_tally
        self.tallies: deque = deque()  # one table for each thread that is counting
        self.all_channels: list = []  # to a GPU

    def search(self, chunk):
        """(ReadBatch, intervals) of a chunk; who made the intervals knows what they are."""
        batch = reads.parse(chunk)
        return batch, self.intervals(reads.pack(batch, self.options.strands))

    def intervals(self, patterns):
        """Intervals of patterns."""
        raise NotImplementedError

    def count(self, intervals) -> np.ndarray:
        """Exact number of occurrences of each read, int64[n_reads]."""
        raise NotImplementedError

    def select(self, batch, intervals, span):
        """The hits of reads span[0] to span[1]."""
        raise NotImplementedError

    def parts_of(self, intervals) -> list:
        """Of each part of the text (mapper, its intervals, where it starts)."""
        raise NotImplementedError

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


class Mapper(Mapping):
    """Maps to one FMIndex, on the CPU."""

    def __init__(self, index, options: MapOptions, n_tally: int = 0):
        super().__init__(options, n_tally)
        self.index = index
        self.query: Any = make_query(index)

    def intervals(self, patterns):
        return cpu.search(self.query, patterns)

    def count(self, intervals):
        return hits.count(intervals)

    def select(self, batch, intervals, span):
        return hits.select(self.index.sa, self.index.layout, batch, intervals, span, self.options.policy)

    def parts_of(self, intervals):
        return [(self, intervals, 0)]

    def locate(self, lo, size) -> np.ndarray:
        """Text positions of rows lo[i] to lo[i] + size[i], one i after the other."""
        return located.positions(self.index.sa, self.index.layout, lo, size)


class JoinedMapper(Mapping):
    """Maps to the parts of a JoinedIndex, by one mapper each."""

    def __init__(self, index, mappers):
        super().__init__(mappers[0].options, mappers[0].n_tally)
        self.index, self.mappers, self.all_channels = index, mappers, mappers[0].all_channels
        self.starts = [part_span(index.meta, number)[0] for number in range(len(mappers))]

    def intervals(self, patterns):
        """Intervals in each part, a list."""
        return [mapper.intervals(patterns) for mapper in self.mappers]

    def count(self, intervals):
        return np.sum([hits.count(own) for own in intervals], axis=0)

    def select(self, batch, intervals, span):
        return located.select(self.parts_of(intervals), batch, span, self.options.policy)

    def parts_of(self, intervals):
        return list(zip(self.mappers, intervals, self.starts, strict=True))


def join(index, mappers) -> Mapping:
    """What maps to an index by a mapper of each of its parts."""
    return mappers[0] if len(mappers) == 1 else JoinedMapper(index, mappers)


def make_mapper(index, options: MapOptions, n_tally: int = 0) -> Mapping:
    """What maps to an FMIndex or a JoinedIndex on the CPU."""
    return join(index, [Mapper(part, options, n_tally) for part in index.parts])


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
