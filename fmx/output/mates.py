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
from .hits import HitWriter, named_by_letters
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
    from ..input.mates import Mates
    from ..input.pair_spans import PairSpan
    from ..search.near.matches import NearHits
    from ..search.pairs.pair_mapper import PairHits
    from ..search.pairs.proper import ProperPairs

ALL = 2**60


@compiled
def _put(form, out, at, batch, mate):
    return put_mate(form, out, at, batch, mate)


class MateWriter:
    """Formats pairs with a HitWriter; one instance serves all threads.

    ``changes``: the most of a mate.
    """

    on_gpu = False

    def __init__(self, writer: HitWriter, changes: int = 0) -> None:
        self._writer, self._widest = writer, widest(writer.form, changes)
        self.is_sam, self.written, self.end = writer.is_sam, writer.written, writer.end
        self.split, self.takers, self.owns = writer.split, writer.takers, writer.owns
        self.refusals = writer.refusals

    def of(self, span: "PairSpan") -> "MateWriter":
        """Return the writer for the reads of a span: this one."""
        return self

    def format(
        self, mates: "Mates", hits: "PairHits", start: int, first: int, last: int
    ) -> bytes | np.ndarray:
        """Return the format pairs from ``start`` on by their PairHits (search/pairs/pair_mapper.py).

        Of a single pair without proper pairs, only its records ``first`` to ``last``.
        """
        if not self.is_sam:
            mates = mates._replace(one=named_by_letters(mates.one), two=named_by_letters(mates.two))
        sides = Side(mates.one, hits.one, FIRST), Side(mates.two, hits.two, SECOND)
        window = (first, last) if hits.proper.total.size == 1 else (0, ALL)
        pairs = Pairs(*sides, hits.proper, start, *window)
        out = self._writer.take(_room(pairs, self._widest))
        return self._writer.encoded(out[: _write(self._writer.form, pairs, out)])


class Side(NamedTuple):
    """Mates 1 or 2 of pairs: their ReadBatch, their separate NearHits, and ``flag``, FIRST or SECOND."""

    reads: ReadBatch
    hits: "NearHits"
    flag: int


class Numbers(NamedTuple):
    """The hit numbers of a Record."""

    number: int
    total: int
    reported: int
    peers: int


class Pairs(NamedTuple):
    """Pairs of a batch from ``start`` on; of one without proper pairs, records ``first`` to ``last``."""

    one: Side
    two: Side
    proper: "ProperPairs"
    start: int
    first: int
    last: int


@compiled
def _room(pairs, n_widest):
    """Upper bound of the bytes of records: bases and qualities once per mate, names once per record."""
    room, proper, one, two = np.int64(0), pairs.proper, pairs.one, pairs.two
    for i in range(proper.total.size):
        r = pairs.start + i
        n_records = 2 * (proper.first[i + 1] - proper.first[i])
        n_records += max(1, one.hits.first[i + 1] - one.hits.first[i])
        n_records += max(1, two.hits.first[i + 1] - two.hits.first[i])
        room += 2 * (one.reads.length[r] + two.reads.length[r])
        name = max(one.reads.name_length[r], two.reads.name_length[r])
        room += min(n_records, 2 * (pairs.last - pairs.first)) * (name + n_widest)
    return room


@compiled
def _write(form, pairs, out):
    at = np.int64(0)
    for i in range(pairs.proper.total.size):
        if pairs.proper.first[i] < pairs.proper.first[i + 1]:
            at = _put_proper(form, out, at, pairs, i)
            continue
        last1 = max(1, pairs.one.hits.first[i + 1] - pairs.one.hits.first[i])
        last2 = max(1, pairs.two.hits.first[i + 1] - pairs.two.hits.first[i])
        for j in range(pairs.first, min(last1, pairs.last)):
            at = _put_alone(form, out, at, pairs, (pairs.one, pairs.two), i, j)
        for j in range(max(0, pairs.first - last1), min(last2, pairs.last - last1)):
            at = _put_alone(form, out, at, pairs, (pairs.two, pairs.one), i, j)
    return at


@inlined
def _put_proper(form, out, at, pairs, i):
    """Write the records of pair i, which has reported proper pairs."""
    r, hits = pairs.start + i, pairs.proper
    n1, n2 = pairs.one.reads.length[r], pairs.two.reads.length[r]
    lead1, lead2, total = hits.lead1[i], hits.lead2[i], hits.total[i]
    for hit in range(hits.first[i], hits.first[i + 1]):
        number, key1, key2 = hits.given + hit - hits.first[i] + 1, hits.one[hit], hits.two[hit]
        if hits.swapped[hit]:
            insert = position_of_key(key2) - position_of_key(key1) - n1
        else:
            insert = position_of_key(key2) + n2 - position_of_key(key1)
        flag = PAIRED + PROPER + SECONDARY * (number > 1)
        flag1 = flag + FIRST + REVERSE * is_reverse(key1) + MATE_REVERSE * is_reverse(lead2)
        flag2 = flag + SECOND + REVERSE * is_reverse(key2) + MATE_REVERSE * is_reverse(lead1)
        numbers = Numbers(number, total, hits.reported[i], hits.peers[hit])
        one = _record(r, n1, key1, numbers, hits.changes1[hit])
        two = _record(r, n2, key2, numbers, hits.changes2[hit])
        at = _put(form, out, at, pairs.one.reads, MateRecord(one, flag1, lead2, n2, insert))
        at = _put(form, out, at, pairs.two.reads, MateRecord(two, flag2, lead1, n1, -insert))
    return at


@inlined
def _put_alone(form, out, at, pairs, sides, i, j):
    """Write record j of the first of two Sides, for pair i, whose mates are mapped separately."""
    r, (own, other) = pairs.start + i, sides
    lead, mate = _lead(form, own, i), _lead(form, other, i)
    length, other_length = own.reads.length[r], other.reads.length[r]
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
    peers, changes = (
        (peers_of(own.hits, i, hit), changes_of(own.hits, hit))
        if lead != NOWHERE
        else (np.int64(0), np.int64(0))
    )
    record = _record(r, length, key, Numbers(j + 1, own.hits.total[i], reported, peers), changes)
    return _put(form, out, at, own.reads, MateRecord(record, flag, mate, other_length, insert))


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
