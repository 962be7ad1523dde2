"""Choose pairs: candidates of both mates -> proper pairs, else the hits of each mate.

Proper pairs are occurrences of two mates in the order and distance of mates of one fragment.

    fr    1 ---->  <---- 2        rf    1 <----  ----> 2        ff    1 ---->  ----> 2
    or    2 ---->  <---- 1        or    2 <----  ----> 1        or    2 <----  <---- 1

The right mate neither begins nor ends before the left one, and the insert size is from ``least`` to ``most``.
Proper pairs are sorted by the mismatches of both mates together (their stratum), contig, position of the left
mate, which mate that is (1 first), and insert size. The rule of search/hits.py selects the reported ones.

prepare         occurrences -> sorted place_keys and the number of proper pairs by mismatches, by merging
choose_pairs    the proper pairs that are reported
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.sorting import lower_bound, sort
from ..errors import UnsupportedError
from ..index.reference import (
    STEP,
    can_hold,
    contig_of,
    find_block,
    is_reverse,
    place_key,
    position_in_text,
    position_of_key,
)
from ..input.reads import class_of
from ..machines.jobs import runs
from .counts import MATES, Screen, Tally, note
from .hits import KEY_BITS, Candidates, Hits, Located, eligible_of, hash_name, located, text_position
from .mapping import ORIENTATIONS, Pairing

if TYPE_CHECKING:
    from ..index.reference import Blocks, Reference
    from ..input.mates import Mates
    from .find import FoundReads, ReadFinder
    from .hits import Located, ReadRun, SelectionPolicy


LONGEST = 2**31 - 1  # largest insert size
_FEW = 16  # ratio of occurrences of the two mates from which most are in no proper pair


class Rule(NamedTuple):
    """A Pairing for compiled code: strands of mates 1 and 2 if mate 1 is left.

    If mate 2 is left, the strands are the opposite ones.
    """

    reverse1: bool
    reverse2: bool
    least: int
    most: int


class ProperPairs(NamedTuple):
    """Reported proper pairs: pair i of a run has those from first[i] to first[i + 1].

    ``first`` int64[n + 1]. ``one``, ``two`` int64[n_hits]: place_keys of mates 1 and 2. ``swapped``
    bool[n_hits]: mate 2 is left. ``changes1``, ``changes2`` int64[n_hits]: changes of mates 1 and 2
    (input/sets.py). ``peers`` int64[n_hits]: how many of the pair have as few mismatches; 0 if others have
    fewer. ``total``, ``reported`` int64[n]: number of proper pairs, and of reported ones. ``given``: how many
    of the first pair's reported ones come before the first one here. ``lead1``, ``lead2`` int64[n]: keys of
    each pair's first one.
    """

    first: np.ndarray
    one: np.ndarray
    two: np.ndarray
    swapped: np.ndarray
    changes1: np.ndarray
    changes2: np.ndarray
    peers: np.ndarray
    total: np.ndarray
    reported: np.ndarray
    given: int
    lead1: np.ndarray
    lead2: np.ndarray


def rule_of(pairing: Pairing, reference: "Reference") -> Rule:
    """Return the Rule of a Pairing. Raises UnsupportedError if a reference has too many positions."""
    if not can_hold(reference, LONGEST):
        raise UnsupportedError(
            "pairs need contigs of less than 15 Gbases, and fewer than 2^28 of them: map mates separately"
        )
    return Rule(*ORIENTATIONS[pairing.orientation], pairing.least, pairing.most)


def prepare(
    lengths: tuple[np.ndarray, np.ndarray], start: int, located: "tuple[Located, Located]", rule: Rule,
    blocks: "Blocks", n_strata: int,
) -> np.ndarray:  # fmt: skip
    """Return the number of proper pairs of pairs ``start`` onwards by mismatches: int64[n, 2 * n_strata - 1].

    ``lengths`` int64[...]: of mates 1 and of mates 2. ``located``: Located (search/hits.py) of both. For each
    strand of a mate there are ``n_strata`` lists, those of occurrences with 0, 1, ... mismatches. Their
    positions become sorted place_keys, all with strand +; those in no proper pair may be dropped.
    """
    strata = np.zeros((located[0].lo.size // (2 * n_strata), 2 * n_strata - 1), np.int64)
    _prepare((lengths[0][start:], lengths[1][start:]), located, rule, blocks, strata)
    return strata


@compiled
def _prepare(lengths, located, rule, blocks, strata):
    for r in range(strata.shape[0]):
        prepare_pair((lengths[0][r], lengths[1][r]), located, rule, blocks, r, strata[r])


@inlined
def prepare_pair(lengths, located, rule, blocks, r, counts):
    """Prepare the occurrences of pair r, and count its proper pairs by mismatches in ``counts``, zeros.

    ``lengths``: of both mates. ``counts`` int64[2 * n_strata - 1].
    """
    n = (counts.size + 1) // 2
    for swapped in range(2):
        left, right = located[swapped], located[1 - swapped]
        lists = first_lists(rule, r, swapped, n)
        distances = reach(rule, lengths[swapped], lengths[1 - swapped])
        _settle(left, right, lists, n, distances, blocks)
        for i in range(lists[0], lists[0] + n):
            for j in range(lists[1], lists[1] + n):
                lefts = left.positions[left.lo[i] : left.hi[i]]
                rights = right.positions[right.lo[j] : right.hi[j]]
                counts[i - lists[0] + j - lists[1]] += _n_pairs(lefts, rights, distances)


@inlined
def first_lists(rule, r, swapped, n):
    """Return the first list of the left and of the right mates of pair r; mate 2 is left if ``swapped``.

    Each strand of a mate has ``n`` lists.
    """
    one, two = n * (2 * r + (rule.reverse1 != swapped)), n * (2 * r + (rule.reverse2 != swapped))
    return (two, one) if swapped else (one, two)


@inlined
def reach(rule, n_left, n_right):
    """Return the smallest and the largest distance from the start of the left to that of the right mate."""
    return max(0, n_left - n_right, rule.least - n_right), rule.most - n_right


@inlined
def _settle(left, right, lists, n, distances, blocks):
    """Turn text positions of left and right mates, int64, into sorted place_keys; some may be dropped.

    ``lists``: the first of the ``n`` lists of each.
    """
    (i, j), (low, high) = lists, distances
    n_left = n_right = 0
    for a in range(n):
        n_left += left.hi[i + a] - left.lo[i + a]
        n_right += right.hi[j + a] - right.lo[j + a]
    if n_left == 0 or n_right == 0 or high < low:
        for a in range(n):
            left.hi[i + a], right.hi[j + a] = left.lo[i + a], right.lo[j + a]
        return
    if n_left > _FEW * n_right:
        _keep_near(left, i, right, j, n, (high, 0))
    elif n_right > _FEW * n_left:
        _keep_near(right, j, left, i, n, (0, high))
    for a in range(n):
        _to_places(left.positions[left.lo[i + a] : left.hi[i + a]], blocks)
        _to_places(right.positions[right.lo[j + a] : right.hi[j + a]], blocks)


@inlined
def _n_pairs(left, right, distances):
    """Return the number of proper pairs of sorted place_keys of left and of right mates."""
    low, high = distances
    n = begin = end = 0
    for key in left:
        begin, end = partners(right, (begin, end), right.size, key + STEP * low, key + STEP * high)
        n += end - begin
    return n


@inlined
def partners(right, found, n_right, low, high):
    """Return (begin, end) of the place_keys from ``low`` to ``high`` among n_right sorted ones.

    ``found``: the result for a smaller ``low`` and ``high``, where the search starts.
    """
    begin, end = found
    while begin < n_right and right[begin] < low:
        begin += 1
    while end < n_right and right[end] <= high:
        end += 1
    return begin, end


@inlined
def _keep_near(many, i, few, j, n, reach):
    """Keep, of n lists of ``many`` from i on, what is near to one of ``few``, whose lists begin at j.

    That is up to reach[0] before, or reach[1] after it. The text has one separator where a contig has one or
    more N, so no distance is longer in the text.
    """
    before, after = reach
    for b in range(j, j + n):
        sort(few.positions[few.lo[b] : few.hi[b]], few.hi[b] - few.lo[b])
    for a in range(i, i + n):
        own, n_kept = many.positions[many.lo[a] : many.hi[a]], 0
        for k in range(own.size):
            for b in range(j, j + n):
                others = few.positions[few.lo[b] : few.hi[b]]
                found = lower_bound(others, 0, others.size, own[k] - after)
                if found < others.size and others[found] <= own[k] + before:
                    own[n_kept] = own[k]
                    n_kept += 1
                    break
        many.hi[a] = many.lo[a] + n_kept


@inlined
def _to_places(positions, blocks):
    """Sort text positions and turn them into place_keys."""
    sort(positions, positions.size)
    block, stop = 0, -1
    for i in range(positions.size):
        if positions[i] > stop:
            block = find_block(blocks, positions[i])
            stop = blocks.text_start[block] + blocks.length[block]
        start = positions[i] - blocks.text_start[block] + blocks.contig_start[block]
        positions[i] = place_key(blocks.contig[block], start, False)


def totals(strata: np.ndarray, best_only: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return (number of proper pairs to choose from, fewest mismatches of one), int64[n], by ``prepare``.

    ``best_only``: choose only from those with the fewest mismatches.
    """
    total, fewest = np.empty((2, strata.shape[0]), np.int64)
    _totals(strata, best_only, total, fewest)
    return total, fewest


@compiled
def _totals(strata, best_only, total, fewest):
    for r in range(total.size):
        total[r], fewest[r] = total_of(strata[r], best_only)


@inlined
def total_of(counts, best_only):
    """Return what ``totals`` returns for one pair, with ``counts`` int64[2 * n_strata - 1]."""
    total = fewest = np.int64(0)
    for stratum in range(counts.size):
        if total == 0 and counts[stratum] > 0:
            fewest = np.int64(stratum)
        if total == 0 or not best_only:
            total += counts[stratum]
    return total, fewest


def choose_pairs(
    mates: "Mates", start: int, located: "tuple[Located, Located]", rule: Rule, policy: "SelectionPolicy",
    pairs: tuple[np.ndarray, np.ndarray], window: tuple[int, int],
) -> ProperPairs:  # fmt: skip
    """Return the reported proper pairs of pairs ``start`` onwards; ``located``: both mates after ``prepare``.

    ``pairs``: result of ``prepare``, and number of pairs to choose from. ``window``: the first reported pair
    to return, and the most to return, which matters if there is only one pair of mates. The changes are all
    0.
    """
    strata, total = pairs
    reported, first = np.empty(total.size, np.int64), np.empty(total.size + 1, np.int64)
    _lay_out(total, policy.at_most, policy.limit, window, reported, first)
    one, two, peers = np.empty((3, first[-1]), np.int64)
    lead1, lead2 = np.empty((2, total.size), np.int64)
    swapped, (changes1, changes2) = np.empty(first[-1], np.bool_), np.zeros((2, first[-1]), np.int64)
    found = ProperPairs(
        first, one, two, swapped, changes1, changes2, peers, total, reported, window[0], lead1, lead2
    )
    heads = np.empty((2, 2, (strata.shape[1] + 1) // 2), np.int64)
    _choose((mates.one, mates.two), start, located, rule, policy.seed, (strata, heads), found)
    return found


@compiled
def _lay_out(total, at_most, limit, window, reported, first):
    """Fill ``reported`` and ``first`` of ProperPairs."""
    skip, most = window
    first[0] = 0
    for r in range(total.size):
        reported[r] = min(eligible_of(total[r], at_most), limit)
        first[r + 1] = first[r] + min(max(reported[r] - skip, 0), most)


@compiled
def _choose(mates, start, located, rule, seed, tables, found):
    """Fill in ``found``. ``tables``: result of ``prepare``, and scratch int64[2, 2, n_strata or more]."""
    strata, heads = tables
    for i in range(found.total.size):
        if found.first[i] < found.first[i + 1]:
            choose_pair(mates, start + i, located, rule, seed, (strata[i], heads), (found, i))


@inlined
def choose_pair(mates, r, located, rule, seed, tables, which):
    """Select proper pairs of reads r; ``tables``: those of ``_choose``; ``which``: ProperPairs, and i."""
    (counts, heads), (found, i) = tables, which
    stop = found.given + found.first[i + 1] - found.first[i]
    x = hash_name(mates[0], r, seed) if seed >= 0 else np.uint64(0)
    lengths, taken = (mates[0].length[r], mates[1].length[r]), np.int64(0)
    for stratum in range(counts.size):
        total = counts[stratum]
        limits = min(total, found.reported[i] - taken), total, stop - taken
        if limits[0] > 0 and limits[2] > 0:
            of_stratum = stratum, (counts.size + 1) // 2, heads
            x = _choose_of_stratum((located, lengths, rule), of_stratum, (x, seed), limits, found, i, taken)
            taken += limits[0]


@inlined
def _choose_of_stratum(pairs, of_stratum, random, limits, found, i, taken):
    """Select proper pairs of pair i in a stratum: the first ones, or a sample (Knuth's algorithm S).

    ``of_stratum``: mismatches of both mates, n_strata, and scratch. ``random``: state, and seed. ``limits``:
    how many to select, out of how many, and how many of those selected are needed. ``taken``: number selected
    in strata before. Returns the state.
    """
    (located, lengths, rule), (stratum, n, heads) = pairs, of_stratum
    (x, seed), (limit, total, needed) = random, limits
    least, most = max(0, stratum - n + 1), min(stratum, n - 1)  # mismatches of a left mate
    for swapped in range(2):
        lists = first_lists(rule, i, swapped, n)
        for a in range(least, most + 1):
            heads[0, swapped, a] = located[swapped].lo[lists[0] + a]
            heads[1, swapped, a] = located[1 - swapped].lo[lists[1] + stratum - a]
    number = done = np.int64(0)
    while done < min(limit, needed):
        # The next left mate: mate 1 if mate 2 is at the same place.
        key, side, own = np.int64(-1), 0, 0
        for swapped in range(2):
            left, lists = located[swapped], first_lists(rule, i, swapped, n)
            for a in range(least, most + 1):
                head = heads[0, swapped, a]
                if head < left.hi[lists[0] + a] and (key < 0 or left.positions[head] < key):
                    key, side, own = left.positions[head], swapped, a
        heads[0, side, own] += 1
        # Its partners.
        low, high = reach(rule, lengths[side], lengths[1 - side])
        others = located[1 - side].positions
        stop = located[1 - side].hi[first_lists(rule, i, side, n)[1] + stratum - own]
        right = heads[1, side, own]
        while right < stop and others[right] < key + STEP * low:
            right += 1
        heads[1, side, own] = right
        while right < stop and others[right] <= key + STEP * high and done < min(limit, needed):
            is_taken = True
            if seed >= 0:
                x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                is_taken = np.int64((x >> np.uint64(16)) % np.uint64(total - number)) < limit - done
            if is_taken:
                key1 = (others[right] if side else key) | (rule.reverse1 != side)
                key2 = (key if side else others[right]) | (rule.reverse2 != side)
                if taken + done == 0:
                    found.lead1[i], found.lead2[i] = key1, key2
                to = found.first[i] + taken + done - found.given
                done += 1
                if to >= found.first[i]:
                    found.one[to], found.two[to], found.swapped[to] = key1, key2, side == 1
                    found.peers[to] = total if taken == 0 else 0
            number += 1
            right += 1
    return x


def count_inserts(mates: "Mates", start: int, found: ProperPairs, counts: np.ndarray) -> None:
    """Count the insert size of the first proper pair of each pair ``start`` onwards, by class_of."""
    _count_inserts(mates.one.length[start:], mates.two.length[start:], found, counts)


@compiled
def _count_inserts(length1, length2, found, counts):
    for i in range(found.total.size):
        if found.first[i] < found.first[i + 1]:
            counts[class_of(insert_size(length1[i], length2[i], found, i))] += 1


@inlined
def insert_size(length1, length2, found, i):
    """Return the insert size of the first proper pair of pair i, whose mates have these lengths."""
    start1, start2 = position_of_key(found.lead1[i]), position_of_key(found.lead2[i])
    return max(start1 + length1, start2 + length2) - min(start1, start2)


class PairHits(NamedTuple):
    """Hits of a run of pairs: ``proper``; and those of mates 1 and of mates 2, if they are in no proper pair.

    For the other pairs ``one`` and ``two`` have no hits, and the number of proper pairs as total.
    """

    proper: ProperPairs
    one: Hits
    two: Hits


class PairTotals(NamedTuple):
    """Proper pairs of each pair of a batch, int64[n]: their number, and the fewest mismatches in one."""

    total: np.ndarray
    fewest: np.ndarray


class PairRun(NamedTuple):
    """Pairs from number ``start`` of a batch on.

    ``lists``: both mates after prepare, and ``strata``, its result. ``total``, ``fewest`` int64[n]:
    results of totals. ``mates``: both, as single reads.
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
        self.rule = rule_of(options.pairing or Pairing(), reference)

    def runs(self, found: "Sequence[FoundReads]") -> Iterator[PairRun]:
        """Yield the pairs as runs; ``found``: mates 1 and mates 2."""
        lengths = found[0].batch.length, found[1].batch.length

        def has_proper(start: int, matches: Sequence[Candidates], most: int) -> np.ndarray:
            lists = self._lists_of_matches(matches, most + 1)
            strata = prepare(lengths, start, lists, self.rule, self.blocks, most + 1)
            return strata[:, : most + 1].sum(axis=1) > 0

        for start, mates in self._finder.runs(found, has_proper):
            with self.timed("locate"):
                lists = self._lists_of(mates)
            with self.timed("pair"):
                strata = prepare(lengths, start, lists, self.rule, self.blocks, self.n_strata)
                run = PairRun(start, lists, strata, *totals(strata, self.best_only), mates)
            yield run

    def _lists_of(self, mates: "Sequence[ReadRun]") -> tuple[Located, Located]:
        """Return the occurrences of both mates, if both have any, as lists for prepare."""
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
                with tally.counting() as counts:
                    which, contigs = (eligible, fewest), tally.owners.of_contig
                    _walk_pairs(lengths, run.lists, self.rule, which, self.n_strata, contigs, counts)
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
                    chosen = choose_pairs(mates, start, (one, two), self.rule, policy, pairs, window)
                    if self.n_strata > 1:
                        of_pairs = [mate.part(a, b).sources for mate in run.mates]
                        self._fill_changes(of_pairs, chosen, chosen.reported > pairs[0][:, 0])
                yield start, PairHits(chosen, *of_mates), first

    def _fill_changes(self, sources: Sequence[tuple], chosen: ProperPairs, needed: np.ndarray) -> None:
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


@compiled
def _walk_pairs(lengths, lists, rule, which, n_strata, owner_of, counts):
    """Note the owners of proper pairs, by the owner of each contig, int64[n_contigs].

    ``which``: number of proper pairs of each pair that count, and their mismatches, or -1 for any; int64[n].
    """
    eligible, mismatches = which
    for r in range(eligible.size):
        if eligible[r] == 0:
            continue
        for swapped in range(2):
            first = first_lists(rule, r, swapped, n_strata)
            low, high = reach(rule, lengths[swapped][r], lengths[1 - swapped][r])
            left, right = lists[swapped], lists[1 - swapped]
            for i in range(n_strata):
                for j in range(n_strata):
                    if mismatches[r] >= 0 and i + j != mismatches[r]:
                        continue
                    a, b, begin, end = first[0] + i, first[1] + j, 0, 0
                    others = right.positions[right.lo[b] : right.hi[b]]
                    for key in left.positions[left.lo[a] : left.hi[a]]:
                        bounds = key + STEP * low, key + STEP * high
                        begin, end = partners(others, (begin, end), others.size, *bounds)
                        if begin < end:
                            of_pair = r, MATES, eligible[r]
                            note(counts, owner_of[contig_of(key)], of_pair, end - begin)
