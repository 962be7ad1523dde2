"""Find near matches: reads -> Sets -> Pieces -> Words -> Intervals -> comparison with the text -> Candidates.

Words are searched as reads are (search/find.py), with any layout. If only the best matches are wanted, reads
are searched exactly first, and those without enough matches with one more mismatch at a time.

A row of a word gives the position of its piece in the text. There the pattern is compared, 32 symbols at a
time. An occurrence that several pieces find is kept only for the first of them.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch
from ..index.contracts import position_of, prefetch_position
from ..index.disk import part_span
from ..index.positions import FullSA, SampledSA
from ..index.reference import Blocks, find_block, text_key
from ..input import sets
from ..input.reads import subset
from ..input.sets import NONE, change_at, changes_at, n_changes
from ..machines.jobs import runs
from .find import ReadFinder, SearchedReads
from .hits import ALL, KEY_BITS, Candidates, Hits, Intervals, Locator, ReadRun, cut_sources, located, rank
from .mapping import UNOBSERVED, MapOptions, Observers
from .queries import near

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from ..input.reads import ReadBatch
    from ..input.sets import Sets
    from .queries.near import Pieces


N_READS = 1 << 15  # most reads that are planned together
MUCH, OFTEN = 1e7, 100.0  # occurrences by chance: of a batch, which take a second, and of a read
_AHEAD = 32  # rows, reads, or hits of one, between a prefetch and the access


class PartText(NamedTuple):
    """A part of the text, which begins at ``start``, and what locates its rows.

    ``words``: the packed text of ``n`` symbols. ``blocks``: by positions in the part.
    """

    sa: Any
    layout: Any
    words: np.ndarray
    blocks: Blocks
    n: int
    start: int


def text_of(index: "FMIndex | JoinedIndex", number: int) -> PartText:
    """Return the PartText of part ``number`` of an index that was opened with its text."""
    part = index.parts[number]
    start, stop = part_span(index.meta, number)
    layout = part.layout if isinstance(part.sa, SampledSA) else part.sa  # otherwise it is not used
    assert part.text_words is not None, "the index was opened without its text"
    return PartText(part.sa, layout, part.text_words, part.reference.blocks, stop - start, start)


class WordBatch(NamedTuple):
    """Words to be compared: patterns (Sets), their Pieces, and the most mismatches.

    ``pattern``, ``piece`` int64[n]: those of each word. Words are in the order of their reads.
    """

    sets: Any
    pieces: Any
    most: int
    pattern: np.ndarray
    piece: np.ndarray


def verify(
    text: PartText, locator: Any, words: WordBatch, intervals: Intervals, n_matches: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the matches of words by their Intervals in a part: (pattern, key), int64[n], by read.

    ``locator``: a SparseLocator locates occurrences by number before they are compared. ``n_matches`` are
    collected at a time.
    """
    if not isinstance(locator, Locator):
        size = intervals.hi - intervals.lo
        ends = np.cumsum(size)
        sa = FullSA(locator.locate(intervals.lo, size) - text.start)
        text, intervals = text._replace(sa=sa, layout=sa), Intervals(ends - size, ends)
    pieces: list[tuple[np.ndarray, np.ndarray]] = []
    done, scratch = np.zeros(2, np.int64), np.empty((2, _AHEAD), np.int64)
    while done[0] < intervals.lo.size or not pieces:
        pattern, key = np.empty((2, n_matches), np.int64)
        n = _verify(text, words, intervals, done, (pattern, key), scratch)
        pieces.append((pattern[:n], key[:n]))
    return joined(pieces)


def joined(pieces: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return (pattern, key) of all of ``pieces``, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    pattern, key = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    return pattern, key


@compiled
def add_rows(intervals, pattern, first_read, rows):
    """Add the rows of each word to ``rows`` int64[n_reads] of its read, by ``pattern`` int64[n_words].

    Read 0 of ``rows`` is number ``first_read``.
    """
    for i in range(intervals.lo.size):
        rows[(pattern[i] >> 1) - first_read] += np.int64(intervals.hi[i]) - np.int64(intervals.lo[i])


@compiled
def _verify(text, words, intervals, done, out, scratch):
    """Write the matches of words at the rows of their Intervals to ``out`` until it is full.

    Return their number.

    ``done`` int64[2]: how many words, and rows of the next one, are done. ``scratch`` int64[2, _AHEAD]: words
    and text positions that were prefetched.
    """
    lo, hi, most = intervals.lo, intervals.hi, out[0].size
    n, n_waiting, begin = np.int64(0), np.int64(0), done[1]
    for word in range(done[0], lo.size):
        if word + _AHEAD < lo.size and lo[word + _AHEAD] < hi[word + _AHEAD]:
            prefetch_position(text.sa, np.int64(lo[word + _AHEAD]))
        for row in range(np.int64(lo[word]) + begin, np.int64(hi[word])):
            if n + n_waiting == most:
                n = _compare(text, words, n_waiting, scratch, out, n)
                n_waiting = np.int64(0)
                if n == most:
                    done[0], done[1] = word, row - np.int64(lo[word])
                    return n
            length = words.sets.length[words.pattern[word]]
            start = words.pieces.columns[words.pattern[word], words.piece[word], near.START]
            position = position_of(text.sa, text.layout, row) - start
            if position < 0 or position + length > text.n:
                continue
            prefetch(text.words, position >> 5)
            prefetch(text.words, (position + length - 1) >> 5)
            scratch[0, n_waiting], scratch[1, n_waiting] = word, position
            n_waiting += 1
            if n_waiting == _AHEAD:
                n = _compare(text, words, n_waiting, scratch, out, n)
                n_waiting = np.int64(0)
        begin = np.int64(0)
    done[0], done[1] = lo.size, 0
    return _compare(text, words, n_waiting, scratch, out, n)


@inlined
def _compare(text, words, n_waiting, scratch, out, n):
    """Compare the positions that wait; return the number of matches so far."""
    for j in range(n_waiting):
        key = match_at(text, words, scratch[0, j], scratch[1, j])
        if key >= 0:
            out[0][n], out[1][n] = words.pattern[scratch[0, j]], key
            n += 1
    return n


@inlined
def match_at(text, words, word, position):
    """Return the key of the match of a word's pattern at a position of the part, or -1.

    Returns -1 also if an earlier piece finds this match.
    """
    i, piece = words.pattern[word], words.piece[word]
    changes = changes_at(text.words, position, words.sets, i, words.most)
    if changes == NONE:
        return np.int64(-1)
    for j in range(piece):
        if _catches(words.pieces.columns[i, j], changes):
            return np.int64(-1)
    block = find_block(text.blocks, position)
    end = at(text.blocks.text_start, block) + at(text.blocks.length, block)
    if position + words.sets.length[i] > end:
        return np.int64(-1)
    return n_changes(changes) << KEY_BITS | text_key(text.start + position, i & 1)


@inlined
def _catches(piece, changes):
    """Return whether a piece, int64[N_COLUMNS], finds an occurrence with these changes."""
    inside, n_beyond = np.int64(0), np.int64(0)
    for k in range(n_changes(changes)):
        where, _ = change_at(changes, k)
        is_inside = piece[near.START] <= where < piece[near.START] + piece[near.LENGTH]
        inside += is_inside
        n_beyond += is_inside and not piece[near.INNER] <= where < piece[near.OUTER]
    is_used = piece[near.LENGTH] > 0 and n_beyond == 0
    return is_used and piece[near.LEAST] <= inside <= piece[near.MOST_CHANGED]


class NearPart(NamedTuple):
    """A part of the text: ``search`` and ``locator`` as in TextPart, and its ``text``."""

    search: Any
    locator: Any
    text: PartText


class NearMatches(NamedTuple):
    """``candidates`` of some reads, and the Sets that they were found with.

    ``sources``: (Sets, int64[n_reads]): the row of each read among their reads, or -1.
    """

    candidates: Candidates
    sources: tuple = ()

    @property
    def n(self) -> int:
        """Number of reads."""
        return self.candidates.first.size - 1

    def cut(self, start: int, stop: int) -> "NearMatches":
        """Return those of reads start to stop."""
        first = self.candidates.first[start : stop + 1]
        return NearMatches(self.candidates._replace(first=first), cut_sources(self.sources, start, stop))


class NearFinder(ReadFinder):
    """A ReadFinder of near matches.

    ``shortest``: bases of the shortest words that a sparse suffix array looks up, 0 without one.
    """

    parts: tuple[NearPart, ...]  # type: ignore[assignment]

    def __init__(
        self, parts: Sequence[NearPart], options: MapOptions, observers: Observers = UNOBSERVED,
        least: int = 0, shortest: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(parts, options, observers, least)  # type: ignore[arg-type]
        assert options.near is not None
        self._near, self._most, by_strata = options.near, options.near.mismatches, options.near.strata
        by_strata = by_strata and not self._near.iupac
        # The number of matches from which on a read is not searched with more mismatches.
        self._enough = 1 if by_strata else ALL if self._near.counts_all else options.policy.limit
        self.in_steps = by_strata if options.pairing else self._enough < ALL
        self._table = sets.DEGENERATE if self._near.iupac else sets.PLAIN
        n_text = sum(part.text.n for part in parts)
        self._lookups = near.Lookups(float(n_text), shortest, any_length=least == 0)
        self._say, self._n_warnings = observers.say, itertools.count()

    def search(self, untrimmed: "ReadBatch", batch: "ReadBatch") -> SearchedReads:
        """Search a batch exactly if more mismatches are allowed in steps; else leave it all to ``runs``."""
        can_occur = sets.searched(batch, self._table, self._most)
        if self.options.trim.least:
            can_occur &= batch.length >= self.options.trim.least
        self.refuse_shorter(batch._replace(searchable=can_occur))
        total, reverse, fewest = np.zeros((3, batch.length.size), np.int64)
        if self._enough == ALL:
            self._warn_of_short(batch.length[can_occur])
        if not self.in_steps:
            weight = self.weights_of(batch)
            return SearchedReads(untrimmed, batch, None, (), total, can_occur, weight, reverse, fewest)
        reads = super().search(untrimmed, batch._replace(searchable=batch.searchable & can_occur))
        if self.options.counts_lengths:
            lo, hi = (array[:, 1::2].astype(np.int64) for array in reads.intervals)
            reverse[:] = (hi - lo).sum(axis=0)
        return reads._replace(batch=batch, can_occur=can_occur, reverse=reverse, fewest=fewest)

    def _warn_of_short(self, lengths: np.ndarray) -> None:
        """Print one warning, however many batches there are, if reads of these lengths occur very often."""
        n, v = np.arange(32), self._most
        words = 1 + 3 * n * (v > 0) + 4.5 * n * (n - 1) * (v > 1)
        by_chance = 2 * self._lookups.n_text * words / 4.0**n
        often = by_chance >= OFTEN
        n_reads = np.bincount(np.minimum(lengths, n[-1]), minlength=n.size)[often]
        total = (n_reads * by_chance[often]).sum()
        if total > MUCH and self._say and self.options.noun == "read" and next(self._n_warnings) == 0:
            least, each = n[~often][0], total / n_reads.sum()
            self._say(
                f"warning: reads of fewer than {least} bases occur by chance about {each:,.0f} times each "
                f"(--mismatches {v}): --strata finds only the best hits, in less time; --min-length {least} "
                "leaves them unmapped"
            )

    def runs(
        self, mates: Sequence[SearchedReads], has_enough: Callable | None = None
    ) -> Iterator[tuple[int, list[ReadRun]]]:
        """Yield (start, Runs) as ReadFinder.runs, and fill in what SearchedReads lack.

        ``has_enough(start, candidates, most)`` returns bool[n]: which reads or pairs from ``start`` on, with
        candidates with up to ``most`` mismatches (of both mates), need no more.
        """

        def of_single(start: int, candidates: Sequence[Candidates], most: int) -> np.ndarray:
            n = np.diff(candidates[0].first)
            return np.where(n > 0, n, mates[0].total[start : start + n.size]) >= self._enough

        for start, matches in self._steps(mates, self._most, has_enough or of_single):
            with self.timed("locate"):
                of_mates = [self._run(*each, start) for each in zip(mates, matches, strict=True)]
            yield start, of_mates

    def _run(self, reads: SearchedReads, matches: NearMatches, start: int) -> ReadRun:
        """Return the ReadRun of reads with ``matches``; the others have their exact occurrences."""
        candidates, sources = matches
        total, best = rank(candidates, self._near.strata)
        run = reads.run(start, start + total.size)
        exact = None if self.options.pairing else run.intervals
        if exact is not None:
            exact = exact._replace(hi=exact.hi.copy())
            _leave_out(candidates, *exact)
        fewest, reverse = (array[start : start + total.size] for array in (reads.fewest, reads.reverse))  # type: ignore[index]
        _settle(candidates, run.total, total, best, fewest)
        if self.options.counts_lengths:
            _count_reverse(candidates, total, reverse)
        return run._replace(intervals=exact, matches=candidates, total=total, best=best, sources=sources)

    def _steps(
        self, mates: Sequence[SearchedReads], most: int, has_enough: Callable
    ) -> Iterator[tuple[int, list[NearMatches]]]:
        """Yield (start, NearMatches of each of ``mates``) with up to ``most`` mismatches, for runs of reads.

        In steps, those that have enough better matches have only these, and pairs that cannot occur with so
        few mismatches none at all, unless ``most`` is all that are allowed. Single reads without mismatches
        have none: they keep their exact occurrences. Of pairs without mismatches, both mates occur.
        """
        if self.in_steps and most == 0:
            for start, exact in super().runs(mates):
                if not mates[1:]:
                    none = Candidates(np.zeros(exact[0].total.size + 1, np.int64), np.empty(0, np.int64))
                    yield start, [NearMatches(none)]
                    continue
                with self.timed("locate"):
                    both = (exact[0].total > 0) & (exact[1].total > 0)
                    matches = [NearMatches(_exact_matches(run, both)) for run in exact]
                yield start, matches
            return
        can_occur = [each.can_occur for each in mates]
        if most < self._most:
            can_occur = [each.can_occur & sets.searched(each.batch, self._table, most) for each in mates]
        if not self.in_steps:
            yield from self._near_matches(mates, np.arange(can_occur[0].size), can_occur, most)
            return
        either = np.logical_or if most == self._most else np.logical_and
        any_can = either.reduce(can_occur)
        for start, matches in self._steps(mates, most - 1, has_enough):
            n_reads, done = matches[0].n, 0
            with self.timed("pair" if mates[1:] else "locate"):
                candidates = [each.candidates for each in matches]
                lacks = ~has_enough(start, candidates, most - 1) & any_can[start : start + n_reads]
                reads = np.flatnonzero(lacks)
            for i, more in self._near_matches(mates, start + reads, can_occur, most):
                improved = reads[i : i + more[0].n]
                after = int(reads[i + improved.size]) if i + improved.size < reads.size else n_reads
                yield (
                    start + done,
                    [_replaced(*each, improved, (done, after)) for each in zip(matches, more, strict=True)],
                )
                done = after
            if done == 0:
                yield start, matches

    def _near_matches(
        self, mates: Sequence[SearchedReads], reads: np.ndarray, can_occur: Sequence[np.ndarray], most: int
    ) -> Iterator[tuple[int, list[NearMatches]]]:
        """Yield (i, NearMatches of each of ``mates``) of ``reads`` int64[n], from reads[i] on.

        Runs of mates are cut where those of either side begin.
        """
        sides = [
            self._runs_of(subset(each.batch, reads), which[reads], most)
            for each, which in zip(mates, can_occur, strict=True)
        ]
        heads = [next(side, None) for side in sides]
        while all(heads):
            n = min(matches.n for _, matches in heads)  # type: ignore[misc]
            yield heads[0][0], [matches.cut(0, n) for _, matches in heads]  # type: ignore[index, misc]
            rest = [(first + n, matches.cut(n, matches.n)) for first, matches in heads]  # type: ignore[misc]
            heads = [left if left[1].n else next(side, None) for left, side in zip(rest, sides, strict=True)]

    def _runs_of(
        self, batch: "ReadBatch", searched: np.ndarray, most: int
    ) -> Iterator[tuple[int, NearMatches]]:
        """Yield (first read, NearMatches) with up to ``most`` mismatches of reads ``searched`` bool[n_reads].

        A thread may take runs of two batches in turn.
        """
        sizes = self.options.sizes
        for start, stop in runs(np.maximum(batch.length, sizes.bases // N_READS), sizes.bases):
            with self.timed("plan"):
                patterns = sets.make_sets(batch, start, stop, searched, self.options.strands, self._table)
                pieces = near.plan(patterns, most, self._lookups)
            for span in runs(2 * pieces.words, sizes.words):
                for first, matches in self._matches_of(patterns, pieces, span, most):
                    rows = np.arange(first, first + matches.first.size - 1)
                    yield start + first, NearMatches(matches, ((patterns, rows),))

    def _matches_of(
        self, patterns: "Sets", pieces: "Pieces", span: tuple[int, int], most: int
    ) -> Iterator[tuple[int, Candidates]]:
        """Yield (first, Candidates) for reads ``span`` (from, to) of those with Sets and ``pieces``."""
        with self.timed("plan"):
            spelled = near.spell(patterns, pieces, *span)
        with self.timed("search"):
            rows = [part.search(spelled.patterns) for part in self.parts]
        locators = [part.locator.of(each) for part, each in zip(self.parts, rows, strict=True)]
        n_rows = np.zeros(span[1] - span[0], np.int64)
        for each in rows:
            add_rows(Intervals(each.lo, each.hi), spelled.pattern, span[0], n_rows)
        borders, sizes = np.append(0, np.cumsum(2 * pieces.words[span[0] : span[1]])), self.options.sizes
        for a, b in runs(n_rows, sizes.rows):
            i, j = borders[a], borders[b]
            words = WordBatch(patterns, pieces, most, spelled.pattern[i:j], spelled.piece[i:j])
            with self.timed("locate"):
                of_parts = [
                    verify(part.text, locator, words, Intervals(each.lo[i:j], each.hi[i:j]), sizes.matches)
                    for part, locator, each in zip(self.parts, locators, rows, strict=True)
                ]
                pattern, key = joined(of_parts)
                if len(of_parts) > 1:
                    order = np.argsort(pattern >> 1, kind="stable")
                    pattern, key = pattern[order], key[order]
                n = np.bincount((pattern >> 1) - span[0] - a, minlength=b - a)
            yield span[0] + a, Candidates(np.append(0, np.cumsum(n)), key)

    def choose(
        self, run: ReadRun, batch: "ReadBatch", start: int, total: np.ndarray, with_changes: bool = True
    ) -> Hits:
        """Return the Hits of a ReadRun of reads from ``start`` on, with their changes."""
        hits = super().choose(run, batch, start, total, True)
        self.fill_changes(run.sources, hits)
        return hits

    def fill_changes(self, sources: tuple, hits: Hits) -> None:
        """Fill in the changes of hits of reads that have a row in ``sources`` (NearMatches)."""
        for patterns, rows in sources:
            for part in self.parts:
                span = part.text.start, part.text.start + part.text.n
                _fill_changes(part.text.words, span, patterns, rows, self._most, hits)


def _exact_matches(run: ReadRun, is_needed: np.ndarray) -> Candidates:
    """Return the exact occurrences of reads of a ReadRun, where bool[n] ``is_needed``, as Candidates."""
    lists = located(run.locators, run.intervals, is_needed)  # type: ignore[arg-type]
    sizes = lists.hi - lists.lo
    strand = np.repeat(np.tile([0, 1], is_needed.size), sizes)
    first = np.append(0, np.cumsum(sizes[::2] + sizes[1::2]))
    return Candidates(first, text_key(lists.positions, strand))


def _replaced(
    matches: NearMatches, more: NearMatches, reads: np.ndarray, span: tuple[int, int]
) -> NearMatches:
    """Return the NearMatches of reads ``span`` (from, to), with those of ``more`` for ``reads`` int64[n]."""
    (start, stop), ours, theirs = span, matches.candidates, more.candidates
    which, size = reads - start, ours.first[stop] - ours.first[start]
    begin, n = ours.first[start:stop] - ours.first[start], np.diff(ours.first[start : stop + 1])
    begin[which], n[which] = size + theirs.first[:-1] - theirs.first[0], np.diff(theirs.first)
    first = np.append(0, np.cumsum(n))
    both = (each.keys[each.first[a] : each.first[b]] for each, a, b in ((ours, start, stop), (theirs, 0, -1)))
    keys = np.concatenate(tuple(both))[np.repeat(begin - first[:-1], n) + np.arange(first[-1])]
    sources = [(patterns, rows.copy()) for patterns, rows in cut_sources(matches.sources, start, stop)]
    for _, rows in sources:
        rows[which] = -1
    for patterns, rows in more.sources:
        spread = np.full(stop - start, -1)
        spread[which] = rows
        sources.append((patterns, spread))
    return NearMatches(Candidates(first, keys), tuple(sources))


@compiled
def _leave_out(matches, lo, hi):
    """Leave the reads with matches without exact occurrences, ``lo`` to ``hi`` [n_parts, 2 * n]."""
    for part in range(lo.shape[0]):
        for i in range(lo.shape[1]):
            if matches.first[i >> 1] < matches.first[(i >> 1) + 1]:
                hi[part, i] = lo[part, i]


@compiled
def _settle(matches, exact, total, best, fewest):
    """Give reads without matches the ``total`` and ``best`` of their ``exact`` occurrences, int64[n] all.

    ``exact`` becomes ``total``; ``fewest`` gets the mismatches of the best match.
    """
    for r in range(total.size):
        if matches.first[r] == matches.first[r + 1]:
            total[r], best[r] = exact[r], exact[r] << 2
        exact[r], fewest[r] = total[r], best[r] & 3


@compiled
def _count_reverse(matches, total, reverse):
    """Store in ``reverse`` how many of the first ``total`` int64[n_reads] matches of each read are on -.

    Reads without matches keep their number.
    """
    for r in range(total.size):
        if matches.first[r] < matches.first[r + 1]:
            reverse[r] = 0
            for j in range(matches.first[r], matches.first[r] + total[r]):
                reverse[r] += matches.keys[j] & 1


@compiled
def _fill_changes(words, span, sets, rows, most, hits):
    """Fill in the changes of hits in a part with packed ``words``, at ``span`` (start, stop) of the text.

    ``rows`` int64[n_reads]: row of each read in the Sets, or -1.
    """
    for r in range(rows.size):
        if r + _AHEAD < rows.size and rows[r + _AHEAD] >= 0:
            _prefetch_hit(words, span, hits, hits.first[r + _AHEAD], hits.first[r + _AHEAD + 1])
        if rows[r] < 0:
            continue
        for hit in range(hits.first[r], hits.first[r + 1]):
            _prefetch_hit(words, span, hits, hit + _AHEAD, hits.first[r + 1])
            position = hits.position[hit] - span[0]
            if 0 <= position < span[1] - span[0]:
                hits.changes[hit] = changes_at(words, position, sets, 2 * rows[r] + hits.reverse[hit], most)


@inlined
def _prefetch_hit(words, span, hits, hit, stop):
    """Prefetch the text of a hit, if it is before ``stop`` and in the part."""
    if hit < stop and span[0] <= hits.position[hit] < span[1]:
        prefetch(words, (hits.position[hit] - span[0]) >> 5)
