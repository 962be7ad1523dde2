"""Pairs with mismatches: near matches of both mates -> proper pairs, by strata if requested.

A stratum of pairs is the number of mismatches of both mates together. With strata, pairs are searched with 0,
1, ... mismatches per mate, and no further once they have a proper pair with so few mismatches in total.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...index.reference import is_reverse, position_in_text, text_key
from ...input.reads import subset
from ..counts.owners import placed_matches
from ..hits import Located
from ..near.matches import KEY_BITS, NearHits, NearMatches, position_in
from ..near.selection import rank, select
from . import proper
from .pair_mapper import PairMapper, PairRun

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.mates import Mates
    from ...input.reads import ReadBatch
    from ..counts.owners import Placed
    from ..mapping import SearchedBatch
    from ..near.near_mapper import NearMapper, NearRun

Both = tuple[NearMatches, NearMatches]  # of mates 1 and of mates 2


class NearMates(NamedTuple):
    """Mates of a run as single reads: sorted ``matches``; ``total``, ``best`` int64[n] as in NearHits."""

    matches: NearMatches
    total: np.ndarray
    best: np.ndarray


class NearPairMapper(PairMapper):
    """Maps PairSpans with mismatches; ``mapper`` is a NearMapper."""

    def __init__(self, mapper: "NearMapper", reference: "Reference") -> None:
        super().__init__(mapper, reference)
        near = mapper.options.near
        assert near is not None
        self._near_mapper, self.n_strata, self.best_only = mapper, near.mismatches + 1, near.strata

    def _runs(self, mates: "Mates", found: "Sequence[SearchedBatch]") -> Iterator[PairRun]:
        """Yield the pairs as runs, and fill in the totals of ``found``, mates 1 and mates 2."""
        for start, both in self._matches(mates, found, self.n_strata - 1):
            with self.timed("locate"):
                own = [NearMates(its, *rank(its, self.best_only)) for its in both]
                lists = self._lists(both, self.n_strata)
            for its, each in zip(found, own, strict=True):
                its.total[start : start + each.total.size] = each.total
            yield self._run(mates, start, lists, own)

    def _matches(
        self, mates: "Mates", found: "Sequence[SearchedBatch]", most: int
    ) -> Iterator[tuple[int, Both]]:
        """Yield (start, NearMatches of both mates) with up to ``most`` mismatches for runs of pairs.

        By strata, pairs with a better proper pair may have only better matches, and those that cannot be
        proper with so few none at all, unless ``most`` is all that are allowed.
        """
        by_strata = self._near_mapper.by_strata
        if by_strata and most == 0:
            for start, exact in self._located(found):
                yield start, (_exact_matches(exact[0]), _exact_matches(exact[1]))
            return
        can_occur = [self._near_mapper.can_occur(its, most) for its in found]
        if not by_strata:
            yield from self._near(found, np.arange(can_occur[0].size), can_occur, most)
            return
        for start, both in self._matches(mates, found, most - 1):
            wanted = ~self._has_proper(mates, start, both, most - 1)
            if most < self.n_strata - 1:
                wanted &= (can_occur[0] & can_occur[1])[start : start + wanted.size]
            reads, done = np.flatnonzero(wanted), 0
            for i, more in self._near(found, start + reads, can_occur, most):
                own = reads[i : i + more[0].first.size - 1]
                after = int(reads[i + own.size]) if i + own.size < reads.size else wanted.size
                one, two = (_filled(*its, own, (done, after)) for its in zip(both, more, strict=True))
                yield start + done, (one, two)
                done = after
            if done == 0:
                yield start, both

    def _near(
        self, found: "Sequence[SearchedBatch]", reads: np.ndarray, can_occur: Sequence[np.ndarray], most: int
    ) -> Iterator[tuple[int, Both]]:
        """Yield (i, NearMatches of both mates) of the pairs ``reads`` int64[n], from reads[i] on."""
        one, two = (
            self._near_mapper.runs_of(subset(its.batch, reads), which[reads], most)
            for its, which in zip(found, can_occur, strict=True)
        )
        return _in_step(one, two)

    def _has_proper(self, mates: "Mates", start: int, both: Both, most: int) -> np.ndarray:
        """Return bool[n]: which pairs have a proper pair with up to ``most`` mismatches in total.

        ``both``: matches with up to ``most`` mismatches per mate.
        """
        with self.timed("pair"):
            lists = self._lists(both, most + 1)
            strata = proper.prepare(mates, start, lists, self._rule, self._blocks, most + 1)
            return strata[:, : most + 1].sum(axis=1) > 0

    @staticmethod
    def _lists(both: Both, n_strata: int) -> tuple[Located, Located]:
        """Return the occurrences of both mates as lists for proper.prepare; none if only one mate has any."""
        n = [np.diff(matches.first) for matches in both]
        one, two = (_lists_of(matches, (n[0] > 0) & (n[1] > 0), n_strata) for matches in both)
        return one, two

    def _count_alone(self, its: Any, eligible: np.ndarray) -> None:
        self.tally.add_matches(its.matches, eligible, np.ones(eligible.size, np.int64))

    def _places(self, its: Any, eligible: np.ndarray) -> "Iterable[Placed]":
        return [placed_matches(its.matches, eligible)]

    def _hits_alone(
        self, its: Any, batch: "ReadBatch", start: int, span: tuple[int, int], alone: np.ndarray
    ) -> NearHits:
        a, b = span
        matches = its.matches._replace(first=its.matches.first[a : b + 1])
        hits = select(matches, (alone, its.best[a:b]), batch, start, self.options.policy)
        self._fill(batch, start, hits, np.diff(hits.first) > 0)
        return hits

    def _fill(self, batch: "ReadBatch", start: int, hits: NearHits, needed: np.ndarray) -> None:
        """Fill in the changes of hits of reads from ``start`` on; only those ``needed`` bool[n] have any."""
        sought, stop = np.zeros(batch.length.size, np.bool_), start + needed.size
        sought[start:stop] = needed
        self._near_mapper.fill_changes(hits, self._near_mapper.sets_of(batch, start, stop, sought))

    def _fill_changes(
        self, mates: "Mates", start: int, chosen: proper.ProperPairs, strata: np.ndarray
    ) -> None:
        needed = chosen.reported > strata[:, 0]
        both = (chosen.one, chosen.changes1), (chosen.two, chosen.changes2)
        for batch, (keys, changes) in zip(mates[:2], both, strict=True):
            positions = np.empty(keys.size, np.int64)
            _find_in_text(self._blocks, keys, positions)
            hits = NearHits(chosen.first, positions, is_reverse(keys), chosen.total, changes, chosen.total)
            self._fill(batch, start, hits, needed)


@compiled
def _find_in_text(blocks, keys, positions):
    """Write the text position of each place_key."""
    for hit in range(keys.size):
        positions[hit] = position_in_text(blocks, keys[hit])


def _in_step(ones: "Iterator[NearRun]", twos: "Iterator[NearRun]") -> Iterator[tuple[int, Both]]:
    """Yield (first, matches of mates 1, of mates 2) of runs that are cut where those of either side begin."""
    one, two = next(ones, None), next(twos, None)
    while one and two:
        n = min(one.matches.first.size, two.matches.first.size) - 1
        yield one.first, (_first(one, n), _first(two, n))
        one, two = _behind(one, n) or next(ones, None), _behind(two, n) or next(twos, None)


def _first(run: "NearRun", n: int) -> NearMatches:
    """Return the matches of the first n reads of a run."""
    return NearMatches(run.matches.first[: n + 1], run.matches.keys)


def _behind(run: "NearRun", n: int) -> "NearRun | None":
    """Return a run without its first n reads; None if there are no others."""
    first = run.matches.first[n:]
    return (
        run._replace(first=run.first + n, matches=NearMatches(first, run.matches.keys))
        if first.size > 1
        else None
    )


def _exact_matches(its: Located) -> NearMatches:
    """Return exact occurrences, in two lists per read, as NearMatches."""
    sizes = its.hi - its.lo
    strand = np.repeat(np.tile([0, 1], sizes.size // 2), sizes)
    first = np.append(0, np.cumsum(sizes[::2] + sizes[1::2]))
    return NearMatches(first, text_key(its.positions, strand))


def _filled(matches: NearMatches, more: NearMatches, reads: np.ndarray, span: tuple[int, int]) -> NearMatches:
    """Return the matches of reads ``span`` (from, to), with those of ``more`` for ``reads`` int64[n]."""
    start, stop = span
    own, size = reads - start, matches.first[stop] - matches.first[start]
    begin, n = matches.first[start:stop] - matches.first[start], np.diff(matches.first[start : stop + 1])
    begin[own], n[own] = size + more.first[:-1] - more.first[0], np.diff(more.first)
    first = np.append(0, np.cumsum(n))
    both = (its.keys[its.first[a] : its.first[b]] for its, a, b in ((matches, start, stop), (more, 0, -1)))
    keys = np.concatenate(tuple(both))
    return NearMatches(first, keys[np.repeat(begin - first[:-1], n) + np.arange(first[-1])])


def _lists_of(matches: NearMatches, wanted: np.ndarray, n_strata: int) -> Located:
    """Return text positions of the ``wanted`` reads, bool[n], in ``n_strata`` lists per strand.

    They are lists of the matches with 0, 1, ... mismatches.
    """
    lo, hi = np.empty((2, 2 * n_strata * wanted.size), np.int64)
    positions = np.empty(int((np.diff(matches.first) * wanted).sum()), np.int64)
    _distribute(matches, wanted, n_strata, Located(positions, lo, hi))
    return Located(positions, lo, hi)


@compiled
def _distribute(matches, wanted, n_strata, lists):
    to = np.int64(0)
    for r in range(wanted.size):
        begin, end = matches.first[r], matches.first[r + 1] if wanted[r] else matches.first[r]
        distribute(matches.keys[begin:end], r, n_strata, lists, to)
        to += end - begin


@inlined
def distribute(keys, r, n_strata, lists, to):
    """Fill the lists of read r, and their positions from ``to`` on, by the keys of its matches."""
    for i in range(2 * n_strata * r, 2 * n_strata * (r + 1)):
        lists.hi[i] = 0
    for key in keys:
        lists.hi[_list_of_key(r, key, n_strata)] += 1
    for i in range(2 * n_strata * r, 2 * n_strata * (r + 1)):
        n = lists.hi[i]
        lists.lo[i] = lists.hi[i] = to
        to += n
    for key in keys:
        i = _list_of_key(r, key, n_strata)
        lists.positions[lists.hi[i]] = position_in(key)
        lists.hi[i] += 1


@inlined
def _list_of_key(r, key, n_strata):
    """Return the list of a match of read r."""
    return n_strata * (2 * r + (key & 1)) + (key >> KEY_BITS)
