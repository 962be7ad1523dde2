"""Parses FASTA and FASTQ into a ReadBatch of arrays, without a Python object per read.

The packed words of read r and its reverse complement are adjacent (n_words = ceil(m / 32)):

    words   | read 0 | reverse 0 | read 1 | reverse 1 | ... | spare |
"""

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..dna import CODE, FORWARD, REVERSE, WORD, pack_read, pack_reverse
from ..errors import InputError, escaped
from .record import OK, SPACE, TAB, comment_of, complaint, is_searchable, tag_end, take_fasta, take_fastq

if TYPE_CHECKING:
    from .chunks import Chunk

LONGEST_NAME, LONGEST_READ = 254, 2**28 - 1  # limits of SAM and BAM; a CIGAR operation has 28 bits


class ReadBatch(NamedTuple):
    """Reads of a chunk; offsets into ``data`` uint8[n]; columns int64[n_reads].

    ``quality_start`` is -1 for FASTA; ``searchable`` bool[n_reads]: only ACGTU, at least 1 and Trim.least.
    """

    data: np.ndarray
    name_start: np.ndarray
    name_length: np.ndarray
    start: np.ndarray
    length: np.ndarray
    quality_start: np.ndarray
    searchable: np.ndarray


def subset(batch: ReadBatch, reads: np.ndarray) -> ReadBatch:
    """Return the reads of a batch with these numbers, int64[n]."""
    return ReadBatch(batch.data, *(column[reads] for column in batch[1:]))


class Patterns(NamedTuple):
    """The input of an engine: pattern i is ``length[i]`` symbols packed from word ``first[i]`` on.

    ``length`` int64[n] is 0 for patterns that are not searched; ``words`` uint64 ends with a spare word.
    """

    words: np.ndarray
    first: np.ndarray
    length: np.ndarray


def parse(chunk: "Chunk") -> ReadBatch:
    """Parse the reads of a chunk.  Raises InputError, which names the record."""
    n = chunk.n_bound
    columns = [np.empty(n, np.int64) for _ in range(5)]
    batch = ReadBatch(chunk.data, *columns, np.empty(n, np.bool_))  # type: ignore[call-arg]
    n_reads, problem = _scan(batch, chunk.is_fastq, CODE)
    if problem:
        raise InputError(
            chunk.path, f"record {chunk.number + n_reads}", complaint(chunk, batch, n_reads, problem)
        )
    return ReadBatch(chunk.data, *(field[:n_reads] for field in batch[1:]))


def check_sam(chunk: "Chunk", batch: ReadBatch) -> None:
    """Raise InputError for the first record of a chunk that exceeds the limits of SAM and BAM."""
    for lengths, most, what, remedy in (
        (batch.name_length, LONGEST_NAME, "name is longer than {} characters", "rename it"),
        (batch.length, LONGEST_READ, "sequence is longer than {} bases", "write another format"),
    ):
        if lengths.max(initial=0) > most:
            what = f"its {what.format(most)}, the limit of SAM and BAM; {remedy}"
            raise InputError(chunk.path, f"record {chunk.number + int(np.argmax(lengths > most))}", what)


# Comments of reads: SAM tags, separated by tabs, which ``fmx search -C`` copies to their records.

_NUMBER = rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
_TAG = (
    rb"[A-Za-z][A-Za-z0-9]:(A:[!-~]|i:[-+]?\d{1,10}|f:%s|Z:[ -~]*|H:([0-9A-Fa-f]{2})*|B:[cCsSiIf](,%s)*)"
    % (_NUMBER, _NUMBER)
)
_COLON, _TEXT = b":Z"


def check_comments(chunk: "Chunk", batch: ReadBatch) -> None:
    """Raise InputError for the first record of a chunk whose comment does not consist of SAM tags."""
    r = _next_unusual(batch, 0)
    while r < batch.length.size:
        for tag in batch.data[slice(*comment_of(batch, r))].tobytes().split(b"\t"):
            if not re.fullmatch(_TAG, tag) or (tag[3:4] == b"i" and not -(2**31) <= int(tag[5:]) < 2**32):
                what = f"its comment does not consist of SAM tags: {escaped(tag)}; map without -C"
                raise InputError(chunk.path, f"record {chunk.number + r}", what)
        r = _next_unusual(batch, r + 1)


@inlined
def _is_letter(x):
    return 65 <= x <= 90 or 97 <= x <= 122


@compiled
def _next_unusual(batch, r):
    """Return the next read from r on whose comment is not tags with text (Z) only; n_reads without one."""
    while r < batch.length.size:
        i, end = comment_of(batch, r)
        while i < end:
            stop, tag = tag_end(batch.data, TAB, i, end), batch.data[i:end]
            if stop - i < 5 or stop + 1 == end or not (tag[2] == tag[4] == _COLON and tag[3] == _TEXT):
                return r  # a tab at the end is none between tags
            if not (_is_letter(tag[0]) and (_is_letter(tag[1]) or 48 <= tag[1] <= 57)):
                return r
            for j in range(5, stop - i):
                if not SPACE <= tag[j] <= 126:
                    return r
            i = stop + 1
        r += 1
    return r


def pack(batch: ReadBatch, strands: int = FORWARD | REVERSE) -> Patterns:
    """The searchable reads of a batch as patterns: row 2r is read r, row 2r + 1 its reverse complement."""
    n_reads = batch.length.size
    first, length = np.empty(2 * n_reads, np.int64), np.empty(2 * n_reads, np.int64)
    patterns = Patterns(np.empty(_lay_out(batch, first) + 1, np.uint64), first, length)
    _pack(batch, strands, CODE, patterns)
    return patterns


@compiled
def _lay_out(batch, first):
    """Fill in the first word of each pattern; return the number of words."""
    n_words = np.int64(0)
    for r in range(batch.length.size):
        n = (batch.length[r] + WORD - 1) // WORD if batch.searchable[r] else 0
        first[2 * r], first[2 * r + 1] = n_words, n_words + n
        n_words += 2 * n
    return n_words


@compiled
def _scan(batch, is_fastq, code):
    """Fill the batch; return (number of whole records, problem with the next one)."""
    i, n = 0, 0
    while i < batch.data.size:
        after, problem = take_fastq(batch, n, i, code) if is_fastq else take_fasta(batch, n, i, code)
        if problem:
            return n, problem
        i, n = after, n + 1
    return n, OK


@compiled
def _pack(batch, strands, code, patterns):
    patterns.words[-1] = 0
    for r in range(batch.length.size):
        patterns.length[2 * r] = patterns.length[2 * r + 1] = 0
        pack_strands(batch, r, strands, code, patterns)


@inlined
def pack_strands(batch, r, strands, code, patterns):
    """Pack read r, if searchable, from word first[2r] on, and its reverse complement; set lengths by strand.

    Both are always packed: a method that finds both strands at once reads either.
    """
    if not batch.searchable[r]:
        return
    length, first, other = batch.length[r], patterns.first[2 * r], patterns.first[2 * r + 1]
    pack_read(batch.data, batch.start[r], length, code, patterns.words, first)
    pack_reverse(patterns.words, first, other, length)
    if strands & FORWARD:
        patterns.length[2 * r] = length
    if strands & REVERSE:
        patterns.length[2 * r + 1] = length


# Trimming: which bases of a read are searched.
#
# begin | kept, at most ``most`` bases | ... | end


class Trim(NamedTuple):
    """Remove ``begin`` bases from the start, ``end`` from the end, and all after ``most`` of the rest.

    A read with fewer than ``least`` bases left is not searched.
    """

    begin: int = 0
    end: int = 0
    most: int = 2**62
    least: int = 0


WHOLE = Trim()


def trimmed(batch: ReadBatch, trim: Trim) -> ReadBatch:
    """Return a ReadBatch with trimmed reads; the argument is not changed."""
    if trim == WHOLE:
        return batch
    fields = ("start", "length", "quality_start", "searchable")
    batch = batch._replace(**{name: getattr(batch, name).copy() for name in fields})
    _trim_all(batch, trim)
    return batch


@compiled
def _trim_all(batch, trim):
    for r in range(batch.length.size):
        trim_read(batch, r, trim)


@inlined
def trim_read(batch, r, trim):
    """Trim read r of a batch, in place."""
    n = batch.length[r]
    begin = min(trim.begin, n)
    left = min(max(n - begin - trim.end, 0), trim.most)
    if left < n:
        batch.start[r], batch.length[r] = batch.start[r] + begin, left
        if batch.quality_start[r] >= 0:
            batch.quality_start[r] += begin
        if not batch.searchable[r] or left == 0:
            batch.searchable[r] = is_searchable(batch.data[batch.start[r] : batch.start[r] + left])
    if left < trim.least:
        batch.searchable[r] = False
