"""Choose pairs: candidates of both mates -> proper pairs, else the hits of each mate.

Proper pairs are occurrences of two mates in the order and distance of mates of one fragment.

    fr    1 ---->  <---- 2        rf    1 <----  ----> 2        ff    1 ---->  ----> 2
    or    2 ---->  <---- 1        or    2 <----  ----> 1        or    2 <----  <---- 1

The right mate neither begins nor ends before the left one, and the insert size is from ``least`` to ``most``.
Proper pairs are sorted by the mismatches of both mates together (their stratum), contig, position of the left
mate, which mate that is (1 first), and insert size. The rule of search/hits.py selects the reported ones.

_count_proper   occurrences -> sorted place_keys and the number of proper pairs by mismatches, by merging
choose_pair     the proper pairs that are reported; like count_proper_of, also in kernels (gpu/gpu_pairs.py)

PairSpan -> PairChunks (bytes), Mates (reads; input/mates.py) -> PairRun, with counted proper pairs ->
PairCandidates -> ProperPairs -> PairHits (PairTables on a GPU) -> Pairs, whose records are written (output/).
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
from ..machines.jobs import runs
from .counts import MATES, note
from .hits import (
    KEY_BITS,
    Candidates,
    Hits,
    Located,
    ReadRun,
    hash_name,
    lay_out,
    located,
    next_random,
    text_position,
)
from .mapping import ORIENTATIONS, Pairing
from .summary import class_of

if TYPE_CHECKING:
    from ..index.reference import Reference
    from ..input.mates import Mates
    from .find import ReadFinder


_LONGEST_INSERT = 2**31 - 1  # largest insert size
_UNEQUAL = 16  # ratio of occurrences of the two mates from which most are in no proper pair


class Rule(NamedTuple):
    """A Pairing for compiled code: strands of mates 1 and 2 if mate 1 is left, else the opposite ones."""

    reverse1: bool
    reverse2: bool
    least: int
    most: int


class ProperPairs(NamedTuple):
    """Reported proper pairs: pair i of a run has those from first[i] to first[i + 1].

    ``first`` int64[n + 1]. ``one``, ``two`` int64[n_hits]: place_keys of mates 1 and 2. ``swapped``
    bool[n_hits]: mate 2 is left. ``changes1``, ``changes2`` int64[n_hits]: changes of mates 1 and 2
    (input/sets.py). ``n_best`` int64[n_hits]: how many of the pair have as few mismatches; 0 if others have
    fewer. ``total`` (PairRun), ``reported`` int64[n]: number to choose from, of reported. ``skipped``: how
    many of the first pair's reported ones come before the first here. ``first_one``, ``first_two``
    int64[n]: place_keys of mates 1 and 2 in each pair's first one.
    """

    first: np.ndarray
    one: np.ndarray
    two: np.ndarray
    swapped: np.ndarray
    changes1: np.ndarray
    changes2: np.ndarray
    n_best: np.ndarray
    total: np.ndarray
    reported: np.ndarray
    skipped: int
    first_one: np.ndarray
    first_two: np.ndarray


def rule_of(pairing: Pairing, reference: "Reference") -> Rule:
    """Return the Rule of a Pairing. Raises UnsupportedError if a reference has too many positions."""
    if not can_hold(reference, _LONGEST_INSERT):
        raise UnsupportedError(
            "pairs need contigs of less than 15 Gbases, and fewer than 2^28 of them: map mates separately"
        )
    return Rule(*ORIENTATIONS[pairing.orientation], pairing.least, pairing.most)


@compiled
def _count_proper(lengths, located, rule, blocks, strata):
    """Add the number of proper pairs by mismatches to ``strata`` int64[n, 2 * n_strata - 1], zeros.

    ``lengths`` int64[...]: of mates 1 and of mates 2. ``located``: Located (search/hits.py) of both. For each
    strand of a mate there are ``n_strata`` lists, those of occurrences with 0, 1, ... mismatches. Their
    positions become sorted place_keys, all with strand +; those in no proper pair may be dropped.
    """
    for r in range(strata.shape[0]):
        count_proper_of((lengths[0][r], lengths[1][r]), located, rule, blocks, r, strata[r])


@inlined
def count_proper_of(lengths, located, rule, blocks, r, counts):
    """Prepare the occurrences of pair r, and count its proper pairs by mismatches in ``counts``, zeros.

    ``lengths``: of both mates. ``counts`` int64[2 * n_strata - 1].
    """
    n = (counts.size + 1) // 2
    for swapped in range(2):
        left, right = located[swapped], located[1 - swapped]
        lists = _first_lists(rule, r, swapped, n)
        distances = _distances_of(rule, lengths[swapped], lengths[1 - swapped])
        _to_sorted_places(left, right, lists, n, distances, blocks)
        for i in range(lists[0], lists[0] + n):
            for j in range(lists[1], lists[1] + n):
                lefts = left.positions[left.lo[i] : left.hi[i]]
                rights = right.positions[right.lo[j] : right.hi[j]]
                counts[i - lists[0] + j - lists[1]] += _n_pairs(lefts, rights, distances)


@inlined
def _first_lists(rule, r, swapped, n):
    """Return the first list of the left and of the right mates of pair r; mate 2 is left if ``swapped``.

    Each strand of a mate has ``n`` lists.
    """
    one, two = n * (2 * r + (rule.reverse1 != swapped)), n * (2 * r + (rule.reverse2 != swapped))
    return (two, one) if swapped else (one, two)


@inlined
def _distances_of(rule, n_left, n_right):
    """Return the smallest and the largest distance from the start of the left to that of the right mate."""
    return max(0, n_left - n_right, rule.least - n_right), rule.most - n_right


@inlined
def _to_sorted_places(left, right, lists, n, distances, blocks):
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
    if n_left > _UNEQUAL * n_right:
        _drop_distant(left, i, right, j, n, (high, 0))
    elif n_right > _UNEQUAL * n_left:
        _drop_distant(right, j, left, i, n, (0, high))
    for a in range(n):
        _to_places(left.positions[left.lo[i + a] : left.hi[i + a]], blocks)
        _to_places(right.positions[right.lo[j + a] : right.hi[j + a]], blocks)


@inlined
def _n_pairs(left, right, distances):
    """Return the number of proper pairs of sorted place_keys of left and of right mates."""
    low, high = distances
    n = begin = end = 0
    for key in left:
        begin, end = _partners(right, (begin, end), right.size, key + STEP * low, key + STEP * high)
        n += end - begin
    return n


@inlined
def _partners(right, before, n_right, low, high):
    """Return (begin, end) of the place_keys from ``low`` to ``high`` among n_right sorted ones.

    ``before``: the result for a smaller ``low`` and ``high``, where the search starts.
    """
    begin, end = before
    while begin < n_right and right[begin] < low:
        begin += 1
    while end < n_right and right[end] <= high:
        end += 1
    return begin, end


@inlined
def _drop_distant(many, i, few, j, n, limits):
    """Keep, of n lists of ``many`` from i on, what is near to one of ``few``, whose lists begin at j.

    ``limits``: how far before it, and after it, in text positions. No distance is longer there than in
    a contig, since one separator stands for one or more N.
    """
    before, after = limits
    for b in range(j, j + n):
        sort(few.positions[few.lo[b] : few.hi[b]], few.hi[b] - few.lo[b])
    for a in range(i, i + n):
        positions, n_kept = many.positions[many.lo[a] : many.hi[a]], 0
        for k in range(positions.size):
            for b in range(j, j + n):
                others = few.positions[few.lo[b] : few.hi[b]]
                nearest = lower_bound(others, 0, others.size, positions[k] - after)
                if nearest < others.size and others[nearest] <= positions[k] + before:
                    positions[n_kept] = positions[k]
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


class PairCandidates(NamedTuple):
    """Proper pairs as candidates. ``mates``: Located of both after ``_count_proper``.

    ``lengths``: bases of mates 1 and of mates 2, int64[...]; those of the first pair come first. ``counts``
    int64[n * (2 * n_strata - 1)]: number of proper pairs of each pair by mismatches.
    """

    mates: tuple
    lengths: tuple
    rule: Rule
    n_strata: int
    counts: np.ndarray


@compiled
def _choose_pairs(pairs, batch, start, proper, seed, heads):
    for i in range(proper.total.size):
        if proper.first[i] < proper.first[i + 1]:
            choose_pair(pairs, batch, start, proper, i, seed, heads)


@inlined
def choose_pair(pairs, batch, start, proper, i, seed, heads):
    """Choose proper pairs of pair i, whose mates are reads start + i, from the strata that come first.

    ``seed`` < 0 chooses the first ones. ``heads``: scratch int64[2, 2, n_strata].
    """
    done, n_counts = np.int64(0), 2 * pairs.n_strata - 1
    stop = proper.skipped + proper.first[i + 1] - proper.first[i]
    x = hash_name(batch, start + i, seed) if seed >= 0 else np.uint64(0)
    for stratum in range(n_counts):
        total = pairs.counts[n_counts * i + stratum]
        n = min(total, proper.reported[i] - done)
        if n > 0 and done < stop:
            x = _choose_of_stratum(pairs, stratum, proper, i, (done, n, total, stop), (x, seed), heads)
            done += n


@inlined
def _choose_of_stratum(pairs, stratum, proper, i, limits, random, heads):
    """Choose proper pairs of pair i in a stratum: the first ones, or a sample (Knuth's algorithm S).

    ``limits``: number chosen in strata before, number to choose here, out of how many, and how many are
    needed of both. ``random``: state, and seed. Returns the state.
    """
    (before, limit, total, stop), (x, seed), n = limits, random, pairs.n_strata
    least, most = max(0, stratum - n + 1), min(stratum, n - 1)  # mismatches of a left mate
    for swapped in range(2):
        lists = _first_lists(pairs.rule, i, swapped, n)
        for a in range(least, most + 1):
            heads[0, swapped, a] = pairs.mates[swapped].lo[lists[0] + a]
            heads[1, swapped, a] = pairs.mates[1 - swapped].lo[lists[1] + stratum - a]
    number = done = np.int64(0)
    needed = min(limit, stop - before)
    while done < needed:
        # The next left mate: mate 1 if mate 2 is at the same place.
        key, side, of_left = np.int64(-1), 0, 0
        for swapped in range(2):
            left, lists = pairs.mates[swapped], _first_lists(pairs.rule, i, swapped, n)
            for a in range(least, most + 1):
                head = heads[0, swapped, a]
                if head < left.hi[lists[0] + a] and (key < 0 or left.positions[head] < key):
                    key, side, of_left = left.positions[head], swapped, a
        heads[0, side, of_left] += 1
        # Its partners.
        low, high = _distances_of(pairs.rule, pairs.lengths[side][i], pairs.lengths[1 - side][i])
        others = pairs.mates[1 - side].positions
        end = pairs.mates[1 - side].hi[_first_lists(pairs.rule, i, side, n)[1] + stratum - of_left]
        right = heads[1, side, of_left]
        while right < end and others[right] < key + STEP * low:
            right += 1
        heads[1, side, of_left] = right
        while right < end and others[right] <= key + STEP * high and done < needed:
            is_chosen = True
            if seed >= 0:
                x = next_random(x)
                is_chosen = np.int64((x >> np.uint64(16)) % np.uint64(total - number)) < limit - done
            if is_chosen:
                key1 = (others[right] if side else key) | (pairs.rule.reverse1 != side)
                key2 = (key if side else others[right]) | (pairs.rule.reverse2 != side)
                if before + done == 0:
                    proper.first_one[i], proper.first_two[i] = key1, key2
                to = proper.first[i] + before + done - proper.skipped
                done += 1
                if to >= proper.first[i]:
                    proper.one[to], proper.two[to], proper.swapped[to] = key1, key2, side == 1
                    proper.n_best[to] = total if before == 0 else 0
            number += 1
            right += 1
    return x


@compiled
def count_inserts(length1, length2, proper, counts):
    """Count the insert size of the first of the ProperPairs of each pair in ``counts``, by class_of.

    ``length1``, ``length2`` int64[...]: of mates 1 and of mates 2.
    """
    for i in range(proper.total.size):
        if proper.first[i] < proper.first[i + 1]:
            start1, start2 = position_of_key(proper.first_one[i]), position_of_key(proper.first_two[i])
            size = max(start1 + length1[i], start2 + length2[i]) - min(start1, start2)
            counts[class_of(size)] += 1


class PairHits(NamedTuple):
    """Hits of a run of pairs: ``proper``, and, of pairs without proper ones, those of mates 1 and of mates 2.

    For a pair with proper ones, ``one`` and ``two`` have no hits, and as ``total`` the number of those.
    """

    proper: ProperPairs
    one: Hits
    two: Hits


class PairRun(NamedTuple):
    """Pairs from number ``start`` of a batch on.

    ``lists``: both mates after ``_count_proper``, and ``strata``, its result. ``total``, ``fewest`` int64[n]:
    number of proper pairs to choose from, and fewest mismatches of one. ``mates``: both, as single reads.
    """

    start: int
    lists: tuple[Located, Located]
    strata: np.ndarray
    total: np.ndarray
    fewest: np.ndarray
    mates: Sequence[ReadRun]


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

    def runs_of(self, mates: Sequence[ReadRun]) -> Iterator[PairRun]:
        """Yield the pairs of mates 1 and mates 2 as runs."""

        def strata_of(start: int, lists: tuple[Located, Located], n_strata: int) -> np.ndarray:
            strata = np.zeros((lists[0].lo.size // (2 * n_strata), 2 * n_strata - 1), np.int64)
            lengths = mates[0].batch.length[start:], mates[1].batch.length[start:]
            _count_proper(lengths, lists, self.rule, self.blocks, strata)
            return strata

        def has_proper(start: int, matches: Sequence[Candidates], most: int) -> np.ndarray:
            strata = strata_of(start, _lists_of(matches, most + 1), most + 1)
            return strata[:, : most + 1].sum(axis=1) > 0

        for one, two in self._finder.runs_of(mates, has_proper):
            with self.timed("locate"):
                if one.matches is not None:
                    lists = _lists_of((one.matches, two.matches), self.n_strata)  # type: ignore[arg-type]
                else:
                    both = (one.total > 0) & (two.total > 0)
                    of_mates = [located(each.locators, each.intervals, both) for each in (one, two)]
                    lists = of_mates[0], of_mates[1]
            with self.timed("pair"):
                strata = strata_of(one.start, lists, self.n_strata)
                fewest = (strata > 0).argmax(axis=1)
                total = strata[np.arange(fewest.size), fewest] if self.best_only else strata.sum(axis=1)
            yield PairRun(one.start, lists, strata, total, fewest, (one, two))

    def count(self, mates: "Mates", run: PairRun) -> list[np.ndarray]:
        """Count the pairs of a run in tally and screen; return the demultiplexer's keys of their owners."""
        hooks = self._finder.hooks
        with self.timed("tally"):
            if tally := hooks.tally:
                eligible = self._policy.eligible(run.total)
                lengths = mates.one.length[run.start :], mates.two.length[run.start :]
                fewest = run.fewest if self.best_only else np.full(eligible.size, -1)
                with tally.counting() as counts:
                    which, contigs = (eligible, fewest), tally.owners.of_contig
                    _walk_pairs(lengths, run.lists, self.rule, which, self.n_strata, contigs, counts)
                for mate in run.mates:
                    tally.add(mate, self._policy.eligible(mate.total) * (run.total == 0))
            if not (hooks.screen or hooks.demultiplexer):
                return []
            has_hit = self._policy.eligible(run.total) > 0  # of those with proper pairs
            of_mates = [
                np.where(run.total > 0, mate.total * has_hit, self._policy.eligible(mate.total))
                for mate in run.mates
            ]
            if hooks.screen:
                hooks.screen.add_pairs(run.mates, of_mates)
            return [hooks.demultiplexer.keys(run.mates, of_mates)] if hooks.demultiplexer else []

    def hits_of(self, mates: "Mates", run: PairRun) -> Iterator[tuple[int, PairHits, int]]:
        """Yield (start, PairHits, first record of these) for runs of pairs with about sizes.hits records."""
        policy, total = self._policy, run.total
        if policy.limit == 0:
            return
        alone = [mate.total * (total == 0) for mate in run.mates]
        records, one, two = (np.maximum(policy.reported(each), 1) for each in (total, *alone))
        records = np.where(total > 0, records, one + two)
        for a, b in runs(records, self._n_hits):
            start, bounds = run.start + a, slice(2 * self.n_strata * a, 2 * self.n_strata * b)
            with self.timed("locate"):
                of_mates = []
                for mate, each in zip(run.mates, alone, strict=True):
                    hits = self._finder.choose(mate.cut(a, b), each[a:b], True)
                    of_mates.append(hits._replace(total=total[a:b] + each[a:b]))  # one of the two is 0
            one, two = (lists._replace(lo=lists.lo[bounds], hi=lists.hi[bounds]) for lists in run.lists)
            for first in range(0, int(records[a:b].sum()), self._n_hits):
                with self.timed("pair"):
                    proper = self._choose(mates, start, (one, two), run.strata[a:b], total[a:b], first)
                yield start, PairHits(proper, *of_mates), first

    def _choose(
        self, mates: "Mates", start: int, lists: tuple[Located, Located], strata: np.ndarray,
        total: np.ndarray, skipped: int,
    ) -> ProperPairs:  # fmt: skip
        """Return reported proper pairs of pairs ``start`` onwards, up to sizes.hits of them.

        ``lists``, ``strata``, ``total``: as in PairRun. ``skipped``: how many are left out at first, which
        matters if there is only one pair of mates.
        """
        policy, n = self._policy, total.size
        first, first_one, first_two = np.empty(n + 1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        n_hits, _ = lay_out(total, policy.at_most, policy.limit, (skipped, self._n_hits), first)
        (one, two, n_best), changes = np.empty((3, n_hits), np.int64), np.zeros((2, n_hits), np.int64)
        proper = ProperPairs(
            first, one, two, np.empty(n_hits, np.bool_), changes[0], changes[1], n_best, total,
            policy.reported(total), skipped, first_one, first_two,
        )  # fmt: skip
        lengths = mates.one.length[start:], mates.two.length[start:]
        candidates = PairCandidates(lists, lengths, self.rule, self.n_strata, strata.ravel())
        heads = np.empty((2, 2, self.n_strata), np.int64)
        _choose_pairs(candidates, mates.one, start, proper, policy.seed, heads)
        if self.n_strata > 1:
            has_changes = proper.reported > strata[:, 0]
            for batch, keys, of_mate in zip(mates[:2], (one, two), changes, strict=True):
                positions = np.empty(n_hits, np.int64)
                _find_in_text(self.blocks, keys, positions)
                hits = Hits(first, positions, is_reverse(keys), total, of_mate, total)
                self._finder.fill_changes(batch, start, hits, has_changes)  # type: ignore[attr-defined]
        return proper


@compiled
def _find_in_text(blocks, keys, positions):
    """Write the text position of each place_key."""
    for hit in range(keys.size):
        positions[hit] = position_in_text(blocks, keys[hit])


def _lists_of(matches: Sequence[Candidates], n_strata: int) -> tuple[Located, Located]:
    """Return text positions of both mates, if both have any, in ``n_strata`` lists per strand.

    They are lists of the matches with 0, 1, ... mismatches.
    """
    both, lists = np.logical_and(*(np.diff(each.first) > 0 for each in matches)), []
    for each in matches:
        n = np.diff(each.first)
        keys, n = each.keys[np.repeat(both, n)], n * both
        which = np.repeat(2 * n_strata * np.arange(n.size), n) + (n_strata * (keys & 1) + (keys >> KEY_BITS))
        ends = np.cumsum(np.bincount(which, minlength=2 * n_strata * n.size))
        positions = text_position(keys[np.argsort(which, kind="stable")])
        lists.append(Located(positions, np.append(0, ends[:-1]), ends))
    return lists[0], lists[1]


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
            first = _first_lists(rule, r, swapped, n_strata)
            low, high = _distances_of(rule, lengths[swapped][r], lengths[1 - swapped][r])
            left, right = lists[swapped], lists[1 - swapped]
            for i in range(n_strata):
                for j in range(n_strata):
                    if mismatches[r] >= 0 and i + j != mismatches[r]:
                        continue
                    a, b, begin, end = first[0] + i, first[1] + j, 0, 0
                    others = right.positions[right.lo[b] : right.hi[b]]
                    for key in left.positions[left.lo[a] : left.hi[a]]:
                        bounds = key + STEP * low, key + STEP * high
                        begin, end = _partners(others, (begin, end), others.size, *bounds)
                        if begin < end:
                            of_pair = r, MATES, eligible[r]
                            note(counts, owner_of[contig_of(key)], of_pair, end - begin)
