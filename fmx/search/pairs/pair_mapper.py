"""Mapping of pairs, and their counts: a mate counts as a read, and its proper pairs as its occurrences."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import compiled
from ...index.reference import STEP, contig_of
from ...input.reads import no_lengths, trimmed
from ...machines.jobs import runs
from ..counts.tally import Screen, Tally, note
from ..hits import Hits, Intervals, located, occurrences_of, select
from ..mapper import SLICE_HITS
from ..mapping import SearchedBatch
from ..summary import PairSummary
from . import proper
from .proper import partners, reach

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.mates import Mates
    from ...input.pair_spans import PairSpan
    from .. import FormatsRecords
    from ..counts.tally import ReadCounter
    from ..hits import Located
    from ..mapper import Mapper
    from .proper import Rule

_MATES = 2


def apart(counters: "ReadCounter | None") -> tuple:
    """Return (Tally or None, Screen or None) of a ReadCounter."""
    each = getattr(counters, "counters", [counters])
    return tuple(next((one for one in each if isinstance(one, kind)), None) for kind in (Tally, Screen))


def add_pairs(
    tally: Any,
    owner_of: np.ndarray,
    lengths: tuple[np.ndarray, np.ndarray],
    located: "tuple[Located, Located]",
    rule: "Rule",
    eligible: np.ndarray,
) -> None:
    """Count ``eligible`` int64[n] proper pairs of each pair in a Tally.

    ``owner_of`` int64[n_contigs]. ``lengths``: int64[n] of mates 1 and of mates 2. ``located``: both, as
    proper.prepare leaves them.
    """
    with tally.counting() as table:
        _count(lengths, located, rule, eligible, owner_of, (tally.unseen(), table))


@compiled
def _count(lengths, located, rule, eligible, owner_of, tables):
    seen, table = tables
    (length1, length2), (one, two) = lengths, located
    for r in range(eligible.size):
        if eligible[r] == 0:
            continue
        for swapped in range(2):
            i, j = 2 * r + (rule.reverse1 != swapped), 2 * r + (rule.reverse2 != swapped)
            mates1, mates2 = one.positions[one.lo[i] : one.hi[i]], two.positions[two.lo[j] : two.hi[j]]
            if swapped:
                left, right, (low, high) = mates2, mates1, reach(rule, length2[r], length1[r])
            else:
                left, right, (low, high) = mates1, mates2, reach(rule, length1[r], length2[r])
            begin = end = 0
            for key in left:
                begin, end = partners(right, (begin, end), right.size, key + STEP * low, key + STEP * high)
                if begin < end:
                    note(table, seen, owner_of[contig_of(key)], (r, _MATES, eligible[r]), end - begin)


# Pairs of reads -> hits -> records; mates are searched as single reads are.
#
# PairSpan -> Mates -> Intervals of both mates -> ProperPairs, else Hits of each mate -> pieces of output


class PairHits(NamedTuple):
    """Hits of a run of pairs: ``proper``; and Hits of mates 1 and of mates 2, if they are in no proper pair.

    For the other pairs ``one`` and ``two`` have no hits, and the number of proper pairs as total.
    """

    proper: proper.ProperPairs
    one: Hits
    two: Hits


class PairMapper:
    """Maps PairSpans, as Mapper maps spans; ``mapper``, a Mapper, searches and locates."""

    def __init__(self, mapper: "Mapper", reference: "Reference") -> None:
        self._mapper, self._blocks = mapper, reference.blocks
        self.options, self.sessions = mapper.options, mapper.sessions
        self.tally, self._screen = apart(mapper.tally)
        self.timed = mapper.timed
        self._rule = proper.rule_of(self.options.pairing or proper.Pairing(), reference)
        if self.tally:
            self._owner_of = np.zeros(len(reference.names), np.int64)
            self._owner_of[self._blocks.contig] = self.tally.owners.blocks.contig

    def map(self, span: "PairSpan", writer: "FormatsRecords", emit: Callable[..., Any]) -> PairSummary:
        """Map the pairs of a span, emit the output that ``writer`` makes, and return their PairSummary."""
        with self.timed("read"):
            runs_of_mates = span.read(writer.is_sam)
        summary = PairSummary()
        for mates in runs_of_mates:
            found = [
                self._mapper.search_batch(batch, trimmed(batch, self.options.trim))
                for batch in (mates.one, mates.two)
            ]
            cut = mates._replace(one=found[0].batch, two=found[1].batch)
            totals, inserts = [np.zeros(0, np.int64)], no_lengths() if self.options.counts_lengths else None
            for start, total, own in self._joined(cut, found):
                totals.append(total)
                for at, hits, first in self._hits_of(cut, found, start, total, own):
                    with self.timed("format"):
                        piece = writer.format(cut, hits, at, first, first + SLICE_HITS)
                    emit(piece)
                    if inserts is not None and first == 0:
                        proper.count_inserts(cut, at, hits.proper, inserts)
            total = np.concatenate(totals)
            if self.tally:
                self._count_alone(found, total)
            if self._screen:
                self._count_screened(found)
            for piece in writer.split((mates.one, mates.two), self._is_hit(found, total)):
                emit(piece)
            summary.add(PairSummary.of(found, self.options, total, inserts))
        return summary

    def _is_hit(self, found: Sequence[SearchedBatch], total: np.ndarray) -> np.ndarray:
        """Return whether each pair, or one of its mates, may have a reported hit; ``total``: proper pairs."""
        eligible = self.options.policy.eligible
        alone = (eligible(found[0].total) > 0) | (eligible(found[1].total) > 0)
        return np.where(total > 0, eligible(total) > 0, alone)

    def _joined(
        self, mates: "Mates", found: Sequence[SearchedBatch]
    ) -> "Iterator[tuple[int, np.ndarray, tuple[Located, Located]]]":
        """Yield (start, proper pairs int64[n], Located of both mates) for runs of pairs.

        A run has at most SLICE_HITS occurrences to locate, or is a single pair.
        """
        both = (found[0].total > 0) & (found[1].total > 0)
        to_locate = (found[0].total + found[1].total) * both
        for start, stop in runs(to_locate, SLICE_HITS):
            with self.timed("locate"):
                one, two = (
                    located(its.locators, _part(its, start, stop - start).intervals, both[start:stop])
                    for its in found
                )
            with self.timed("pair"):
                total = proper.prepare(mates, start, one, two, self._rule, self._blocks)
            if self.tally:
                with self.timed("tally"):
                    lengths = mates.one.length[start:stop], mates.two.length[start:stop]
                    eligible = self.options.policy.eligible(total)
                    add_pairs(self.tally, self._owner_of, lengths, (one, two), self._rule, eligible)
            yield start, total, (one, two)

    def _count_alone(self, found: Sequence[SearchedBatch], total: np.ndarray) -> None:
        """Count the mates of pairs that have no proper pair; ``total`` int64[n] proper pairs."""
        with self.timed("tally"):
            for its in found:
                eligible = self.options.policy.eligible(its.total) * (total == 0)
                self.tally.add(its.locators, its.intervals, eligible, its.weight)

    def _count_screened(self, found: Sequence[SearchedBatch]) -> None:
        """Count in the Screen where mates occur."""
        with self.timed("tally"):
            eligible = [self.options.policy.eligible(its.total) for its in found]
            self._screen.add_pairs(found, eligible)

    def _hits_of(
        self,
        mates: "Mates",
        found: Sequence[SearchedBatch],
        start: int,
        total: np.ndarray,
        own: "tuple[Located, Located]",
    ) -> Iterator[tuple[int, PairHits, int]]:
        """Yield (start, PairHits, first record of these) for runs of pairs with about SLICE_HITS records."""
        policy = self.options.policy
        if policy.limit == 0:
            return
        alone = [np.where(total > 0, 0, its.total[start : start + total.size]) for its in found]
        by_themselves = sum(np.maximum(policy.reported(each), 1) for each in alone)
        records = np.where(total > 0, np.maximum(policy.reported(total), 1), by_themselves)
        for a, b in runs(records, SLICE_HITS):
            with self.timed("locate"):
                hits = [
                    self._hits_alone(_part(its, start + a, b - a), start + a, each[a:b], total[a:b])
                    for its, each in zip(found, alone, strict=True)
                ]
            one, two = (its._replace(lo=its.lo[2 * a : 2 * b], hi=its.hi[2 * a : 2 * b]) for its in own)
            for first in range(0, int(records[a:b].sum()), SLICE_HITS):
                with self.timed("pair"):
                    window = first, SLICE_HITS
                    chosen = proper.choose(
                        mates, start + a, (one, two), self._rule, policy, total[a:b], window
                    )
                yield start + a, PairHits(chosen, *hits), first

    def _hits_alone(self, found: SearchedBatch, start: int, alone: np.ndarray, total: np.ndarray) -> Hits:
        """Return the Hits of mates, which have ``alone`` int64[n] occurrences as single reads."""
        policy = self.options.policy
        occurrences = occurrences_of(found.locators, found.intervals, policy.eligible(alone))
        hits = select(occurrences, found.batch, start, alone, policy)
        return hits._replace(total=np.where(total > 0, total, alone))


def _part(found: SearchedBatch, start: int, n: int) -> SearchedBatch:
    """Return n reads from ``start`` on of a SearchedBatch; its batch stays whole."""
    intervals = Intervals(*(array[:, 2 * start : 2 * (start + n)] for array in found.intervals))
    return found._replace(intervals=intervals, total=found.total[start : start + n])
