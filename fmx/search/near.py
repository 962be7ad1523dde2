"""Chunk of reads -> near matches -> records: what map() does where mismatches are allowed.

reads -> Sets -> Pieces -> Words -> Intervals -> rows compared with the text -> Matches -> NearHits

Words are searched as reads are (mapper.py), on the CPU or a GPU, over any layout.
"""

from functools import partial

import numpy as np

from ..index.parts import part_span
from ..index.sampled_sa import SampledSA
from ..input import sets
from ..input.reads import Patterns
from ..machines.jobs import runs
from .candidates import CpuVerifier, Sought, Text
from .engines import cpu
from .hits import Intervals
from .mapper import Found, MapOptions, Mapper, Near, NearFound, make_query
from .near_hits import count_reverse, fill_changes, matches_of, select
from .queries import near, words

N_LETTERS, N_READS = 1 << 20, 1 << 12  # of reads that are planned together
N_WORDS, N_ROWS = 1 << 16, 1 << 20  # that are looked up, and compared, together; a read is never cut


class NearMapper(Mapper):
    """A Mapper of near matches; ``parts``: of each what searches, a verifier, and its Text on the CPU."""

    def __init__(self, parts, options: MapOptions, tally=None, clock=None, sessions=()):
        super().__init__([(search, None) for search, _, _ in parts], options, tally, clock, sessions)
        self._verifiers, self._texts = [part[1] for part in parts], [part[2] for part in parts]
        self._near: Near = options.near  # type: ignore[assignment]
        self._table = sets.DEGENERATE if self._near.iupac else sets.PLAIN
        self._n_text = sum(text.n for text in self._texts)

    def search(self, chunk) -> Found:
        """The reads of a chunk; ``total`` is known of those whose hits were asked for."""
        given, batch = self.parse(chunk)
        sought = sets.searched(batch, self._table, self._near.mismatches)
        sought &= batch.length >= self.options.trim.least
        total, reverse, fewest = np.zeros((3, batch.length.size), np.int64)
        near_found = NearFound(reverse, fewest)
        return Found(given, batch, None, (), total, sought, self.weights_of(batch), near_found)

    def hits_of(self, found):
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

    def _hits_of_run(self, found, start, own, pieces, run):
        """The same for reads ``run`` (from, to) of those with ``pieces``, the first of which is ``start``."""
        with self.timed("pack"):
            spelled = words.spell(own, pieces, 2 * run[0], 2 * run[1])
            patterns = Patterns(spelled.words, np.arange(spelled.length.size), spelled.length)
        with self.timed("search"):
            intervals = [search(patterns) for search in self._searchers]
        sizes = sum(part.hi.astype(np.int64) - part.lo for part in intervals)
        ends = np.append(0, np.cumsum(sizes))
        borders = np.searchsorted(spelled.pattern, 2 * np.arange(run[0], run[1] + 1))
        for a, b in runs(np.diff(ends[borders]), N_ROWS):
            i, j = borders[a], borders[b]
            sought = Sought(own, pieces, self._near.mismatches, spelled.pattern[i:j], spelled.piece[i:j])
            with self.timed("locate"):
                matches = self._matches(sought, intervals, (i, j), run[0] + a, b - a)
                first = start + run[0] + a
                hits = select(matches, found.batch, first, self.options.policy, self._near)
                for text in self._texts:
                    span, pattern = (text.start, text.start + text.n), 2 * (run[0] + a)
                    fill_changes(text.words, span, own, pattern, self._near.mismatches, hits)
            own_reads = slice(first, first + b - a)
            found.total[own_reads], found.near.fewest[own_reads] = hits.total, hits.best & 3
            if self.options.counts_lengths:
                count_reverse(matches, hits.total, found.near.reverse[own_reads])
            if self.tally:
                eligible = self.options.policy.eligible(hits.total)
                weight = found.weight[first : first + b - a]
                self.tally.add_matches(matches, hits.total * (eligible > 0), weight)
            yield first, hits

    def _matches(self, sought, intervals, span, first_read, n_reads):
        """The Matches of n_reads by words number span[0] to span[1] of those with Intervals in each part."""
        found = []
        for verify, part in zip(self._verifiers, intervals, strict=True):
            pattern, key = verify(sought, Intervals(*(array[slice(*span)] for array in part)))
            found.append(((pattern >> 1) - first_read, key))
        return matches_of(found, n_reads)


def text_of(index, number) -> Text:
    """The Text of part ``number`` of an FMIndex or JoinedIndex."""
    part = index.parts[number]
    start, stop = part_span(index.meta, number)
    layout = part.layout if isinstance(part.sa, SampledSA) else part.sa  # else it is not asked
    return Text(part.sa, layout, part.text_words, part.reference.blocks, stop - start, start)


def make_near_mapper(index, options, tally=None, clock=None) -> NearMapper:
    """What finds near matches in an FMIndex or a JoinedIndex on the CPU."""
    parts = []
    for number, part in enumerate(index.parts):
        text = text_of(index, number)
        parts.append((partial(cpu.search, make_query(part)), CpuVerifier(text), text))
    return NearMapper(parts, options, tally, clock)
