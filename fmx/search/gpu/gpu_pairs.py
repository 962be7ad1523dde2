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

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.sorting import InPlace
from ...compiler.warp import INT64, cuda, grid_size, kernel, thread_index
from ...index.reference import is_reverse, position_of_text_key
from ...input.mates import common_name
from ...input.reads import ReadBatch
from ...input.reads_gpu import FREE, PROBLEM, Reading, parse_there
from ...input.spans import SpanBuffer
from ...machines import gpu
from ...machines.gpu_jobs import KernelReport, add_up
from ...machines.gpu_session import PinnedBuffers
from ..hits import Hits, Located, all_keys, eligible_of, select_of_read
from ..pairs.pair_mapper import PairMapper, split
from ..pairs.proper import ProperPairs, choose_pair, prepare_pair
from ..summary import PairSummary
from .gpu_hits import SelectionRules, add_sums

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.pair_spans import PairChunks, PairSpan
    from ...machines.gpu import DeviceArray
    from ...machines.gpu_session import GpuStream
    from .gpu_mapper import GpuMapper

THREADS = 128
_SHORT = 24  # least mean bytes per mate that suit a thread per pair
_COUNTERS = 1 << 13  # threads that count
_SUMS, _N_SUMS = FREE, 7  # the sums of a PairSummary in the report
_LOCATED = _SUMS + _N_SUMS  # of the report; the writer's begin at _ROOM
_PROPER, _ALONE, _KEYS, _ROOM = range(_LOCATED + 1, _LOCATED + 5)


class PairTables(NamedTuple):
    """What is known of n pairs, as mates 1 and then mates 2.

    ``total`` int64[2n]: occurrences of each mate. ``proper``: ProperPairs. ``hits``: Hits of mates in
    no proper pair, with ``keys`` from ``first_key`` int64[2n + 1] on as scratch.
    """

    total: np.ndarray
    proper: ProperPairs
    hits: Any
    first_key: np.ndarray
    keys: np.ndarray


@kernel
def names_kernel(batches, report):
    """Give both mates of each pair their common name; ``report[PROBLEM]`` becomes 1 if there is none."""
    one, two = batches
    i = thread_index()
    if i < one.length.size:
        same = common_name(one, two, i)
        if same < 0:
            report[PROBLEM] = 1
        one.name_length[i] = two.name_length[i] = max(same, 0)


@inlined
def n_of(occurrences, r):
    """Return the number of occurrences of read r."""
    lo, hi = occurrences.lo, occurrences.hi
    return np.int64(hi[2 * r]) - lo[2 * r] + hi[2 * r + 1] - lo[2 * r + 1]


@kernel
def occur_kernel(occurrences, total, to_locate):
    """Write the occurrences of each read to ``total``, and to ``to_locate`` if its mate has any, too."""
    r, n = thread_index(), total.size >> 1
    if r < total.size:
        total[r], mate = n_of(occurrences, r), r + n if r < n else r - n
        to_locate[r] = total[r] if n_of(occurrences, mate) > 0 else 0


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
        prepare_pair(lengths, located, rule, blocks, i, proper.total[i : i + 1])
        total = proper.total[i]
        proper.first[i] = proper.reported[i] = min(eligible_of(total, rules.at_most), rules.limit)
        for r in range(i, 2 * n, n):
            alone = tables.total[r] if total == 0 else np.int64(0)
            reported = min(eligible_of(alone, rules.at_most), rules.limit)
            hits.total[r], hits.first[r] = total + alone, reported
            is_first = reported == 1 and rules.seed < 0
            tables.first_key[r] = 0 if reported == 0 else 1 if is_first else alone


@kernel
def sum_kernel(batch, at_most, tables, report):
    """Add the counts of a PairSummary to ``report``; each thread takes pairs at equal distances."""
    bases = mapped = unique = suppressed = found = apart = hopeless = np.int64(0)
    n = tables.proper.total.size
    for i in range(thread_index(), n, grid_size()):
        total = tables.proper.total[i]
        eligible = eligible_of(total, at_most)
        mapped += eligible > 0
        unique += eligible == 1
        suppressed += eligible != total
        found += eligible
        for r in range(i, 2 * n, n):
            bases += batch.length[r]
            hopeless += not batch.searchable[r]
            apart += total == 0 and eligible_of(tables.total[r], at_most) > 0
    add_sums(report, _SUMS, (bases, mapped, unique, suppressed, found, apart, hopeless))


@kernel
def choose_kernel(batch, batches, located, rule, seed, occurrences, tables):
    """Select the proper pairs of each pair, or else the hits of both mates."""
    i, n = thread_index(), tables.proper.total.size
    if i < n:
        proper, hits = tables.proper, tables.hits
        if proper.first[i] < proper.first[i + 1]:
            heads = cuda.local.array((2, 2, 1), INT64)
            choose_pair(batches, i, located, rule, seed, (proper.total[i : i + 1], heads), (proper, i))
            for hit in range(proper.first[i], proper.first[i + 1]):
                proper.changes1[hit] = proper.changes2[hit] = 0
        else:
            for r in range(i, 2 * n, n):
                room = InPlace(tables.keys[tables.first_key[r] :])
                select_of_read(occurrences, batch, 0, hits, r, seed, room)


def _bring(stream: "GpuStream", pairs: "PairChunks", buffers: PinnedBuffers) -> "DeviceArray":
    """Copy the records of pairs to the GPU, mates 1 first; return their bytes."""
    chunks, n, done, moved = [*pairs.one, *pairs.two], _n_bytes(pairs), 0, 0
    others = sum(chunk.data.size for chunk in chunks if not buffers.owns(chunk.data))
    pinned, there = stream.here("other mates", others, np.uint8), stream.there("data", n, np.uint8)[:n]
    stream.begin("copy in")
    for chunk in chunks:
        data = chunk.data
        if not buffers.owns(data):
            data = pinned[moved : moved + data.size]
            data[:], moved = chunk.data, moved + data.size
        gpu.copy(data, there[done : done + data.size], stream.handle)
        done += data.size
    return there


def _n_bytes(pairs: "PairChunks") -> int:
    return sum(chunk.data.size for chunk in (*pairs.one, *pairs.two))


def mates_of(batch: ReadBatch, n: int) -> tuple[ReadBatch, ReadBatch]:
    """Return mates 1 and mates 2 of n pairs."""
    one, two = (ReadBatch(batch.data, *(x[a : a + n] for x in batch[1:])) for a in (0, n))
    return one, two


def sides_of(located: Located) -> tuple[Located, Located]:
    """Return the lists of mates 1 and of mates 2, from ``located`` ones of mates 1 and then mates 2."""
    positions, (lo, hi), n = located.positions, located[1:], located.lo.size // 2
    return Located(positions, lo[:n], hi[:n]), Located(positions, lo[n:], hi[n:])


class GpuPairMapper(PairMapper):
    """A PairMapper of exact pairs that does all stages on a GPU, where a GpuMapper has the index.

    Pairs that do not suit a GPU are mapped on the CPU.
    """

    def __init__(self, mapper: "GpuMapper", reference: "Reference") -> None:
        super().__init__(mapper, reference)
        self._device, self._streams, self._sizes = mapper.device, mapper.streams, mapper.options.sizes.gpu
        self._there = mapper.session.run(gpu.take, self._blocks)
        self._makers: dict = {}
        self._buffers = PinnedBuffers()

    def map(self, span: "PairSpan", writer: Any, emit: Callable[..., Any]) -> "PairSummary":
        """Map the pairs of a span, emit the output that ``writer`` makes, and return their PairSummary."""
        return self._streams.run(self._map, span, writer, emit)

    def _map(
        self, stream: "GpuStream", span: "PairSpan", writer: Any, emit: Callable[..., Any]
    ) -> "PairSummary":
        with self.timed("read"):
            pairs = span.take(partial(SpanBuffer, make=self._buffers))
        if self._is_fit(pairs):
            with self.timed("GPU"):
                done = self._on_gpu(stream, pairs, writer)
            if done is not None:
                summary, records, total = done
                span.check_ends()
                with self.timed("encode"):
                    piece = self._maker_of(writer).encoded(records)
                emit(piece)
                if total is not None:
                    one, two = (self.options.policy.eligible(total) > 0).reshape(2, -1)
                    split(span.parse(pairs, False), one | two, writer, emit)
                return summary
        return self.map_runs(span.parse(pairs, writer.is_sam), writer, emit)

    def _is_fit(self, pairs: "PairChunks") -> bool:
        n, size = 2 * pairs.n, _n_bytes(pairs)
        is_alike = len({chunk.is_fastq for chunk in (*pairs.one, *pairs.two)}) == 1
        is_fit = 0 < n <= max(size, self.options.chunk_size) // _SHORT and 2 * size <= n * self._sizes.long
        return is_alike and is_fit

    def _on_gpu(
        self, stream: "GpuStream", pairs: "PairChunks", writer: Any
    ) -> "tuple[PairSummary, np.ndarray, np.ndarray | None] | None":
        """Return (PairSummary, records, hits of each mate if needed) of pairs; None if they do not suit."""
        most = int(self._sizes.hits * max(_n_bytes(pairs), self.options.chunk_size))
        room = max(2 * self._sizes.hits_of_mate * pairs.n, 1)
        while True:
            report = KernelReport(stream)
            done = self._records(stream, pairs, writer, room, report)
            if done:
                return PairSummary(pairs.n, *(report[_SUMS + j] for j in range(_N_SUMS))), *done
            if report[PROBLEM] or not room < report[_LOCATED] <= most:
                return None
            room = report[_LOCATED]

    def _records(
        self, stream: "GpuStream", pairs: "PairChunks", writer: Any, room: int, report: KernelReport
    ) -> tuple[np.ndarray, np.ndarray | None] | None:
        """Return the last two items of ``_on_gpu``; None also if pairs have over ``room`` occurrences."""
        n, size, launch = pairs.n, max(_n_bytes(pairs), self.options.chunk_size), stream.launch
        policy, rule, maker = self.options.policy, self._rule, self._maker_of(writer)
        rules = SelectionRules(policy.limit, policy.at_most, policy.seed, False, False)
        reading = Reading(self.options.trim, self.options.strands, writer.is_sam, pairs.in_turn)
        data, is_fastq = _bring(stream, pairs, self._buffers), pairs.one[0].is_fastq
        batch, patterns = parse_there(stream, data, is_fastq, 2 * n, reading, report)
        both = mates_of(batch, n)
        launch(names_kernel, n, THREADS, both, report.there)
        stream.begin("search")
        occurrences = self._device.search(stream, patterns, report.there)
        total, located = _locate(stream, occurrences, n, room, report)
        sides, tables = sides_of(located), _tables(stream, total, n)
        stream.begin("pair")
        launch(pair_kernel, n, THREADS, both, sides, rule, self._there, rules, tables)
        launch(sum_kernel, min(n, _COUNTERS), THREADS, batch, policy.at_most, tables, report.there)
        add_up(stream, tables.proper.first, n, report, _PROPER)
        add_up(stream, tables.hits.first, 2 * n, report, _ALONE)
        add_up(stream, tables.first_key, 2 * n, report, _KEYS)
        begins = maker.measure(stream, batch, tables, report, _ROOM)
        n_hits, n_bytes = (n, 2 * n, 2 * n), maker.room_of(data.size, is_fastq, n)
        if not rules.at_most_one or n_bytes > self._sizes.room * size:  # look how much is needed
            report.read()
            n_hits, n_bytes = (report[_PROPER], report[_ALONE], report[_KEYS]), report[_ROOM]
            is_too_much = max(n_hits) > self._sizes.hits * size or n_bytes > self._sizes.room * size
            if report[PROBLEM] or report[_LOCATED] > room or is_too_much:
                return None
        tables = _with_room(stream, tables, *n_hits)
        stream.begin("choose")
        launch(choose_kernel, n, THREADS, batch, both, sides, rule, policy.seed, occurrences, tables)
        out = maker.write(stream, batch, tables, begins, n_bytes, report, _ROOM)
        report.read()
        if report[PROBLEM] or report[_LOCATED] > room:
            return None
        records, totals = maker.fetch(stream, out, report, _ROOM), None
        if writer.takers:
            totals = stream.here("totals", 2 * n, np.int64)[: 2 * n]
            stream.receive([tables.hits.total], [totals])
        stream.wait()
        return records, totals

    def _maker_of(self, writer: Any) -> Any:
        """Return the object that formats the records of ``writer`` on this GPU."""
        if writer not in self._makers:
            self._makers[writer] = writer.made_on_gpu()
        return self._makers[writer]


def _locate(
    stream: "GpuStream", occurrences: Any, n: int, room: int, report: KernelReport
) -> tuple[Any, Located]:
    """Return (occurrences of each mate, positions of those whose mates occur, too, if ``room`` suffices)."""
    there, n_reads = stream.there, 2 * n
    total, first = (there(name, n_reads + 1, np.int64) for name in ("total of mates", "to locate"))
    total = total[:n_reads]
    stream.begin("locate")
    stream.launch(occur_kernel, n_reads, THREADS, occurrences, total, first)
    add_up(stream, first, n_reads, report, _LOCATED)
    keys, located = there("keys of located", room, np.int64)[:room], room_for(stream, room, 2 * n_reads)
    stream.launch(locate_kernel, n_reads, THREADS, occurrences, first, keys, located)
    return total, located


def room_for(stream: "GpuStream", n: int, n_lists: int) -> Located:
    """Return Located with room for n occurrences in ``n_lists``."""
    sizes = {"located": n, "lo of located": n_lists, "hi of located": n_lists}
    return Located(*(stream.there(name, size, np.int64)[:size] for name, size in sizes.items()))


def _tables(stream: "GpuStream", total: Any, n: int) -> PairTables:
    """Return PairTables of n pairs without room for hits."""

    def there(name: str, n: int) -> Any:
        return stream.there(f"{name} of pairs", n, np.int64)

    none = there("hits", 0)
    flags = stream.there("flags of pairs", 0, np.bool_)
    proper = ProperPairs(
        there("first", n + 1), none, none, flags, none, none, none, there("total", n)[:n],
        there("reported", n), 0, there("lead 1", n), there("lead 2", n),
    )  # fmt: skip
    hits = Hits(there("first alone", 2 * n + 1), none, flags, there("total alone", 2 * n)[: 2 * n])
    return PairTables(total, proper, hits, there("first key", 2 * n + 1), none)


def _with_room(
    stream: "GpuStream", tables: PairTables, n_proper: int, n_alone: int, n_keys: int
) -> PairTables:
    """Return PairTables with room for so many proper pairs, other hits and keys."""
    columns = ("one", "two", "changes1", "changes2", "peers")
    hits = {name: stream.there(f"{name} of pairs", n_proper, np.int64) for name in columns}
    proper = tables.proper._replace(swapped=stream.there("swapped", n_proper, np.bool_), **hits)
    alone = tables.hits._replace(
        position=stream.there("positions", n_alone, np.int64),
        reverse=stream.there("reverse", n_alone, np.bool_),
    )
    return tables._replace(proper=proper, hits=alone, keys=stream.there("keys", n_keys, np.int64))
