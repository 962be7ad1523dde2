"""Pairs on a GPU: bytes of two files are sent, records come back.

    host      bytes of both files, cut between records -> pinned buffers
    device    mates 1, then mates 2, as one batch -> reads, patterns -> occurrences
    names     those of both mates are compared
    locate    of pairs of which both mates occur: the positions of all occurrences
    pair      the number of proper pairs, and of hits of mates that are in none
    choose    the reported proper pairs, or hits
    write     records

Items of unknown number are placed by prefix sums. Room is made for what pairs usually need; if that is too
little, it is counted first, or the chunk is done once more.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.sorting import InPlace
from ...compiler.warp import INT64, cuda, grid_size, kernel, thread_index
from ...index.reference import is_reverse, position_of_text_key
from ...input.mates import common_name
from ...input.reads import ReadBatch
from ...input.reads_gpu import PROBLEM, Reading, parse_on_device
from ...input.spans import SpanBuffer
from ...machines import gpu
from ...machines.gpu import PinnedBuffers
from ...machines.gpu_jobs import KernelReport, add_up
from ..hits import Hits, Located, all_keys, choose_of_read, eligible_of, n_occurrences
from ..pairs import PairCandidates, ProperPairs, choose_pair, count_proper_of
from ..summary import Summary
from .gpu_mapper import ALONE, COUNTERS, HITS, KEYS, LOCATED, N_SUMS, N_THREADS, SUMS, ReadSteps, add_sums

if TYPE_CHECKING:
    from ...input.mates import PairChunks
    from ...input.reads import Patterns
    from ...machines.gpu import GpuStream
    from ..mapper import Mapper


class PairTables(NamedTuple):
    """What is known of n pairs, as mates 1 and then mates 2.

    ``total`` int64[2n]: occurrences of each mate. ``proper``: ProperPairs. ``hits``: Hits of mates in
    no proper pair, with ``keys`` from ``key_start`` int64[2n + 1] on as scratch.
    """

    total: np.ndarray
    proper: ProperPairs
    hits: Any
    key_start: np.ndarray
    keys: np.ndarray


@kernel
def names_kernel(batches, report):
    """Give both mates of each pair their common name; ``report[PROBLEM]`` becomes 1 if there is none."""
    one, two = batches
    i = thread_index()
    if i < one.length.size:
        common = common_name(one, two, i)
        if common < 0:
            report[PROBLEM] = 1
        one.name_length[i] = two.name_length[i] = max(common, 0)


@kernel
def occur_kernel(occurrences, total, to_locate):
    """Write the occurrences of each read to ``total``, and to ``to_locate`` if its mate has any, too."""
    r, n = thread_index(), total.size >> 1
    if r < total.size:
        total[r], mate = n_occurrences(occurrences, r), r + n if r < n else r - n
        to_locate[r] = total[r] if n_occurrences(occurrences, mate) > 0 else 0


@kernel
def locate_kernel(occurrences, first, keys, located):
    """Write the positions of reads that are to be located, by strand; none if there is no room for all.

    ``first``: prefix sums of their numbers. ``keys`` int64: scratch.
    """
    r, n_reads = thread_index(), located.lo.size >> 1
    if r < n_reads:
        has_room = first[n_reads] <= located.positions.size
        begin, end = (first[r], first[r + 1]) if has_room else (np.int64(0), np.int64(0))
        forward = begin
        if begin < end:
            forward += np.int64(occurrences.hi[2 * r]) - occurrences.lo[2 * r]
            all_keys(occurrences, r, keys[begin:])
        located.lo[2 * r], located.hi[2 * r] = begin, forward
        located.lo[2 * r + 1], located.hi[2 * r + 1] = forward, end
        for j in range(begin, end):
            position = position_of_text_key(keys[j])
            if is_reverse(keys[j]):
                located.positions[forward] = position
                forward += 1
            else:
                located.positions[begin] = position
                begin += 1


@kernel
def pair_kernel(batches, located, rule, blocks, rules, tables):
    """Count the proper pairs of each pair, or else its other hits, and those to report."""
    i, n = thread_index(), tables.proper.total.size
    if i < n:
        proper, hits = tables.proper, tables.hits
        proper.total[i] = 0
        lengths = batches[0].length[i], batches[1].length[i]
        count_proper_of(lengths, located, rule, blocks, i, proper.total[i : i + 1])
        total = proper.total[i]
        proper.first[i] = proper.reported[i] = min(eligible_of(total, rules.at_most), rules.limit)
        for r in range(i, 2 * n, n):
            alone = tables.total[r] if total == 0 else np.int64(0)
            reported = min(eligible_of(alone, rules.at_most), rules.limit)
            hits.total[r], hits.first[r] = total + alone, reported
            is_first = reported == 1 and rules.seed < 0
            tables.key_start[r] = 0 if reported == 0 else 1 if is_first else alone


@kernel
def sum_kernel(batch, at_most, tables, report):
    """Add the counts of a Summary to ``report``; each thread takes pairs at equal distances."""
    bases = mapped = unique = suppressed = n_hits = apart = unsearchable = np.int64(0)
    n = tables.proper.total.size
    for i in range(thread_index(), n, grid_size()):
        total = tables.proper.total[i]
        eligible = eligible_of(total, at_most)
        mapped += eligible > 0
        unique += eligible == 1
        suppressed += eligible != total
        n_hits += eligible
        for r in range(i, 2 * n, n):
            bases += batch.length[r]
            unsearchable += not batch.searchable[r]
            apart += total == 0 and eligible_of(tables.total[r], at_most) > 0
    add_sums(report, SUMS, (bases, mapped, unique, suppressed, n_hits, unsearchable, apart))


@kernel
def choose_kernel(batch, batches, located, rule, seed, occurrences, tables):
    """Select the proper pairs of each pair, or else the hits of both mates."""
    i, n = thread_index(), tables.proper.total.size
    if i < n:
        proper, hits = tables.proper, tables.hits
        if proper.first[i] < proper.first[i + 1]:
            heads = cuda.local.array((2, 2, 1), INT64)
            pairs = PairCandidates(located, (batches[0].length, batches[1].length), rule, 1, proper.total)
            choose_pair(pairs, batches[0], 0, proper, i, seed, heads)
            for hit in range(proper.first[i], proper.first[i + 1]):
                proper.changes1[hit] = proper.changes2[hit] = 0
        else:
            for r in range(i, 2 * n, n):
                if hits.first[r] < hits.first[r + 1]:
                    room = InPlace(tables.keys[tables.key_start[r] :])
                    choose_of_read(occurrences, batch, 0, hits, r, (seed, True), room)


def _mates_of(batch: ReadBatch, n: int) -> tuple[ReadBatch, ReadBatch]:
    """Return mates 1 and mates 2 of n pairs."""
    one, two = (ReadBatch(batch.data, *(x[a : a + n] for x in batch[1:])) for a in (0, n))
    return one, two


class PairSteps(ReadSteps):
    """What a GpuMapper does with the chunks of exact pairs."""

    n_parts = 2

    def __init__(self, mapper: "Mapper", search: Any) -> None:
        super().__init__(mapper, search)
        self._rules = self._rules._replace(lengths=False)
        self._rule, self._blocks = mapper.pairs.rule, gpu.to_device(mapper.pairs.blocks)
        self._buffers = PinnedBuffers()

    def read(self, stream: "GpuStream", span: Any) -> "PairChunks":
        return span.take(partial(SpanBuffer, make=self._buffers))

    def records(self, span: Any, pairs: Any, is_sam: bool) -> Any:
        return span.parse(pairs, is_sam)

    def measure(self, pairs: Any) -> tuple[int, int, bool]:
        kinds = {chunk.is_fastq for chunk in pairs.chunks}
        n_bytes = sum(chunk.data.size for chunk in pairs.chunks)
        return pairs.n if len(kinds) == 1 else 0, n_bytes, True in kinds

    def parse_on_device(
        self, stream: "GpuStream", pairs: Any, is_sam: bool, report: KernelReport
    ) -> "tuple[ReadBatch, Patterns]":
        reading = Reading(self._options.trim, self._options.strands, is_sam, pairs.in_turn)
        (n, n_bytes, is_fastq), done, moved = self.measure(pairs), 0, 0
        chunks = pairs.chunks
        others = sum(chunk.data.size for chunk in chunks if not self._buffers.owns(chunk.data))
        pinned = stream.pinned_array("other mates", others, np.uint8)
        letters = stream.device_array("data", n_bytes, np.uint8)[:n_bytes]
        stream.begin("copy in")
        for chunk in chunks:
            data = chunk.data
            if not self._buffers.owns(data):
                data = pinned[moved : moved + data.size]
                data[:], moved = chunk.data, moved + data.size
            gpu.copy(data, letters[done : done + data.size], stream.handle)
            done += data.size
        batch, patterns = parse_on_device(stream, letters, is_fastq, 2 * n, reading, report)
        stream.launch(names_kernel, pairs.n, N_THREADS, _mates_of(batch, pairs.n), report.device_array)
        return batch, patterns

    def count(
        self, stream: "GpuStream", batch: ReadBatch, occurrences: Any, n: int, room: int, report: KernelReport
    ) -> PairTables:
        """Launch the counting of proper pairs and other hits of n pairs; return them without hits."""
        buffer, launch, n_reads = stream.device_array, stream.launch, 2 * n
        total, first = (buffer(name, n_reads + 1, np.int64) for name in ("total of mates", "to locate"))
        keys = buffer("keys of located", room, np.int64)[:room]
        total, located, sides = total[:n_reads], *_buffers(stream, n, room)
        stream.begin("locate")
        launch(occur_kernel, n_reads, N_THREADS, occurrences, total, first)
        add_up(stream, first, n_reads, report, LOCATED)
        located = located._replace(positions=located.positions[:room])
        launch(locate_kernel, n_reads, N_THREADS, occurrences, first, keys, located)
        both, tables = _mates_of(batch, n), _tables(stream, total, n)
        stream.begin("pair")
        launch(pair_kernel, n, N_THREADS, both, sides, self._rule, self._blocks, self._rules, tables)
        launch(
            sum_kernel, min(n, COUNTERS), N_THREADS, batch, self._rules.at_most, tables, report.device_array
        )
        add_up(stream, tables.proper.first, n, report, HITS)
        add_up(stream, tables.hits.first, 2 * n, report, ALONE)
        add_up(stream, tables.key_start, 2 * n, report, KEYS)
        return tables

    def with_room(self, stream: "GpuStream", tables: Any, n_hits: int, n_alone: int, n_keys: int) -> Any:
        columns = ("one", "two", "changes1", "changes2", "n_best")
        hits = {name: stream.device_array(f"{name} of pairs", n_hits, np.int64) for name in columns}
        proper = tables.proper._replace(swapped=stream.device_array("swapped", n_hits, np.bool_), **hits)
        return super().with_room(stream, tables._replace(proper=proper), n_alone, n_alone, n_keys)

    def choose(self, stream: "GpuStream", batch: ReadBatch, occurrences: Any, chosen: Any) -> None:
        stream.begin("choose")
        n = chosen.proper.total.size  # _buffers returns the buffers that ``count`` filled
        stream.launch(
            choose_kernel, n, N_THREADS, batch, _mates_of(batch, n), _buffers(stream, n, 0)[1], self._rule,
            self._rules.seed, occurrences, chosen,
        )  # fmt: skip

    def summary_of(self, stream: "GpuStream", n: int, report: KernelReport) -> Summary:
        return Summary.of_sums(True, [n, *(report[SUMS + j] for j in range(N_SUMS))])


def _buffers(stream: "GpuStream", n: int, room: int) -> tuple[Located, tuple[Located, Located]]:
    """Return ``room`` or more positions of the mates of n pairs: of all, and of mates 1 and mates 2."""
    positions = stream.device_array("located", room, np.int64)
    lo, hi = (stream.device_array(f"{name} of located", 4 * n, np.int64)[: 4 * n] for name in ("lo", "hi"))
    one, two = (Located(positions, lo[a : a + 2 * n], hi[a : a + 2 * n]) for a in (0, 2 * n))
    return Located(positions, lo, hi), (one, two)


def _tables(stream: "GpuStream", total: Any, n: int) -> PairTables:
    """Return PairTables of n pairs without room for hits."""

    def buffer(name: str, n: int) -> Any:
        return stream.device_array(f"{name} of pairs", n, np.int64)

    none = buffer("hits", 0)
    flags = stream.device_array("flags of pairs", 0, np.bool_)
    proper = ProperPairs(
        buffer("first", n + 1), none, none, flags, none, none, none, buffer("total", n)[:n],
        buffer("reported", n), 0, buffer("first one", n), buffer("first two", n),
    )  # fmt: skip
    hits = Hits(buffer("first alone", 2 * n + 1), none, flags, buffer("total alone", 2 * n)[: 2 * n])
    return PairTables(total, proper, hits, buffer("first key", 2 * n + 1), none)
