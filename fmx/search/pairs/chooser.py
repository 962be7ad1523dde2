"""Choose pairs: candidates of both mates -> proper pairs, else the hits of each mate.

A stratum of pairs is the number of mismatches of both mates together. In counts, a mate is a read, and its
proper pairs are its occurrences.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...index.reference import is_reverse, position_in_text
from ...machines.jobs import runs
from ..counts.tally import Screen, Tally
from ..hits import KEY_BITS, Candidates, Hits, Located, eligible_of, located, text_position
from . import proper

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.mates import Mates
    from ..find import FoundReads, ReadFinder
    from ..hits import ReadRun


class PairHits(NamedTuple):
    """Hits of a run of pairs: ``proper``; and those of mates 1 and of mates 2, if they are in no proper pair.

    For the other pairs ``one`` and ``two`` have no hits, and the number of proper pairs as total.
    """

    proper: proper.ProperPairs
    one: Hits
    two: Hits


class PairTotals(NamedTuple):
    """Proper pairs of each pair of a batch, int64[n]: their number, and the fewest mismatches in one."""

    total: np.ndarray
    fewest: np.ndarray


class PairRun(NamedTuple):
    """Pairs from number ``start`` of a batch on.

    ``lists``: both mates after proper.prepare, and ``strata``, its result. ``total``, ``fewest`` int64[n]:
    results of proper.totals. ``mates``: both, as single reads.
    """

    start: int
    lists: tuple[Located, Located]
    strata: np.ndarray
    total: np.ndarray
    fewest: np.ndarray
    mates: "Sequence[ReadRun]"


class PairChooser:
    """Chooses the hits of pairs whose mates a ReadFinder finds.

    ``n_strata``: one more than the most mismatches of a mate. ``best_only``: whether only proper pairs with
    the fewest mismatches count.
    """

    def __init__(self, finder: "ReadFinder", reference: "Reference") -> None:
        options = finder.options
        self._finder, self._policy, self.timed = finder, options.policy, finder.timed
        self._n_hits, near = options.sizes.hits, options.near
        self.n_strata, self.best_only = (near.mismatches + 1, near.strata) if near else (1, False)
        self.blocks = reference.blocks
        self.rule = proper.rule_of(options.pairing or proper.Pairing(), reference)

    def runs(self, found: "Sequence[FoundReads]") -> Iterator[PairRun]:
        """Yield the pairs as runs; ``found``: mates 1 and mates 2."""
        lengths = found[0].batch.length, found[1].batch.length

        def has_proper(start: int, matches: Sequence[Candidates], most: int) -> np.ndarray:
            lists = self._lists_of_matches(matches, most + 1)
            strata = proper.prepare(lengths, start, lists, self.rule, self.blocks, most + 1)
            return strata[:, : most + 1].sum(axis=1) > 0

        for start, mates in self._finder.runs(found, has_proper):
            with self.timed("locate"):
                lists = self._lists_of(mates)
            with self.timed("pair"):
                strata = proper.prepare(lengths, start, lists, self.rule, self.blocks, self.n_strata)
                run = PairRun(start, lists, strata, *proper.totals(strata, self.best_only), mates)
            yield run

    def _lists_of(self, mates: "Sequence[ReadRun]") -> tuple[Located, Located]:
        """Return the occurrences of both mates, if both have any, as lists for proper.prepare."""
        if mates[0].matches is not None:
            return self._lists_of_matches([run.matches for run in mates], self.n_strata)  # type: ignore[misc]
        both = (mates[0].total > 0) & (mates[1].total > 0)
        one, two = (located(run.locators, run.intervals, both) for run in mates)  # type: ignore[arg-type]
        return one, two

    @staticmethod
    def _lists_of_matches(matches: Sequence[Candidates], n_strata: int) -> tuple[Located, Located]:
        both = np.logical_and(*(np.diff(each.first) > 0 for each in matches))
        one, two = (_listed(each, both, n_strata) for each in matches)
        return one, two

    def count(self, mates: "Mates", run: PairRun, tally: Tally | None, screen: Screen | None) -> None:
        """Count the pairs of a run."""
        with self.timed("tally"):
            if tally:
                eligible = self._policy.eligible(run.total)
                lengths = mates.one.length[run.start :], mates.two.length[run.start :]
                fewest = run.fewest if self.best_only else np.full(eligible.size, -1)
                tally.add_pairs(lengths, run.lists, self.rule, (eligible, fewest), self.n_strata)
                for mate in run.mates:
                    tally.add(mate, self._policy.eligible(mate.total) * (run.total == 0))
            if screen:
                has_hit = self._policy.eligible(run.total) > 0  # of those with proper pairs
                screen.add_pairs(run.mates, [
                    np.where(run.total > 0, mate.total * has_hit, self._policy.eligible(mate.total))
                    for mate in run.mates
                ])  # fmt: skip

    def hits_of(self, mates: "Mates", run: PairRun) -> Iterator[tuple[int, PairHits, int]]:
        """Yield (start, PairHits, first record of these) for runs of pairs with about ``hits`` records."""
        policy, total = self._policy, run.total
        if policy.limit == 0:
            return
        alone, records = np.empty((2, total.size), np.int64), np.empty(total.size, np.int64)
        mates_alone = run.mates[0].total, run.mates[1].total
        _count_records(total, mates_alone, policy.at_most, policy.limit, alone, records)
        for a, b in runs(records, self._n_hits):
            start, bounds = run.start + a, slice(2 * self.n_strata * a, 2 * self.n_strata * b)
            with self.timed("locate"):
                of_mates = []
                for mate, batch, each in zip(run.mates, mates[:2], alone, strict=True):
                    hits = self._finder.choose(mate.part(a, b), batch, start, each[a:b], True)
                    of_mates.append(hits._replace(total=total[a:b] + each[a:b]))  # one of the two is 0
            one, two = (lists._replace(lo=lists.lo[bounds], hi=lists.hi[bounds]) for lists in run.lists)
            pairs = run.strata[a:b], total[a:b]
            for first in range(0, int(records[a:b].sum()), self._n_hits):
                with self.timed("pair"):
                    window = first, self._n_hits
                    chosen = proper.choose(mates, start, (one, two), self.rule, policy, pairs, window)
                    if self.n_strata > 1:
                        of_pairs = [mate.part(a, b).sources for mate in run.mates]
                        self._fill_changes(of_pairs, chosen, chosen.reported > pairs[0][:, 0])
                yield start, PairHits(chosen, *of_mates), first

    def _fill_changes(self, sources: Sequence[tuple], chosen: proper.ProperPairs, needed: np.ndarray) -> None:
        """Fill in the changes of proper pairs; only those ``needed`` bool[n] have any."""
        both = (chosen.one, chosen.changes1), (chosen.two, chosen.changes2)
        for of_mate, (keys, changes) in zip(sources, both, strict=True):
            positions = np.empty(keys.size, np.int64)
            _find_in_text(self.blocks, keys, positions)
            hits = Hits(chosen.first, positions, is_reverse(keys), chosen.total, changes, chosen.total)
            of_needed = tuple((patterns, np.where(needed, rows, -1)) for patterns, rows in of_mate)
            self._finder.fill_changes(of_needed, hits)  # type: ignore[attr-defined]


@compiled
def _find_in_text(blocks, keys, positions):
    """Write the text position of each place_key."""
    for hit in range(keys.size):
        positions[hit] = position_in_text(blocks, keys[hit])


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


def _listed(matches: Candidates, wanted: np.ndarray, n_strata: int) -> Located:
    """Return text positions of the ``wanted`` reads, bool[n], in ``n_strata`` lists per strand.

    They are lists of the matches with 0, 1, ... mismatches.
    """
    lo, hi = np.empty((2, 2 * n_strata * wanted.size), np.int64)
    positions = np.empty(int((np.diff(matches.first) * wanted).sum()), np.int64)
    _distribute(matches, wanted, n_strata, Located(positions, lo, hi))
    return Located(positions, lo, hi)


@compiled
def _distribute(matches, wanted, n_strata, lists):
    """Fill the lists of each read by the keys of its matches, one read after the other."""
    to = np.int64(0)
    for r in range(wanted.size):
        begin, end = matches.first[r], matches.first[r + 1] if wanted[r] else matches.first[r]
        lists_of_read = range(2 * n_strata * r, 2 * n_strata * (r + 1))
        for i in lists_of_read:
            lists.hi[i] = 0
        for j in range(begin, end):
            lists.hi[_list_of(matches.keys[j], r, n_strata)] += 1
        for i in lists_of_read:
            n = lists.hi[i]
            lists.lo[i] = lists.hi[i] = to
            to += n
        for j in range(begin, end):
            i = _list_of(matches.keys[j], r, n_strata)
            lists.positions[lists.hi[i]] = text_position(matches.keys[j])
            lists.hi[i] += 1


@inlined
def _list_of(key, r, n_strata):
    """Return the list of a match of read r."""
    return n_strata * (2 * r + (key & 1)) + (key >> KEY_BITS)
