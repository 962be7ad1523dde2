"""Counts of pairs on a GPU: those of a PairSummary, and of a Tally; one thread per pair, as on the CPU.

sum      the numbers of a PairSummary
room     with a Tally: how many keys each pair needs
tally    with a Tally: the owners of its proper pairs, or of the occurrences of its mates
seen     for a report: lengths of mates, insert sizes, numbers of proper pairs and of their mismatches
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.warp import atomic_add, grid_size, kernel, thread_index
from ...input.reads import N_CLASSES, class_of
from ...input.reads_gpu import FREE as FIRST
from ...machines import gpu
from ..hits import eligible_of
from ..pairs.pair_mapper import MATES, count_at, count_pair
from ..pairs.proper import first_lists, insert_size, total_of
from ..summary import PairSummary
from .gpu_hits import GpuTally, add_owners, add_sums, count_owners, owner_key

if TYPE_CHECKING:
    from ...input.reads import ReadBatch
    from ...machines.gpu_jobs import KernelReport
    from ...machines.gpu_session import GpuStream
    from ..counts.tally import Tally
    from ..mapping import MapOptions
    from ..pairs.proper import Rule

_THREADS, _COUNTERS = 128, 1 << 13
_SUMS, _N_SUMS = FIRST, 7  # the sums of a PairSummary in the report
FREE = _SUMS + _N_SUMS
_N_STRATA = 5  # mismatches of both mates: 0 to 4
_SEEN = 3 * N_CLASSES + _N_STRATA


class OwnerKeys(NamedTuple):
    """``keys`` int64 for add_owners."""

    keys: np.ndarray


@count_at.register(OwnerKeys)
def _keep(owners, i, owner, of_pair, n):
    owners.keys[i] = owner_key(owner, n)


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


@inlined
def _n_strata(tables):
    """Return one more than the most mismatches of a mate."""
    return (tables.strata.size // tables.proper.total.size + 1) // 2


@kernel
def room_kernel(located, rule, at_most, tables):
    """Write how many keys each pair needs to ``tables.first_key``: of proper pairs, or else of each mate."""
    i, n = thread_index(), tables.proper.total.size
    if i < n:
        total = tables.proper.total[i]
        for r in range(i, 2 * n, n):
            alone = eligible_of(tables.total[r], at_most) if total == 0 else np.int64(0)
            tables.first_key[r] = alone
        if eligible_of(total, at_most) > 0:
            n_strata = _n_strata(tables)
            for swapped in range(2):
                left, first = located[swapped], first_lists(rule, i, swapped, n_strata)[0]
                for j in range(first, first + n_strata):
                    tables.first_key[i] += n_strata * (left.hi[j] - left.lo[j])


@kernel
def tally_kernel(batches, located, how, owners, occurrences, tables, table):
    """Add to ``table`` int64[COLUMNS * n_owners] (search/counts/tally.py).

    ``how``: Rule, ``at_most`` and ``best_only``. ``owners``: that of each contig, and Blocks of owners.
    """
    i, (rule, at_most, best_only), (owner_of, blocks) = thread_index(), how, owners
    n = tables.proper.total.size
    if i < n:
        total = tables.proper.total[i]
        if eligible_of(total, at_most) > 0:
            lengths, keys = (batches[0].length[i], batches[1].length[i]), tables.keys[tables.first_key[i] :]
            fewest = _fewest(tables, i, best_only) if best_only else np.int64(-1)
            of_pair, strata = (i, MATES, total), (_n_strata(tables), fewest)
            own = lengths, located, rule, of_pair, strata, owner_of, OwnerKeys(keys)
            add_owners(table, keys, count_pair(*own), total, np.int64(MATES))
        elif total == 0:
            for r in range(i, 2 * n, n):
                count_owners(occurrences, r, blocks, tables, table)


@inlined
def _fewest(tables, i, best_only):
    """Return the fewest mismatches in a proper pair of pair i."""
    size = tables.strata.size // tables.proper.total.size
    return total_of(tables.strata[size * i : size * i + size], best_only)[1]


@kernel
def seen_kernel(batches, at_most, best_only, tables, seen):
    """Count in ``seen`` int64[_SEEN]: lengths of mates, proper pairs, insert sizes, and fewest mismatches."""
    (one, two), proper, i = batches, tables.proper, thread_index()
    if i < proper.total.size:
        atomic_add(seen, class_of(one.length[i]), np.int64(1))
        atomic_add(seen, class_of(two.length[i]), np.int64(1))
        eligible = eligible_of(proper.total[i], at_most)
        if eligible > 0:
            atomic_add(seen, N_CLASSES + class_of(eligible), np.int64(1))
            atomic_add(seen, 3 * N_CLASSES + _fewest(tables, i, best_only), np.int64(1))
        if proper.first[i] < proper.first[i + 1]:
            size = insert_size(one.length[i], two.length[i], proper, i)
            atomic_add(seen, 2 * N_CLASSES + class_of(size), np.int64(1))


class GpuPairCounter:
    """Counts pairs on a GPU for a PairSummary, by MapOptions, and for a Tally.

    ``owner_of`` int64[n_contigs]: the owner of each contig.
    """

    def __init__(
        self, options: "MapOptions", rule: "Rule", best_only: bool, tally: "Tally | None",
        owner_of: np.ndarray | None,
    ) -> None:  # fmt: skip
        self._at_most, self._rule, self._best_only = options.policy.at_most, rule, best_only
        self._has_seen, self._has_strata = options.counts_lengths, options.near is not None
        self._tally = GpuTally(tally) if tally else None
        self._owner_of = gpu.take(owner_of) if tally else None

    def sum(self, stream: "GpuStream", batch: "ReadBatch", tables: Any, report: "KernelReport") -> None:
        """Launch the counting for a PairSummary; ``batch``: mates 1, then mates 2; ``tables``: PairTables."""
        n = min(tables.proper.total.size, _COUNTERS)
        stream.launch(sum_kernel, n, _THREADS, batch, self._at_most, tables, report.there)

    def room(self, stream: "GpuStream", located: Any, tables: Any) -> None:
        """Launch the computation of how many keys ``tally`` needs; ``located``: lists of both mates."""
        how = located, self._rule, self._at_most, tables
        stream.launch(room_kernel, tables.proper.total.size, _THREADS, *how)

    def tally(self, stream: "GpuStream", batches: Any, located: Any, occurrences: Any, tables: Any) -> None:
        """Launch the counting for the Tally, which overwrites keys; ``add`` adds the result."""
        assert self._tally
        how, owners = (self._rule, self._at_most, self._best_only), (self._owner_of, self._tally.blocks)
        n, own = tables.proper.total.size, (batches, located, how, owners, occurrences, tables)
        self._tally.launch(stream, tally_kernel, n, *own)

    def add(self, stream: "GpuStream") -> None:
        """Add the counts to the Tally, after waiting for the stream."""
        assert self._tally
        self._tally.add(stream)

    def see(self, stream: "GpuStream", batches: Any, tables: Any) -> None:
        """Launch the counting for a report, if there is one, once proper pairs have been chosen."""
        if self._has_seen:
            seen = stream.there("seen", _SEEN, np.int64)
            stream.begin("count")
            gpu.fill_zero(seen, stream.handle)
            own = batches, self._at_most, self._best_only, tables, seen
            stream.launch(seen_kernel, tables.proper.total.size, _THREADS, *own)
            stream.receive([seen], [_seen_here(stream)])

    def summary(self, stream: "GpuStream", n: int, report: "KernelReport") -> PairSummary:
        """Return the PairSummary of n pairs, after waiting for the stream."""
        summary = PairSummary(n, *(report[_SUMS + j] for j in range(_N_SUMS)))
        if self._has_seen:
            columns = np.split(_seen_here(stream).copy(), N_CLASSES * np.arange(1, 4))
            summary.lengths, summary.multiplicity, summary.inserts, strata = columns
            summary.mismatches = strata if self._has_strata else None
        return summary


def _seen_here(stream: "GpuStream") -> np.ndarray:
    return stream.here("seen", _SEEN, np.int64)[:_SEEN]
