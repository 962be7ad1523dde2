"""Records, and the tags of those of SAM and BAM: which there are is bits of a number.

REPORTED: NH tells how many hits are reported, not how many there are.
"""

from collections import deque
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ..compiler.functions import by_type, by_type_or_this, inlined
from ..compiler.primitives import copy_bytes
from ..index.reference import place_of
from ..input.reads import ReadBatch
from ..input.sets import change_at, changes_of, n_changes, peers_of
from . import put

if TYPE_CHECKING:
    from ..index.reference import Blocks, Reference

NH, HI, NM, MD, REPORTED, MC = 1, 2, 4, 8, 16, 32
TAGS = {"NH": NH, "HI": HI, "NM": NM, "MD": MD, "MC": MC}
EVERY = NH | HI | NM | MD | MC
MATCH = b"M"[0]  # of a CIGAR
PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED = 1, 2, 4, 8  # of SAM's FLAG
REVERSE, MATE_REVERSE, FIRST, SECOND, SECONDARY = 16, 32, 64, 128, 256
NOWHERE = -2  # a place_key that is none, of contig -1
NUMBER_OF_HITS, HIT_INDEX, MISMATCHES, MISMATCHED, MATE_CIGAR, GROUP = map(
    put.as_bytes, ("NH", "HI", "NM", "MD", "MC", "RG")
)


@by_type
def put_number_tag(form, out, at, name, x, n_bytes):
    """The tag ``name`` uint8[2] with a number x >= 0, which BAM holds in 1 or 4 bytes."""


@by_type
def begin_text_tag(form, out, at, name):
    """What precedes the text of a tag ``name`` uint8[2]."""


@by_type
def end_text_tag(form, out, at):
    """What ends the text of a tag."""


@inlined
def put_tags(form, out, at, record):
    """The tags of a hit that ``form.tags`` asks for."""
    if form.tags & NH:
        n = record.reported if form.tags & REPORTED else record.total
        at = put_number_tag(form, out, at, NUMBER_OF_HITS, n, 4)
    if form.tags & HI:
        at = put_number_tag(form, out, at, HIT_INDEX, record.number, 4)
    if form.tags & NM:
        at = put_number_tag(form, out, at, MISMATCHES, n_changes(record.changes), 1)
    if form.tags & MD:
        at = put_md(out, begin_text_tag(form, out, at, MISMATCHED), record.end, record.changes)
        at = end_text_tag(form, out, at)
    return at


@inlined
def put_no_hit(form, out, at, total):
    """Those of a read without a reported hit, of ``total`` occurrences."""
    if form.tags & NH:
        at = put_number_tag(form, out, at, NUMBER_OF_HITS, 0 if form.tags & REPORTED else total, 4)
    return at


@inlined
def put_mate_cigar(form, out, at, length):
    """The CIGAR of the other mate, of ``length`` letters, which is mapped."""
    if form.tags & MC:
        at = put.number(out, begin_text_tag(form, out, at, MATE_CIGAR), length)
        at = end_text_tag(form, out, put.byte(out, at, MATCH))
    return at


@inlined
def put_group(form, out, at, batch, r):
    """The read group of read r, if there is one: its own (``form.own_group``), or ``form.group`` of all."""
    if form.own_group == 0 and form.group.size == 0:
        return at
    begin = begin_text_tag(form, out, at, GROUP)
    if form.own_group == 0:
        return end_text_tag(form, out, put.text(out, begin, form.group))
    end = put_own_group(out, begin, batch, r, form.own_group)
    return end_text_tag(form, out, end) if end > begin else at


_RG = put.as_bytes("\tRG:Z:")


@by_type_or_this
def put_own_group(out, at, batch, r, most):
    """The ID of a read group that the header line of read r names right behind its name, of ``most`` bytes.

    The place after it; that before it if there is none.
    """
    begin = batch.name_start[r] + batch.name_length[r]
    if begin + _RG.size >= batch.data.size:
        return at
    for j in range(_RG.size):
        if batch.data[begin + j] != _RG[j]:
            return at
    begin += _RG.size
    n = 0
    while n <= most and 32 < batch.data[begin + n] < 127:  # a newline ends the data
        n += 1
    if n > most:
        return at
    copy_bytes(out, at, batch.data, begin, n)
    return at + n


@put_own_group.register(put.Widest)
def _put_widest(out, at, batch, r, most):
    return at + most


# A record, a line of output for an exact match, and the contracts that the formats' types fulfil.
#
# A type of a format is a NamedTuple with ``names`` (put.NameLines of the contigs) and ``blocks`` and whatever
# else its lines need.  It has a body for ``put_record``, and for the others where something is written.  A
# buffer is as large as these very bodies tell (``widest``), so no field can be forgotten.

BASES = b"ACGT"
LINED = "names", "blocks"  # fields of most forms: put.NameLines of the contigs, Blocks of the reference


class Record(NamedTuple):
    """Symbols ``begin`` to ``end`` of a query as it was given, and ``start``, where they lie in a contig.

    All 0-based and half-open.  ``reverse``: it is their reverse complement that lies there.  Of a hit
    ``number`` counts the query's ``reported`` records from 1, and ``total`` is the number of its occurrences,
    of which ``peers`` are as likely.  ``changes`` as in input/sets.py.
    """

    query: int
    begin: int
    end: int
    reverse: bool
    contig: int
    start: int
    number: int
    total: int
    reported: int
    peers: int
    changes: int


def contigs_of(reference: "Reference") -> "tuple[put.NameLines, Blocks]":
    """The values of LINED."""
    return put.make_names(reference.names), reference.blocks


@by_type
def put_record(form, out, at, batch, record):
    """A Record into ``out`` uint8[n] from ``at`` on; the place after it."""


@by_type_or_this
def put_unmapped(form, out, at, batch, r, total):
    """What is written of read r of which no hit is reported, with ``total`` occurrences: nothing."""
    return at


@by_type_or_this
def put_head(form, out, at, batch, row):
    """What precedes the records of a row (mem/strands.py): nothing."""
    return at


@inlined
def put_place(form, out, at, record):
    """Three fields: the contig, start and end there."""
    at = put.field(out, put.name(out, at, form.names, record.contig), record.start)
    return put.field(out, at, record.start + record.end - record.begin)


@inlined
def put_md(out, at, length, changes):
    """SAM's MD of a read of ``length`` letters with some changes."""
    done = np.int64(0)
    for j in range(n_changes(changes)):
        where, base = change_at(changes, j)
        at = put.byte(out, put.number(out, at, where - done), BASES[base])
        done = where + 1
    return put.number(out, at, length - done)


def widest(form: Any, changes: int = 0) -> int:
    """Bytes that any record of a form takes at most, beside the name and the letters of its query.

    ``changes``: the most that a record has.
    """
    columns = (np.array([x]) for x in (0, 0, 0, 3, -1, True))  # no name, three letters without qualities
    batch = ReadBatch(np.frombuffer(b"ACG", np.uint8), *columns)
    contig = int(np.argmax(np.diff(form.names.first)))
    sizes = [put_head(form, put.Widest(), 0, batch, row) for row in (0, 1)]
    for reverse, number in product((False, True), (1, 2)):
        record = Record(0, 1, 2, reverse, contig, 1, number, 3, 3, 3, changes)
        sizes.append(put_record(form, put.Widest(), 0, batch, record))
    return max(*sizes, put_unmapped(form, put.Widest(), 0, batch, 0, 3))


class MateRecord(NamedTuple):
    """The ``record`` of a mate; of one without a hit at the place of its mate, in contig -1 if that has none.

    ``flag``: SAM's; ``other``: place_key that the first record of the other mate shows, or NOWHERE;
    ``other_length``: its letters; ``insert``: bases from the first to the last of both, negative for the
    right mate, or 0.
    """

    record: Record
    flag: int
    other: int
    other_length: int
    insert: int


@by_type_or_this
def put_mate(form, out, at, batch, mate):
    """A MateRecord into ``out`` uint8[n] from ``at`` on; the place after it.  Here as a single read's."""
    if mate.flag & UNMAPPED:
        return put_unmapped(form, out, at, batch, mate.record.query, mate.record.total)
    return put_record(form, out, at, batch, mate.record)


# The records of one read: what a loop of the CPU and a thread of a GPU write.


class Window(NamedTuple):
    """Hits of reads ``start`` onwards of a batch, numbers ``first`` to ``last`` of them."""

    start: int
    first: int
    last: int


@inlined
def room_of_read(batch, hits, i, window, n_widest):
    """Bytes that are enough for its records: n_widest and the name each, letters, qualities once a read."""
    r, n_hits = window.start + i, min(hits.first[i + 1], window.last) - max(hits.first[i], window.first)
    return 2 * batch.length[r] + max(n_hits, 1) * (batch.name_length[r] + n_widest)


@inlined
def put_read(form, out, at, batch, hits, i, window):
    """The records of one read, as far as they are in the Window; the place after them."""
    r, total, first = window.start + i, hits.total[i], hits.first[i]
    if hits.first[i + 1] == first:
        return put_unmapped(form, out, at, batch, r, total)
    for hit in range(max(first, window.first), min(hits.first[i + 1], window.last)):
        place = place_of(form.blocks, hits.position[hit])
        record = Record(
            r, np.int64(0), batch.length[r], hits.reverse[hit], place.contig, place.position,
            hit - first + 1, total, hits.first[i + 1] - first, peers_of(hits, i, hit), changes_of(hits, hit),
        )  # fmt: skip
        at = put_record(form, out, at, batch, record)
    return at


# Buffers that serve again: the kernel clears each page of a new one, which costs as much as filling it.


class Buffers:
    """Of a writer, for all its threads; ``make`` (size, dtype) gives a new one."""

    def __init__(self, make: Callable[[int, Any], np.ndarray] = np.empty) -> None:
        self._make = make
        self._spare: deque[np.ndarray] = deque()
        self._own: set[int] = set()

    def take(self, size: int) -> np.ndarray:
        """An array of ``size`` bytes or more."""
        try:
            out = self._spare.pop()
            if out.size >= size:
                return out
            self._own.discard(id(out))
        except IndexError:
            pass
        out = self._make(size + (size >> 3), np.uint8)
        self._own.add(id(out))
        return out

    def owns(self, piece: np.ndarray) -> bool:
        """Is a piece the beginning of such an array?"""
        return id(piece.base) in self._own

    def written(self, piece: np.ndarray) -> None:
        """A piece, the beginning of such an array, has been written: the array may be used again."""
        self._spare.append(cast(np.ndarray, piece.base))
