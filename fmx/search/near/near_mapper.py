"""Chunk of reads -> near matches -> records: the mapper of reads with mismatches.

reads -> Sets -> Pieces -> Words -> Intervals -> rows compared with the text -> NearMatches -> NearHits

Words are searched as reads are (search/mapper.py), with any layout.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ...input import sets
from ...input.reads import subset
from ...machines.jobs import runs
from ..hits import ALL, Intervals
from ..mapper import Mapper
from ..mapping import (
    UNOBSERVED,
    MapOptions,
    NearTotals,
    Observers,
    SearchedBatch,
    TextPart,
    refuse_shorter,
)
from ..queries import near
from .matches import NearHits, NearMatches, WordBatch, add_rows, matches_of
from .selection import count_reverse, exact, fill_changes, filled, note_totals, rank, select

if TYPE_CHECKING:
    from ...input.reads import ReadBatch
    from ...input.sets import Sets
    from ..queries.near import Pieces

N_READS = 1 << 15  # most reads that are planned together
MUCH, OFTEN = 1e7, 100.0  # occurrences by chance: of a batch, which take a second, and of a read


class NearRun(NamedTuple):
    """Matches of the reads from ``first`` on in a batch; the first has pattern ``pattern`` of ``sets``."""

    batch: "ReadBatch"
    first: int
    matches: NearMatches
    sets: "Sets"
    pattern: int


class ComparesRows(Protocol):
    """Interface of a part's verifier of near matches: CpuVerifier and SparseVerifier."""

    def of(self, found: Any, /) -> "ComparesRows":
        """Return the verifier for the result of a search."""

    def __call__(self, sought: Any, intervals: Any, /) -> Sequence[np.ndarray]:
        """Return the matches of words by their Intervals in the part: (pattern, key), int64[n], by read."""


class NearMapper(Mapper):
    """A Mapper of near matches; its ``parts`` have a text and a verifier.

    ``by_strata``: whether reads are searched exactly first, and further only without a hit; without
    ``counts_all`` of Near, until there are as many as may be reported. ``shortest``: bases of the shortest
    words that a sparse suffix array looks up, 0 without one.
    """

    def __init__(
        self,
        parts: Sequence[TextPart],
        options: MapOptions,
        observers: Observers = UNOBSERVED,
        least: int = 0,
        shortest: int = 0,
    ) -> None:
        super().__init__(parts, options, observers, least)
        self._verifiers: list[ComparesRows] = [part.verify for part in parts]
        self._texts = [part.text for part in parts]
        assert options.near is not None
        self._near = options.near
        self.by_strata = self._near.strata and not self._near.iupac
        self._table = sets.DEGENERATE if self._near.iupac else sets.PLAIN
        n_text = sum(text.n for text in self._texts)
        self._lookups = near.Lookups(float(n_text), shortest, any_length=least == 0)
        self._say, self._n_said = observers.say, itertools.count()

    def search_batch(self, given: "ReadBatch", batch: "ReadBatch") -> SearchedBatch:
        """Search a batch; ``total`` is known only once the hits of a read were requested.

        If reads are searched exactly first, the exact occurrences are known from the start.
        """
        sought = sets.searched(batch, self._table, self._near.mismatches)
        if self.options.trim.least:
            sought &= batch.length >= self.options.trim.least
        refuse_shorter(batch._replace(searchable=sought), self._least, self.options.noun)
        total, reverse, fewest = np.zeros((3, batch.length.size), np.int64)
        near_found = NearTotals(reverse, fewest)
        if self._enough() == ALL:
            self._warn_of_short(batch.length[sought])
            return SearchedBatch(given, batch, None, (), total, sought, self.weights_of(batch), near_found)
        found = super().search_batch(given, batch._replace(searchable=batch.searchable & sought))
        if self.options.counts_lengths:
            reverse[:] = (found.intervals.hi[:, 1::2].astype(np.int64) - found.intervals.lo[:, 1::2]).sum(
                axis=0
            )
        return found._replace(batch=batch, sought=sought, near=near_found)

    def _enough(self) -> int:
        """Return the number of matches from which on a read is not searched with more mismatches."""
        return 1 if self.by_strata else ALL if self._near.counts_all else self.options.policy.limit

    def _warn_of_short(self, lengths: np.ndarray) -> None:
        """Print one warning, however many batches there are, if reads of these lengths occur very often."""
        n, v = np.arange(32), self._near.mismatches
        words = 1 + 3 * n * (v > 0) + 4.5 * n * (n - 1) * (v > 1)
        by_chance = 2 * self._lookups.n_text * words / 4.0**n
        often = by_chance >= OFTEN
        n_reads = np.bincount(np.minimum(lengths, n[-1]), minlength=n.size)[often]
        total = (n_reads * by_chance[often]).sum()
        if total > MUCH and self._say and self.options.noun == "read" and next(self._n_said) == 0:
            least, each = n[~often][0], total / n_reads.sum()
            self._say(
                f"warning: reads of fewer than {least} bases occur by chance about {each:,.0f} times each "
                f"(--mismatches {v}): --strata finds only the best hits, in less time; --min-length {least} "
                "leaves them unmapped"
            )

    def hits_of(self, found: SearchedBatch) -> Iterator[tuple[int, NearHits]]:
        """Yield (start, NearHits) for runs of reads."""
        if self._enough() == ALL:
            every = np.arange(found.sought.size)
            yield from self._near_hits(found, every, found.sought, self._near.mismatches)
            return
        self.count_exact(found)
        yield from self._best_hits(found, self._near.mismatches)

    def _best_hits(self, found: SearchedBatch, most: int) -> Iterator[tuple[int, NearHits]]:
        """Yield (start, NearHits) with up to ``most`` mismatches.

        Only reads without enough better matches are searched.
        """
        if most == 0:
            yield from ((start, exact(hits)) for start, hits in self.exact_hits(found))
            return
        can_occur, enough = self.can_occur(found, most), self._enough()
        for start, hits in self._best_hits(found, most - 1):
            done, stop = 0, hits.total.size
            reads = np.flatnonzero((hits.total < enough) & can_occur[start : start + stop])
            for i, own in self._near_hits(found, start + reads, can_occur, most):
                end = i + own.total.size
                after = int(reads[end]) if end < reads.size else stop
                yield start + done, filled(hits, (done, after), own, reads[i:end])
                done = after
            if done == 0:
                yield start, hits

    def can_occur(self, found: SearchedBatch, most: int) -> np.ndarray:
        """Return bool[n_reads]: which reads can occur with at most ``most`` mismatches."""
        if most == self._near.mismatches:
            return found.sought
        return found.sought & sets.searched(found.batch, self._table, most)

    def _near_hits(
        self, found: SearchedBatch, reads: np.ndarray, sought: np.ndarray, most: int
    ) -> Iterator[tuple[int, NearHits]]:
        """Yield (i, NearHits with up to ``most`` mismatches) for runs of ``reads`` int64[n] of a batch.

        A run begins at reads[i]. Reads that are not in ``sought`` get no hits.
        """
        near = self._near
        for run in self.runs_of(subset(found.batch, reads), sought[reads], most):
            with self.timed("locate"):
                ranks = rank(run.matches, near.strata)
                hits = select(run.matches, ranks, run.batch, run.first, self.options.policy, near.best_first)
                self.fill_changes(hits, run.sets, run.pattern)
            self._note(found, reads[run.first : run.first + hits.total.size], hits, run.matches)
            yield run.first, hits

    def fill_changes(self, hits: NearHits, own: "Sets", first_pattern: int = 0) -> None:
        """Fill in the changes of hits; read 0 has pattern ``first_pattern`` of the Sets."""
        for text in self._texts:
            span = text.start, text.start + text.n
            fill_changes(text.words, span, own, first_pattern, self._near.mismatches, hits)

    def sets_of(self, batch: "ReadBatch", start: int, stop: int, sought: np.ndarray) -> "Sets":
        """Return the Sets of reads start to stop of a batch; empty ones of reads not ``sought`` bool[n]."""
        return sets.make_sets(batch, start, stop, sought, self.options.strands, self._table)

    def runs_of(self, batch: "ReadBatch", sought: np.ndarray, most: int) -> Iterator[NearRun]:
        """Yield the matches with up to ``most`` mismatches of a batch; ``sought`` bool[n_reads].

        A thread may take runs of two batches in turn.
        """
        sizes = self.options.sizes
        for start, stop in runs(np.maximum(batch.length, sizes.bases // N_READS), sizes.bases):
            with self.timed("plan"):
                own = self.sets_of(batch, start, stop, sought)
                pieces = near.plan(own, most, self._lookups)
            for run in runs(2 * pieces.words, sizes.words):
                for first, matches in self._matches_of(own, pieces, run, most):
                    yield NearRun(batch, start + first, matches, own, 2 * first)

    def _matches_of(
        self, own: "Sets", pieces: "Pieces", run: tuple[int, int], most: int
    ) -> Iterator[tuple[int, NearMatches]]:
        """Yield (first, NearMatches) for reads ``run`` (from, to) of those with Sets and ``pieces``."""
        with self.timed("plan"):
            spelled = near.spell(own, pieces, *run)
        with self.timed("search"):
            intervals = [search(spelled.patterns) for search in self._searchers]
        verifiers = [verify.of(part) for verify, part in zip(self._verifiers, intervals, strict=True)]
        n_rows = np.zeros(run[1] - run[0], np.int64)
        for part in intervals:
            add_rows(Intervals(part.lo, part.hi), spelled.pattern, run[0], n_rows)
        borders = np.append(0, np.cumsum(2 * pieces.words[run[0] : run[1]]))
        for a, b in runs(n_rows, self.options.sizes.rows):
            i, j = borders[a], borders[b]
            sought = WordBatch(own, pieces, most, spelled.pattern[i:j], spelled.piece[i:j])
            with self.timed("locate"):
                own_rows = [Intervals(part.lo[i:j], part.hi[i:j]) for part in intervals]
                matches = _matches(verifiers, sought, own_rows, run[0] + a, b - a)
            yield run[0] + a, matches

    def _note(self, found: SearchedBatch, reads: np.ndarray, hits: NearHits, matches: NearMatches) -> None:
        """Count the hits of some ``reads`` int64[n] of a batch."""
        assert found.near is not None
        note_totals(reads, hits, found.total, found.near.fewest)
        if self.options.counts_lengths:
            reverse = np.zeros(reads.size, np.int64)
            count_reverse(matches, hits.total, reverse)
            found.near.reverse[reads] = reverse
        if self.tally:
            eligible = self.options.policy.eligible(hits.total)
            self.tally.add_matches(matches, hits.total * (eligible > 0), found.weight[reads])


def _matches(
    verifiers: Sequence[Any],
    sought: WordBatch,
    intervals: Sequence[Intervals],
    first_read: int,
    n_reads: int,
) -> NearMatches:
    """Return the NearMatches of n_reads by words with Intervals in each part."""
    found = [verify(sought, part) for verify, part in zip(verifiers, intervals, strict=True)]
    return matches_of(found, first_read, n_reads)
