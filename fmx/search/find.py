"""Find: exact occurrences of reads, as rows of each part of the text that are located only when needed.

    search   batch of reads -> Patterns -> Intervals: how often each read occurs
    runs_of  yields runs of reads, or of both mates, with a limited number of candidates
    choose   candidates -> Hits (hits.py)

NearFinder (near.py) has the same methods: its ``runs_of`` finds near matches, its ``search`` at most exact
ones.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..compiler.sorting import N_DIGITS, ByDigits
from ..errors import n_of, shown
from ..index.contracts import HI, LO, N_STATE, PATTERN, advance, begin
from ..index.disk import part_span
from ..input import reads
from ..input.reads import ReadBatch
from ..limits import ALL
from ..machines.jobs import runs
from .hits import Hits, Intervals, Locator, ReadRun, are_direct, choose_each, lay_out, located
from .mapping import NO_HOOKS, Hooks, MapOptions

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex


class TextPart(NamedTuple):
    """A part of the text, on the CPU.

    ``search`` of Patterns returns (Intervals, their locator (hits.py)), or numbers of occurrences and what
    locates these (sparse.py). ``text``: PartText for near matches (near.py).
    """

    search: Any
    text: Any = None


def make_query(index: "FMIndex") -> Any:
    """Return the query for the method that an index was opened with."""
    if index.method == "sparse":
        from ..index.sparse import bucket_bits
        from .queries.sparse import Sparse

        table, words, n = index.sparse, index.text_words, index.reference.n_text
        assert table is not None
        return Sparse(table, words, index.reference.blocks, n, bucket_bits(n, table.w))
    assert index.prefix is not None
    if index.method == "backward":
        from .queries.backward import make_backward

        return make_backward(index.prefix, index.layout)
    from .queries.verify import Verify

    assert index.seeds is not None
    assert index.text_words is not None
    return Verify(index.prefix, index.seeds, index.sa.positions, index.text_words, index.reference.blocks)


def part_on_cpu(index: "FMIndex | JoinedIndex", number: int) -> TextPart:
    """Return a part of the text for exact occurrences on the CPU."""
    return _part(index.parts[number], part_span(index.meta, number)[0])


def _part(part: "FMIndex", start: int) -> TextPart:
    """Return a part of the text that begins at ``start``."""
    if part.method == "sparse":
        from . import sparse

        shorter = _part(part.shorter, start).search if part.shorter else None
        return TextPart(partial(sparse.search, make_query(part), start, shorter=shorter))
    query, locator = make_query(part), Locator(part.sa, part.layout, start)
    return TextPart(lambda patterns: (find_intervals(query, patterns), locator))


def shortest_read(index: "FMIndex | JoinedIndex") -> int:
    """Return the bases of the shortest reads that an opened index can find; 0 if there is no limit."""
    return shortest_in_sparse([part for part in index.parts if not part.shorter])


def shortest_in_sparse(parts: "Sequence[FMIndex]") -> int:
    """Return the bases of the shortest reads that all sparse suffix arrays of parts find; 0 without one."""
    tables = (part.sparse for part in parts if part.method == "sparse")
    return max((table.k + table.w - 1 for table in tables if table), default=0)


class ReadFinder:
    """Finds exact occurrences in the ``parts`` of a text.

    ``least``: bases of the shortest read that the index can find.
    """

    def __init__(
        self, parts: Sequence[TextPart], options: MapOptions, hooks: Hooks = NO_HOOKS, least: int = 0
    ) -> None:
        self.parts, self.options, self.hooks, self._least = tuple(parts), options, hooks, least
        self.timed: Callable = hooks.clock.timed if hooks.clock else nullcontext

    def search(self, batch: ReadBatch) -> ReadRun:
        """Return all reads of a batch and their exact occurrences."""
        self.refuse_shorter(batch)
        with self.timed("pack"):
            patterns = reads.pack(batch, self.options.strands)
        with self.timed("search"):
            results, locators = zip(*(part.search(patterns) for part in self.parts), strict=True)
            bounds = zip(*((each.lo, each.hi) for each in results), strict=True)
            intervals = Intervals(
                *(array[0][None] if len(array) == 1 else np.array(array) for array in bounds)
            )
            size = (intervals.hi - intervals.lo).sum(axis=0, dtype=np.int64)
            total, reverse = size[::2] + size[1::2], size[1::2]
        return ReadRun(batch, intervals, locators, total, batch.searchable, self.weights_of(batch), reverse)

    def refuse_shorter(self, batch: ReadBatch) -> None:
        """Raise UnsupportedError that names the first read of a batch that is too short for the index."""
        least, noun = self._least, self.options.noun
        short = np.flatnonzero(batch.searchable & (batch.length < least)) if least else np.empty(0, np.int64)
        if short.size:
            r, start = short[0], batch.name_start[short[0]]
            name = shown(bytes(batch.data[start : start + batch.name_length[r]]).decode("latin-1"))
            from ..index.sparse import too_short  # only for errors

            remedy = (
                f"'fmx search --min-length {least}' leaves shorter reads unmapped; " if noun == "read" else ""
            )
            raise too_short(f"{name} has {n_of(batch.length[r], 'base')}", least, remedy)

    def weights_of(self, batch: ReadBatch) -> np.ndarray:
        """Return the number of copies of each read of a batch, int64[n_reads]."""
        if not self.options.collapse:
            return np.ones(batch.length.size, np.int64)
        from ..input.weights import weights_of

        return weights_of(batch)

    def runs_of(self, mates: Sequence[ReadRun], has_enough: Any = None) -> Iterator[list[ReadRun]]:
        """Yield runs of the reads of one batch, or of mates 1 and mates 2.

        Each has up to ``hits`` occurrences to report or locate, or one read or pair. ``has_enough``: near.py.
        """
        policy, total = self.options.policy, mates[0].total
        if mates[1:]:  # only pairs of which both mates occur are located
            other = mates[1].total
            to_locate = np.where((total > 0) & (other > 0), total + other, 0)
        else:
            to_locate = (policy.reported if are_direct(mates[0].locators) else policy.eligible)(total)
        for start, stop in runs(to_locate, self.options.sizes.hits):
            yield [each.cut(start, stop) for each in mates]

    def choose(self, run: ReadRun, total: np.ndarray, with_changes: bool) -> Hits:
        """Return the Hits of a run of reads, which have ``total`` int64[n] occurrences.

        ``with_changes``: whether the changes are an array, all 0, even without mismatches.
        """
        policy, near = self.options.policy, self.options.near
        candidates: list[Any] = []
        if run.intervals is not None and are_direct(run.locators):
            candidates.append(run.locators[0].occurrences(run.intervals.lo[0], run.intervals.hi[0]))
        elif run.intervals is not None:
            candidates.append(located(run.locators, run.intervals, policy.eligible(total) > 0))
        if run.matches is not None:
            candidates.append(run.matches)
        first = np.empty(total.size + 1, np.int64)
        n_hits, most = lay_out(total, policy.at_most, policy.limit, (0, ALL), first)
        hits = Hits(first, np.empty(n_hits, np.int64), np.empty(n_hits, np.bool_), total)
        room = ByDigits(*(np.empty(n, np.int64) for n in (most, most, N_DIGITS)))
        order = policy.seed, near is None or near.best_first
        for each in candidates:  # each read has occurrences in at most one of these
            choose_each(each, run.batch, run.start, hits, order, room)
        if not with_changes:
            return hits
        best = total << 2 if run.best is None else run.best
        return hits._replace(changes=np.zeros(n_hits, np.int64), best=best)


# The search of many patterns by one thread, in turn, so that their memory accesses overlap.
#
# Patterns are taken in groups of N_SLOTS. A round takes one step of every pattern of the group, and each step
# prefetches what the next one reads (interleaving and software prefetch, Langarita et al. 2020, section 4.5).
# Slots are refilled when three in four are free. So the patterns of a group stay in the same kind of step,
# which helps branch prediction more than refilling slots one by one, and the few patterns that take long do
# not wait for memory alone.

N_SLOTS = 64


def find_intervals(query: Any, patterns: reads.Patterns, n_slots: int = N_SLOTS) -> Intervals:
    """Return the interval of every pattern, (0, 0) if it does not occur or cannot be searched."""
    intervals = Intervals(*(np.empty(patterns.length.size, np.uint32) for _ in Intervals._fields))
    state = np.zeros((n_slots, N_STATE), np.int64)
    _search(query, patterns, intervals, state)
    return intervals


@compiled
def _search(query, patterns, intervals, state):
    i, n_patterns, n_slots, n_active = 0, patterns.length.size, state.shape[0], 0
    intervals.lo[:], intervals.hi[:] = 0, 0
    while i < n_patterns or n_active > 0:
        while n_active < n_slots and i < n_patterns:
            if patterns.length[i] > 0:
                begin(query, patterns, i, state, n_active)
                n_active += 1
            i += 1
        n_awaited = n_slots >> 2 if i < n_patterns else 0
        while n_active > n_awaited:
            n_kept = 0  # take one step of each active slot, and move the unfinished ones to the front
            for slot in range(n_active):
                if advance(query, patterns, state, slot):
                    pattern, lo, hi = state[slot, PATTERN], state[slot, LO], state[slot, HI]
                    if lo < hi:
                        intervals.lo[pattern], intervals.hi[pattern] = lo, hi
                    continue
                if n_kept < slot:
                    for column in range(N_STATE):
                        state[n_kept, column] = state[slot, column]
                n_kept += 1
            n_active = n_kept
