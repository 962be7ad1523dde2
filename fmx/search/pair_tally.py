"""Proper pairs in the table of --counts: a mate counts as a read, and its pairs as its occurrences."""

from ..compiler.functions import compiled
from ..index.reference import STEP, contig_of
from .proper import partners, reach
from .screen import Screen
from .tally import Tally, note

_MATES = 2


def apart(counters) -> tuple:
    """(the Tally, the Screen) of what counts reads, or None for what is not there."""
    each = getattr(counters, "counters", [counters])
    return tuple(next((one for one in each if isinstance(one, kind)), None) for kind in (Tally, Screen))


def add_pairs(tally, owner_of, lengths, located, rule, eligible) -> None:
    """Count, in a Tally, ``eligible`` int64[n] proper pairs of each of some pairs.

    ``owner_of`` int64[n_contigs]; ``lengths``: int64[n] of mates 1 and of mates 2; ``located``: what
    proper.prepare left of both.
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
