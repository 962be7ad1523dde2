"""Find near matches: reads -> Sets -> Pieces -> Words -> Intervals -> comparison with the text -> Candidates.

    search          if there are steps, searches all reads exactly; if not, nothing yet
    runs_of         yields runs of reads with their Candidates, sorted by rank (_run)
    _matches_up_to  searches reads without enough matches again, with one more mismatch at each step
    _near_matches   plans pieces, searches their words (_search_words), compares at their rows (_compare)
    choose          Candidates -> Hits (hits.py), and how they differ from the reads (fill_changes)

With ``strata``, or without ``counts_all`` for single reads, there are steps. Strata with ``iupac`` are
selected only at the end, as an exact search knows no codes. Words are searched as reads are (find.py), with
any layout. A row of a word gives the position of its piece in the text. There the pattern is compared, 32
symbols at a time. An occurrence that several pieces find is kept only for the first of them.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch
from ..dna import DEGENERATE, PLAIN
from ..index.contracts import position_of, prefetch_position
from ..index.disk import part_span
from ..index.positions import FullSA, SampledSA
from ..index.reference import Blocks, find_block, text_key
from ..input import sets
from ..input.reads import subset
from ..input.sets import NONE, change_at, changes_at, n_changes
from ..limits import ALL
from ..machines.jobs import runs
from .find import ReadFinder, TextPart
from .hits import KEY_BITS, Candidates, Hits, Intervals, Locator, ReadRun, located, rank
from .mapping import NO_HOOKS, Hooks, MapOptions
from .queries import near_words

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from ..input.reads import ReadBatch
    from ..input.sets import Sets
    from .queries.near_words import Pieces


_N_READS = 1 << 15  # most reads that are planned together
SLOW, _OFTEN = 1e7, 100.0  # occurrences by chance: of a batch, which take a second, and of a read
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


class NearFinder(ReadFinder):
    """A ReadFinder of near matches.

    ``shortest``: bases of the shortest words that a sparse suffix array looks up, 0 without one.
    """

    def __init__(
        self, parts: Sequence[TextPart], options: MapOptions, hooks: Hooks = NO_HOOKS,
        least: int = 0, shortest: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(parts, options, hooks, least)
        assert options.near is not None
        self._near, self._most, by_strata = options.near, options.near.mismatches, options.near.strata
        by_strata = by_strata and not self._near.iupac
        # The number of matches from which on a read is not searched with more mismatches.
        self._enough = 1 if by_strata else ALL if self._near.counts_all else options.policy.limit
        self.in_steps = by_strata if options.pairing else self._enough < ALL
        self._table = DEGENERATE if self._near.iupac else PLAIN
        n_text = sum(part.text.n for part in parts)
        self._lookups = near_words.Lookups(float(n_text), shortest, any_length=least == 0)
        self._n_warnings = itertools.count()

    def search(self, batch: "ReadBatch") -> ReadRun:
        """Search a batch exactly if mismatches are allowed in steps; else leave it all to ``runs_of``."""
        can_occur = sets.searched(batch, self._table, self._most)
        if self.options.trim.least:
            can_occur &= batch.length >= self.options.trim.least
        self.refuse_shorter(batch._replace(searchable=can_occur))
        total, reverse, fewest = np.zeros((3, batch.length.size), np.int64)
        if self._enough == ALL:
            self._warn_of_short(batch.length[can_occur])
        if not self.in_steps:
            return ReadRun(batch, None, (), total, can_occur, self.weights_of(batch), reverse, fewest)
        reads = super().search(batch._replace(searchable=batch.searchable & can_occur))
        return reads._replace(batch=batch, can_occur=can_occur, fewest=fewest)

    def _warn_of_short(self, lengths: np.ndarray) -> None:
        """Print one warning, however many batches there are, if reads of these lengths occur very often."""
        n, v = np.arange(32), self._most
        words = 1 + 3 * n * (v > 0) + 4.5 * n * (n - 1) * (v > 1)
        by_chance = 2 * self._lookups.n_text * words / 4.0**n
        often = by_chance >= _OFTEN
        n_reads = np.bincount(np.minimum(lengths, n[-1]), minlength=n.size)[often]
        total = (n_reads * by_chance[often]).sum()
        say = self.hooks.say
        if total > SLOW and say and self.options.noun == "read" and next(self._n_warnings) == 0:
            least, each = n[~often][0], total / n_reads.sum()
            say(
                f"warning: reads of fewer than {least} bases occur by chance about {each:,.0f} times each "
                f"(--mismatches {v}): --strata finds only the best hits, in less time; --min-length {least} "
                "leaves them unmapped"
            )

    def runs_of(self, mates: Sequence[ReadRun], has_enough: Any = None) -> Iterator[list[ReadRun]]:
        """Yield runs as ReadFinder.runs_of, and fill in what a ReadRun lacks.

        ``has_enough(start, candidates, most)`` returns bool[n]: which reads or pairs from ``start`` on, with
        candidates with up to ``most`` mismatches (of both mates), need no more.
        """

        def of_single(start: int, candidates: Sequence[Candidates], most: int) -> np.ndarray:
            n = np.diff(candidates[0].first)
            return np.where(n > 0, n, mates[0].total[start : start + n.size]) >= self._enough

        for start, matches in self._matches_up_to(mates, self._most, has_enough or of_single):
            with self.timed("locate"):
                of_mates = [self._run(*each, start) for each in zip(mates, matches, strict=True)]
            yield of_mates

    def _run(self, reads: ReadRun, matches: Candidates, start: int) -> ReadRun:
        """Return a run of reads with ``matches``; those without have their exact occurrences."""
        total, best = rank(matches, self._near.strata)
        run, which = reads.cut(start, start + total.size), np.flatnonzero(np.diff(matches.first))
        exact = None if self.options.pairing else run.intervals
        if exact is not None:
            exact = exact._replace(hi=exact.hi.copy())
            for rows in (2 * which, 2 * which + 1):
                exact.hi[:, rows] = exact.lo[:, rows]
        if self.options.counts_lengths:
            ends, first = np.append(0, np.cumsum(matches.keys & 1)), matches.first[which]
            run.n_reverse[which] = ends[first + total[which]] - ends[first]
        run.total[which] = total[which]  # a view: that of all reads changes, too (ReadRun.cut)
        exact_best = run.total << 2
        exact_best[which] = best[which]
        run.fewest[:] = exact_best & 3  # type: ignore[index]
        return run._replace(intervals=exact, matches=matches, best=exact_best)

    def _matches_up_to(
        self, mates: Sequence[ReadRun], most: int, has_enough: Callable
    ) -> Iterator[tuple[int, list[Candidates]]]:
        """Yield (start, Candidates of each of ``mates``) with up to ``most`` mismatches, for runs of reads.

        In steps, those that have enough better matches have only these, and pairs that cannot occur with so
        few mismatches none at all, unless ``most`` is all that are allowed. Single reads without mismatches
        have none: they keep their exact occurrences. Of pairs without mismatches, both mates occur.
        """
        if self.in_steps and most == 0:
            for exact in super().runs_of(mates):
                start = exact[0].start
                if not mates[1:]:
                    none = np.zeros(exact[0].total.size + 1, np.int64)
                    yield start, [Candidates(none, none[:0])]
                    continue
                with self.timed("locate"):
                    both = (exact[0].total > 0) & (exact[1].total > 0)
                    matches = []
                    for run in exact:
                        lists = located(run.locators, run.intervals, both)
                        sizes = lists.hi - lists.lo
                        strand = np.repeat(np.tile([0, 1], both.size), sizes)
                        first = np.append(0, np.cumsum(sizes[::2] + sizes[1::2]))
                        matches.append(Candidates(first, text_key(lists.positions, strand)))
                yield start, matches
            return
        can_occur = [each.can_occur for each in mates]
        if most < self._most:
            can_occur = [each.can_occur & sets.searched(each.batch, self._table, most) for each in mates]
        if not self.in_steps:
            yield from self._near_matches(mates, np.arange(can_occur[0].size), can_occur, most)
            return
        # Of up to 2 mismatches: at 1, a pair needs both mates; at 2, the last, one mate may have hits alone.
        either = np.logical_or if most == self._most else np.logical_and
        any_can = either.reduce(can_occur)
        for start, matches in self._matches_up_to(mates, most - 1, has_enough):
            n_reads, done = matches[0].first.size - 1, 0
            with self.timed("pair" if mates[1:] else "locate"):
                lacks = ~has_enough(start, matches, most - 1) & any_can[start : start + n_reads]
                reads = np.flatnonzero(lacks)
            for i, more in self._near_matches(mates, start + reads, can_occur, most):
                improved = reads[i : i + more[0].first.size - 1]
                after = int(reads[i + improved.size]) if i + improved.size < reads.size else n_reads
                yield (
                    start + done,
                    [_replaced(*each, improved, done, after) for each in zip(matches, more, strict=True)],
                )
                done = after
            if done == 0:
                yield start, matches

    def _near_matches(
        self, mates: Sequence[ReadRun], reads: np.ndarray, can_occur: Sequence[np.ndarray], most: int
    ) -> Iterator[tuple[int, list[Candidates]]]:
        """Yield (i, Candidates of each of ``mates``) with up to ``most`` mismatches, from reads[i] on.

        ``reads`` int64[n]. ``can_occur`` bool[n_reads]: which reads of each of the mates are searched.
        """
        sizes, batches = self.options.sizes, [subset(each.batch, reads) for each in mates]
        searched, strands = [which[reads] for which in can_occur], self.options.strands
        lengths = np.sum([batch.length for batch in batches], axis=0)
        for start, stop in runs(np.maximum(lengths, sizes.bases // _N_READS), sizes.bases):
            with self.timed("plan"):
                patterns = [
                    sets.make_sets(batch, start, stop, which, strands, self._table)
                    for batch, which in zip(batches, searched, strict=True)
                ]
                pieces = [near_words.plan(each, most, self._lookups) for each in patterns]
            for a, b in runs(2 * np.sum([each.n_words for each in pieces], axis=0), sizes.words):
                words = [self._search_words(*each, most, a, b) for each in zip(patterns, pieces, strict=True)]
                for c, d in runs(np.sum([n_rows for *_, n_rows in words], axis=0), sizes.rows):
                    with self.timed("locate"):
                        matches = [
                            self._compare(batch, results, a + c, d - c, *borders[[c, d]])
                            for batch, results, borders, _ in words
                        ]
                    yield start + a + c, matches

    def _search_words(
        self, patterns: "Sets", pieces: "Pieces", most: int, a: int, b: int
    ) -> tuple[WordBatch, list, np.ndarray, np.ndarray]:
        """Return words of reads a to b, results of each part, and first words and numbers of rows by read."""
        with self.timed("plan"):
            spelled = near_words.spell(patterns, pieces, a, b)
        with self.timed("search"):
            results = [part.search(spelled.patterns) for part in self.parts]
        borders = np.append(0, np.cumsum(2 * pieces.n_words[a:b]))
        ends = np.sum([np.cumsum(each.hi - each.lo, dtype=np.int64) for each, _ in results], axis=0)
        words = WordBatch(patterns, pieces, most, spelled.pattern, spelled.piece)
        return words, results, borders, np.diff(np.append(0, ends)[borders])

    def _compare(self, words: WordBatch, results: list, first: int, n: int, i: int, j: int) -> Candidates:
        """Return the Candidates of n reads from ``first`` on, which words i to j find."""
        words = words._replace(pattern=words.pattern[i:j], piece=words.piece[i:j])
        matches = [
            match
            for part, (each, locator) in zip(self.parts, results, strict=True)
            for match in _matches_in_part(
                part.text, locator, words, Intervals(each.lo[i:j], each.hi[i:j]), self.options.sizes.matches
            )
        ]
        columns = matches[0] if len(matches) == 1 else map(np.concatenate, zip(*matches, strict=True))
        pattern, key = columns
        if len(self.parts) > 1:
            order = np.argsort(pattern >> 1, kind="stable")
            pattern, key = pattern[order], key[order]
        n_matches = np.bincount((pattern >> 1) - first, minlength=n)
        return Candidates(np.append(0, np.cumsum(n_matches)), key)

    def choose(self, run: ReadRun, total: np.ndarray, with_changes: bool = True) -> Hits:
        """Return the Hits of a run of reads, with their changes."""
        hits = super().choose(run, total, True)
        has_changes = (hits.best & 3 > 0) | (hits.total > hits.best >> 2)
        self.fill_changes(run.batch, run.start, hits, has_changes & (np.diff(hits.first) > 0))
        return hits

    def fill_changes(self, batch: "ReadBatch", start: int, hits: Hits, needed: np.ndarray) -> None:
        """Fill in the changes of hits of reads from ``start`` on; only those ``needed`` bool[n] have any."""
        reads = np.flatnonzero(needed)
        searched, batch = np.ones(reads.size, np.bool_), subset(batch, start + reads)
        patterns = sets.make_sets(batch, 0, reads.size, searched, self.options.strands, self._table)
        for part in self.parts:
            span = part.text.start, part.text.start + part.text.n
            _fill_changes(part.text.words, span, patterns, reads, self._most, hits)


def _replaced(ours: Candidates, theirs: Candidates, reads: np.ndarray, start: int, stop: int) -> Candidates:
    """Return the Candidates of reads ``start`` to ``stop``: ``theirs`` for ``reads`` int64[n], else ours."""
    ours = ours.cut(start, stop)
    begin, n, first = ours.first[:-1].copy(), np.diff(ours.first), np.zeros(stop - start + 1, np.int64)
    begin[reads - start], n[reads - start] = ours.keys.size + theirs.first[:-1], np.diff(theirs.first)
    np.cumsum(n, out=first[1:])
    keys = np.concatenate((ours.keys, theirs.keys))
    return Candidates(first, keys[np.repeat(begin - first[:-1], n) + np.arange(first[-1])])


def _matches_in_part(
    text: PartText, locator: Any, words: WordBatch, intervals: Intervals, n_matches: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the matches of words by their Intervals in a part: (pattern, key), int64[n], by read.

    ``locator``: a SparseLocator locates occurrences by number before they are compared. Up to ``n_matches``
    are yielded at a time.
    """
    if not isinstance(locator, Locator):
        size = intervals.hi - intervals.lo
        ends = np.cumsum(size)
        sa = FullSA(locator.locate(intervals.lo, size) - text.start)
        text, intervals = text._replace(sa=sa, layout=sa), Intervals(ends - size, ends)
    done, scratch, is_more = np.zeros(2, np.int64), np.empty((2, _AHEAD), np.int64), True
    while is_more:
        pattern, key = np.empty((2, n_matches), np.int64)
        n = _compare_words(text, words, intervals, done, (pattern, key), scratch)
        yield pattern[:n], key[:n]
        is_more = done[0] < intervals.lo.size


@compiled
def _compare_words(text, words, intervals, done, out, scratch):
    """Write the matches of words at the rows of their Intervals to ``out`` until it is full; return how many.

    ``done`` int64[2]: how many words, and rows of the next one, are done. ``scratch`` int64[2, _AHEAD]: words
    and text positions that were prefetched.
    """
    lo, hi, most = intervals.lo, intervals.hi, out[0].size
    n, n_waiting, begin = np.int64(0), np.int64(0), done[1]
    for word in range(done[0], lo.size):
        if word + _AHEAD < lo.size and lo[word + _AHEAD] < hi[word + _AHEAD]:
            prefetch_position(text.sa, np.int64(lo[word + _AHEAD]))
        for row in range(np.int64(lo[word]) + begin, np.int64(hi[word])):
            if n_waiting == _AHEAD or n + n_waiting == most:
                n = _compare_waiting(text, words, n_waiting, scratch, out, n)
                n_waiting = np.int64(0)
                if n == most:
                    done[0], done[1] = word, row - np.int64(lo[word])
                    return n
            length = words.sets.length[words.pattern[word]]
            start = words.pieces.columns[words.pattern[word], words.piece[word], near_words.START]
            position = position_of(text.sa, text.layout, row) - start
            if position < 0 or position + length > text.n:
                continue
            prefetch(text.words, position >> 5)
            prefetch(text.words, (position + length - 1) >> 5)
            scratch[0, n_waiting], scratch[1, n_waiting] = word, position
            n_waiting += 1
        begin = np.int64(0)
    done[0], done[1] = lo.size, 0
    return _compare_waiting(text, words, n_waiting, scratch, out, n)


@inlined
def _compare_waiting(text, words, n_waiting, scratch, out, n):
    """Compare the positions that wait; return the number of matches so far."""
    for j in range(n_waiting):
        key = _match_at(text, words, scratch[0, j], scratch[1, j])
        if key >= 0:
            out[0][n], out[1][n] = words.pattern[scratch[0, j]], key
            n += 1
    return n


@inlined
def _match_at(text, words, word, position):
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
        is_inside = piece[near_words.START] <= where < piece[near_words.START] + piece[near_words.LENGTH]
        inside += is_inside
        n_beyond += is_inside and not piece[near_words.INNER] <= where < piece[near_words.OUTER]
    is_used = piece[near_words.LENGTH] > 0 and n_beyond == 0
    return is_used and piece[near_words.LEAST] <= inside <= piece[near_words.MOST_CHANGED]


@compiled
def _fill_changes(words, span, sets, reads, most, hits):
    """Fill in the changes of hits of ``reads`` int64[n], those of the Sets, in a part of the text.

    It has packed ``words``, and is at ``span`` (start, stop) of the text.
    """
    for i in range(reads.size):
        if i + _AHEAD < reads.size:
            ahead = reads[i + _AHEAD]
            _prefetch_hit(words, span, hits, hits.first[ahead], hits.first[ahead + 1])
        for hit in range(hits.first[reads[i]], hits.first[reads[i] + 1]):
            _prefetch_hit(words, span, hits, hit + _AHEAD, hits.first[reads[i] + 1])
            position = hits.position[hit] - span[0]
            if 0 <= position < span[1] - span[0]:
                hits.changes[hit] = changes_at(words, position, sets, 2 * i + hits.reverse[hit], most)


@inlined
def _prefetch_hit(words, span, hits, hit, stop):
    """Prefetch the text of a hit, if it is before ``stop`` and in the part."""
    if hit < stop and span[0] <= hits.position[hit] < span[1]:
        prefetch(words, (hits.position[hit] - span[0]) >> 5)
