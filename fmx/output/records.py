"""Records: what a format implements to write one, those of a read or pair, and SAM tags as bits of a number.

REPORTED: NH is the number of reported hits instead of that of all occurrences; CRAM: records become CRAM;
COMMENTS: SAM tags in the comment of a read are copied to its records.
"""

from collections import deque
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import by_type, by_type_or_this, compiled, inlined
from ..compiler.primitives import copy_bytes
from ..index.reference import contig_of, forward, is_reverse, place_key, place_of, position_of_key
from ..input.reads import ReadBatch
from ..input.sets import change_at, changes_of, n_best_of, n_changes
from . import put

if TYPE_CHECKING:
    from ..index.reference import Blocks, Reference
    from ..search.hits import Hits
    from ..search.pairs import ProperPairs

_NH, _HI, _NM, _MD, REPORTED, _MC, CRAM, COMMENTS = 1, 2, 4, 8, 16, 32, 64, 128
TAGS = {"NH": _NH, "HI": _HI, "NM": _NM, "MD": _MD, "MC": _MC}
EVERY = _NH | _HI | _NM | _MD | _MC
MATCH = b"M"[0]  # of a CIGAR
_PAIRED, _PROPER, UNMAPPED, _MATE_UNMAPPED = 1, 2, 4, 8  # of SAM's FLAG
REVERSE, _MATE_REVERSE, FIRST, SECOND, SECONDARY = 16, 32, 64, 128, 256
NOWHERE = -2  # the place_key of no place, in contig -1
_BASES = b"ACGT"
LINED = "names", "blocks"  # fields of most forms: put.NameLines of the contigs, Blocks of the reference
_NUMBER_OF_HITS, _HIT_INDEX, MISMATCHES, MISMATCHED, _MATE_CIGAR, _GROUP = map(
    put.as_bytes, ("NH", "HI", "NM", "MD", "MC", "RG")
)
_RG = put.as_bytes("\tRG:Z:")

# A format has a type, its form: a NamedTuple with ``names`` (put.NameLines of the contigs), ``blocks`` and
# whatever else its lines need.  Its body for ``put_record`` writes one record of a hit, of a match, or of a
# read without a hit.  Buffer sizes are computed by the same body (``widest``), so no field can be forgotten.


class Mate(NamedTuple):
    """The other mate: ``key``, the place_key of its first record, or NOWHERE; ``length``, its bases.

    ``insert``: bases from the first to the last of both mates, negative for the right mate, or 0.
    """

    key: int
    length: int
    insert: int


class Record(NamedTuple):
    """Bases ``begin`` to ``end`` of a query, at ``start`` in a contig; all 0-based, half-open.

    ``flag``: SAM's; with REVERSE, their reverse complement is at this place; with UNMAPPED, the query has no
    hit, and the place is that of the other mate, or in contig -1.  For hits, ``number`` counts the
    ``reported`` records of the query from 1, ``total`` is the number of its occurrences, and ``n_best`` of
    these have as few mismatches as this one (0 if others have fewer).  ``changes`` as in input/sets.py.
    """

    query: int
    begin: int
    end: int
    flag: int
    contig: int
    start: int
    number: int
    total: int
    reported: int
    n_best: int
    changes: int
    mate: Mate


@by_type
def put_record(form, out, at, batch, record):
    """Write a Record into ``out`` uint8[n] from ``at`` on; return the position after it."""


@by_type_or_this
def put_head(form, out, at, batch, row):
    """Write what precedes the records of a row (mem/__init__.py); by default nothing."""
    return at


@inlined
def alone():
    """Return the Mate of a single read."""
    return Mate(np.int64(NOWHERE), np.int64(0), np.int64(0))


def contigs_of(reference: "Reference") -> "tuple[put.NameLines, Blocks]":
    """Return the values of LINED."""
    return put.make_names(reference.names), reference.blocks


@inlined
def put_place(form, out, at, record):
    """Write three fields: contig, start and end."""
    at = put.field(out, put.name(out, at, form.names, record.contig), record.start)
    return put.field(out, at, record.start + record.end - record.begin)


@inlined
def _put_md(out, at, length, changes):
    """Write SAM's MD of a read of ``length`` bases with some changes."""
    done = np.int64(0)
    for j in range(n_changes(changes)):
        where, base = change_at(changes, j)
        at = put.byte(out, put.number(out, at, where - done), _BASES[base])
        done = where + 1
    return put.number(out, at, length - done)


@inlined
def insert_of(form, record):
    """Return TLEN of a Record.

    If PNEXT and TLEN fit the other record of the proper pair, samtools links both in CRAM, and so loses RNEXT
    if it is another contig: that of the mate's first record. TLEN 0 prevents this.
    """
    mate, n = record.mate, record.end
    start = record.start + (mate.insert - mate.length if mate.insert > 0 else mate.insert + n)
    is_near = abs(start - position_of_key(mate.key)) <= n + mate.length
    if form.tags & CRAM and mate.key != NOWHERE and contig_of(mate.key) != record.contig and is_near:
        return np.int64(0)
    return mate.insert


@by_type
def put_number_tag(form, out, at, name, x, n_bytes):
    """Write the tag ``name`` uint8[2] with a number x >= 0; in BAM it has 1 or 4 bytes."""


@by_type
def begin_text_tag(form, out, at, name):
    """Write what precedes the text of tag ``name`` uint8[2]."""


@by_type
def end_text_tag(form, out, at):
    """Write what ends the text of a tag."""


@inlined
def put_tags(form, out, at, batch, record):
    """Write the tags of a record that ``form.tags`` selects, and its read group."""
    if form.tags & _NH:
        n = record.reported if form.tags & REPORTED else record.total
        at = put_number_tag(form, out, at, _NUMBER_OF_HITS, n, 4)
    if record.flag & UNMAPPED == 0:
        if form.tags & _HI:
            at = put_number_tag(form, out, at, _HIT_INDEX, record.number, 4)
        if form.tags & _NM:
            at = put_number_tag(form, out, at, MISMATCHES, n_changes(record.changes), 1)
        if form.tags & _MD:
            at = _put_md(out, begin_text_tag(form, out, at, MISMATCHED), record.end, record.changes)
            at = end_text_tag(form, out, at)
    if form.tags & _MC and record.flag & (_PAIRED | _MATE_UNMAPPED) == _PAIRED:
        at = put.number(out, begin_text_tag(form, out, at, _MATE_CIGAR), record.mate.length)
        at = end_text_tag(form, out, put.byte(out, at, MATCH))
    return _put_group(form, out, at, batch, record.query)


@inlined
def _put_group(form, out, at, batch, r):
    """Write the read group of a read, if any: its own with ``form.longest_group``, else ``form.group``."""
    if form.longest_group == 0 and form.group.size == 0:
        return at
    begin = begin_text_tag(form, out, at, _GROUP)
    if form.longest_group == 0:
        return end_text_tag(form, out, put.text(out, begin, form.group))
    end = _put_group_of_read(out, begin, batch, r, form.longest_group)
    return end_text_tag(form, out, end) if end > begin else at


@by_type_or_this
def _put_group_of_read(out, at, batch, r, most):
    """Write the ID, of at most ``most`` bytes, of the read group that follows the name in r's header line.

    Return the position after it; ``at`` if there is none.
    """
    begin = batch.name_start[r] + batch.name_length[r]
    if begin + _RG.size >= batch.data.size:
        return at
    for j in range(_RG.size):
        if batch.data[begin + j] != _RG[j]:
            return at
    begin += _RG.size
    n = 0
    while n <= most and 32 < batch.data[begin + n] < 127:  # the data end with a newline
        n += 1
    if n > most:
        return at
    copy_bytes(out, at, batch.data, begin, n)
    return at + n


@_put_group_of_read.register(put.Widest)
def _widest_group_of_read(out, at, batch, r, most):
    return at + most


def widest(form: Any, changes: int = 0, in_pairs: bool = False) -> int:
    """Return an upper bound of the bytes of a record, without the name, bases and qualities of its query.

    ``changes``: largest number of changes in a record; ``in_pairs``: for records of mates.
    """
    columns = (np.array([x]) for x in (0, 0, 0, 3, -1, True))  # no name, three bases without qualities
    batch = ReadBatch(np.frombuffer(b"ACG", np.uint8), *columns)
    contig = int(np.argmax(np.diff(form.names.first)))
    keys = (NOWHERE, place_key(contig, 1, False), 0) if in_pairs else (NOWHERE,)
    flags = (0, REVERSE, SECONDARY, REVERSE | SECONDARY, UNMAPPED)
    sizes = [put_head(form, put.Widest(), 0, batch, row) for row in (0, 1)]
    for flag, where, key in product(flags, (contig, -1), keys):
        if where >= 0 or flag == UNMAPPED:
            number, place = 1 + (flag & SECONDARY > 0), (where, min(where, 1))
            flag, mate = flag | _PAIRED * in_pairs, Mate(key, 3, -1)
            record = Record(0, 1, 2, flag, *place, number, 3, 3, 3, changes, mate)
            sizes.append(put_record(form, put.Widest(), 0, batch, record))
    return max(sizes)


# The records of a read or of a pair, written by a loop on the CPU or by a thread on a GPU.
#
# The records of a pair are together: for each proper pair mate 1, then mate 2; else those of mate 1, then
# those of mate 2.  Each has the place of the other mate.


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
    """Both mates of pairs; ``first`` to ``last``: the records to write of one without proper pairs."""

    one: Side
    two: Side
    proper: "ProperPairs"
    first: int
    last: int


@by_type
def n_items(work):
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


@n_items.register(SingleReads)
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
        if not work.first <= max(first - 1, 0) < work.last:  # it follows the hit before it
            return at
        nowhere, flag = np.int64(-1), np.int64(UNMAPPED)
        record = Record(r, zero, n, flag, nowhere, nowhere, zero, total, zero, zero, zero, alone())
        return put_record(form, out, at, batch, record)
    for hit in range(max(first, work.first), min(end, work.last)):
        place, changes = place_of(form.blocks, hits.position[hit]), changes_of(hits.changes, hit)
        flag = REVERSE * hits.reverse[hit] + SECONDARY * (hit > first)
        n_best = n_best_of(hits.best, i, changes, total)
        record = Record(
            r, zero, n, flag, place.contig, place.position, hit - first + 1, total, end - first, n_best,
            changes, alone(),
        )  # fmt: skip
        at = put_record(form, out, at, batch, record)
    return at


@n_items.register(Pairs)
def _n_pairs(work):
    return work.proper.total.size


@n_mates.register(Pairs)
def _two_mates(work):
    return 2


@mate_of.register(Pairs)
def _mate_of_pair(work, i, k):
    side, proper = work.two if k else work.one, work.proper
    if proper.first[i] < proper.first[i + 1]:
        reverse = is_reverse(proper.first_two[i] if k else proper.first_one[i])
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
        at = _put(form, out, at, side.reads, record)  # the only call: its code is long on a GPU
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
    number = hits.skipped + hit - hits.first[i] + 1
    if is_second:
        r, key, n, flag, changes = r2, key2, n2, SECOND, hits.changes2[hit]
        mate = Mate(hits.first_one[i], n1, -insert)
    else:
        r, key, n, flag, changes = r1, key1, n1, FIRST, hits.changes1[hit]
        mate = Mate(hits.first_two[i], n2, insert)
    flag += _PAIRED + _PROPER + SECONDARY * (number > 1)
    flag += REVERSE * is_reverse(key) + _MATE_REVERSE * is_reverse(mate.key)
    return Record(
        r, np.int64(0), n, flag, contig_of(key), position_of_key(key), number, hits.total[i],
        hits.reported[i], hits.n_best[hit], changes, mate,
    )  # fmt: skip


@inlined
def _without_proper_pair(form, side, other, i, j):
    """Return Record j of the mate of a Side, for pair i, whose mates are mapped separately."""
    r, lead, mate_key = side.start + i, _lead(form, side, i), _lead(form, other, i)
    length, mate_length = side.reads.length[r], other.reads.length[other.start + i]
    flag, key, insert = _PAIRED + side.flag + SECONDARY * (j > 0), lead, np.int64(0)
    if mate_key == NOWHERE:
        flag, mate_key = flag + _MATE_UNMAPPED, forward(lead)  # an unmapped mate gets the place of the other
    else:
        flag += _MATE_REVERSE * is_reverse(mate_key)
    hits, n_best, changes = side.hits, np.int64(0), np.int64(0)
    hit, total = hits.first[i] + j, hits.total[i]
    if lead == NOWHERE:
        flag, key = flag + UNMAPPED, forward(mate_key)
    else:
        key = _key(form, hits, hit)
        flag += REVERSE * is_reverse(key)
        changes = changes_of(hits.changes, hit)
        n_best = n_best_of(hits.best, i, changes, total)
        if not flag & _MATE_UNMAPPED and j == 0 and contig_of(mate_key) == contig_of(lead):
            start, mate_start = position_of_key(lead), position_of_key(mate_key)
            insert = max(start + length, mate_start + mate_length) - min(start, mate_start)
            if start > mate_start or (start == mate_start and side.flag == SECOND):
                insert = -insert
    position = position_of_key(key) if key != NOWHERE else np.int64(-1)
    return Record(
        r, np.int64(0), length, flag, contig_of(key), position, j + 1, total,
        hits.first[i + 1] - hits.first[i], n_best, changes, Mate(mate_key, mate_length, insert),
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


# Gaps: on a GPU, where a thread writes the records of a read, the bases and qualities would take it longest.
# It leaves a gap for them, which a warp fills, a byte per thread.


@by_type_or_this
def with_gaps(form, gaps):
    """Return a form that leaves gaps and notes where they begin, in ``gaps`` int64[n_reads]; or ``form``."""
    return form


@by_type_or_this
def gap_of(form, batch, r):
    """Return (beginning, bytes) of the gap in the records of read r; no bytes if there is none."""
    return np.int64(0), np.int64(0)


@by_type_or_this
def gap_byte(form, batch, r, reverse, j):
    """Return byte j of what fills the gap of read r, whose first record is on - if ``reverse``."""
    return np.uint8(0)


class Buffers:
    """Buffers for pieces of output, for all threads; the kernel clears each page of new memory, which takes
    as long as filling it."""

    def __init__(self) -> None:
        self._free: dict[Callable, deque] = {}
        self._queues: dict[int, deque] = {}  # where each buffer goes back to, by its id

    def take(self, size: int, make: Callable[[int, Any], np.ndarray] = np.empty) -> np.ndarray:
        """Return an array uint8 of at least ``size`` bytes, allocated by ``make(size, dtype)``."""
        queue = self._free.setdefault(make, deque())
        try:
            out = queue.pop()
            if out.size >= size:
                return out
            del self._queues[id(out)]
        except IndexError:
            pass
        out = make(size + (size >> 3), np.uint8)
        self._queues[id(out)] = queue
        return out

    def release(self, piece: Any) -> None:
        """Take back the buffer that an array is the beginning of; do nothing if it is of none."""
        base = getattr(piece, "base", None)
        if (queue := self._queues.get(id(base))) is not None:
            queue.append(base)
