"""Spans of reads -> records on a GPU: bytes are sent, records and a few sums come back.

Each thread of the host has its own stream (machines/gpu_session.py), so one chunk is read while others are
copied in, searched and formatted, and copied out:

    bytes -> pinned buffer -> device: reads, patterns -> intervals -> hits -> records -> pinned array

BGZF blocks are sent compressed and inflated on the GPU; BAM is deflated there. Device code calls the same
functions as the CPU. For everything that a GPU cannot do, or does slowly, the host runs the stages of Mapper,
and the GPU searches: long reads, reads with very many hits, damaged records (the host reports the error), an
index in parts, reads with weights, and other outputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codecs.inflate_gpu import Inflater
from ...input import reads
from ...input.reads_gpu import PROBLEM, GpuSpanBuffer, Reading, parse
from ...machines.gpu import memory_beside
from ...machines.gpu_jobs import KernelReport
from ..mapper import Mapper, goes_all_the_way
from ..mapping import UNOBSERVED, MapOptions, Observers, least_bases
from ..near.near_mapper import NearMapper
from . import gpu_hits, gpu_near, gpu_search
from .gpu_near import NearStages
from .gpu_parts import ROOMS, bring_parts

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ...input.chunks import Chunk
    from ...input.spans import Span
    from ...machines.gpu_session import GpuSession, GpuStream, GpuStreams
    from .. import FormatsHits, WritesHits
    from ..summary import Summary

BATCH_SIZE = 1 << 24  # bytes of a chunk that the host parses: fewer and larger pieces of work than on the CPU
N_STREAMS = 16  # at most: this many host threads keep a GPU busy
_FEW_STREAMS = 8  # if memory is short, fewer streams down to this, and then smaller chunks
_SHORT = 24  # least mean bytes per record of a chunk that suits one thread per read
_BYTES = 40  # of a stream, per byte of a chunk: bytes 2, words 4, reads 7, hits 3, records 16, deflated 8
_OF_PAIRS = 12  # more for pairs: positions of their occurrences 2, hits 6, lists of near matches 4
_USUAL = 16  # of these, what reads of 100 bases need, from BGZF and as BAM too, allocated at once
_RECORDS = gpu_hits.FREE  # slot of the report: bytes of records, at first with the room between them


def make_mapper(
    index: "FMIndex | JoinedIndex", options: MapOptions, team: "Sequence[GpuSession]", engine: str | None,
    writer: "WritesHits | None" = None, observers: Observers = UNOBSERVED,
) -> "GpuMapper | NearMapper":  # fmt: skip
    """Return a mapper of an index on a ``team`` of GPUs: the GpuSession of each part.

    ``engine``: one of engines.CUDA, or None for the best one. ``writer``: the writer of the records, if all
    have one format. Raises DeviceError, UnsupportedError.
    """
    if not options.near:
        return GpuMapper(index, options, team, engine, writer, observers)
    if goes_all_the_way(index, options, writer, observers.tally):
        return GpuNearMapper(index, options, team, engine, writer, observers)
    streams_for = partial(_streams_for_batches, options, observers.clock is not None)
    there = bring_parts(index, team, engine, streams_for, near=options.sizes.gpu)
    return NearMapper(there.parts, _for_batches(options), observers, tuple(there.streams))


def _for_batches(options: MapOptions) -> MapOptions:
    return replace(options, chunk_size=max(options.chunk_size, BATCH_SIZE))


def _streams_for_batches(
    options: MapOptions, timed: bool, session: "GpuSession", resident: int
) -> "GpuStreams":
    return session.streams(options.n_threads, resident, ROOMS, timed=timed)


class GpuMapper(Mapper):
    """A Mapper on GPUs, which search what the host has parsed.

    One GPU that holds the whole index does all stages, from bytes to records, if the ``writer`` and the
    ReadCounter can work ``on_gpu``; those of pairs by a GpuPairMapper, on the streams of this mapper.
    Chunks that do not suit a GPU are left to the host.
    """

    def __init__(
        self,
        index: "FMIndex | JoinedIndex",
        options: MapOptions,
        team: "Sequence[GpuSession]",
        engine: str | None = None,
        writer: "WritesHits | None" = None,
        observers: Observers = UNOBSERVED,
    ) -> None:
        tally, clock = observers
        in_pairs = options.pairing is not None
        self._goes_all_the_way = goes_all_the_way(index, options, writer, tally)
        if not self._goes_all_the_way:
            streams_for_batches = partial(_streams_for_batches, options, clock is not None)
            there = bring_parts(index, team, engine, streams_for_batches)
            super().__init__(there.parts, _for_batches(options), observers, tuple(there.streams))
            self.streams = there.streams
            return
        self._per_byte, self._sizes = _BYTES + _OF_PAIRS * in_pairs, options.sizes.gpu

        def streams_for(session: "GpuSession", resident: int) -> "GpuStreams":
            nonlocal options
            n, size = min(options.n_threads, N_STREAMS), self._sizes.chunk
            room = memory_beside(session.memory, resident, least)
            while size > self._sizes.least_chunk and n * self._n_bytes(size) > room:
                n, size = (n - 1, size) if n > _FEW_STREAMS else (n, size // 2)
            streams = session.streams(
                n, resident, n_bytes=self._n_bytes(size), timed=clock is not None, at_once=_USUAL * size
            )
            size >>= in_pairs  # of each file
            options = replace(options, chunk_size=size, n_threads=streams.n)  # one per thread
            return streams

        least = self._n_bytes(self._sizes.least_chunk)
        near = self._sizes if options.near else None
        there = bring_parts(index, team, engine, streams_for, least, near)
        super().__init__(there.parts, options, observers, tuple(there.streams), least_bases(index))
        self.streams = there.streams
        ((session, self._streams),) = there.streams.items()
        self._device: Any = there.parts[0].device
        self._inflater = session.run(Inflater)
        self._gpu_tally = session.run(gpu_hits.GpuTally, tally) if tally else None
        self._makers: dict = {}

    def _n_bytes(self, size: int) -> int:
        """Return the bytes of a stream for chunks of ``size`` bytes."""
        return self._per_byte * size

    @property
    def _rules(self) -> gpu_hits.SelectionRules:
        policy, counts = self.options.policy, (self.tally is not None, self.options.counts_lengths)
        return gpu_hits.SelectionRules(policy.limit, policy.at_most, policy.seed, *counts)

    def map(self, span: "Chunk | Span", writer: "FormatsHits", emit: Callable[..., Any]) -> "Summary":
        """Map the reads of a span, emit the output that ``writer`` makes, and return their Summary."""
        if not self._goes_all_the_way:
            return super().map(span, writer, emit)
        return self._streams.run(self._map, span, writer, emit)

    def _map(
        self, stream: "GpuStream", span: "Chunk | Span", writer: "FormatsHits", emit: Callable[..., Any]
    ) -> "Summary":
        with self.timed("read"):
            chunk = span.read(partial(GpuSpanBuffer, stream, self._inflater, self._sizes.ends))
        if self._is_fit(chunk):
            with self.timed("GPU"):
                done = self._on_gpu(stream, chunk, writer)
            if done is not None:
                summary, records, total = done
                with self.timed("encode"):
                    piece = self._maker_of(writer).encoded(records)
                emit(piece)
                if total is not None:
                    self._split(reads.parse(chunk.whole()), total, writer, emit)
                return summary
        return self.map_chunk(chunk.whole(), writer, emit)

    def _is_fit(self, chunk: "Chunk") -> bool:
        n, size = chunk.n_bound, chunk.data.size
        return 0 < n <= max(size, self.options.chunk_size) // _SHORT and size <= n * self._sizes.long

    def _on_gpu(
        self, stream: "GpuStream", chunk: "Chunk", writer: "FormatsHits"
    ) -> "tuple[Summary, np.ndarray, np.ndarray | None] | None":
        """Return (Summary, records, each read's total if needed) of a chunk; None: a problem, or no room."""
        report, n_reads, maker = KernelReport(stream), chunk.n_bound, self._maker_of(writer)
        reading = Reading(self.options.trim, self.options.strands, writer.is_sam)
        batch, patterns = parse(stream, chunk, reading, report)
        stream.begin("search")
        size = max(chunk.data.size, self.options.chunk_size)
        found = self._find(stream, batch, patterns, n_reads, size, report)
        if found is None:
            return None
        counted, occurrences = found
        chosen = gpu_hits.count(stream, counted, occurrences, self._rules, n_reads, report)
        begins = maker.measure(stream, batch, chosen.hits, report, _RECORDS)
        n_hits = n_keys = n_reads
        most = self._sizes.room * size
        n_bytes = maker.room_of(chunk) if self._rules.at_most_one else most + 1
        if n_bytes > most:  # more than may be needed: look how much is
            report.read()
            n_hits, n_keys, n_bytes = (report[slot] for slot in (gpu_hits.HITS, gpu_hits.KEYS, _RECORDS))
            if report[PROBLEM] or n_bytes > most or max(n_hits, n_keys) > self._sizes.hits * size:
                return None
        chosen = gpu_hits.with_room(stream, chosen, n_hits, n_keys)
        if self._gpu_tally and self.tally:
            self._gpu_tally.count(stream, occurrences, chosen)
        chosen = self._choose(stream, batch, occurrences, chosen)
        loose = maker.write(stream, batch, chosen.hits, begins, n_bytes, report, _RECORDS)
        out = maker.gather(stream, batch, chosen.hits, loose)
        report.read()
        if report[PROBLEM]:
            return None
        summary = self._summary_of(stream, report)
        records = maker.fetch(stream, out, report, _RECORDS)
        total = stream.here("totals", n_reads, np.int64)[:n_reads] if writer.takers else None
        if total is not None:
            stream.receive([chosen.hits.total], [total])
        stream.wait()
        if self._gpu_tally and self.tally:
            self._gpu_tally.add(stream)
        return summary, records, total

    def _find(
        self, stream: "GpuStream", batch: Any, patterns: Any, n_reads: int, size: int, report: KernelReport
    ) -> tuple[Any, Any] | None:
        """Return (batch to count with, occurrences) of a chunk of ``size`` bytes; None: too many."""
        query, held, launch = self._device
        return batch, gpu_search.search(query, held, launch, stream, patterns, report.there)

    def _choose(
        self, stream: "GpuStream", batch: Any, occurrences: Any, chosen: Any
    ) -> gpu_hits.SelectedHits:
        """Launch the selection of hits; return them."""
        gpu_hits.choose(stream, batch, occurrences, self._rules, chosen)
        return chosen

    def _summary_of(self, stream: "GpuStream", report: KernelReport) -> "Summary":
        return gpu_hits.summary_of(stream, self._rules, report)

    def _maker_of(self, writer: Any) -> Any:
        """Return the object that formats the records of ``writer`` on this GPU."""
        if writer not in self._makers:
            self._makers[writer] = writer.made_on_gpu()
        return self._makers[writer]


class GpuNearMapper(GpuMapper, NearMapper):
    """A GpuMapper of near matches, which one GPU does from bytes to records; otherwise a NearMapper."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._stages = self.sessions[0].run(NearStages, self.parts[0], self.options)

    def _n_bytes(self, size: int) -> int:
        of_runs = 64 * self._sizes.words + 8 * self._sizes.rows
        return super()._n_bytes(size) + gpu_near.BYTES * size + of_runs

    def _find(
        self, stream: "GpuStream", batch: Any, patterns: Any, n_reads: int, size: int, report: KernelReport
    ) -> tuple[Any, Any] | None:
        found = self._stages.find(stream, batch, patterns, n_reads, int(self._sizes.hits * size), report)
        if found and self._rules.lengths:
            self._stages.count_strata(stream, found[1], self._rules.at_most)
        return found

    def _choose(
        self, stream: "GpuStream", batch: Any, occurrences: Any, chosen: Any
    ) -> gpu_hits.SelectedHits:
        return self._stages.choose(stream, batch, occurrences, self._rules, chosen)

    def _summary_of(self, stream: "GpuStream", report: KernelReport) -> "Summary":
        summary = super()._summary_of(stream, report)
        if self._rules.lengths:
            summary.mismatches = gpu_near.strata_here(stream).copy()
        return summary
