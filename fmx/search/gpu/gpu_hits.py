"""Occurrences -> hits on a GPU: counted by a few threads, selected by one thread per read, as on the CPU.

count    number of hits of each read and of the keys that the selection needs, then their prefix sums
choose   which occurrences are reported, and where they are
"""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...codecs.inflate_gpu import Inflater
from ...compiler.functions import inlined
from ...compiler.sorting import InPlace, sort
from ...compiler.warp import atomic_add, grid_size, kernel, thread_index
from ...index.reference import place_of, position_of_text_key
from ...input.reads import N_CLASSES, class_of
from ...input.reads_gpu import FREE as FIRST
from ...input.reads_gpu import PROBLEM, GpuSpanBuffer, Reading, parse
from ...machines import gpu
from ...machines.gpu_jobs import KernelReport, add_up
from ..counts import COLUMNS, share_of
from ..hits import ALL, Hits, all_keys, choose_of_read, eligible_of
from ..summary import Summary

if TYPE_CHECKING:
    from ...input.chunks import Chunk
    from ...input.reads import Patterns, ReadBatch
    from ...machines.gpu_session import GpuStream
    from ..counts import Tally
    from ..hits import SARows
    from ..mapping import MapOptions
    from ..summary import PairSummary

N_THREADS, COUNTERS = 128, 1 << 13
_SEEN = 2 * N_CLASSES + 2
_SHORT = 24  # least mean bytes per record of a chunk that suits one thread per read
SUMS, N_SUMS = FIRST, 7  # slots of the report: the sums of a summary
LOCATED, HITS, ALONE, KEYS = range(SUMS + N_SUMS, SUMS + N_SUMS + 4)  # items that need room
RECORDS = KEYS + 1  # bytes of records, at first with the room between them


class SelectionRules(NamedTuple):
    """A SelectionPolicy (search/hits.py) for kernels.

    ``all_keys``: whether the keys of all occurrences are needed. ``lengths``: whether lengths are counted.
    """

    limit: int
    at_most: int
    seed: int
    all_keys: bool
    lengths: bool


class SelectedHits(NamedTuple):
    """Hits, and ``keys``: scratch of each read from ``first_key`` int64[n_reads + 1] on."""

    hits: Hits
    first_key: np.ndarray
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
    bases = mapped = unique = suppressed = n_hits = hopeless = n_reads = last = n_alike = np.int64(0)
    last_times = n_times = forward = np.int64(0)
    hits = chosen.hits
    for r in range(thread_index(), hits.total.size, grid_size()):
        lo, hi = occurrences.lo, occurrences.hi
        total = np.int64(hi[2 * r]) - np.int64(lo[2 * r]) + np.int64(hi[2 * r + 1]) - np.int64(lo[2 * r + 1])
        eligible = eligible_of(total, rules.at_most)
        n = min(eligible, rules.limit)
        hits.total[r], hits.first[r] = total, n
        is_first = n == 1 and rules.seed < 0 and not rules.all_keys
        chosen.first_key[r] = 0 if n == 0 else 1 if is_first else total
        n_reads += 1
        bases += batch.length[r]
        mapped += eligible > 0
        unique += eligible == 1
        suppressed += total != eligible
        n_hits += eligible
        hopeless += not batch.searchable[r]
        if rules.lengths:
            here = class_of(batch.length[r])
            if here != last:
                atomic_add(seen, last, n_alike)
                last, n_alike = here, np.int64(0)
            n_alike += 1
            if eligible > 0:
                forward += np.int64(hi[2 * r]) - np.int64(lo[2 * r])
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
    add_sums(report, SUMS, (n_reads, bases, mapped, unique, suppressed, n_hits, hopeless))


@kernel
def choose_kernel(batch, occurrences, rules, chosen):
    """Select the hits of each read, one thread per read."""
    r, first = thread_index(), chosen.hits.first
    if r < chosen.hits.total.size and first[r] < first[r + 1]:
        room = InPlace(chosen.keys[chosen.first_key[r] :])
        choose_of_read(occurrences, batch, 0, chosen.hits, r, (rules.seed, True), room)


@kernel
def tally_kernel(occurrences, blocks, chosen, table):
    """Add to ``table`` int64[COLUMNS * n_owners] (search/counts.py), one thread per read.

    Reads are counted by the owners of all their occurrences; the keys are overwritten.
    """
    r = thread_index()
    if r < chosen.hits.total.size:
        n, keys = chosen.first_key[r + 1] - chosen.first_key[r], chosen.keys[chosen.first_key[r] :]
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

    ``device``: an IndexOnDevice. Made by ``session.run``, as it copies arrays to the GPU.
    """

    n_parts = 1  # files of a chunk

    def __init__(self, options: "MapOptions", device: Any, tally: "Tally | None") -> None:
        policy, self._options, self.sizes, self._device = options.policy, options, options.sizes.gpu, device
        self._rules = SelectionRules(
            policy.limit, policy.at_most, policy.seed, tally is not None, options.counts_lengths
        )
        self._inflater, self._tally, self._n_sums = Inflater(), tally, 0
        if tally:
            self._n_sums = COLUMNS * len(tally.owners.names)
            self._owner_blocks = gpu.take(tally.owners.blocks)

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
        most = max(size, self._options.chunk_size) // _SHORT
        return 0 < self.n_parts * n <= most and size <= n * self.sizes.long

    def map(
        self, stream: "GpuStream", chunks: Any, maker: Any, is_sam: bool, with_hits: bool
    ) -> "tuple[Summary | PairSummary, np.ndarray, np.ndarray | None] | None":
        """Return (summary, records, which reads or pairs have hits, if ``with_hits``) of chunks.

        None: a problem, or no room; the CPU maps them.
        """
        n, size, _ = self.measure(chunks)
        most = int(self.sizes.hits * max(size, self._options.chunk_size))
        # Single reads are located only when they are chosen.
        room = ALL if self.n_parts == 1 else max(2 * self.sizes.hits_of_mate * n, 1)
        while True:
            report = KernelReport(stream)
            done = self._map(stream, chunks, maker, is_sam, with_hits, (room, most), report)
            if done or report[PROBLEM] or not room < report[LOCATED] <= most:
                return done
            room = report[LOCATED]

    def _map(
        self, stream: "GpuStream", chunks: Any, maker: Any, is_sam: bool, with_hits: bool,
        limits: tuple[int, int], report: KernelReport,
    ) -> "tuple[Summary | PairSummary, np.ndarray, np.ndarray | None] | None":  # fmt: skip
        """Return the result of ``map``; None also if more occurrences than there is room for are located."""
        (room, most), rules = limits, self._rules
        n, n_bytes, is_fastq = self.measure(chunks)
        batch, patterns = self.parse_on_device(stream, chunks, is_sam, report)
        stream.begin("search")
        occurrences = self._device.search(stream, patterns, report.device_array)
        chosen = self.count(stream, batch, occurrences, n, room, report)
        begins = maker.measure(stream, batch, self.for_writer(chosen), report, RECORDS)
        n_hits: tuple[int, ...] = (n, *([self.n_parts * n] * 2))
        n_records = maker.room_of(n_bytes, is_fastq, n)
        most_bytes = self.sizes.room * max(n_bytes, self._options.chunk_size)
        is_one = rules.limit <= 1 and rules.seed < 0 and not rules.all_keys  # hit, and key, at most per read
        if not is_one or n_records > most_bytes:  # look how much is needed
            report.read()
            n_hits, n_records = tuple(report[slot] for slot in (HITS, ALONE, KEYS)), report[RECORDS]
            is_too_much = max(n_hits) > most or n_records > most_bytes
            if report[PROBLEM] or report[LOCATED] > room or is_too_much:
                return None
        chosen = self.with_room(stream, chosen, *n_hits)
        self.choose(stream, batch, occurrences, chosen)
        out = maker.write(stream, batch, self.for_writer(chosen), begins, n_records, report, RECORDS)
        report.read()
        if report[PROBLEM] or report[LOCATED] > room:
            return None
        summary, are_hits = self.summary_of(stream, n, report), None
        records = maker.fetch(stream, out, report, RECORDS)
        if with_hits:
            total = chosen.hits.total
            totals = stream.pinned_array("totals", total.size, np.int64)[: total.size]
            stream.receive([total], [totals])
        stream.wait()
        if with_hits:
            are_hits = ((totals > 0) & (totals <= rules.at_most)).reshape(-1, n).any(axis=0)
        if self._tally:
            table = stream.pinned_array("table", self._n_sums, np.int64)[: self._n_sums]
            self._tally.add_table(table.reshape(-1, COLUMNS))
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
        """Launch the counting of hits of n reads; return SelectedHits without a selection.

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
            stream.receive([seen], [_pinned_seen(stream)])
        add_up(stream, first, n_reads, report, HITS)
        add_up(stream, chosen.first_key, n_reads, report, KEYS)
        return chosen

    def for_writer(self, chosen: Any) -> Any:
        """Return what a writer gets: Hits, or PairTables."""
        return chosen.hits

    def with_room(self, stream: "GpuStream", chosen: Any, n_hits: int, n_alone: int, n_keys: int) -> Any:
        """Return SelectedHits with room for so many hits and keys."""
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

    def summary_of(self, stream: "GpuStream", n: int, report: KernelReport) -> "Summary | PairSummary":
        """Return the summary of n reads or pairs in a KernelReport."""
        summary = Summary(*(report[SUMS + j] for j in range(N_SUMS)))
        if self._rules.lengths:
            summary.lengths, summary.multiplicity, summary.strands = np.split(
                _pinned_seen(stream).copy(), (N_CLASSES, 2 * N_CLASSES)
            )
        return summary


def _pinned_seen(stream: "GpuStream") -> np.ndarray:
    return stream.pinned_array("seen", _SEEN, np.int64)[:_SEEN]
