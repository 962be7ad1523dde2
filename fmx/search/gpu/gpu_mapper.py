"""GpuMapper: spans of reads -> records on a GPU; bytes are sent, records and a few sums come back.

Each thread of the host has its own stream (machines/gpu_session.py), so one chunk is read while others are
copied in, searched and formatted, and copied out:

    bytes -> pinned buffer -> device: reads, patterns -> intervals -> hits -> records -> pinned array

BGZF blocks are sent compressed and inflated on the GPU; BAM is deflated there. Device code calls the same
functions as the CPU. Chunks with long reads, with reads that have very many hits, and with damaged records
(of which the host reports the error) are mapped on the CPU.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...index import contracts
from ...index.positions import FullSA
from ...input import reads
from ...machines.gpu import memory_beside
from ..engines import CUDA, cuda
from ..find import ReadFinder, least_bases, make_query, part_on_cpu
from ..mapper import Mapper
from ..mapping import UNOBSERVED, MapOptions, Observers
from . import (
    gpu_hits,
    gpu_search,
    gpu_sparse,  # noqa: F401  # registers the search by a sparse suffix array
)

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ...input.reads import Patterns
    from ...machines.gpu_session import GpuSession, GpuStream
    from ..hits import SARows
    from ..summary import PairSummary, Summary

N_STREAMS = 16  # at most: this many host threads keep a GPU busy
_FEW_STREAMS = 8  # if memory is short, fewer streams down to this, and then smaller chunks
_BYTES = 40  # of a stream, per byte of a chunk: bytes 2, words 4, reads 7, hits 3, records 16, deflated 8
_OF_PAIRS = 12  # more for pairs: positions of their occurrences 2, hits 6, and other columns
_USUAL = 16  # of these, what reads of 100 bases need, from BGZF and as BAM too, allocated at once


class IndexOnDevice(NamedTuple):
    """An index on a GPU: its query, and ``locating``: (suffix array, layout), which locate rows."""

    query: Any
    locating: tuple
    launch: Any

    def search(self, stream: "GpuStream", patterns: "Patterns", report: Any) -> "SARows":
        """Launch the search of Patterns (gpu_search.search)."""
        return gpu_search.search(self.query, self.locating, self.launch, stream, patterns, report)


def bring_index(query: Any, sa: Any, engine: str) -> IndexOnDevice:
    """Copy a query and its suffix array to the GPU of this thread.

    ``engine``: one of engines.CUDA, or another name for the best one. Raises DeviceError, UnsupportedError.
    """
    if engine not in CUDA:  # single threads for entries up to 96 bytes, then groups (docs/layouts.md)
        n_units = contracts.units(query.layout) if contracts.start.knows(query) else 0
        engine = "cuda_full" if n_units > 6 else "cuda_task-improved" if n_units else "cuda_task-naive16"
    launch = cuda.prepare(engine, query)
    on_gpu = gpu_search.upload(query)
    if contracts.own_launch.knows(query):
        return IndexOnDevice(on_gpu, (None, None), launch)
    positions = getattr(on_gpu, "sa", None)
    sa = gpu_search.upload(sa) if positions is None else FullSA(positions)
    return IndexOnDevice(on_gpu, (sa, getattr(on_gpu, "layout", sa)), launch)


class GpuMapper(Mapper):
    """A Mapper of exact occurrences that does all steps on the GPU of ``session``, from bytes to records.

    Each thread uses one of the ``streams``. ``engine``: one of engines.CUDA, or any name for the best one.
    The ``writer`` must be able to work ``on_gpu``. Raises DeviceError, UnsupportedError.
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
        in_pairs, sizes = options.pairing is not None, options.sizes.gpu
        query, sa = make_query(index.parts[0]), index.parts[0].sa
        per_byte, resident = _BYTES + _OF_PAIRS * in_pairs, gpu_search.n_bytes((query, sa))
        room = memory_beside(session.memory, resident, per_byte * sizes.least_chunk)
        n, size = min(options.n_threads, N_STREAMS), sizes.chunk
        while size > sizes.least_chunk and n * per_byte * size > room:
            n, size = (n - 1, size) if n > _FEW_STREAMS else (n, size // 2)
        self.streams = session.streams(
            n, resident, n_bytes=per_byte * size, timed=observers.clock is not None, at_once=_USUAL * size
        )
        size >>= in_pairs  # of each file
        options = replace(options, chunk_size=size, n_threads=self.streams.n)  # one per thread
        finder = ReadFinder([part_on_cpu(index, 0)], options, observers, least_bases(index))
        super().__init__(finder, observers, index.reference)
        self.session = session
        self.device = session.run(bring_index, query, sa, engine)
        if self.pairs:
            from .gpu_pairs import PairSteps

            self._steps: Any = session.run(PairSteps, options, self.device, self.pairs)
        else:
            self._steps = session.run(gpu_hits.ReadSteps, options, self.device, self.tally)
        self._makers: dict = {}  # what formats the records of each writer on this GPU

    def map(self, span: Any, writer: Any, emit: Callable[..., Any]) -> "Summary | PairSummary":
        """Map the reads of a span, emit the output that ``writer`` makes, and return their summary."""
        return self.streams.run(self._map, span, writer, emit)

    def _map(
        self, stream: "GpuStream", span: Any, writer: Any, emit: Callable[..., Any]
    ) -> "Summary | PairSummary":
        with self.timed("read"):
            chunks = self._steps.read(stream, span)
        if self._steps.is_fit(chunks):
            with self.timed("GPU"):
                if writer not in self._makers:
                    self._makers[writer] = writer.made_on_gpu()
                maker = self._makers[writer]
                done = self._steps.map(stream, chunks, maker, writer.is_sam, bool(writer.reads_files))
            if done is not None:
                summary, records, are_hits = done
                if self.pairs:
                    span.check_ends()
                with self.timed("encode"):
                    piece = maker.encoded(records)
                emit(piece)
                if are_hits is not None:
                    records = self._steps.records(span, chunks, False)
                    both = (mates[:2] for mates in records) if self.pairs else [(reads.parse(records),)]
                    for batches in both:
                        n = batches[0].length.size
                        self.split(batches, are_hits[:n], writer, emit)
                        are_hits = are_hits[n:]
                return summary
        return self.map_records(self._steps.records(span, chunks, writer.is_sam), writer, emit)
