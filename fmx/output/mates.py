"""Formats hits of pairs as records, each with the place of the other mate.

The records of a pair are together: for each proper pair mate 1, then mate 2; else those of mate 1, then mate
2.
"""

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..index.reference import contig_of, forward, is_reverse, place_key, place_of, position_of_key
from ..input.reads import ReadBatch
from ..input.sets import changes_of, peers_of
from . import put
from .records import (
    FIRST,
    MATE_REVERSE,
    MATE_UNMAPPED,
    NOWHERE,
    PAIRED,
    PROPER,
    REVERSE,
    SECOND,
    SECONDARY,
    UNMAPPED,
    MateRecord,
    Record,
    put_mate,
)

if TYPE_CHECKING:
    from ..search.hits import Hits
    from ..search.pairs import ProperPairs

ALL = 2**60


@compiled
def _put(form, out, at, batch, mate):
    return put_mate(form, out, at, batch, mate)


class Side(NamedTuple):
    """Mates 1 or 2 of pairs: their ReadBatch, their separate Hits, and ``flag``, FIRST or SECOND.

    Read ``start`` of the batch is the mate of the first pair.
    """

    reads: ReadBatch
    hits: "Hits"
    flag: int
    start: int


class Numbers(NamedTuple):
    """The hit numbers of a Record."""

    number: int
    total: int
    reported: int
    peers: int


class Pairs(NamedTuple):
    """Both mates of pairs; of one without proper pairs, records ``first`` to ``last``."""

    one: Side
    two: Side
    proper: "ProperPairs"
    first: int
    last: int


@compiled
def room(pairs, n_widest):
    """Upper bound of the bytes of records: bases and qualities once per mate, names once per record."""
    total = np.int64(0)
    for i in range(pairs.proper.total.size):
        total += room_of_pair(pairs, i, n_widest)
    return total


@inlined
def room_of_pair(pairs, i, n_widest):
    """Upper bound of the bytes of the records of pair i."""
    one, two, r1, r2 = pairs.one.reads, pairs.two.reads, pairs.one.start + i, pairs.two.start + i
    name = max(one.name_length[r1], two.name_length[r2])
    return 2 * (one.length[r1] + two.length[r2]) + most_records(pairs, i) * (name + n_widest)


@inlined
def most_records(pairs, i):
    """Upper bound of the number of records of pair i."""
    proper, one, two = pairs.proper.first, pairs.one.hits.first, pairs.two.hits.first
    n = 2 * (proper[i + 1] - proper[i])
    if n == 0:
        n = max(1, one[i + 1] - one[i]) + max(1, two[i + 1] - two[i])
    return min(n, 2 * (pairs.last - pairs.first))


@compiled
def write(form, pairs, out):
    """Write the records of Pairs into ``out`` uint8[n]; return the position after them."""
    at = np.int64(0)
    for i in range(pairs.proper.total.size):
        at = put_pair(form, out, at, pairs, i)
    return at


@inlined
def put_pair(form, out, at, pairs, i):
    """Write the records of pair i; return the position after them."""
    one, two, proper = pairs.one.hits.first, pairs.two.hits.first, pairs.proper.first
    n_proper, n_one = proper[i + 1] - proper[i], max(1, one[i + 1] - one[i])
    begin, end = np.int64(0), 2 * n_proper
    if n_proper == 0:
        begin, end = pairs.first, min(n_one + max(1, two[i + 1] - two[i]), pairs.last)
    for k in range(begin, end):
        is_second = (k & 1) == 1 if n_proper > 0 else k >= n_one
        own, other = (pairs.two, pairs.one) if is_second else (pairs.one, pairs.two)
        if n_proper > 0:
            mate = _in_proper_pair(pairs, i, proper[i] + (k >> 1), is_second)
        else:
            mate = _alone(form, own, other, i, k - n_one if is_second else k)
        at = _put(form, out, at, own.reads, mate)  # once: it is long on a GPU
    return at


@inlined
def _in_proper_pair(pairs, i, hit, is_second):
    """Return the MateRecord of mate 1 or 2 in proper pair ``hit``, one of pair i."""
    r1, r2, hits = pairs.one.start + i, pairs.two.start + i, pairs.proper
    n1, n2, key1, key2 = pairs.one.reads.length[r1], pairs.two.reads.length[r2], hits.one[hit], hits.two[hit]
    if hits.swapped[hit]:
        insert = position_of_key(key2) - position_of_key(key1) - n1
    else:
        insert = position_of_key(key2) + n2 - position_of_key(key1)
    number = hits.given + hit - hits.first[i] + 1
    numbers = Numbers(number, hits.total[i], hits.reported[i], hits.peers[hit])
    flag = PAIRED + PROPER + SECONDARY * (number > 1)
    if is_second:
        r, key, lead, length, other_length = r2, key2, hits.lead1[i], n2, n1
        flag, changes, insert = flag + SECOND, hits.changes2[hit], -insert
    else:
        r, key, lead, length, other_length = r1, key1, hits.lead2[i], n1, n2
        flag, changes = flag + FIRST, hits.changes1[hit]
    flag += REVERSE * is_reverse(key) + MATE_REVERSE * is_reverse(lead)
    return MateRecord(_record(r, length, key, numbers, changes), flag, lead, other_length, insert)


@inlined
def _alone(form, own, other, i, j):
    """Return MateRecord j of Side ``own``, for pair i, whose mates are mapped separately."""
    r, lead, mate = own.start + i, _lead(form, own, i), _lead(form, other, i)
    length, other_length = own.reads.length[r], other.reads.length[other.start + i]
    flag, key, insert = PAIRED + own.flag + SECONDARY * (j > 0), lead, np.int64(0)
    if mate == NOWHERE:
        flag, mate = flag + MATE_UNMAPPED, forward(lead)  # an unmapped mate gets the place of the other
    else:
        flag += MATE_REVERSE * is_reverse(mate)
    if lead == NOWHERE:
        flag, key = flag + UNMAPPED, forward(mate)
    else:
        key = _key(form, own.hits, own.hits.first[i] + j)
        flag += REVERSE * is_reverse(key)
        if not flag & MATE_UNMAPPED and j == 0 and contig_of(mate) == contig_of(lead):
            start, mate_start = position_of_key(lead), position_of_key(mate)
            insert = max(start + length, mate_start + other_length) - min(start, mate_start)
            if start > mate_start or (start == mate_start and own.flag == SECOND):
                insert = -insert
    reported, hit = own.hits.first[i + 1] - own.hits.first[i], own.hits.first[i] + j
    peers = changes = np.int64(0)
    if lead != NOWHERE:
        changes = changes_of(own.hits.changes, hit)
        peers = peers_of(own.hits.best, i, changes, own.hits.total[i])
    record = _record(r, length, key, Numbers(j + 1, own.hits.total[i], reported, peers), changes)
    return MateRecord(record, flag, mate, other_length, insert)


@inlined
def _lead(form, side, i):
    """Return the place_key of a mate's first separate hit, or NOWHERE."""
    first = side.hits.first[i]
    return _key(form, side.hits, first) if first < side.hits.first[i + 1] else np.int64(NOWHERE)


@inlined
def _key(form, hits, hit):
    place = place_of(form.blocks, hits.position[hit])
    return place_key(place.contig, place.position, hits.reverse[hit])


@inlined
def _record(r, length, key, numbers, changes):
    """Return the Record of read r at a place_key, which may be NOWHERE."""
    start = position_of_key(key) if key != NOWHERE else np.int64(-1)
    number, total, reported, peers = numbers
    return Record(
        r,
        np.int64(0),
        length,
        is_reverse(key),
        contig_of(key),
        start,
        number,
        total,
        reported,
        peers,
        changes,
    )


def widest(form: Any, changes: int = 0) -> int:
    """Upper bound of the bytes of a mate's record, without the name, bases and qualities of its read.

    ``changes``: the most of a record.
    """
    columns = (np.array([x]) for x in (0, 0, 0, 3, -1, True))
    batch = ReadBatch(np.frombuffer(b"ACG", np.uint8), *columns)
    contig = int(np.argmax(np.diff(form.names.first)))
    place, sizes = place_key(contig, 1, False), []
    for flag, key, other in product((0, SECONDARY, UNMAPPED), (NOWHERE, place), (NOWHERE, place, 0)):
        record = _record(0, 3, key, Numbers(2, 3, 3, 3), changes)
        if key == place or flag == UNMAPPED:
            sizes.append(put_mate(form, put.Widest(), 0, batch, MateRecord(record, flag, other, 3, -1)))
    return max(sizes)
