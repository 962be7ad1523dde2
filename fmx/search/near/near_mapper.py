"""Chunk of reads -> near matches -> records: what map() does where mismatches are allowed.

reads -> Sets -> Pieces -> Words -> Intervals -> rows compared with the text -> Matches -> NearHits

Words are searched as reads are (search/mapper.py), on the CPU or a GPU, over any layout.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...input import sets
from ...input.reads import Patterns
from ...machines.jobs import runs
from ..hits import Intervals, Near
from ..mapper import Mapper
from ..mapping import UNOBSERVED, MapOptions, NearTotals, Observers, SearchedBatch, TextPart
from ..queries import near
from .matches import NearHits, NearMatches, WordBatch, count_reverse, fill_changes, matches_of, select

if TYPE_CHECKING:
    from ...input.chunks import Chunk
    from ...input.sets import Sets
    from ...machines.gpu_session import GpuSession
    from ..queries.near import Pieces

N_LETTERS, N_READS = 1 << 20, 1 << 12  # of reads that are planned together
N_WORDS, N_ROWS = 1 << 16, 1 << 20  # that are looked up, and compared, together; a read is never cut


class NearMapper(Mapper):
    """A Mapper of near matches; ``parts`` have a text, and what verifies rows there."""

    def __init__(
        self,
        parts: Sequence[TextPart],
        options: MapOptions,
        observers: Observers = UNOBSERVED,
        sessions: "Sequence[GpuSession]" = (),
    ) -> None:
        super().__init__(parts, options, observers, sessions)
        self._verifiers, self._texts = [part.verify for part in parts], [part.text for part in parts]
        self._near = options.near or Near()
        self._table = sets.DEGENERATE if self._near.iupac else sets.PLAIN
        self._n_text = sum(text.n for text in self._texts)

    def search(self, chunk: "Chunk") -> SearchedBatch:
        """The reads of a chunk; ``total`` is known of those whose hits were asked for."""
        given, batch = self.parse(chunk)
        sought = sets.searched(batch, self._table, self._near.mismatches)
        sought &= batch.length >= self.options.trim.least
        total, reverse, fewest = np.zeros((3, batch.length.size), np.int64)
        near_found = NearTotals(reverse, fewest)
        return SearchedBatch(given, batch, None, (), total, sought, self.weights_of(batch), near_found)

    def hits_of(self, found: SearchedBatch) -> Iterator[tuple[int, NearHits]]:
        """Yield (start, NearHits) for runs of reads."""
        lengths = np.maximum(found.batch.length, N_LETTERS // N_READS)
        for start, stop in runs(lengths, N_LETTERS):
            with self.timed("pack"):
                own = sets.make_sets(
                    found.batch, start, stop, found.sought, self.options.strands, self._table
                )
                pieces = near.plan(own, self._near.mismatches, self._n_text)
            n_words = pieces.words[0::2] + pieces.words[1::2]
            for a, b in runs(n_words, N_WORDS):
                yield from self._hits_of_run(found, start, own, pieces, (a, b))

    def _hits_of_run(
        self, found: SearchedBatch, start: int, own: "Sets", pieces: "Pieces", run: tuple[int, int]
    ) -> Iterator[tuple[int, NearHits]]:
        """The same for reads ``run`` (from, to) of those with ``pieces``, the first of which is ``start``."""
        with self.timed("pack"):
            spelled = near.spell(own, pieces, 2 * run[0], 2 * run[1])
            patterns = Patterns(spelled.words, np.arange(spelled.length.size), spelled.length)
        with self.timed("search"):
            intervals = [search(patterns) for search in self._searchers]
        sizes = sum(part.hi.astype(np.int64) - part.lo for part in intervals)
        ends = np.append(0, np.cumsum(sizes))
        borders = np.searchsorted(spelled.pattern, 2 * np.arange(run[0], run[1] + 1))
        for a, b in runs(np.diff(ends[borders]), N_ROWS):
            i, j = borders[a], borders[b]
            sought = WordBatch(own, pieces, self._near.mismatches, spelled.pattern[i:j], spelled.piece[i:j])
            with self.timed("locate"):
                matches = self._matches(sought, intervals, (i, j), run[0] + a, b - a)
                first = start + run[0] + a
                hits = select(matches, found.batch, first, self.options.policy, self._near)
                for text in self._texts:
                    span, pattern = (text.start, text.start + text.n), 2 * (run[0] + a)
                    fill_changes(text.words, span, own, pattern, self._near.mismatches, hits)
            own_reads = slice(first, first + b - a)
            assert found.near is not None
            found.total[own_reads], found.near.fewest[own_reads] = hits.total, hits.best & 3
            if self.options.counts_lengths:
                count_reverse(matches, hits.total, found.near.reverse[own_reads])
            if self.tally:
                eligible = self.options.policy.eligible(hits.total)
                weight = found.weight[first : first + b - a]
                self.tally.add_matches(matches, hits.total * (eligible > 0), weight)
            yield first, hits

    def _matches(
        self,
        sought: WordBatch,
        intervals: Sequence[Intervals],
        span: tuple[int, int],
        first_read: int,
        n_reads: int,
    ) -> NearMatches:
        """The NearMatches of n_reads by words span[0] to span[1] of those with Intervals in each part."""
        found = []
        for verify, part in zip(self._verifiers, intervals, strict=True):
            pattern, key = verify(sought, Intervals(*(array[slice(*span)] for array in part)))
            found.append(((pattern >> 1) - first_read, key))
        return matches_of(found, n_reads)
