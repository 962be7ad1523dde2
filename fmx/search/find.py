"""Find: exact occurrences of reads, as rows of each part of the text that are located only when needed.

    search   batch of reads -> Patterns -> Intervals: how often each read occurs
    runs     of one batch, or of both mates: consecutive reads with a limited number of candidates
    choose   candidates -> Hits (hits.py)

NearFinder (near.py) has the same methods for near matches.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import n_of, shown
from ..index.disk import part_span
from ..input import reads
from ..input.reads import ReadBatch
from ..machines.jobs import runs
from .engines import cpu
from .hits import Candidates, Hits, Intervals, Locator, ReadRun, are_direct, choose, count, located
from .mapping import UNOBSERVED, MapOptions, Observers

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex


class TextPart(NamedTuple):
    """A part of the text, on the CPU.

    ``search`` turns Patterns into Intervals, or numbers occurrences in another way (sparse.py). ``locator``
    locates them (hits.py).
    """

    search: Any
    locator: Any


def make_query(index: "FMIndex") -> Any:
    """Return the query for the method that an index was opened with."""
    if index.method == "sparse":
        from .sparse import make_sparse

        return make_sparse(index)
    assert index.prefix is not None
    if index.method == "backward":
        from .queries.exact import Exact

        return Exact(index.prefix, index.layout)
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

        shorter = _part(part.shorter, start) if part.shorter else TextPart(None, None)
        query = make_query(part)
        search = partial(sparse.search_any, query, shorter.search)
        return TextPart(search, sparse.SparseLocator(query, start, shorter.locator))
    return TextPart(partial(cpu.search, make_query(part)), Locator(part.sa, part.layout, start))


def least_bases(index: "FMIndex | JoinedIndex") -> int:
    """Return the bases of the shortest reads that an opened index can find; 0 if there is no limit."""
    return shortest([part for part in index.parts if not part.shorter])


def shortest(parts: "Sequence[FMIndex]") -> int:
    """Return the bases of the shortest reads that the sparse suffix arrays of parts can find.

    Returns 0 if there are none.
    """
    tables = (part.sparse for part in parts if part.method == "sparse")
    return max((table.k + table.w - 1 for table in tables if table), default=0)


class SearchedReads(NamedTuple):
    """A batch of reads that have been searched.

    ``untrimmed``, ``batch``: the reads before and after trimming. ``intervals``: Intervals
    [n_parts, 2 * n_reads] of row numbers for ``locators``, one per part; or None. ``total`` int64[n_reads]:
    exact number of occurrences. ``can_occur`` bool[n_reads]: which reads were searched. ``weight``
    int64[n_reads]: number of copies of each read. If mismatches are allowed, ``reverse`` and ``fewest``
    int64[n_reads]: occurrences on -, and mismatches of the best one. These and ``total`` are known after
    ``runs``. ``matches``: of stretches (stretches.py).
    """

    untrimmed: ReadBatch
    batch: ReadBatch
    intervals: Any
    locators: tuple
    total: np.ndarray
    can_occur: np.ndarray
    weight: np.ndarray
    reverse: np.ndarray | None = None
    fewest: np.ndarray | None = None
    matches: Candidates | None = None

    def run(self, start: int, stop: int) -> "ReadRun":
        """Return the exact occurrences of reads start to stop."""
        return ReadRun(self.intervals, self.locators, self.matches, self.total, None, self.weight).part(
            start, stop
        )


class ReadFinder:
    """Finds exact occurrences in the ``parts`` of a text.

    ``least``: bases of the shortest read that the index can find.
    """

    def __init__(
        self,
        parts: Sequence[TextPart],
        options: MapOptions,
        observers: Observers = UNOBSERVED,
        least: int = 0,
    ) -> None:
        self.parts, self.options, self._least = tuple(parts), options, least
        self.timed: Callable = observers.clock.timed if observers.clock else nullcontext

    def search(self, untrimmed: ReadBatch, batch: ReadBatch) -> SearchedReads:
        """Search a batch of reads; ``untrimmed`` has the same reads before trimming."""
        self.refuse_shorter(batch)
        with self.timed("pack"):
            patterns = reads.pack(batch, self.options.strands)
        with self.timed("search"):
            results = [part.search(patterns) for part in self.parts]
            bounds = zip(*((each.lo, each.hi) for each in results), strict=True)
            intervals = Intervals(
                *(array[0][None] if len(array) == 1 else np.array(array) for array in bounds)
            )
            total = count(intervals)
        locators = tuple(part.locator.of(each) for part, each in zip(self.parts, results, strict=True))
        weight = self.weights_of(batch)
        return SearchedReads(untrimmed, batch, intervals, locators, total, batch.searchable, weight)

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

    def runs(
        self, mates: Sequence[SearchedReads], has_enough: Callable | None = None
    ) -> Iterator[tuple[int, list[ReadRun]]]:
        """Yield (start, Runs) of one batch of reads, or of mates 1 and mates 2.

        Each has up to ``hits`` occurrences to locate, or one read or pair. ``has_enough``: for near matches.
        """
        policy, total = self.options.policy, mates[0].total
        if mates[1:]:  # only pairs of which both mates occur are located
            other = mates[1].total
            to_locate = np.where((total > 0) & (other > 0), total + other, 0)
        else:
            to_locate = (policy.reported if are_direct(mates[0].locators) else policy.eligible)(total)
        for start, stop in runs(to_locate, self.options.sizes.hits):
            yield start, [each.run(start, stop) for each in mates]

    def choose(
        self, run: ReadRun, batch: ReadBatch, start: int, total: np.ndarray, with_changes: bool
    ) -> Hits:
        """Return the Hits of a ReadRun of reads from ``start`` on, which have ``total`` int64[n] occurrences.

        ``with_changes``: whether these are arrays, even without mismatches.
        """
        policy, near = self.options.policy, self.options.near
        candidates: list[Any] = []
        if run.intervals is not None and are_direct(run.locators):
            candidates.append(run.locators[0].occurrences(run.intervals.lo[0], run.intervals.hi[0]))
        elif run.intervals is not None:
            candidates.append(located(run.locators, run.intervals, policy.eligible(total) > 0))
        if run.matches is not None:
            candidates.append(run.matches)
        best = None
        if with_changes:
            best = total << 2 if run.best is None else run.best
        return choose(candidates, batch, start, total, policy, best, near is None or near.best_first)
