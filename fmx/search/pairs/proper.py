"""Proper pairs: occurrences of two mates in the order and distance of mates of one fragment.

    fr    1 ---->  <---- 2        rf    1 <----  ----> 2        ff    1 ---->  ----> 2
    or    2 ---->  <---- 1        or    2 <----  ----> 1        or    2 <----  <---- 1

The right mate neither begins nor ends before the left one, and the insert size is from ``least`` to ``most``.
Proper pairs are sorted by the mismatches of both mates together, contig, position of the left mate, which
mate that is (1 first), and insert size.
The rule of search/hits.py selects the reported ones.

prepare    occurrences -> sorted place_keys and the number of proper pairs by mismatches, by merging
choose     the proper pairs that are reported
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.sorting import lower_bound, sort
from ...errors import UnsupportedError
from ...index.reference import STEP, can_hold, find_block, place_key, position_of_key
from ...input.reads import class_of
from ..hits import eligible_of, hash_name

if TYPE_CHECKING:
    from ...index.reference import Blocks, Reference
    from ...input.mates import Mates
    from ..hits import Located, SelectionPolicy

FR, RF, FF = (False, True), (True, False), (False, False)  # reverse: the left and the right mate, 1 and 2
ORIENTATIONS = {"fr": FR, "rf": RF, "ff": FF}
LONGEST = 2**31 - 1  # largest insert size
_FEW = 16  # ratio of occurrences of the two mates from which most are in no proper pair


@dataclass(frozen=True)
class Pairing:
    """Orientation and insert size of proper pairs, ``least`` to ``most`` bases.

    ``interleaved``: whether files hold the mates of a pair in turn, which only matters for shards of a run.
    """

    orientation: str = "fr"
    least: int = 0
    most: int = 500
    interleaved: bool = False


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


def choose(
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
