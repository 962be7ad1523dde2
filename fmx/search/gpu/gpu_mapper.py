"""Spans of reads -> records on a GPU: bytes go there, records and a few sums come back.

Each thread of the host has a stream of its own (machines/gpu_session.py), so that one chunk is read while
others are copied in, searched and formatted, and copied out:

    bytes -> pinned buffer -> device: reads, patterns -> intervals -> hits -> records -> pinned array

Blocks of BGZF go there as they are and are inflated there; BAM is deflated there.
What a thread does with a read are the functions of the CPU.  What a GPU is no good at goes the CPU's way:
long reads, reads with very many hits, and damaged records, of which the CPU says what is wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codecs.inflate_gpu import Inflater
from ...input.reads_gpu import PROBLEM, GpuHeld, Reading, parse
from ...machines.gpu import memory_beside
from ...machines.gpu_jobs import KernelReport
from .. import engines
from ..mapping import make_mapper as make_cpu_mapper
from ..mapping import make_query
from . import gpu_hits, gpu_search
from .gpu_mapping import best_engine

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex
    from ...input.chunks import Chunk
    from ...input.spans import Span
    from ...machines.gpu_session import GpuSession, GpuStream
    from ...machines.watch import Clock
    from ..mapping import MapOptions
    from ..summary import Summary

CHUNK_SIZE, LEAST_CHUNK = 1 << 25, 1 << 20  # bytes, less where memory is short
N_STREAMS = 8  # at most: as many threads of the host keep a GPU busy
_SHORT, _LONG = 24, 1 << 13  # bytes of the records of a chunk on average: a thread reads one alone
_ROOM, _HITS = (
    8,
    1 / 8,
)  # bytes of records with what is between them, and hits, at most, for a byte of a chunk
_BYTES = 39  # of a stream, for a byte of a chunk: bytes 2, words 4, reads 7, hits 2, records 16, deflated 8
_RECORDS = gpu_hits.FREE  # of what is reported: bytes of records, at first with what is between them


class GpuMapper:
    """Turns spans of reads into records on a GPU, as mapper.Mapper does on the CPU.

    ``index``: in one part; ``team``: its GpuSession alone; ``engine``: one of engines.CUDA, or None for the
    best one.  Raises DeviceError, UnsupportedError.
    """

    def __init__(
        self,
        index: "FMIndex",
        options: "MapOptions",
        team: "Sequence[GpuSession]",
        engine: str | None = None,
        tally: Any = None,
        clock: "Clock | None" = None,
    ) -> None:
        (part,), (session,) = index.parts, team
        query = make_query(part)
        self._launch = engines.prepare(engine or best_engine(query), query)
        form, most = (
            gpu_search.choose([query], session.memory, _BYTES * LEAST_CHUNK),
            min(options.n_threads, N_STREAMS),
        )
        resident = gpu_search.form_bytes(query, part.sa, form)
        room, size = memory_beside(session.memory, resident, _BYTES * LEAST_CHUNK), CHUNK_SIZE
        while size > LEAST_CHUNK and most * _BYTES * size > room:
            size //= 2
        self._streams = session.streams(most, resident, n_bytes=_BYTES * size, timed=clock is not None)
        self.options, self.sessions, self.tally = replace(options, chunk_size=size), (session,), tally
        self.options = replace(self.options, n_threads=self._streams.n)  # each has one as long as it maps
        self._cpu = make_cpu_mapper(index, self.options, tally, clock)
        self.timed = self._cpu.timed
        policy = options.policy
        wanted = tally is not None, options.counts_lengths
        self._rules = gpu_hits.SelectionRules(policy.limit, policy.at_most, policy.seed, *wanted)
        self._makers: dict = {}
        self._inflater = session.run(Inflater)
        self._query, self._held = session.run(self._bring, query, form, part.sa)
        self._gpu_tally = session.run(gpu_hits.GpuTally, tally) if tally else None

    @staticmethod
    def _bring(query: Any, form: Any, sa: Any) -> Any:
        query = gpu_search.bring(query, form)
        held = gpu_search.suffix_array(query)
        sa = gpu_search.upload(sa) if held is None else held
        return query, (sa, getattr(query, "layout", sa))

    def map(self, span: "Chunk | Span", writer: Any, emit: Callable[..., Any]) -> "Summary | None":
        """Emit the records of a span's reads, as ``writer`` (given) makes them: a Summary."""
        return self._streams.run(self._map, span, writer, emit)

    def _map(
        self, stream: "GpuStream", span: "Chunk | Span", writer: Any, emit: Callable[..., Any]
    ) -> "Summary | None":
        with self.timed("read"):
            chunk = span.read(partial(GpuHeld, stream, self._inflater))
        if self._is_fit(chunk):
            with self.timed("GPU"):
                done = self._on_gpu(stream, chunk, writer)
            if done is not None:
                summary, records, total = done
                with self.timed("encode"):
                    piece = self._maker_of(writer).encoded(records)
                emit(piece)
                self._cpu.split(chunk, total, writer, emit)
                return summary
        return self._cpu.map_chunk(chunk.whole(), writer, emit)

    def _is_fit(self, chunk: "Chunk") -> bool:
        n, size = chunk.n_bound, chunk.data.size
        return 0 < n <= max(size, self.options.chunk_size) // _SHORT and size <= n * _LONG

    def _on_gpu(
        self, stream: "GpuStream", chunk: "Chunk", writer: Any
    ) -> "tuple[Summary, np.ndarray, np.ndarray | None] | None":
        """(Summary, records, each read's total if it is wanted) of a chunk; None: a problem, or no room."""
        report, n_reads, maker = KernelReport(stream), chunk.n_bound, self._maker_of(writer)
        reading = Reading(self.options.trim, self.options.strands, writer.is_sam)
        batch, patterns = parse(stream, chunk, reading, report)
        stream.begin("search")
        occurrences = gpu_search.search(self._query, self._held, self._launch, stream, patterns, report.there)
        chosen = gpu_hits.count(stream, batch, occurrences, self._rules, n_reads, report)
        begins = maker.measure(stream, batch, chosen.hits, report, _RECORDS)
        report.read()
        size = max(chunk.data.size, self.options.chunk_size)
        if report[PROBLEM] or report[_RECORDS] > _ROOM * size:
            return None
        if max(report[gpu_hits.HITS], report[gpu_hits.KEYS]) > _HITS * size:
            return None
        chosen = gpu_hits.with_room(stream, chosen, report)
        if self._gpu_tally:
            self._gpu_tally.count(stream, occurrences, chosen)
        gpu_hits.choose(stream, batch, occurrences, self._rules, chosen)
        summary = gpu_hits.summary_of(stream, self._rules, report)
        loose = maker.write(stream, batch, chosen.hits, begins, report, _RECORDS)
        report.read()
        records = maker.gather(stream, loose, n_reads, report, _RECORDS)
        total = stream.here("totals", n_reads, np.int64)[:n_reads] if writer.takers else None
        if total is not None:
            stream.receive([chosen.hits.total], [total])
        stream.wait()
        if self._gpu_tally:
            self._gpu_tally.add(stream)
        return summary, records, total

    def _maker_of(self, writer: Any) -> Any:
        """What has this GPU make a writer's records."""
        if writer not in self._makers:
            self._makers[writer] = writer.made_on_gpu()
        return self._makers[writer]
