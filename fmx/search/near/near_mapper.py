"""Matches -> hits: which near matches of a read are reported, and what is changed in each.

The rule: matches are ordered by mismatches, contig, position, strand (+ first); of these the first ``limit``,
or drawn by a seed and the read's name among those of the stratum that is not reported whole; none if there
are more than ``at_most``.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.sorting import sort
from ...input import sets
from ...input.reads import Patterns
from ...input.sets import changes_at, changes_of, n_changes, peers_of
from ...machines.jobs import runs
from ..hits import Intervals, draw, hash_name
from ..mapping import UNOBSERVED, MapOptions, Mapper, Near, NearTotals, Observers, SearchedBatch, TextPart
from ..queries import near
from .matches import KEY_BITS, WordBatch, position_in

if TYPE_CHECKING:
    from ...input.chunks import Chunk
    from ...input.reads import ReadBatch
    from ...input.sets import Sets
    from ...machines.gpu_session import GpuSession
    from ..hits import SelectionPolicy
    from ..queries.near import Pieces


class NearHits(NamedTuple):
    """Hits (search/hits.py) with ``changes`` int64[n_hits] of each (input/sets.py).

    ``best`` int64[n_reads]: how many matches of a read have the fewest mismatches, times 4, and these.
    """

    first: np.ndarray
    position: np.ndarray
    reverse: np.ndarray
    total: np.ndarray
    changes: np.ndarray
    best: np.ndarray


class NearMatches(NamedTuple):
    """Those of read r: ``keys`` int64 (matches.py) from ``first[r]`` to ``first[r + 1]``."""

    first: np.ndarray
    keys: np.ndarray


@changes_of.register(NearHits)
def _changes_of(hits, hit):
    return hits.changes[hit]


@peers_of.register(NearHits)
def _peers_of(hits, i, hit):
    best = hits.best[i]
    return best >> 2 if n_changes(hits.changes[hit]) == best & 3 else np.int64(0)


def matches_of(found: Sequence[tuple[np.ndarray, np.ndarray]], n_reads: int) -> NearMatches:
    """The matches of n_reads by what each part has: (read, key), int64 both, by read."""
    read, key = (np.concatenate(columns) for columns in zip(*found, strict=True))
    if len(found) > 1:
        order = np.argsort(read, kind="stable")
        read, key = read[order], key[order]
    first = np.append(0, np.cumsum(np.bincount(read, minlength=n_reads)))
    return NearMatches(first, key)


def select(
    matches: NearMatches, batch: "ReadBatch", start: int, policy: "SelectionPolicy", near: Near
) -> NearHits:
    """The hits of reads start, start + 1, ... of a batch, whose changes are not known yet (fill_changes).

    ``near`` a mapper.Near.
    """
    n = matches.first.size - 1
    total, best = np.empty(n, np.int64), np.empty(n, np.int64)
    _rank(matches, near.strata, total, best)
    first = np.append(0, np.cumsum(policy.reported(total)))
    hits = NearHits(
        first,
        np.empty(first[-1], np.int64),
        np.empty(first[-1], np.bool_),
        total,
        np.empty(first[-1], np.int64),
        best,
    )
    _choose(matches, batch, start, hits, policy.seed, near.best_first)
    return hits


@compiled
def _rank(matches, strata, total, best):
    """Sort the matches of each read; ``total``: how many there are, or, with ``strata``, of the best."""
    for r in range(total.size):
        n, own = matches.first[r + 1] - matches.first[r], matches.keys[matches.first[r] :]
        sort(own, n)
        n_best = _stratum_end(own, 0, n)
        total[r] = n_best if strata else n
        best[r] = n_best << 2 | (own[0] >> KEY_BITS if n else 0)


@inlined
def _stratum_end(keys, j, n):
    """The end of the matches with as many mismatches as number j has."""
    end = j
    while end < n and keys[end] >> KEY_BITS == keys[j] >> KEY_BITS:
        end += 1
    return end


@compiled
def _choose(matches, batch, start, hits, seed, best_first):
    for r in range(hits.total.size):
        out, n = hits.first[r], hits.first[r + 1] - hits.first[r]
        own, total = matches.keys[matches.first[r] :], hits.total[r]
        if seed >= 0 and 0 < n < total:
            begin, end = np.int64(0), _stratum_end(own, 0, total)
            while end < n:
                begin, end = end, _stratum_end(own, end, total)
            draw(own[begin:], end - begin, n - begin, hash_name(batch, start + r, seed))
        if not best_first:
            for j in range(n):
                own[j] &= (np.int64(1) << KEY_BITS) - 1
            sort(own, n)
        for j in range(n):
            hits.position[out + j], hits.reverse[out + j] = position_in(own[j]), own[j] & 1


@compiled
def count_reverse(matches, total, reverse):
    """How many of the first ``total`` int64[n_reads] Matches of each read are on -, into ``reverse``."""
    for r in range(total.size):
        for j in range(matches.first[r], matches.first[r] + total[r]):
            reverse[r] += matches.keys[j] & 1


@compiled
def fill_changes(words, span, sets, first_pattern, most, hits):
    """The changes of the hits in a part with packed ``words``, of the text's ``span`` (start, stop).

    Read 0 of ``hits`` has pattern ``first_pattern``.
    """
    for r in range(hits.total.size):
        for hit in range(hits.first[r], hits.first[r + 1]):
            position = hits.position[hit] - span[0]
            if 0 <= position < span[1] - span[0]:
                i = first_pattern + 2 * r + hits.reverse[hit]
                hits.changes[hit] = changes_at(words, position, sets, i, most)


# Chunk of reads -> near matches -> records: what map() does where mismatches are allowed.
#
# reads -> Sets -> Pieces -> Words -> Intervals -> rows compared with the text -> Matches -> NearHits
#
# Words are searched as reads are (search/mapping.py), on the CPU or a GPU, over any layout.

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

    def hits_of(self, found: Any) -> Any:
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
