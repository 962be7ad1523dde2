"""Maps spans of reads or pairs on the CPU: parse, find, choose, write (see __init__.py)."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..input import reads
from ..input.reads import trimmed
from .summary import Summary, no_lengths

if TYPE_CHECKING:
    from ..index.reference import Reference
    from ..input.chunks import Chunk
    from ..input.mates import Mates
    from ..input.reads import ReadBatch
    from ..machines.gpu import GpuSession
    from .find import ReadFinder
    from .hits import Hits, ReadRun


class Mapper:
    """Maps spans of reads, or PairSpans if options are for pairs; several threads may call ``map`` at once.

    ``finder``: a ReadFinder, or derived from it. ``pairs``: chooses pairs; by default a PairChooser, if
    options are for pairs. A ``writer`` is a BatchWriter (output/hits.py). gpu_mapper.py overrides ``map``,
    and for what does not fit on the GPU calls ``map_records``.
    """

    session: "GpuSession | None" = None

    def __init__(self, finder: "ReadFinder", reference: "Reference | None" = None, pairs: Any = None) -> None:
        self.finder, self.options, self.hooks, self.timed = finder, finder.options, finder.hooks, finder.timed
        self.pairs = pairs
        if self.options.pairing and not pairs:
            from .pairs import PairChooser

            assert reference is not None
            self.pairs = PairChooser(finder, reference)

    def map(self, span: Any, writer: Any, emit: Callable[..., Any]) -> Summary:
        """Map the reads of a span, emit the output that ``writer`` makes, and return their summary."""
        with self.timed("read"):
            records = span.read(writer.is_sam, writer.comments) if self.pairs else span.read()
        return self.map_records(records, writer, emit)

    def map_records(
        self, records: "Chunk | Sequence[Mates]", writer: Any, emit: Callable[..., Any]
    ) -> Summary:
        """Map a Chunk, or runs of Mates, emit the output, and return their summary."""
        if self.pairs:
            summary, runs_of_mates = Summary.of_sums(True), cast("Sequence[Mates]", records)
            for mates in runs_of_mates:
                summary.add(self._map_mates(mates, writer, emit))
            return summary
        chunk = cast("Chunk", records)
        with self.timed("parse"):
            untrimmed = reads.parse(chunk)
        whole = self._search(untrimmed)
        if writer.is_sam:
            reads.check_sam(chunk, whole.batch)
        if writer.comments:
            reads.check_comments(chunk, whole.batch)
        size, owners = self.options.sizes.hits, []  # type: tuple[int, list]
        for start, hits in self.hits_of(whole, owners):  # with mismatches, this fills in whole.total
            for first in range(0, max(1, hits.position.size), size):
                with self.timed("format"):
                    piece = writer.format(whole.batch, hits, start, first, first + size)
                emit(piece)
        self.split((untrimmed,), self.options.policy.eligible(whole.total) > 0, writer, emit, owners)
        with self.timed("summarize"):
            return Summary.of((whole,), self.options, whole.total, whole.fewest)

    def _map_mates(self, mates: "Mates", writer: Any, emit: Callable[..., Any]) -> Summary:
        """Map pairs, emit the output, and return their summary."""
        from .pairs import count_inserts

        both = one, two = self._search(mates.one), self._search(mates.two)
        cut, size = mates._replace(one=one.batch, two=two.batch), self.options.sizes.hits
        total, fewest = np.zeros((2, one.total.size), np.int64)
        inserts = no_lengths() if self.options.counts_lengths else None
        owners: list = []
        for run in self.pairs.runs_of(both):
            stop = run.start + run.total.size
            total[run.start : stop], fewest[run.start : stop] = run.total, run.fewest
            owners += self.pairs.count(cut, run)
            for start, hits, first in self.pairs.hits_of(cut, run):
                with self.timed("format"):
                    piece = writer.format(cut, hits, start, first, first + size)
                emit(piece)
                if inserts is not None and first == 0:
                    count_inserts(cut.one.length[start:], cut.two.length[start:], hits.proper, inserts)
        eligible = self.options.policy.eligible
        alone = (eligible(one.total) > 0) | (eligible(two.total) > 0)
        self.split(mates[:2], np.where(total > 0, eligible(total) > 0, alone), writer, emit, owners)
        summary = Summary.of(both, self.options, total, fewest)
        summary.inserts = inserts
        return summary

    def split(
        self, batches: "tuple[ReadBatch, ...]", are_hits: np.ndarray, writer: Any, emit: Callable[..., Any],
        owners: Sequence[np.ndarray] = (),
    ) -> None:  # fmt: skip
        """Emit reads, untrimmed, for --al and --un; ``are_hits`` bool[n]: which have a reported hit.

        ``owners``: the keys of owners that the demultiplexer returned for each run.
        """
        if writer.reads_files:
            read, number = np.arange(are_hits.size), np.where(are_hits, 0, 1)  # --al, --un
            if self.hooks.demultiplexer:
                read, number = self.hooks.demultiplexer.destinations(owners, are_hits.size)
            for piece in writer.split(batches, read, number):
                emit(piece)

    def _search(self, batch: "ReadBatch") -> "ReadRun":
        return self.finder.search(trimmed(batch, self.options.trim))

    def search(self, chunk: "Chunk") -> "ReadRun":
        """Parse and search the reads of a chunk; with mismatches the totals are known after ``hits_of``."""
        with self.timed("parse"):
            batch = reads.parse(chunk)
        return self._search(batch)

    def hits_of(self, whole: "ReadRun", owners: list | None = None) -> "Iterator[tuple[int, Hits]]":
        """Yield (start, Hits) for runs of single reads, and count them; add keys of owners to ``owners``."""
        owners = [] if owners is None else owners
        policy, near = self.options.policy, self.options.near
        if whole.intervals is not None or whole.matches:  # all reads at once, as equal ones are located once
            self._count(whole, owners)
        if policy.limit == 0 and not near:
            return
        for (run,) in self.finder.runs_of((whole,)):
            with self.timed("locate"):
                hits = self.finder.choose(run, run.total, False)
            if near:
                self._count(run._replace(intervals=None), owners)
            yield run.start, hits

    def _count(self, run: "ReadRun", owners: list) -> None:
        """Count reads in the tally and the screen; add their owners."""
        eligible = self.options.policy.eligible(run.total)
        for counter in filter(None, (self.hooks.tally, self.hooks.screen)):
            with self.timed("tally"):
                counter.add(run, eligible)
        if self.hooks.demultiplexer:
            with self.timed("tally"):
                owners.append(self.hooks.demultiplexer.keys([run], [eligible]))
