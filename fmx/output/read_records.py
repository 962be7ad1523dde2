"""The records of a read or of a pair, written by a loop on the CPU or by a thread on a GPU.

The records of a pair are together: for each proper pair mate 1, then mate 2; else those of mate 1, then those
of mate 2.  Each has the place of the other mate.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import by_type, compiled, inlined
from ..index.reference import contig_of, forward, is_reverse, place_key, place_of, position_of_key
from ..input.reads import ReadBatch
from ..input.sets import changes_of, peers_of
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
    Mate,
    Record,
    alone,
    put_record,
)

if TYPE_CHECKING:
    from ..search.hits import Hits
    from ..search.pairs import ProperPairs

ALL = 2**60


class SingleReads(NamedTuple):
    """Hits ``first`` to ``last`` of the reads from ``start`` on in a batch."""

    batch: ReadBatch
    hits: "Hits"
    start: int
    first: int
    last: int


class Side(NamedTuple):
    """Mates 1 or 2 of pairs: their ReadBatch, their separate Hits, and ``flag``, FIRST or SECOND.

    Read ``start`` of the batch is the mate of the first pair.
    """

    reads: ReadBatch
    hits: "Hits"
    flag: int
    start: int


class Pairs(NamedTuple):
    """Both mates of pairs; of one without proper pairs, records ``first`` to ``last``."""

    one: Side
    two: Side
    proper: "ProperPairs"
    first: int
    last: int


@by_type
def n_of(work):
    """Return the number of SingleReads or Pairs."""


@by_type
def n_mates(work):
    """Return the number of reads in each of SingleReads or Pairs."""


@by_type
def mate_of(work, i, k):
    """Return (ReadBatch, number of read k of item i in it, whether its first record is on -)."""


@by_type
def room_of(work, i, n_widest, by_letters):
    """Return an upper bound of the bytes of the records of item i of SingleReads or Pairs.

    That is: n_widest and the name for each, bases and qualities once.  ``by_letters``: sequences replace
    missing names.
    """


@by_type
def put_records(work, form, out, at, i):
    """Write the records of item i of SingleReads or Pairs; return the position after them."""


@inlined
def _name_length(batch, r, by_letters):
    return batch.length[r] if by_letters and batch.name_length[r] == 0 else batch.name_length[r]


@n_of.register(SingleReads)
def _n_reads(work):
    return work.hits.total.size


@n_mates.register(SingleReads)
def _one_mate(work):
    return 1


@mate_of.register(SingleReads)
def _read_of(work, i, k):
    first = work.hits.first[i]
    return work.batch, work.start + i, work.hits.first[i + 1] > first and work.hits.reverse[first]


@room_of.register(SingleReads)
def _room_of_read(work, i, n_widest, by_letters):
    batch, first, r = work.batch, work.hits.first, work.start + i
    n_hits = max(min(first[i + 1], work.last) - max(first[i], work.first), 1)
    return 2 * batch.length[r] + n_hits * (_name_length(batch, r, by_letters) + n_widest)


@put_records.register(SingleReads)
def _put_read(work, form, out, at, i):
    batch, hits, r = work.batch, work.hits, work.start + i
    total, first, end, n, zero = hits.total[i], hits.first[i], hits.first[i + 1], batch.length[r], np.int64(0)
    if first == end:
        nowhere, flag = np.int64(-1), np.int64(UNMAPPED)
        record = Record(r, zero, n, flag, nowhere, nowhere, zero, total, zero, zero, zero, alone())
        return put_record(form, out, at, batch, record)
    for hit in range(max(first, work.first), min(end, work.last)):
        place, changes = place_of(form.blocks, hits.position[hit]), changes_of(hits.changes, hit)
        flag = REVERSE * hits.reverse[hit] + SECONDARY * (hit > first)
        peers = peers_of(hits.best, i, changes, total)
        record = Record(
            r, zero, n, flag, place.contig, place.position, hit - first + 1, total, end - first, peers,
            changes, alone(),
        )  # fmt: skip
        at = put_record(form, out, at, batch, record)
    return at


@n_of.register(Pairs)
def _n_pairs(work):
    return work.proper.total.size


@n_mates.register(Pairs)
def _two_mates(work):
    return 2


@mate_of.register(Pairs)
def _mate_of_pair(work, i, k):
    side, proper = work.two if k else work.one, work.proper
    if proper.first[i] < proper.first[i + 1]:
        reverse = is_reverse(proper.lead2[i] if k else proper.lead1[i])
    else:
        first = side.hits.first[i]
        reverse = side.hits.first[i + 1] > first and side.hits.reverse[first]
    return side.reads, side.start + i, reverse


@room_of.register(Pairs)
def _room_of_pair(work, i, n_widest, by_letters):
    one, two, r1, r2 = work.one.reads, work.two.reads, work.one.start + i, work.two.start + i
    n = 2 * (work.proper.first[i + 1] - work.proper.first[i])
    if n == 0:
        n = _n_records(work.one.hits, i) + _n_records(work.two.hits, i)
    n = min(n, 2 * (work.last - work.first))
    name = max(_name_length(one, r1, by_letters), _name_length(two, r2, by_letters))
    return 2 * (one.length[r1] + two.length[r2]) + n * (name + n_widest)


@inlined
def _n_records(hits, i):
    """Return the number of records of mate i with these separate Hits."""
    return max(1, hits.first[i + 1] - hits.first[i])


@put_records.register(Pairs)
def _put_pair(work, form, out, at, i):
    n_proper, n_one = work.proper.first[i + 1] - work.proper.first[i], _n_records(work.one.hits, i)
    begin, end = np.int64(0), 2 * n_proper
    if n_proper == 0:
        begin, end = work.first, min(n_one + _n_records(work.two.hits, i), work.last)
    for k in range(begin, end):
        is_second = (k & 1) == 1 if n_proper > 0 else k >= n_one
        side, other = (work.two, work.one) if is_second else (work.one, work.two)
        if n_proper > 0:
            record = _in_proper_pair(work, i, work.proper.first[i] + (k >> 1), is_second)
        else:
            record = _without_proper_pair(form, side, other, i, k - n_one if is_second else k)
        at = _put(form, out, at, side.reads, record)  # once: it is long on a GPU
    return at


@compiled
def _put(form, out, at, batch, record):
    return put_record(form, out, at, batch, record)


@inlined
def _in_proper_pair(pairs, i, hit, is_second):
    """Return the Record of mate 1 or 2 in proper pair ``hit``, one of pair i."""
    r1, r2, hits = pairs.one.start + i, pairs.two.start + i, pairs.proper
    n1, n2, key1, key2 = pairs.one.reads.length[r1], pairs.two.reads.length[r2], hits.one[hit], hits.two[hit]
    if hits.swapped[hit]:
        insert = position_of_key(key2) - position_of_key(key1) - n1
    else:
        insert = position_of_key(key2) + n2 - position_of_key(key1)
    number = hits.given + hit - hits.first[i] + 1
    if is_second:
        r, key, n, flag, changes = r2, key2, n2, SECOND, hits.changes2[hit]
        mate = Mate(hits.lead1[i], n1, -insert)
    else:
        r, key, n, flag, changes = r1, key1, n1, FIRST, hits.changes1[hit]
        mate = Mate(hits.lead2[i], n2, insert)
    flag += PAIRED + PROPER + SECONDARY * (number > 1)
    flag += REVERSE * is_reverse(key) + MATE_REVERSE * is_reverse(mate.key)
    return Record(
        r, np.int64(0), n, flag, contig_of(key), position_of_key(key), number, hits.total[i],
        hits.reported[i], hits.peers[hit], changes, mate,
    )  # fmt: skip


@inlined
def _without_proper_pair(form, side, other, i, j):
    """Return Record j of the mate of a Side, for pair i, whose mates are mapped separately."""
    r, lead, mate_key = side.start + i, _lead(form, side, i), _lead(form, other, i)
    length, mate_length = side.reads.length[r], other.reads.length[other.start + i]
    flag, key, insert = PAIRED + side.flag + SECONDARY * (j > 0), lead, np.int64(0)
    if mate_key == NOWHERE:
        flag, mate_key = flag + MATE_UNMAPPED, forward(lead)  # an unmapped mate gets the place of the other
    else:
        flag += MATE_REVERSE * is_reverse(mate_key)
    hits, peers, changes = side.hits, np.int64(0), np.int64(0)
    hit, total = hits.first[i] + j, hits.total[i]
    if lead == NOWHERE:
        flag, key = flag + UNMAPPED, forward(mate_key)
    else:
        key = _key(form, hits, hit)
        flag += REVERSE * is_reverse(key)
        changes = changes_of(hits.changes, hit)
        peers = peers_of(hits.best, i, changes, total)
        if not flag & MATE_UNMAPPED and j == 0 and contig_of(mate_key) == contig_of(lead):
            start, mate_start = position_of_key(lead), position_of_key(mate_key)
            insert = max(start + length, mate_start + mate_length) - min(start, mate_start)
            if start > mate_start or (start == mate_start and side.flag == SECOND):
                insert = -insert
    position = position_of_key(key) if key != NOWHERE else np.int64(-1)
    return Record(
        r, np.int64(0), length, flag, contig_of(key), position, j + 1, total,
        hits.first[i + 1] - hits.first[i], peers, changes, Mate(mate_key, mate_length, insert),
    )  # fmt: skip


@inlined
def _lead(form, side, i):
    """Return the place_key of a mate's first separate hit, or NOWHERE."""
    first = side.hits.first[i]
    return _key(form, side.hits, first) if first < side.hits.first[i + 1] else np.int64(NOWHERE)


@inlined
def _key(form, hits, hit):
    place = place_of(form.blocks, hits.position[hit])
    return place_key(place.contig, place.position, hits.reverse[hit])
