"""Records: what a format implements to write one, and SAM tags as bits of a number.

REPORTED: NH is the number of reported hits instead of that of all occurrences; CRAM: records become CRAM;
COMMENTS: SAM tags in the comment of a read are copied to its records.
"""

from collections import deque
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import by_type, by_type_or_this, inlined
from ..compiler.primitives import copy_bytes
from ..index.reference import contig_of, place_key, position_of_key
from ..input.reads import ReadBatch
from ..input.sets import change_at, n_changes
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
BASES = b"ACGT"
LINED = "names", "blocks"  # fields of most forms: put.NameLines of the contigs, Blocks of the reference
NUMBER_OF_HITS, HIT_INDEX, MISMATCHES, MISMATCHED, MATE_CIGAR, GROUP = map(
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
    ``reported`` records of the query from 1, ``total`` is the number of its occurrences, and ``peers`` of
    these are as likely as this one.  ``changes`` as in input/sets.py.
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
    peers: int
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
def put_md(out, at, length, changes):
    """Write SAM's MD of a read of ``length`` bases with some changes."""
    done = np.int64(0)
    for j in range(n_changes(changes)):
        where, base = change_at(changes, j)
        at = put.byte(out, put.number(out, at, where - done), BASES[base])
        done = where + 1
    return put.number(out, at, length - done)


@inlined
def insert_of(form, record):
    """Return TLEN of a Record.

    samtools stores a record and that of its proper pair as each other's first mates in CRAM if their places
    are those of the first mates, on another contig, and so loses RNEXT, unless TLEN contradicts it.
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
    if form.tags & NH:
        n = record.reported if form.tags & REPORTED else record.total
        at = put_number_tag(form, out, at, NUMBER_OF_HITS, n, 4)
    if record.flag & UNMAPPED == 0:
        if form.tags & HI:
            at = put_number_tag(form, out, at, HIT_INDEX, record.number, 4)
        if form.tags & NM:
            at = put_number_tag(form, out, at, MISMATCHES, n_changes(record.changes), 1)
        if form.tags & MD:
            at = put_md(out, begin_text_tag(form, out, at, MISMATCHED), record.end, record.changes)
            at = end_text_tag(form, out, at)
    if form.tags & MC and record.flag & (PAIRED | MATE_UNMAPPED) == PAIRED:
        at = put.number(out, begin_text_tag(form, out, at, MATE_CIGAR), record.mate.length)
        at = end_text_tag(form, out, put.byte(out, at, MATCH))
    return put_group(form, out, at, batch, record.query)


@inlined
def put_group(form, out, at, batch, r):
    """Write the read group of a read, if any: its own with ``form.longest_group``, else ``form.group``."""
    if form.longest_group == 0 and form.group.size == 0:
        return at
    begin = begin_text_tag(form, out, at, GROUP)
    if form.longest_group == 0:
        return end_text_tag(form, out, put.text(out, begin, form.group))
    end = put_group_of_read(out, begin, batch, r, form.longest_group)
    return end_text_tag(form, out, end) if end > begin else at


@by_type_or_this
def put_group_of_read(out, at, batch, r, most):
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


@put_group_of_read.register(put.Widest)
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
            flag, mate = flag | PAIRED * in_pairs, Mate(key, 3, -1)
            record = Record(0, 1, 2, flag, *place, number, 3, 3, 3, changes, mate)
            sizes.append(put_record(form, put.Widest(), 0, batch, record))
    return max(sizes)


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
