"""Proper pairs: occurrences of two mates in the order and distance of mates of one fragment.

    fr    1 ---->  <---- 2        rf    1 <----  ----> 2        ff    1 ---->  ----> 2
    or    2 ---->  <---- 1        or    2 <----  ----> 1        or    2 <----  <---- 1

The right mate neither begins nor ends before the left one, and the insert size is from ``least`` to ``most``.
Proper pairs are sorted by contig, position of the left mate, which mate that is (1 first), and insert size.
The rule of search/hits.py selects the reported ones.

prepare    occurrences -> sorted place_keys and the number of proper pairs, by merging
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
from ..hits import hash_name

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
    bool[n_hits]: mate 2 is left. ``total``, ``reported`` int64[n]: number of proper pairs, and of reported
    ones. ``given``: how many of the first pair's reported ones come before the first one here. ``lead1``,
    ``lead2`` int64[n]: keys of each pair's first one.
    """

    first: np.ndarray
    one: np.ndarray
    two: np.ndarray
    swapped: np.ndarray
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
    mates: "Mates", start: int, one: "Located", two: "Located", rule: Rule, blocks: "Blocks"
) -> np.ndarray:
    """Return the number of proper pairs of pairs ``start`` onwards, int64[n].

    ``one``, ``two``: Located (search/hits.py). Their positions become sorted place_keys, all with strand +;
    those in no proper pair may be dropped.
    """
    total = np.zeros(one.lo.size // 2, np.int64)
    _prepare(mates.one.length[start:], mates.two.length[start:], one, two, rule, blocks, total)
    return total


@compiled
def _prepare(length1, length2, one, two, rule, blocks, total):
    for r in range(total.size):
        for swapped in range(2):
            i, j = 2 * r + (rule.reverse1 != swapped), 2 * r + (rule.reverse2 != swapped)
            mates1, mates2 = one.positions[one.lo[i] : one.hi[i]], two.positions[two.lo[j] : two.hi[j]]
            if mates1.size == 0 or mates2.size == 0:
                continue
            if swapped:
                low, high = reach(rule, length2[r], length1[r])
                n_two, n_one, n = _settle(mates2, mates1, low, high, blocks)
            else:
                low, high = reach(rule, length1[r], length2[r])
                n_one, n_two, n = _settle(mates1, mates2, low, high, blocks)
            one.hi[i], two.hi[j] = one.lo[i] + n_one, two.lo[j] + n_two
            total[r] += n


@inlined
def reach(rule, n_left, n_right):
    """Return the smallest and the largest distance from the start of the left to that of the right mate."""
    return max(0, n_left - n_right, rule.least - n_right), rule.most - n_right


@compiled
def _settle(left, right, low, high, blocks):
    """Turn text positions of left and right mates, int64, into sorted place_keys.

    Return (number kept of each, number of proper pairs).
    """
    n_left, n_right = left.size, right.size
    if high < low:
        return 0, 0, 0
    if n_left > _FEW * n_right:
        sort(right, n_right)
        n_left = _keep_near(left, right, high, 0)
    elif n_right > _FEW * n_left:
        sort(left, n_left)
        n_right = _keep_near(right, left, 0, high)
    _to_places(left, n_left, blocks)
    _to_places(right, n_right, blocks)
    n = begin = end = 0
    for i in range(n_left):
        begin, end = partners(right, (begin, end), n_right, left[i] + STEP * low, left[i] + STEP * high)
        n += end - begin
    return n_left, n_right, n


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
def _keep_near(many, few, before, after):
    """Keep those of ``many`` that are up to ``before`` before, or ``after`` after, one of ``few`` (sorted).

    The text has one separator where a contig has one or more N, so no distance is longer in the text.
    """
    n = 0
    for i in range(many.size):
        j = lower_bound(few, 0, few.size, many[i] - after)
        if j < few.size and few[j] <= many[i] + before:
            many[n] = many[i]
            n += 1
    return n


@inlined
def _to_places(positions, n, blocks):
    """Sort n text positions and turn them into place_keys."""
    sort(positions, n)
    block, stop = 0, -1
    for i in range(n):
        if positions[i] > stop:
            block = find_block(blocks, positions[i])
            stop = blocks.text_start[block] + blocks.length[block]
        start = positions[i] - blocks.text_start[block] + blocks.contig_start[block]
        positions[i] = place_key(blocks.contig[block], start, False)


def choose(
    mates: "Mates",
    start: int,
    located: "tuple[Located, Located]",
    rule: Rule,
    policy: "SelectionPolicy",
    total: np.ndarray,
    window: tuple[int, int],
) -> ProperPairs:
    """Return the reported proper pairs of pairs ``start`` onwards; ``located``: both mates after ``prepare``.

    ``total`` int64[n]: result of ``prepare``. ``window``: the first reported pair to return, and the most to
    return, which matters if there is only one pair of mates.
    """
    skip, most = window
    reported = policy.reported(total)
    n = np.minimum(np.maximum(reported - skip, 0), most)
    first = np.append(0, np.cumsum(n))
    one, two = (np.empty(first[-1], np.int64) for _ in range(2))
    lead1, lead2 = (np.empty(total.size, np.int64) for _ in range(2))
    found = ProperPairs(first, one, two, np.empty(first[-1], np.bool_), total, reported, skip, lead1, lead2)
    _choose((mates.one, mates.two), start, located, rule, (policy.limit, policy.seed), found)
    return found


@compiled
def _choose(mates, start, located, rule, limits, found):
    for i in range(found.total.size):
        if found.first[i] < found.first[i + 1]:
            _choose_of_pair(mates, start, located, rule, limits, found, i)


@inlined
def _choose_of_pair(mates, start, located, rule, limits, found, i):
    """Select the reported proper pairs of pair i: the first ones, or a sample (Knuth's algorithm S)."""
    (one, two), total, seed = located, found.total[i], limits[1]
    limit, n1, n2 = min(limits[0], total), mates[0].length[start + i], mates[1].length[start + i]
    x = hash_name(mates[0], start + i, seed) if seed >= 0 else np.uint64(0)
    # Lists of keys: mates 1 on the left with mates 2 on the right, and both swapped.
    a, b = 2 * i + rule.reverse1, 2 * i + rule.reverse2
    c, d = 2 * i + (not rule.reverse2), 2 * i + (not rule.reverse1)
    left1, left2, right2, right1 = one.lo[a], two.lo[c], two.lo[b], one.lo[d]
    number = taken = 0
    while taken < limit:
        # The next left mate: mate 2 if there is no mate 1 left, or if it is further to the left.
        swapped = left1 == one.hi[a] or (left2 < two.hi[c] and two.positions[left2] < one.positions[left1])
        if swapped:
            key, (low, high) = two.positions[left2], reach(rule, n2, n1)
            while right1 < one.hi[d] and one.positions[right1] < key + STEP * low:
                right1 += 1
            right, stop, others = right1, one.hi[d], one.positions
            left2 += 1
        else:
            key, (low, high) = one.positions[left1], reach(rule, n1, n2)
            while right2 < two.hi[b] and two.positions[right2] < key + STEP * low:
                right2 += 1
            right, stop, others = right2, two.hi[b], two.positions
            left1 += 1
        # Its partners.
        while right < stop and others[right] <= key + STEP * high and taken < limit:
            is_taken = True
            if seed >= 0:
                x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                is_taken = np.int64((x >> np.uint64(16)) % np.uint64(total - number)) < limit - taken
            if is_taken:
                other = others[right]
                key1 = (other if swapped else key) | (rule.reverse1 != swapped)
                key2 = (key if swapped else other) | (rule.reverse2 != swapped)
                if taken == 0:
                    found.lead1[i], found.lead2[i] = key1, key2
                to = found.first[i] + taken - found.given
                taken += 1
                if to >= found.first[i]:
                    found.one[to], found.two[to], found.swapped[to] = key1, key2, swapped
                    if to + 1 == found.first[i + 1]:
                        return
            number += 1
            right += 1


def count_inserts(mates: "Mates", start: int, found: ProperPairs, counts: np.ndarray) -> None:
    """Count the insert size of the first proper pair of each pair ``start`` onwards.

    Adds to ``counts`` int64[N_CLASSES] (input/reads.py).
    """
    _count_inserts(mates.one.length[start:], mates.two.length[start:], found, counts)


@compiled
def _count_inserts(length1, length2, found, counts):
    for i in range(found.total.size):
        if found.first[i] < found.first[i + 1]:
            start1, start2 = position_of_key(found.lead1[i]), position_of_key(found.lead2[i])
            end = max(start1 + length1[i], start2 + length2[i])
            counts[class_of(end - min(start1, start2))] += 1
