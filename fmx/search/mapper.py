"""Mapper: maps a chunk of reads and formats the records, with parts on the CPU.

Span -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> pieces of output
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..index.arrays import part_span
from ..input import reads
from ..input.reads import trimmed
from ..machines.jobs import runs
from . import FormatsHits
from .engines import cpu
from .hits import Hits, Intervals, LocatesRows, Locator, at_hand, count, occurrences_of, select
from .mapping import (
    UNOBSERVED,
    MapOptions,
    Observers,
    SearchedBatch,
    TextPart,
    make_query,
    refuse_shorter,
    shortest,
)
from .summary import Summary

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from ..input.chunks import Chunk
    from ..input.reads import ReadBatch
    from ..input.spans import Span
    from ..machines.gpu_session import GpuSession


def part_on_cpu(index: "FMIndex | JoinedIndex", number: int) -> TextPart:
    """Return a part of the text for exact occurrences on the CPU."""
    return _part(index.parts[number], part_span(index.meta, number)[0])


def _part(part: "FMIndex", start: int) -> TextPart:
    """Return a part of the text that begins at ``start``."""
    if part.method == "sparse":
        from . import sparse
        from .numbers import SparseLocator

        shorter = _part(part.shorter, start) if part.shorter else TextPart(None, None)
        query = make_query(part)
        searcher = sparse.SparseSearcher(shortest([part]), partial(sparse.search, query), shorter.search)
        return TextPart(searcher, SparseLocator(query, start, shorter.locator))
    return TextPart(partial(cpu.search, make_query(part)), Locator(part.sa, part.layout, start))


class Mapper:
    """Maps chunks of reads with one set of options, by ``parts`` on the CPU.

    ``least``: bases of the shortest read that the index can find. ``session``: the GPU of a GpuMapper.
    """

    session: "GpuSession | None" = None

    def __init__(
        self,
        parts: Sequence[TextPart],
        options: MapOptions,
        observers: Observers = UNOBSERVED,
        least: int = 0,
    ) -> None:
        self.parts = tuple(parts)
        self._searchers = [part.search for part in parts]
        self._locators: list[LocatesRows] = [part.locator for part in parts]
        self._least = least
        self.options, self.tally = options, observers.tally
        self.timed: Callable = observers.clock.timed if observers.clock else nullcontext

    def map(self, span: "Chunk | Span", writer: FormatsHits, emit: Callable[..., Any]) -> Summary:
        """Map the reads of a span, emit the output that ``writer`` makes, and return their Summary."""
        with self.timed("read"):
            chunk = span.read()
        return self.map_chunk(chunk, writer, emit)

    def map_chunk(self, chunk: "Chunk", writer: FormatsHits, emit: Callable[..., Any]) -> Summary:
        """Map the reads of a chunk, emit the output that ``writer`` makes, and return their Summary."""
        found = self.search(chunk)
        if writer.is_sam:
            reads.check_sam(chunk, found.batch)
        if writer.comments:
            from ..input.comments import check_comments  # only for -C

            check_comments(chunk, found.batch)
        size = self.options.sizes.hits
        for start, hits in self.hits_of(found):
            for first in range(0, max(1, hits.position.size), size):
                with self.timed("format"):
                    piece = writer.format(found.batch, hits, start, first, first + size)
                emit(piece)
        if writer.takers:
            self._split(found.given, found.total, writer, emit)
        with self.timed("summarize"):
            return Summary.of(found, self.options)

    def _split(
        self, given: "ReadBatch", total: np.ndarray, writer: FormatsHits, emit: Callable[..., Any]
    ) -> None:
        """Emit the original reads for the files of mapped and unmapped reads.

        ``total`` int64[n_reads] occurrences.
        """
        for piece in writer.split((given,), self.options.policy.eligible(total) > 0):
            emit(piece)

    def parse(self, chunk: "Chunk") -> tuple:
        """Return the reads of a chunk, untrimmed and trimmed."""
        with self.timed("parse"):
            given = reads.parse(chunk)
            return given, trimmed(given, self.options.trim)

    def search(self, chunk: "Chunk") -> SearchedBatch:
        """Search the reads of a chunk."""
        return self.search_batch(*self.parse(chunk))

    def search_batch(self, given: "ReadBatch", batch: "ReadBatch") -> SearchedBatch:
        """Search a batch of reads; ``given`` has the same reads untrimmed."""
        refuse_shorter(batch, self._least, self.options.noun)
        with self.timed("pack"):
            patterns = reads.pack(batch, self.options.strands)
        with self.timed("search"):
            found = [search(patterns) for search in self._searchers]
            intervals = Intervals(*map(_rows, zip(*((own.lo, own.hi) for own in found), strict=True)))
            total = count(intervals)
        locators = tuple(locator.of(own) for locator, own in zip(self._locators, found, strict=True))
        return SearchedBatch(
            given, batch, intervals, locators, total, batch.searchable, self.weights_of(batch)
        )

    def weights_of(self, batch: "ReadBatch") -> np.ndarray:
        """Return the number of copies of each read of a batch, int64[n_reads]."""
        if not self.options.collapse:
            return np.ones(batch.length.size, np.int64)
        from ..input.weights import weights_of

        return weights_of(batch)

    def hits_of(self, found: SearchedBatch) -> Iterator[tuple[int, Any]]:
        """Yield (start, Hits) for runs of reads with up to ``hits`` occurrences to locate, or one read."""
        self.count_exact(found)
        if self.options.policy.limit > 0:
            yield from self.exact_hits(found)

    def count_exact(self, found: SearchedBatch) -> None:
        """Add a batch to the tally, if there is one, by exact occurrences."""
        if self.tally:
            eligible = self.options.policy.eligible(found.total)
            with self.timed("tally"):
                self.tally.add(found.locators, found.intervals, eligible, found.weight)

    def exact_hits(self, found: SearchedBatch) -> Iterator[tuple[int, Hits]]:
        """Yield (start, Hits) for runs of reads, also if none is reported."""
        policy = self.options.policy
        eligible = policy.eligible(found.total)
        to_locate = policy.reported(found.total) if at_hand(found.locators) else eligible
        for start, stop in runs(to_locate, self.options.sizes.hits):
            with self.timed("locate"):
                own = Intervals(*(array[:, 2 * start : 2 * stop] for array in found.intervals))
                occurrences = occurrences_of(found.locators, own, eligible[start:stop])
                hits = select(occurrences, found.batch, start, found.total[start:stop], policy)
            yield start, hits


def _rows(arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """Stack arrays as the rows of one array."""
    return np.array(arrays) if len(arrays) > 1 else arrays[0][None]
