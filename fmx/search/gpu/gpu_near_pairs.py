"""Pairs with mismatches on a GPU: the stages of gpu_pairs.py, with the near matches of gpu_near.py.

exact      with strata: exact search of all mates; the keys of occurrences of mates that both occur
lists      one thread per mate: the positions of its matches by strand and mismatches
close      with strata: pairs that have a proper pair with few enough mismatches are searched no further
           near matches of the mates of other pairs, with one mismatch, then with two
pair       the number of proper pairs by mismatches (gpu_pairs.py)
choose     the reported proper pairs, or hits, and their changes

Without strata, the matches of all mates are found at once.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.functions import inlined
from ...compiler.warp import INT64, atomic_add, cuda, kernel, thread_index
from ...index.reference import is_reverse, position_in_text
from ...input.sets import changes_at
from ..hits import Located, all_keys
from ..near.matches import NearHits
from ..pairs.near_pairs import NearPairMapper, distribute
from ..pairs.proper import choose_pair
from .gpu_near import MATCHES, NearFound, NearStages, choose_near
from .gpu_pairs import (
    THREADS,
    GpuPairMapper,
    PairTables,
    count_proper,
    mates_of,
    n_of,
    room_for,
    sides_of,
)

if TYPE_CHECKING:
    from ...index.reference import Blocks, Reference
    from ...input.reads import ReadBatch
    from ...machines.gpu_jobs import KernelReport
    from ...machines.gpu_session import GpuStream
    from ..mapping import MapOptions, TextPart
    from ..pairs.proper import Rule

_MOST_STRATA = 3  # of a mate


@inlined
def _mate_of(r, n):
    """Return the mate of read r of n pairs."""
    return r + n if r < n else r - n


@kernel
def exact_kernel(found, report):
    """Store the exact occurrences of reads as matches if their mates occur, too; one thread per read.

    If found.keys has too little room, report[MATCHES] becomes larger than it.
    """
    r, n = thread_index(), found.n.size >> 1
    if r < found.n.size:
        total = n_of(found.exact, r)
        if total > 0 and n_of(found.exact, _mate_of(r, n)) > 0:
            first = atomic_add(report, MATCHES, total)
            if first + total <= found.keys.size:
                all_keys(found.exact, r, found.keys[first:])
                found.first[r], found.n[r] = first, total


@kernel
def lists_kernel(found, n_strata, total, lists):
    """Fill ``lists`` for prepare_pair, and ``total``, the occurrences of each read; one thread per read."""
    r, n = thread_index(), found.n.size >> 1
    if r < found.n.size:
        total[r] = n_of(found, r)
        begin = end = np.int64(0)
        if found.n[r] > 0 and found.n[_mate_of(r, n)] > 0:
            begin = found.first[r]
            end = begin + found.n[r]
        distribute(found.keys[begin:end], r, n_strata, lists, begin)


@kernel
def close_kernel(batches, located, rule, blocks, most, strata, found):
    """Give mates an occurrence if they have a proper pair with less than ``most`` mismatches, otherwise none.

    The mates of other pairs are searched with ``most`` mismatches. ``strata``: as in PairTables.
    """
    i, n = thread_index(), batches[0].length.size
    if i < n:
        total, fewest = count_proper(batches, located, rule, blocks, i, strata, True)
        for r in range(i, 2 * n, n):
            found.lo[2 * r] = found.lo[2 * r + 1] = found.hi[2 * r + 1] = 0
            found.hi[2 * r] = total > 0 and fewest < most


@kernel
def choose_kernel(batch, batches, located, how, found, tables):
    """Select the proper pairs of each pair, or else the hits of both mates, with their changes.

    ``how``: Rule, PartText, NearRules and seed.
    """
    (rule, text, rules, seed), i, n = how, thread_index(), tables.proper.total.size
    if i < n:
        proper, size = tables.proper, tables.strata.size // n
        if proper.first[i] < proper.first[i + 1]:
            heads = cuda.local.array((2, 2, _MOST_STRATA), INT64)
            counts = tables.strata[size * i : size * i + size]
            choose_pair(batches, i, located, rule, seed, (counts, heads), (proper, i))
            for hit in range(proper.first[i], proper.first[i + 1]):
                proper.changes1[hit] = _changes_of(text, found.sets, i, proper.one[hit], rules.mismatches)
                proper.changes2[hit] = _changes_of(text, found.sets, n + i, proper.two[hit], rules.mismatches)
        else:
            for r in range(i, 2 * n, n):
                if tables.hits.first[r] < tables.hits.first[r + 1]:
                    choose_near(batch, found, text, rules, seed, tables.hits, r)


@inlined
def _changes_of(text, sets, r, key, most):
    """Return the changes of read r at a place_key."""
    return changes_at(text.words, position_in_text(text.blocks, key), sets, 2 * r + is_reverse(key), most)


class NearPairStages(NearStages):
    """NearStages of mates 1 and then mates 2; with strata, a pair without a better proper pair is open."""

    def __init__(self, part: "TextPart", options: "MapOptions", rule: "Rule", blocks: "Blocks") -> None:
        super().__init__(part, options)
        self._rules, self._rule, self._blocks = self._rules._replace(best_first=True), rule, blocks

    def _find(
        self, stream: "GpuStream", batch: "ReadBatch", found: NearFound, most: int, report: "KernelReport"
    ) -> bool:
        if self._rules.strata:
            n = found.n.size // 2
            stream.begin("pair")
            if most == 1:
                stream.launch(exact_kernel, 2 * n, THREADS, found, report.there)
            _, sides = self.lists(stream, found, most)
            strata = stream.there("strata of pairs", n * (2 * most - 1), np.int64)[: n * (2 * most - 1)]
            how = mates_of(batch, n), sides, self._rule, self._blocks, most, strata, found
            stream.launch(close_kernel, n, THREADS, *how)
        return super()._find(stream, batch, found, most, report)

    def lists(
        self, stream: "GpuStream", found: NearFound, n_strata: int
    ) -> tuple[Any, tuple[Located, Located]]:
        """Launch the making of lists; return (occurrences of each mate, lists of mates 1 and of mates 2)."""
        n_reads = found.n.size
        total = stream.there("total of mates", n_reads, np.int64)[:n_reads]
        lists = room_for(stream, found.keys.size, 2 * n_strata * n_reads)
        stream.launch(lists_kernel, n_reads, THREADS, found, n_strata, total, lists)
        return total, sides_of(lists)

    def choose_pairs(
        self, stream: "GpuStream", batch: "ReadBatch", located: tuple[Located, Located], seed: int,
        found: NearFound, tables: PairTables,
    ) -> PairTables:  # fmt: skip
        """Launch the selection of proper pairs and hits; return the tables with NearHits."""
        n, there, own = tables.proper.total.size, stream.there, tables.hits
        changes, best = there("changes", own.position.size, np.int64), there("best", 2 * n, np.int64)
        hits = NearHits(own.first, own.position, own.reverse, own.total, changes, best)
        tables = tables._replace(hits=hits)
        how = self._rule, self._text, self._rules, seed
        both = mates_of(batch, n)
        stream.launch(choose_kernel, n, THREADS, batch, both, located, how, found, tables)
        return tables


class GpuNearPairMapper(GpuPairMapper, NearPairMapper):
    """A GpuPairMapper of pairs with mismatches, by a GpuNearMapper."""

    def __init__(self, mapper: Any, reference: "Reference") -> None:
        super().__init__(mapper, reference)
        how = mapper.parts[0], self.options, self._rule, self._there
        self._stages = mapper.sessions[0].run(NearPairStages, *how)

    def _find(
        self, stream: "GpuStream", batch: "ReadBatch", patterns: Any, n: int, room: int,
        report: "KernelReport",
    ) -> "tuple[ReadBatch, Any, Any, tuple[Located, Located]] | None":  # fmt: skip
        room = int(self._sizes.hits * max(batch.data.size, self.options.chunk_size))
        done = self._stages.find(stream, batch, patterns, 2 * n, room, report)
        return done and (*done, *self._stages.lists(stream, done[1], self.n_strata))

    def _choose(
        self, stream: "GpuStream", batch: "ReadBatch", sides: tuple[Located, Located], occurrences: Any,
        tables: PairTables,
    ) -> PairTables:  # fmt: skip
        return self._stages.choose_pairs(stream, batch, sides, self.options.policy.seed, occurrences, tables)


def make_pair_mapper(mapper: Any, reference: "Reference") -> GpuPairMapper:
    """Return the GpuPairMapper for a GpuMapper, with mismatches for a GpuNearMapper."""
    return (GpuNearPairMapper if mapper.options.near else GpuPairMapper)(mapper, reference)
