"""Records: the functions that a format implements to write one, and SAM tags as bits of a number.

REPORTED: NH is the number of reported hits instead of that of all occurrences; CRAM: records become CRAM;
COMMENTS: SAM tags in the comment of a read are copied to its records.
"""

from collections import deque
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ..compiler.functions import by_type, by_type_or_this, inlined
from ..compiler.primitives import copy_bytes
from ..index.reference import contig_of, place_of, position_of_key
from ..input.reads import ReadBatch
from ..input.sets import change_at, changes_of, n_changes, peers_of
from . import put

if TYPE_CHECKING:
    from ..index.reference import Blocks, Reference

NH, HI, NM, MD, REPORTED, MC, CRAM, COMMENTS = 1, 2, 4, 8, 16, 32, 64, 128
TAGS = {"NH": NH, "HI": HI, "NM": NM, "MD": MD, "MC": MC}
EVERY = NH | HI | NM | MD | MC
MATCH = b"M"[0]  # of a CIGAR
PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED = 1, 2, 4, 8  # of SAM's FLAG
REVERSE, MATE_REVERSE, FIRST, SECOND, SECONDARY = 16, 32, 64, 128, 256
NOWHERE = -2  # the place_key of no place, in contig -1
NUMBER_OF_HITS, HIT_INDEX, MISMATCHES, MISMATCHED, MATE_CIGAR, GROUP = map(
    put.as_bytes, ("NH", "HI", "NM", "MD", "MC", "RG")
)


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
def put_tags(form, out, at, record):
    """Write the tags of a hit that ``form.tags`` selects."""
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
    """Write the tags of a read without a reported hit; ``total``: number of its occurrences."""
    if form.tags & NH:
        at = put_number_tag(form, out, at, NUMBER_OF_HITS, 0 if form.tags & REPORTED else total, 4)
    return at


@inlined
def put_mate_cigar(form, out, at, length):
    """Write the CIGAR of the other mate, which is mapped and has ``length`` bases."""
    if form.tags & MC:
        at = put.number(out, begin_text_tag(form, out, at, MATE_CIGAR), length)
        at = end_text_tag(form, out, put.byte(out, at, MATCH))
    return at


@inlined
def put_group(form, out, at, batch, r):
    """Write the read group of read r, if any: its own (``form.own_group``), or ``form.group`` of all."""
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
    """Write the ID, of at most ``most`` bytes, of the read group that follows the name in r's header line.

    Returns the position after it; ``at`` if there is none.
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


@put_own_group.register(put.Widest)
def _put_widest(out, at, batch, r, most):
    return at + most


# A record is a line of output for a hit or match.  Each format's type implements the functions below.
#
# The type is a NamedTuple with ``names`` (put.NameLines of the contigs), ``blocks`` and whatever else its
# lines need.  It has a body for ``put_record``, and for other functions that write something.  Buffer sizes
# are computed by the same bodies (``widest``), so no field can be forgotten.

BASES = b"ACGT"
LINED = "names", "blocks"  # fields of most forms: put.NameLines of the contigs, Blocks of the reference


class Record(NamedTuple):
    """Bases ``begin`` to ``end`` of a query as given, at ``start`` in a contig; all 0-based, half-open.

    ``reverse``: their reverse complement is there.  For hits, ``number`` counts the ``reported`` records of
    the query from 1, ``total`` is the number of its occurrences, and ``peers`` of these are as likely as this
    one.  ``changes`` as in input/sets.py.
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
    """Return the values of LINED."""
    return put.make_names(reference.names), reference.blocks


@by_type
def put_record(form, out, at, batch, record):
    """Write a Record into ``out`` uint8[n] from ``at`` on; return the position after it."""


@by_type_or_this
def put_unmapped(form, out, at, batch, r, total):
    """Write a read without a reported hit, with ``total`` occurrences; by default nothing."""
    return at


@by_type_or_this
def put_head(form, out, at, batch, row):
    """Write what precedes the records of a row (mem/strands.py); by default nothing."""
    return at


@inlined
def put_place(form, out, at, record):
    """Write three fields: contig, start and end."""
    at = put.field(out, put.name(out, at, form.names, record.contig), record.start)
    return put.field(out, at, record.start + record.end - record.begin)


@inlined
def put_md(out, at, length, changes):
    """Write SAM's MD of a read of ``length`` bases with some changes."""
    done = np.int64(0)
    for j in range(n_changes(changes)):
        where, base = change_at(changes, j)
        at = put.byte(out, put.number(out, at, where - done), BASES[base])
        done = where + 1
    return put.number(out, at, length - done)


def widest(form: Any, changes: int = 0) -> int:
    """Return an upper bound of the bytes of a record, without the name, bases and qualities of its query.

    ``changes``: largest number of changes in a record.
    """
    columns = (np.array([x]) for x in (0, 0, 0, 3, -1, True))  # no name, three bases without qualities
    batch = ReadBatch(np.frombuffer(b"ACG", np.uint8), *columns)
    contig = int(np.argmax(np.diff(form.names.first)))
    sizes = [put_head(form, put.Widest(), 0, batch, row) for row in (0, 1)]
    for reverse, number in product((False, True), (1, 2)):
        record = Record(0, 1, 2, reverse, contig, 1, number, 3, 3, 3, changes)
        sizes.append(put_record(form, put.Widest(), 0, batch, record))
    return max(*sizes, put_unmapped(form, put.Widest(), 0, batch, 0, 3))


class MateRecord(NamedTuple):
    """The ``record`` of a mate; without a hit at the place of the other mate, or in contig -1.

    ``flag``: SAM's; ``other``: place_key of the first record of the other mate, or NOWHERE; ``other_length``:
    its bases; ``insert``: bases from the first to the last of both, negative for the right mate, or 0.
    """

    record: Record
    flag: int
    other: int
    other_length: int
    insert: int


@inlined
def insert_of(form, mate):
    """Return TLEN of a MateRecord.

    samtools stores a record and that of its proper pair as each other's first mates in CRAM if their places
    are those of the first mates, on another contig, and so loses RNEXT, unless TLEN contradicts it.
    """
    record, n = mate.record, mate.record.end
    start = record.start + (mate.insert - mate.other_length if mate.insert > 0 else mate.insert + n)
    is_near = abs(start - position_of_key(mate.other)) <= n + mate.other_length
    if form.tags & CRAM and mate.other != NOWHERE and contig_of(mate.other) != record.contig and is_near:
        return np.int64(0)
    return mate.insert


@by_type_or_this
def put_mate(form, out, at, batch, mate):
    """Write a MateRecord into ``out`` uint8[n] from ``at`` on; by default as a single read."""
    if mate.flag & UNMAPPED:
        return put_unmapped(form, out, at, batch, mate.record.query, mate.record.total)
    return put_record(form, out, at, batch, mate.record)


# The records of one read, written by a loop on the CPU or a thread on a GPU.


class Window(NamedTuple):
    """Hits ``first`` to ``last`` of the reads from ``start`` on in a batch."""

    start: int
    first: int
    last: int


@inlined
def room_of_read(batch, hits, i, window, n_widest):
    """Upper bound of the bytes of a read's records: n_widest and the name each, bases and qualities once."""
    r, n_hits = window.start + i, min(hits.first[i + 1], window.last) - max(hits.first[i], window.first)
    return 2 * batch.length[r] + max(n_hits, 1) * (batch.name_length[r] + n_widest)


@inlined
def put_read(form, out, at, batch, hits, i, window):
    """Write the records of one read that are in the Window; return the position after them."""
    r, total, first = window.start + i, hits.total[i], hits.first[i]
    if hits.first[i + 1] == first:
        return put_unmapped(form, out, at, batch, r, total)
    for hit in range(max(first, window.first), min(hits.first[i + 1], window.last)):
        place = place_of(form.blocks, hits.position[hit])
        changes = changes_of(hits.changes, hit)
        peers = peers_of(hits.best, i, changes, total)
        record = Record(
            r, np.int64(0), batch.length[r], hits.reverse[hit], place.contig, place.position,
            hit - first + 1, total, hits.first[i + 1] - first, peers, changes,
        )  # fmt: skip
        at = put_record(form, out, at, batch, record)
    return at


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


# Reusable buffers: the kernel clears each page of new memory, which takes as long as filling it.


class Buffers:
    """The buffers of a writer, for all its threads; ``make`` (size, dtype) allocates one."""

    def __init__(self, make: Callable[[int, Any], np.ndarray] = np.empty) -> None:
        self._make = make
        self._spare: deque[np.ndarray] = deque()
        self._own: set[int] = set()

    def take(self, size: int) -> np.ndarray:
        """Return an array of at least ``size`` bytes."""
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
        """Return whether a piece is the beginning of one of these arrays."""
        return id(piece.base) in self._own

    def written(self, piece: np.ndarray) -> None:
        """Release the array of a piece that has been written."""
        self._spare.append(cast(np.ndarray, piece.base))
