"""GpuMapper: spans of reads -> records on a GPU; bytes are sent, records and a few sums come back.

Each thread of the host has its own stream (machines/gpu.py), so one chunk is read while others are
copied in, searched and formatted, and copied out:

    bytes -> pinned buffer -> device: reads, patterns -> intervals -> hits -> records -> pinned array

    parse    bytes -> ReadBatch, Patterns (input/reads_gpu.py)
    search   Patterns -> intervals (engines.py, gpu_sparse.py)
    count    number of hits of each read and of the keys that the selection needs, then their prefix sums
    choose   which occurrences are reported, and where they are
    write    records (output/hits_gpu.py)

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
from ...compiler.functions import inlined
from ...compiler.sorting import InPlace, sort
from ...compiler.warp import atomic_add, grid_size, kernel, thread_index
from ...index import contracts
from ...index.positions import FullSA
from ...index.reference import place_of, position_of_text_key
from ...input import reads
from ...input.reads_gpu import FREE as REPORT_FREE
from ...input.reads_gpu import PROBLEM, GpuSpanBuffer, Reading, parse
from ...limits import ALL, GPU_ENGINES
from ...machines import gpu
from ...machines.gpu import memory_beside
from ...machines.gpu_jobs import KernelReport, add_up
from ..counts import COLUMNS, share_of
from ..find import ReadFinder, make_query, part_on_cpu, shortest_read
from ..hits import Hits, all_keys, choose_of_read, eligible_of, n_occurrences
from ..mapper import Mapper
from ..mapping import NO_HOOKS, Hooks, MapOptions
from ..summary import N_CLASSES, Summary, class_of
from . import (
    engines,
    gpu_sparse,  # noqa: F401  # registers the search by a sparse suffix array
)

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ...input.chunks import Chunk
    from ...input.reads import Patterns, ReadBatch
    from ...machines.gpu import GpuSession, GpuStream
    from ..hits import SARows

_N_STREAMS = 16  # at most: this many host threads keep a GPU busy
_FEW_STREAMS = 8  # if memory is short, fewer streams down to this, and then smaller chunks
_PER_BYTE = 40  # of a stream, per byte of a chunk: bytes 2, words 4, reads 7, hits 3, records 16, deflated 8
_MORE_FOR_PAIRS = 12  # more for pairs: positions of their occurrences 2, hits 6, and other columns
_USUAL = 16  # of these, what reads of 100 bases need, from BGZF and as BAM too, allocated at once
N_THREADS, COUNTERS = 128, 1 << 13  # COUNTERS: most threads that add up reads before atomic additions
_SEEN = 2 * N_CLASSES + 2
_SHORT_RECORD = 24  # least mean bytes per record of a chunk that suits one thread per read
SUMS, N_SUMS = REPORT_FREE, 7  # slots of the report: the sums of a summary
LOCATED, HITS, ALONE, KEYS = range(SUMS + N_SUMS, SUMS + N_SUMS + 4)  # items that need room
_RECORDS = KEYS + 1  # bytes of records, at first with the room between them


class SelectionRules(NamedTuple):
    """A SelectionPolicy (search/hits.py) for kernels.

    ``lists_all``: whether the keys of all occurrences are needed. ``lengths``: whether lengths are counted.
    """

    limit: int
    at_most: int
    seed: int
    lists_all: bool
    lengths: bool


class SelectedHits(NamedTuple):
    """Hits, whose positions ``choose`` fills in; ``keys``: scratch of read r from ``key_start[r]`` on."""

    hits: Hits
    key_start: np.ndarray
    keys: np.ndarray


@inlined
def add_sums(report, slot, sums):
    """Add ``sums``, a tuple of int64, to ``report`` from ``slot`` on."""
    for j in range(len(sums)):
        atomic_add(report, slot + j, sums[j])


@kernel
def count_kernel(batch, occurrences, rules, chosen, seen, report):
    """Fill in ``total`` and the number of hits and keys of each read; add to the Summary in ``report``.

    With ``rules.lengths``, also count lengths of reads and numbers of occurrences by class in ``seen``
    int64[_SEEN], followed by the occurrences on + and on -. Consecutive reads of one class take one atomic
    addition. Each thread takes reads at equal distances.
    """
    bases = mapped = unique = suppressed = n_hits = unsearchable = n_reads = last = n_alike = np.int64(0)
    last_times = n_times = forward = np.int64(0)
    hits = chosen.hits
    for r in range(thread_index(), hits.total.size, grid_size()):
        total = n_occurrences(occurrences, r)
        eligible = eligible_of(total, rules.at_most)
        n = min(eligible, rules.limit)
        hits.total[r], hits.first[r] = total, n
        is_first = n == 1 and rules.seed < 0 and not rules.lists_all
        chosen.key_start[r] = 0 if n == 0 else 1 if is_first else total
        n_reads += 1
        bases += batch.length[r]
        mapped += eligible > 0
        unique += eligible == 1
        suppressed += total != eligible
        n_hits += eligible
        unsearchable += not batch.searchable[r]
        if rules.lengths:
            here = class_of(batch.length[r])
            if here != last:
                atomic_add(seen, last, n_alike)
                last, n_alike = here, np.int64(0)
            n_alike += 1
            if eligible > 0:
                forward += np.int64(occurrences.hi[2 * r]) - np.int64(occurrences.lo[2 * r])
                here = class_of(eligible)
                if here != last_times:
                    atomic_add(seen, N_CLASSES + last_times, n_times)
                    last_times, n_times = here, np.int64(0)
                n_times += 1
    if n_alike:
        atomic_add(seen, last, n_alike)
    if n_times:
        atomic_add(seen, N_CLASSES + last_times, n_times)
        atomic_add(seen, 2 * N_CLASSES, forward)
        atomic_add(seen, 2 * N_CLASSES + 1, n_hits - forward)
    add_sums(report, SUMS, (n_reads, bases, mapped, unique, suppressed, n_hits, unsearchable))


@kernel
def choose_kernel(batch, occurrences, rules, chosen):
    """Select the hits of each read, one thread per read."""
    r, first = thread_index(), chosen.hits.first
    if r < chosen.hits.total.size and first[r] < first[r + 1]:
        room = InPlace(chosen.keys[chosen.key_start[r] :])
        choose_of_read(occurrences, batch, 0, chosen.hits, r, (rules.seed, True), room)


@kernel
def tally_kernel(occurrences, blocks, chosen, table):
    """Add to ``table`` int64[COLUMNS * n_owners] (search/counts.py), one thread per read.

    Reads are counted by the owners of all their occurrences; the keys are overwritten.
    """
    r = thread_index()
    if r < chosen.hits.total.size:
        n, keys = chosen.key_start[r + 1] - chosen.key_start[r], chosen.keys[chosen.key_start[r] :]
        if n > 0:
            all_keys(occurrences, r, keys)
            for j in range(n):
                keys[j] = place_of(blocks, position_of_text_key(keys[j])).contig
            sort(keys, n)
            begin = np.int64(0)
            for j in range(n):
                if j + 1 == n or keys[j + 1] != keys[j]:
                    met = j + 1 - begin
                    once, only, share = np.int64(n == 1), np.int64(met == n), np.int64(share_of(met, n))
                    add_sums(table, COLUMNS * keys[j], (np.int64(1), np.int64(met), once, share, only))
                    begin = np.int64(j + 1)


class ReadSteps:
    """What a GpuMapper does with a chunk of single reads: parse, search, choose, write.

    ``search``: of _bring_index. Made by ``session.run``, as it copies arrays to the GPU.
    """

    n_parts = 1  # files of a chunk

    def __init__(self, mapper: Mapper, search: Any) -> None:
        options, tally, self._search = mapper.options, mapper.hooks.tally, search
        policy, self._options, self.sizes = options.policy, options, options.sizes.gpu
        self._rules = SelectionRules(
            policy.limit, policy.at_most, policy.seed, tally is not None, options.counts_lengths
        )
        self._inflater, self._tally, self._n_sums = Inflater(), tally, 0
        if tally:
            self._n_sums = COLUMNS * len(tally.owners.names)
            self._owner_blocks = gpu.to_device(tally.owners.blocks)

    def read(self, stream: "GpuStream", span: Any) -> Any:
        """Return the Chunk of a span."""
        return span.read(partial(GpuSpanBuffer, stream, self._inflater, self.sizes.ends))

    def records(self, span: Any, chunk: "Chunk", is_sam: bool) -> Any:
        """Return what a Mapper on the CPU maps."""
        return chunk.whole()

    def measure(self, chunk: Any) -> tuple[int, int, bool]:
        """Return (number of reads or pairs, bytes, whether FASTQ) of chunks; 0 reads if they do not suit."""
        return chunk.n_bound, chunk.data.size, chunk.is_fastq

    def is_fit(self, chunks: Any) -> bool:
        """Return whether one thread per read or pair suits chunks."""
        n, size, _ = self.measure(chunks)
        most = max(size, self._options.chunk_size) // _SHORT_RECORD
        return 0 < self.n_parts * n <= most and size <= n * self.sizes.long

    def map(
        self, stream: "GpuStream", chunks: Any, maker: Any, is_sam: bool, with_hits: bool, room: int = 0
    ) -> "tuple[Summary, np.ndarray, np.ndarray | None] | None":
        """Return (summary, records, which reads or pairs have hits, if ``with_hits``) of chunks.

        None: a problem, or no room; the CPU maps them. ``room``: for located occurrences of pairs, 0 for what
        usually suffices; single reads are located only when they are chosen.
        """
        (n, n_bytes, is_fastq), rules = self.measure(chunks), self._rules
        size = max(n_bytes, self._options.chunk_size)
        most, most_bytes = int(self.sizes.hits * size), self.sizes.room * size
        room = room or (ALL if self.n_parts == 1 else max(2 * self.sizes.hits_of_mate * n, 1))
        report = KernelReport(stream)

        def retry() -> Any:
            if report[PROBLEM] or not room < report[LOCATED] <= most:
                return None
            return self.map(stream, chunks, maker, is_sam, with_hits, report[LOCATED])

        batch, patterns = self.parse_on_device(stream, chunks, is_sam, report)
        stream.begin("search")
        occurrences = self._search(stream, patterns, report.device_array)
        chosen = self.count(stream, batch, occurrences, n, room, report)
        begins = maker.measure(stream, batch, chosen, report, _RECORDS)
        n_items: tuple[int, ...] = (n, *([self.n_parts * n] * 2))  # as ``with_room`` takes them
        n_records = maker.room_of(n_bytes, is_fastq, n)
        is_one = rules.limit <= 1 and rules.seed < 0 and not rules.lists_all  # hit, and key, at most per read
        if not is_one or n_records > most_bytes:  # wait for the sums: the size of the buffers
            report.read()
            n_items, n_records = tuple(report[slot] for slot in (HITS, ALONE, KEYS)), report[_RECORDS]
            is_too_much = max(n_items) > most or n_records > most_bytes
            if report[PROBLEM] or report[LOCATED] > room or is_too_much:
                return retry()
        chosen = self.with_room(stream, chosen, *n_items)
        self.choose(stream, batch, occurrences, chosen)
        out = maker.write(stream, batch, chosen, begins, n_records, report, _RECORDS)
        report.read()
        if report[PROBLEM] or report[LOCATED] > room:
            return retry()
        summary, are_hits = self.summary_of(stream, n, report), None
        records = maker.fetch(stream, out, report, _RECORDS)
        if with_hits:
            total = chosen.hits.total
            totals = stream.pinned_array("totals", total.size, np.int64)[: total.size]
            stream.receive([total], [totals])
        stream.wait()
        if with_hits:
            are_hits = ((totals > 0) & (totals <= rules.at_most)).reshape(-1, n).any(axis=0)
        if self._tally:
            table = stream.pinned_array("table", self._n_sums, np.int64)[: self._n_sums]
            with self._tally.counting() as counts:
                counts.table[:] += table.reshape(-1, COLUMNS)
        return summary, records, are_hits

    def parse_on_device(
        self, stream: "GpuStream", chunk: Any, is_sam: bool, report: KernelReport
    ) -> "tuple[ReadBatch, Patterns]":
        """Launch the parsing of chunks."""
        return parse(stream, chunk, Reading(self._options.trim, self._options.strands, is_sam), report)

    def count(
        self, stream: "GpuStream", batch: "ReadBatch", occurrences: "SARows", n_reads: int, room: int,
        report: KernelReport,
    ) -> Any:  # fmt: skip
        """Launch the counting of hits of n reads; return SelectedHits without room for them.

        With ``rules.lengths``, the counts of lengths arrive with the KernelReport (``summary_of``).
        """
        buffer, rules = stream.device_array, self._rules
        total = buffer("total", n_reads, np.int64)[:n_reads]
        first = buffer("first hit", n_reads + 1, np.int64)
        none = buffer("positions", 0, np.int64), buffer("reverse", 0, np.bool_)
        keys = buffer("first key", n_reads + 1, np.int64), buffer("keys", 0, np.int64)
        chosen = SelectedHits(Hits(first, *none, total), *keys)
        seen = buffer("seen", _SEEN if rules.lengths else 1, np.int64)
        stream.begin("count")
        if rules.lengths:
            gpu.fill_zero(seen, stream.handle)
        stream.launch(
            count_kernel, min(n_reads, COUNTERS), N_THREADS,
            batch, occurrences, rules, chosen, seen, report.device_array,
        )  # fmt: skip
        if rules.lengths:
            stream.receive([seen], [stream.pinned_array("seen", _SEEN, np.int64)[:_SEEN]])
        add_up(stream, first, n_reads, report, HITS)
        add_up(stream, chosen.key_start, n_reads, report, KEYS)
        return chosen

    def with_room(self, stream: "GpuStream", chosen: Any, n_hits: int, n_alone: int, n_keys: int) -> Any:
        """Return SelectedHits with room for so many hits (of pairs ``n_alone`` of mates in none) and keys."""
        hits = chosen.hits._replace(
            position=stream.device_array("positions", n_hits, np.int64),
            reverse=stream.device_array("reverse", n_hits, np.bool_),
        )
        return chosen._replace(hits=hits, keys=stream.device_array("keys", n_keys, np.int64))

    def choose(self, stream: "GpuStream", batch: "ReadBatch", occurrences: "SARows", chosen: Any) -> None:
        """Launch the selection of hits, after the tally's counting, which overwrites the keys."""
        n = chosen.hits.total.size
        if self._tally:
            table = stream.device_array("table", self._n_sums, np.int64)
            stream.begin("tally")
            gpu.fill_zero(table, stream.handle)
            stream.launch(tally_kernel, n, N_THREADS, occurrences, self._owner_blocks, chosen, table)
            stream.receive([table], [stream.pinned_array("table", self._n_sums, np.int64)[: self._n_sums]])
        stream.begin("choose")
        stream.launch(choose_kernel, n, N_THREADS, batch, occurrences, self._rules, chosen)

    def summary_of(self, stream: "GpuStream", n: int, report: KernelReport) -> Summary:
        """Return the summary of n reads or pairs in a KernelReport."""
        summary = Summary.of_sums(False, [*(report[SUMS + j] for j in range(N_SUMS)), 0])
        if self._rules.lengths:
            seen = stream.pinned_array("seen", _SEEN, np.int64)[:_SEEN].copy()
            columns = np.split(seen, (N_CLASSES, 2 * N_CLASSES))
            summary.lengths, summary.multiplicity, summary.strands = columns
        return summary


def _bring_index(query: Any, sa: Any, engine: str) -> Callable[..., Any]:
    """Copy a query and its suffix array to the GPU of this thread.

    Return the function that launches a search of (stream, patterns, report). ``engine``: one of
    GPU_ENGINES, or another name for the best one. Raises DeviceError, UnsupportedError.
    """
    if engine not in GPU_ENGINES:  # single threads for entries up to 96 bytes, then groups (docs/layouts.md)
        n_units = contracts.units(query.layout) if contracts.start.knows(query) else 0
        engine = "cuda_full" if n_units > 6 else "cuda_task-improved" if n_units else "cuda_task-naive16"
    launch = engines.launch_of(engine, query)
    on_gpu = engines.upload(query)
    if contracts.own_launch.knows(query):
        return partial(launch.occurrences_of, on_gpu, ())
    positions = getattr(on_gpu, "sa", None)
    sa = engines.upload(sa) if positions is None else FullSA(positions)
    return partial(launch.occurrences_of, on_gpu, (sa, getattr(on_gpu, "layout", sa)))


class GpuMapper(Mapper):
    """A Mapper of exact occurrences that does all steps on the GPU of ``session``, from bytes to records.

    Each thread uses one of the ``streams``. ``engine``: one of GPU_ENGINES, or any name for the best one.
    ``steps``: ReadSteps, or PairSteps (gpu_pairs.py). The ``writer`` must be able to work ``on_gpu``. Raises
    DeviceError, UnsupportedError.
    """

    session: "GpuSession"

    def __init__(
        self,
        index: "FMIndex | JoinedIndex",
        options: MapOptions,
        session: "GpuSession",
        engine: str,
        hooks: Hooks = NO_HOOKS,
        steps: type[ReadSteps] = ReadSteps,
    ) -> None:
        in_pairs, sizes = options.pairing is not None, options.sizes.gpu
        query, sa = make_query(index.parts[0]), index.parts[0].sa
        per_byte, resident = _PER_BYTE + _MORE_FOR_PAIRS * in_pairs, engines.n_bytes((query, sa))
        room = memory_beside(session.memory, resident, per_byte * sizes.least_chunk)
        n, size = min(options.n_threads, _N_STREAMS), sizes.chunk
        while size > sizes.least_chunk and n * per_byte * size > room:
            n, size = (n - 1, size) if n > _FEW_STREAMS else (n, size // 2)
        self.streams = session.streams(
            n, resident, n_bytes=per_byte * size, timed=hooks.clock is not None, at_once=_USUAL * size
        )
        size >>= in_pairs  # of each file
        options = replace(options, chunk_size=size, n_threads=self.streams.n)  # one per thread
        finder = ReadFinder([part_on_cpu(index, 0)], options, hooks, shortest_read(index))
        super().__init__(finder, index.reference)
        self.session = session
        search = session.run(_bring_index, query, sa, engine)
        self._steps = session.run(steps, self, search)
        self._makers: dict = {}  # what formats the records of each writer on this GPU

    def map(self, span: Any, writer: Any, emit: Callable[..., Any]) -> "Summary":
        """Map the reads of a span, emit the output that ``writer`` makes, and return their summary."""
        return self.streams.run(self._map, span, writer, emit)

    def _map(self, stream: "GpuStream", span: Any, writer: Any, emit: Callable[..., Any]) -> "Summary":
        with self.timed("read"):
            chunks = self._steps.read(stream, span)
        if self._steps.is_fit(chunks):
            with self.timed("GPU"):
                if writer not in self._makers:
                    self._makers[writer] = writer.gpu_writer()
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
