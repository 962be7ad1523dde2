"""What turns a chunk of reads into hits, on the CPU or a GPU.

Chunk -> ReadBatch -> Patterns -> Intervals -> Hits
"""

from collections import deque
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np

from ..index.parts import part_span
from ..input import chunks, reads
from . import hits, located
from .engines import cpu
from .located import Locator
from .queries import Exact, Verify
from .summary import Summary
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
