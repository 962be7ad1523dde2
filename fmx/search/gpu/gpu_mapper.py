"""Spans of reads -> records on a GPU: bytes are sent, records and a few sums come back.

Each thread of the host has its own stream (machines/gpu_session.py), so one chunk is read while others are
copied in, searched and formatted, and copied out:

    bytes -> pinned buffer -> device: reads, patterns -> intervals -> hits -> records -> pinned array

BGZF blocks are sent compressed and inflated on the GPU; BAM is deflated there. Device code calls the same
functions as the CPU. Chunks with long reads, with reads that have very many hits, and with damaged records
(of which the host reports the error) are mapped on the CPU.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...codecs.inflate_gpu import Inflater
from ...index import contracts
from ...index.positions import FullSA
from ...input import reads
from ...input.reads_gpu import PROBLEM, GpuSpanBuffer, Reading, parse
from ...machines.gpu import memory_beside
from ...machines.gpu_jobs import KernelReport
from .. import engines
from ..mapper import Mapper, part_on_cpu
from ..mapping import UNOBSERVED, MapOptions, Observers, least_bases, make_query
from . import (
    gpu_hits,
    gpu_search,
    gpu_sparse,  # noqa: F401  # registers the search by a sparse suffix array
)

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ...input.chunks import Chunk
    from ...input.reads import Patterns
    from ...input.spans import Span
    from ...machines.gpu_session import GpuSession, GpuStream
    from .. import FormatsHits
    from ..hits import SARows
    from ..summary import Summary

N_STREAMS = 16  # at most: this many host threads keep a GPU busy
_FEW_STREAMS = 8  # if memory is short, fewer streams down to this, and then smaller chunks
_SHORT = 24  # least mean bytes per record of a chunk that suits one thread per read
_BYTES = 40  # of a stream, per byte of a chunk: bytes 2, words 4, reads 7, hits 3, records 16, deflated 8
_OF_PAIRS = 12  # more for pairs: positions of their occurrences 2, hits 6, and other columns
_USUAL = 16  # of these, what reads of 100 bases need, from BGZF and as BAM too, allocated at once
_RECORDS = gpu_hits.FREE  # slot of the report: bytes of records, at first with the room between them


class IndexOnDevice(NamedTuple):
    """An index on a GPU: its query, and ``held``: (suffix array, layout), which locate rows."""

    query: Any
    held: tuple
    launch: Any

    def search(self, stream: "GpuStream", patterns: "Patterns", report: Any) -> "SARows":
        """Launch the search of Patterns (gpu_search.search)."""
        return gpu_search.search(self.query, self.held, self.launch, stream, patterns, report)


def bring_index(query: Any, sa: Any, engine: str) -> IndexOnDevice:
    """Copy a query and its suffix array to the GPU of this thread.

    ``engine``: one of engines.CUDA, or another name for the best one. Raises DeviceError, UnsupportedError.
    """
    launch = engines.prepare(engine if engine in engines.CUDA else best_engine(query), query)
    there = gpu_search.upload(query)
    if contracts.own_launch.knows(query):
        return IndexOnDevice(there, (None, None), launch)
    own = getattr(there, "sa", None)
    sa = gpu_search.upload(sa) if own is None else FullSA(own)
    return IndexOnDevice(there, (sa, getattr(there, "layout", sa)), launch)


def best_engine(query: Any) -> str:
    """Return the fastest engine: single threads for entries up to 96 bytes, then groups (docs/engines.md)."""
    if not contracts.start.knows(query) or contracts.units(query.layout) == 0:
        return "cuda_task-naive16"
    return "cuda_task-improved" if contracts.units(query.layout) <= 6 else "cuda_full"


class GpuMapper(Mapper):
    """A Mapper of exact occurrences that does all stages on the GPU of ``session``, from bytes to records.

    ``engine``: one of engines.CUDA, or another name for the best one. The ``writer`` and the tally must be
    able to work ``on_gpu``. Pairs are mapped by a GpuPairMapper, on the ``streams`` of this mapper. Raises
    DeviceError, UnsupportedError.
    """

    session: "GpuSession"

    def __init__(
        self,
        index: "FMIndex | JoinedIndex",
        options: MapOptions,
        session: "GpuSession",
        engine: str,
        observers: Observers = UNOBSERVED,
    ) -> None:
        tally, clock, _ = observers
        in_pairs, sizes = options.pairing is not None, options.sizes.gpu
        query, sa = make_query(index.parts[0]), index.parts[0].sa
        per_byte, resident = _BYTES + _OF_PAIRS * in_pairs, gpu_search.n_bytes((query, sa))
        room = memory_beside(session.memory, resident, per_byte * sizes.least_chunk)
        n, size = min(options.n_threads, N_STREAMS), sizes.chunk
        while size > sizes.least_chunk and n * per_byte * size > room:
            n, size = (n - 1, size) if n > _FEW_STREAMS else (n, size // 2)
        self.streams = session.streams(
            n, resident, n_bytes=per_byte * size, timed=clock is not None, at_once=_USUAL * size
        )
        size >>= in_pairs  # of each file
        options = replace(options, chunk_size=size, n_threads=self.streams.n)  # one per thread
        super().__init__([part_on_cpu(index, 0)], options, observers, least_bases(index))
        self.session, self._sizes = session, sizes
        self.device = session.run(bring_index, query, sa, engine)
        self._inflater = session.run(Inflater)
        self._gpu_tally = session.run(gpu_hits.GpuTally, tally) if tally else None
        self._makers: dict = {}

    @property
    def _rules(self) -> gpu_hits.SelectionRules:
        policy, counts = self.options.policy, (self.tally is not None, self.options.counts_lengths)
        return gpu_hits.SelectionRules(policy.limit, policy.at_most, policy.seed, *counts)

    def map(self, span: "Chunk | Span", writer: "FormatsHits", emit: Callable[..., Any]) -> "Summary":
        """Map the reads of a span, emit the output that ``writer`` makes, and return their Summary."""
        return self.streams.run(self._map, span, writer, emit)

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
        occurrences = self.device.search(stream, patterns, report.there)
        chosen = gpu_hits.count(stream, batch, occurrences, self._rules, n_reads, report)
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
        gpu_hits.choose(stream, batch, occurrences, self._rules, chosen)
        loose = maker.write(stream, batch, chosen.hits, begins, n_bytes, report, _RECORDS)
        out = maker.gather(stream, batch, chosen.hits, loose)
        report.read()
        if report[PROBLEM]:
            return None
        summary = gpu_hits.summary_of(stream, self._rules, report)
        records = maker.fetch(stream, out, report, _RECORDS)
        total = stream.here("totals", n_reads, np.int64)[:n_reads] if writer.takers else None
        if total is not None:
            stream.receive([chosen.hits.total], [total])
        stream.wait()
        if self._gpu_tally and self.tally:
            self._gpu_tally.add(stream)
        return summary, records, total

    def _maker_of(self, writer: Any) -> Any:
        """Return the object that formats the records of ``writer`` on this GPU."""
        if writer not in self._makers:
            self._makers[writer] = writer.made_on_gpu()
        return self._makers[writer]
