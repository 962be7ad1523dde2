"""Pairs of reads -> hits -> records, and their counts; mates are searched as single reads are.

PairSpan -> Mates -> occurrences of both mates -> ProperPairs, else NearHits of each mate -> pieces of output

In counts, a mate is a read, and its proper pairs are its occurrences.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import compiled
from ...index.reference import STEP, contig_of
from ...input.reads import no_lengths, trimmed
from ...machines.jobs import runs
from ..counts.tally import Screen, Tally, note
from ..hits import Intervals, eligible_of, located, occurrences_of, select
from ..mapping import SearchedBatch
from ..near.matches import NearHits
from ..near.selection import exact
from ..summary import PairSummary
from . import proper
from .proper import first_lists, partners, reach

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.mates import Mates
    from ...input.pair_spans import PairSpan
    from .. import FormatsHits
    from ..counts.owners import Placed
    from ..counts.tally import ReadCounter
    from ..hits import Located
    from ..mapper import Mapper

MATES = 2  # for how many reads a pair counts


def apart(counters: "ReadCounter | None") -> tuple:
    """Return (Tally or None, Screen or None) of a ReadCounter."""
    each = getattr(counters, "counters", [counters])
    return tuple(next((one for one in each if isinstance(one, kind)), None) for kind in (Tally, Screen))


class PairHits(NamedTuple):
    """Hits of a run of pairs: ``proper``; and those of mates 1 and of mates 2, if they are in no proper pair.

    For the other pairs ``one`` and ``two`` have no hits, and the number of proper pairs as total.
    """

    proper: proper.ProperPairs
    one: NearHits
    two: NearHits


class PairRun(NamedTuple):
    """Pairs from number ``start`` of a batch on.

    ``located``: both mates after proper.prepare, and ``strata``, its result. ``total``, ``fewest`` int64[n]:
    results of proper.totals. ``mates``: both, as single reads.
    """

    start: int
    located: "tuple[Located, Located]"
    strata: np.ndarray
    total: np.ndarray
    fewest: np.ndarray
    mates: Sequence[Any]


class PairMapper:
    """Maps PairSpans, as Mapper maps spans; ``mapper``, a Mapper, searches and locates.

    ``n_strata``: one more than the most mismatches of a mate. ``best_only``: whether only proper pairs with
    the fewest mismatches count.
    """

    n_strata, best_only = 1, False

    def __init__(self, mapper: "Mapper", reference: "Reference") -> None:
        self._mapper, self._blocks = mapper, reference.blocks
        self.options, self.session = mapper.options, mapper.session
        self._n_hits = mapper.options.sizes.hits
        self.tally, self._screen = apart(mapper.tally)
        self.timed = mapper.timed
        self._rule = proper.rule_of(self.options.pairing or proper.Pairing(), reference)
        if self.tally:
            self._owner_of = np.zeros(len(reference.names), np.int64)
            self._owner_of[self._blocks.contig] = self.tally.owners.blocks.contig

    def map(self, span: "PairSpan", writer: "FormatsHits", emit: Callable[..., Any]) -> PairSummary:
        """Map the pairs of a span, emit the output that ``writer`` makes, and return their PairSummary."""
        with self.timed("read"):
            runs_of_mates = span.read(writer.is_sam, writer.comments)
        return self.map_runs(runs_of_mates, writer, emit)

    def map_runs(
        self, runs_of_mates: "Iterable[Mates]", writer: "FormatsHits", emit: Callable[..., Any]
    ) -> PairSummary:
        """Map runs of pairs, emit the output that ``writer`` makes, and return their PairSummary."""
        summary = PairSummary()
        for mates in runs_of_mates:
            summary.add(self.map_mates(mates, writer, emit))
        return summary

    def map_mates(self, mates: "Mates", writer: "FormatsHits", emit: Callable[..., Any]) -> PairSummary:
        """Map pairs, emit the output that ``writer`` makes, and return their PairSummary."""
        found = [
            self._mapper.search_batch(batch, trimmed(batch, self.options.trim))
            for batch in (mates.one, mates.two)
        ]
        cut = mates._replace(one=found[0].batch, two=found[1].batch)
        totals, inserts = [np.zeros((2, 0), np.int64)], None
        if self.options.counts_lengths:
            inserts = no_lengths()
        for run in self._runs(cut, found):
            totals.append(np.array((run.total, run.fewest)))
            self._count(cut, run)
            for at, hits, first in self._hits_of(cut, run):
                with self.timed("format"):
                    piece = writer.format(cut, hits, at, first, first + self._n_hits)
                emit(piece)
                if inserts is not None and first == 0:
                    proper.count_inserts(cut, at, hits.proper, inserts)
        total, fewest = np.concatenate(totals, axis=1)
        if writer.takers:
            split([mates], self._is_hit(found, total), writer, emit)
        return PairSummary.of(found, self.options, (total, fewest), inserts)

    def _is_hit(self, found: Sequence[SearchedBatch], total: np.ndarray) -> np.ndarray:
        """Return whether each pair, or one of its mates, may have a reported hit; ``total``: proper pairs."""
        eligible = self.options.policy.eligible
        alone = (eligible(found[0].total) > 0) | (eligible(found[1].total) > 0)
        return np.where(total > 0, eligible(total) > 0, alone)

    def _runs(self, mates: "Mates", found: Sequence[SearchedBatch]) -> Iterator[PairRun]:
        """Yield the pairs as runs; ``found``: mates 1 and mates 2."""
        for start, both in self._located(found):
            n = both[0].lo.size // 2
            yield self._run(mates, start, both, [_part(its, start, start + n) for its in found])

    def _located(self, found: Sequence[SearchedBatch]) -> "Iterator[tuple[int, tuple[Located, Located]]]":
        """Yield (start, exact occurrences of both mates) for runs of pairs; none if only one mate has any.

        A run has at most ``hits`` occurrences to locate, or is a single pair.
        """
        n = found[0].total.size
        both, to_locate = np.empty(n, np.bool_), np.empty(n, np.int64)
        _find_both(found[0].total, found[1].total, both, to_locate)
        for start, stop in runs(to_locate, self._n_hits):
            with self.timed("locate"):
                one, two = (
                    located(its.locators, _part(its, start, stop).intervals, both[start:stop])
                    for its in found
                )
            yield start, (one, two)

    def _run(
        self, mates: "Mates", start: int, both: "tuple[Located, Located]", own: Sequence[Any]
    ) -> PairRun:
        """Return the PairRun of mates that are ``located``, but not prepared."""
        with self.timed("pair"):
            strata = proper.prepare(mates, start, both, self._rule, self._blocks, self.n_strata)
            return PairRun(start, both, strata, *proper.totals(strata, self.best_only), own)

    def _count(self, mates: "Mates", run: PairRun) -> None:
        """Count pairs in the Tally and the Screen."""
        policy = self.options.policy
        with self.timed("tally"):
            if self.tally:
                self._count_proper(self.tally, mates, run)
                for its in run.mates:
                    self._count_alone(its, policy.eligible(its.total) * (run.total == 0))
            if self._screen:
                has_hit = policy.eligible(run.total) > 0  # of those with proper pairs
                places = (
                    self._places(
                        its, np.where(run.total > 0, its.total * has_hit, policy.eligible(its.total))
                    )
                    for its in run.mates
                )
                self._screen.add_pairs(places, run.total.size)

    def _count_proper(self, tally: Tally, mates: "Mates", run: PairRun) -> None:
        """Count the proper pairs of a run."""
        stop = run.start + run.total.size
        lengths = mates.one.length[run.start : stop], mates.two.length[run.start : stop]
        eligible = self.options.policy.eligible(run.total)
        which = eligible, run.fewest if self.best_only else np.full(eligible.size, -1)
        with tally.counting() as table:
            tables = tally.unseen(), table
            _count(lengths, run.located, self._rule, which, self.n_strata, self._owner_of, tables)

    def _count_alone(self, its: SearchedBatch, eligible: np.ndarray) -> None:
        """Count ``eligible`` int64[n] occurrences of mates in the Tally."""
        self.tally.add(its.locators, its.intervals, eligible, its.weight)

    def _places(self, its: SearchedBatch, eligible: np.ndarray) -> "Iterable[Placed]":
        """Return the occurrences of mates that have ``eligible`` int64[n] occurrences, for the Screen."""
        lo, hi = (array.astype(np.int64) for array in its.intervals)
        return self._screen.places(its.locators, (lo, np.where(np.repeat(eligible > 0, 2), hi, lo)))

    def _hits_of(self, mates: "Mates", run: PairRun) -> Iterator[tuple[int, PairHits, int]]:
        """Yield (start, PairHits, first record of these) for runs of pairs with about ``hits`` records."""
        policy, total = self.options.policy, run.total
        if policy.limit == 0:
            return
        alone, records = np.empty((2, total.size), np.int64), np.empty(total.size, np.int64)
        mates_alone = run.mates[0].total, run.mates[1].total
        _count_records(total, mates_alone, policy.at_most, policy.limit, alone, records)
        for a, b in runs(records, self._n_hits):
            start, bounds = run.start + a, slice(2 * self.n_strata * a, 2 * self.n_strata * b)
            with self.timed("locate"):
                own = []
                for its, batch, each in zip(run.mates, mates[:2], alone, strict=True):
                    hits = self._hits_alone(its, batch, start, (a, b), each[a:b])
                    own.append(hits._replace(total=total[a:b] + each[a:b]))  # one of the two is 0
            one, two = (its._replace(lo=its.lo[bounds], hi=its.hi[bounds]) for its in run.located)
            pairs = run.strata[a:b], total[a:b]
            for first in range(0, int(records[a:b].sum()), self._n_hits):
                with self.timed("pair"):
                    window = first, self._n_hits
                    chosen = proper.choose(mates, start, (one, two), self._rule, policy, pairs, window)
                    self._fill_changes(mates, start, chosen, pairs[0])
                yield start, PairHits(chosen, *own), first

    def _hits_alone(
        self, its: SearchedBatch, batch: Any, start: int, span: tuple[int, int], alone: np.ndarray
    ) -> NearHits:
        """Return the hits of mates ``span`` of a run, which have ``alone`` int64[n] occurrences to report.

        The first one is number ``start`` of the batch.
        """
        policy, part = self.options.policy, _part(its, *span)
        occurrences = occurrences_of(its.locators, part.intervals, policy.eligible(alone))
        return exact(select(occurrences, batch, start, alone, policy))

    def _fill_changes(
        self, mates: "Mates", start: int, chosen: proper.ProperPairs, strata: np.ndarray
    ) -> None:
        """Fill in the changes of proper pairs; exact ones have none."""


def split(
    runs_of_mates: "Iterable[Mates]", is_hit: np.ndarray, writer: "FormatsHits", emit: Callable[..., Any]
) -> None:
    """Emit runs of unchanged pairs for --al and --un; ``is_hit`` bool[n]: which pairs have a reported hit."""
    for mates in runs_of_mates:
        n = mates.one.length.size
        for piece in writer.split((mates.one, mates.two), is_hit[:n]):
            emit(piece)
        is_hit = is_hit[n:]


@compiled
def _find_both(one, two, both, to_locate):
    """Fill ``both``, whether both mates occur, and how many occurrences must be located then.

    ``one``, ``two`` int64[n]: occurrences of mates 1 and of mates 2.
    """
    for r in range(both.size):
        both[r] = one[r] > 0 and two[r] > 0
        to_locate[r] = one[r] + two[r] if both[r] else 0


@compiled
def _count_records(total, mates, at_most, limit, alone, records):
    """Fill ``alone`` int64[2, n], the occurrences of mates without a proper pair, and how many ``records``
    a pair or its mates have, by the numbers of proper pairs (``total``) and of occurrences (``mates``)."""
    for r in range(total.size):
        records[r] = max(min(eligible_of(total[r], at_most), limit), 1) if total[r] > 0 else 0
        for mate in range(2):
            alone[mate, r] = 0
            if total[r] == 0:
                alone[mate, r] = mates[mate][r]
                records[r] += max(min(eligible_of(alone[mate, r], at_most), limit), 1)


def _part(found: SearchedBatch, start: int, stop: int) -> SearchedBatch:
    """Return reads start to stop of a SearchedBatch; its batch stays whole."""
    intervals = Intervals(*(array[:, 2 * start : 2 * stop] for array in found.intervals))
    return found._replace(intervals=intervals, total=found.total[start:stop], weight=found.weight[start:stop])


@compiled
def _count(lengths, both, rule, which, n, owner_of, tables):
    """Count proper pairs for both mates in ``tables``, (seen, table) of ``note``.

    ``which``: number of proper pairs of each pair that count, and their mismatches, or -1 for any; int64[n].
    ``n``: n_strata. ``owner_of``: owner of each contig.
    """
    (eligible, mismatches), (seen, table) = which, tables
    for r in range(eligible.size):
        if eligible[r] == 0:
            continue
        for swapped in range(2):
            lists = first_lists(rule, r, swapped, n)
            low, high = reach(rule, lengths[swapped][r], lengths[1 - swapped][r])
            left, right = both[swapped], both[1 - swapped]
            for i in range(lists[0], lists[0] + n):
                for j in range(lists[1], lists[1] + n):
                    if mismatches[r] >= 0 and i - lists[0] + j - lists[1] != mismatches[r]:
                        continue
                    others, begin, end = right.positions[right.lo[j] : right.hi[j]], 0, 0
                    for key in left.positions[left.lo[i] : left.hi[i]]:
                        bounds = key + STEP * low, key + STEP * high
                        begin, end = partners(others, (begin, end), others.size, *bounds)
                        if begin < end:
                            of_pair = r, MATES, eligible[r]
                            note(table, seen, owner_of[contig_of(key)], of_pair, end - begin)
