"""Occurrences -> hits on a GPU: counted by a few threads, selected by one thread per read, as on the CPU.

count    number of hits of each read and of the keys that the selection needs, then their prefix sums
choose   which occurrences are reported, and where they are
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.sorting import InPlace, sort
from ...compiler.warp import atomic_add, grid_size, kernel, thread_index
from ...index.reference import place_of, position_of_text_key
from ...input.reads import N_CLASSES, class_of
from ...input.reads_gpu import FREE as FIRST
from ...machines import gpu
from ...machines.gpu_jobs import add_up
from ..counts.tally import COLUMNS, share_of
from ..hits import Hits, all_keys, eligible_of, select_of_read
from ..summary import Summary

if TYPE_CHECKING:
    from ...input.reads import ReadBatch
    from ...machines.gpu_jobs import KernelReport
    from ...machines.gpu_session import GpuStream
    from ..counts.tally import Tally
    from ..hits import SARows

N_THREADS, _COUNTERS = 128, 1 << 13
_SEEN = 2 * N_CLASSES + 2
_READS, _N_SUMS = FIRST, 7  # the sums of a Summary
HITS, KEYS, FREE = range(_READS + _N_SUMS, _READS + _N_SUMS + 3)


class SelectionRules(NamedTuple):
    """A SelectionPolicy (search/hits.py) for kernels.

    ``all_keys``: whether the keys of all occurrences are needed. ``lengths``: whether lengths are counted.
    """

    limit: int
    at_most: int
    seed: int
    all_keys: bool
    lengths: bool

    @property
    def at_most_one(self) -> bool:
        """Whether no read has more than one hit, or needs more than one key."""
        return self.limit <= 1 and self.seed < 0 and not self.all_keys


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
    bases = mapped = unique = suppressed = found = hopeless = n_reads = last = n_alike = np.int64(0)
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
        found += eligible
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
        atomic_add(seen, 2 * N_CLASSES + 1, found - forward)
    add_sums(report, _READS, (n_reads, bases, mapped, unique, suppressed, found, hopeless))


@kernel
def choose_kernel(batch, occurrences, rules, chosen):
    """Select the hits of each read, one thread per read."""
    r = thread_index()
    if r < chosen.hits.total.size:
        room = InPlace(chosen.keys[chosen.first_key[r] :])
        select_of_read(occurrences, batch, 0, chosen.hits, r, rules.seed, room)


@kernel
def tally_kernel(occurrences, blocks, chosen, table):
    """Add to ``table`` int64[COLUMNS * n_owners] (search/counts/tally.py), one thread per read.

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
                    count_owner(table, keys[j], j + 1 - begin, n)
                    begin = np.int64(j + 1)


@inlined
def count_owner(table, owner, met, total):
    """Count a read with ``met`` of its ``total`` occurrences in an owner."""
    atomic_add(table, COLUMNS * owner, np.int64(1))
    atomic_add(table, COLUMNS * owner + 1, np.int64(met))
    atomic_add(table, COLUMNS * owner + 2, np.int64(total == 1))
    atomic_add(table, COLUMNS * owner + 3, np.int64(share_of(met, total)))
    atomic_add(table, COLUMNS * owner + 4, np.int64(met == total))


def count(
    stream: "GpuStream",
    batch: "ReadBatch",
    occurrences: "SARows",
    rules: SelectionRules,
    n_reads: int,
    report: "KernelReport",
) -> SelectedHits:
    """Launch the counting of hits of the first n_reads; return SelectedHits without a selection.

    With ``rules.lengths``, the counts of lengths arrive with the KernelReport (``summary_of``).
    """
    there = stream.there
    total, first = there("total", n_reads, np.int64)[:n_reads], there("first hit", n_reads + 1, np.int64)
    none = there("positions", 0, np.int64), there("reverse", 0, np.bool_)
    keys = there("first key", n_reads + 1, np.int64), there("keys", 0, np.int64)
    chosen = SelectedHits(Hits(first, *none, total), *keys)
    seen = there("seen", _SEEN if rules.lengths else 1, np.int64)
    stream.begin("count")
    if rules.lengths:
        gpu.fill_zero(seen, stream.handle)
    stream.launch(
        count_kernel, min(n_reads, _COUNTERS), N_THREADS,
        batch, occurrences, rules, chosen, seen, report.there,
    )  # fmt: skip
    if rules.lengths:
        stream.receive([seen], [_seen_here(stream)])
    add_up(stream, first, n_reads, report, HITS)
    add_up(stream, chosen.first_key, n_reads, report, KEYS)
    return chosen


def with_room(stream: "GpuStream", chosen: SelectedHits, n_hits: int, n_keys: int) -> SelectedHits:
    """Return SelectedHits with room for so many hits and keys."""
    hits = chosen.hits._replace(
        position=stream.there("positions", n_hits, np.int64),
        reverse=stream.there("reverse", n_hits, np.bool_),
    )
    return chosen._replace(hits=hits, keys=stream.there("keys", n_keys, np.int64))


def choose(
    stream: "GpuStream",
    batch: "ReadBatch",
    occurrences: "SARows",
    rules: SelectionRules,
    chosen: SelectedHits,
) -> None:
    """Launch the selection of hits."""
    stream.begin("choose")
    stream.launch(choose_kernel, chosen.hits.total.size, N_THREADS, batch, occurrences, rules, chosen)


class GpuTally:
    """Counts for a Tally on a GPU; the tally gets the table of each chunk."""

    def __init__(self, tally: "Tally") -> None:
        self._tally, self._n = tally, COLUMNS * len(tally.owners.names)
        self._blocks = gpu.take(tally.owners.blocks)

    def count(self, stream: "GpuStream", occurrences: "SARows", chosen: SelectedHits) -> None:
        """Launch the counting; it overwrites the keys of all occurrences."""
        table = stream.there("table", self._n, np.int64)
        stream.begin("tally")
        gpu.fill_zero(table, stream.handle)
        n, blocks = chosen.hits.total.size, self._blocks
        stream.launch(tally_kernel, n, N_THREADS, occurrences, blocks, chosen, table)
        stream.receive([table], [stream.here("table", self._n, np.int64)[: self._n]])

    def add(self, stream: "GpuStream") -> None:
        """Add the counts to the tally, after waiting for the stream."""
        table = stream.here("table", self._n, np.int64)[: self._n]
        self._tally.add_table(table.reshape(-1, COLUMNS))


def summary_of(stream: "GpuStream", rules: SelectionRules, report: "KernelReport") -> Summary:
    """Return the Summary of the reads in a KernelReport."""
    summary = Summary(*(report[_READS + j] for j in range(_N_SUMS)))
    if rules.lengths:
        summary.lengths, summary.multiplicity, summary.strands = np.split(
            _seen_here(stream).copy(), (N_CLASSES, 2 * N_CLASSES)
        )
    return summary


def _seen_here(stream: "GpuStream") -> np.ndarray:
    return stream.here("seen", _SEEN, np.int64)[:_SEEN]
