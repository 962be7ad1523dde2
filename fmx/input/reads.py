"""Parses FASTA and FASTQ into a ReadBatch of arrays, without a Python object per read.

The CPU parses records one after another, a GPU with one thread per record (reads_gpu.py).

The packed words of read r and its reverse complement are adjacent (n_words = ceil(m / 32)):

    words   | read 0 | reverse 0 | read 1 | reverse 1 | ... | spare |
"""

import re
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import find_byte, leading_zeros, load_big_endian
from ..dna import CODE, FORWARD, LETTERS, OTHER, REVERSE, WORD, pack_read, pack_reverse
from ..errors import InputError, escaped, n_of
from .chunks import CR, NEWLINE, Chunk, about_cr, skip_blank

OK, _TRUNCATED, _NO_AT, _BLANK_BEFORE, _NO_PLUS, _LENGTHS = range(6)
_LETTER, _QUALITY, _NAME, _AT_FIRST, _INNER_CR = range(6, 11)
TAB, SPACE = 9, 32
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


def parse(chunk: Chunk) -> ReadBatch:
    """Parse the reads of a chunk.  Raises InputError, which names the record."""
    n = chunk.n_bound
    columns = [np.empty(n, np.int64) for _ in range(5)]
    batch = ReadBatch(chunk.data, *columns, np.empty(n, np.bool_))  # type: ignore[call-arg]
    n_reads, problem = _scan(batch, chunk.is_fastq, CODE)
    if problem:
        raise InputError(
            chunk.path, f"record {chunk.number + n_reads}", _complaint(chunk, batch, n_reads, problem)
        )
    return ReadBatch(chunk.data, *(field[:n_reads] for field in batch[1:]))


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


def check_sam(chunk: Chunk, batch: ReadBatch) -> None:
    """Raise InputError for the first record of a chunk that exceeds the limits of SAM and BAM."""
    for lengths, most, what, remedy in (
        (batch.name_length, LONGEST_NAME, "name is longer than {} characters", "rename it"),
        (batch.length, LONGEST_READ, "sequence is longer than {} bases", "write another format"),
    ):
        if lengths.max(initial=0) > most:
            what = f"its {what.format(most)}, the limit of SAM and BAM; {remedy}"
            raise InputError(chunk.path, f"record {chunk.number + int(np.argmax(lengths > most))}", what)


# One record: its fields are found in the data and checked.


@inlined
def _line_end(data, i):
    """Return (end of the line at i without its CR, start of the next line)."""
    newline = find_byte(data, NEWLINE, i, data.size)
    end = newline
    if end > i and data[end - 1] == CR:
        end -= 1
    return end, newline + 1


@inlined
def _name_end(data, i):
    """Index of the first byte from i on that is not printable ASCII, or a space; the data end with one."""
    while i + 8 <= data.size:
        x = load_big_endian(data, i)
        low = x & np.uint64(0x7F7F7F7F7F7F7F7F)
        least = low + np.uint64(0x5F5F5F5F5F5F5F5F)  # bit 7 of a byte: it is '!' or more
        most = low + np.uint64(0x0101010101010101)  # bit 7: it is more than '~'
        stops = (~least | most | x) & np.uint64(0x8080808080808080)
        if stops:
            return i + (leading_zeros(stops) >> 3)
        i += 8
    while 32 < data[i] < 127:
        i += 1
    return i


@inlined
def _take_header(batch, r, i):
    """Set the name, the first word of a header line from i on; return the next line, or -problem."""
    data = batch.data
    while data[i] == SPACE or data[i] == TAB:
        i += 1
    stop = _name_end(data, i)
    batch.name_start[r], batch.name_length[r] = i, stop - i
    if data[i] == ord("@"):
        return -_AT_FIRST
    if data[stop] == SPACE or data[stop] == TAB:
        newline = find_byte(data, NEWLINE, stop, data.size)
        return -_INNER_CR if _has_cr(data, stop, newline) else newline + 1
    if data[stop] == CR:
        stop += 1
    return stop + 1 if data[stop] == NEWLINE else -_NAME


@inlined
def _has_cr(data, start, newline):
    """Return whether there is a CR other than one before the LF at ``newline``."""
    place = find_byte(data, CR, start, newline)
    return place >= 0 and place < newline - 1


@inlined
def _is_searchable(letters):
    """Return whether there are bases (uint8), and all are A C G T U."""
    unknown = np.uint8(0)  # 8 bits, so that the loop is vectorized
    for i in range(letters.size):
        x = letters[i] & np.uint8(0xDF)  # upper case
        known = (x == 65) | (x == 67) | (x == 71) | (x == 84) | (x == 85)
        unknown = np.uint8(unknown | np.uint8(not known))
    return unknown == 0 and letters.size > 0


@inlined
def _check_letters(batch, r, code):
    """Set whether read r is searchable; return whether every byte is a letter."""
    letters = batch.data[batch.start[r] : batch.start[r] + batch.length[r]]
    batch.searchable[r] = _is_searchable(letters)
    worst = np.uint8(0)
    if not batch.searchable[r]:
        for i in range(letters.size):
            worst = max(worst, code[letters[i]])
    return worst <= OTHER


@inlined
def take_fastq(batch, r, i, code):
    """Set the fields of FASTQ record r, which begins at byte i; return (next record, OK or its problem)."""
    data = batch.data
    if data[i] != ord("@"):
        return i, _BLANK_BEFORE if skip_blank(data, i) > i else _NO_AT
    after = _take_header(batch, r, i + 1)
    if after < 0:
        return i, -after
    if after >= data.size:
        return i, _TRUNCATED
    batch.start[r] = after
    end, after = _line_end(data, after)
    batch.length[r] = end - batch.start[r]
    if after >= data.size:
        return i, _TRUNCATED
    if data[after] != ord("+"):
        return i, _NO_PLUS
    if data[after + 1] == NEWLINE:
        after += 2
    else:
        plus = after
        end, after = _line_end(data, plus)
        if _has_cr(data, plus, after - 1):
            return i, _INNER_CR
    if after >= data.size:
        if batch.length[r] > 0:
            return i, _TRUNCATED
        batch.quality_start[r] = data.size
    else:
        batch.quality_start[r] = after
        end = after + batch.length[r]
        if end < data.size and data[end] == NEWLINE:  # if qualities are in range, this is their line
            after = end + 1
        else:
            end, after = _line_end(data, after)
        if end - batch.quality_start[r] != batch.length[r]:
            return i, _LENGTHS
    if not _check_letters(batch, r, code):
        return i, _LETTER
    n, start, bad = batch.length[r], batch.quality_start[r], np.uint8(0)
    qualities = data[start : start + n]
    for j in range(n):
        bad = np.uint8(bad | np.uint8(np.uint8(qualities[j] - np.uint8(33)) > 93))
    if bad:
        return i, _QUALITY
    return after, OK


@inlined
def take_fasta(batch, r, i, code):
    """Set the fields of FASTA record r, which begins at byte i, as take_fastq; joins its lines in place."""
    data = batch.data
    after = _take_header(batch, r, i + 1)
    if after < 0:
        return i, -after
    i = to = batch.start[r] = after
    while i < data.size and data[i] != ord(">"):
        end, after = _line_end(data, i)
        for j in range(i, end):
            if data[j] != SPACE and data[j] != TAB:
                data[to] = data[j]
                to += 1
        i = after
    batch.length[r] = to - batch.start[r]
    batch.quality_start[r] = -1
    return i, OK if _check_letters(batch, r, code) else _LETTER


@inlined
def comment_of(batch, r):
    """Return (start, end) of what follows white space after the name in the header line of read r."""
    i = batch.name_start[r] + batch.name_length[r]
    end = tag_end(batch.data, NEWLINE, i, batch.data.size)
    if end > i and batch.data[end - 1] == CR:
        end -= 1
    while i < end and batch.data[i] > SPACE:  # /1
        i += 1
    while i < end and batch.data[i] <= SPACE:
        i += 1
    return i, end


@inlined
def tag_end(data, byte, i, end):
    """Return the position of the first ``byte`` from i on, or ``end``."""
    stop = find_byte(data, byte, i, end)
    return end if stop < 0 else stop


_MESSAGES = {
    _TRUNCATED: "the file ends within this record: truncated FASTQ",
    _NO_AT: "expected '@' at its start: each FASTQ record must have four lines",
    _BLANK_BEFORE: "there is a blank line before this record: remove that line",
    _NO_PLUS: "expected '+' at the start of its third line: each FASTQ record must have four lines (seqtk "
    "seq joins lines)",
    _LETTER: "the sequence contains a character that is not a base: ",
    _QUALITY: "the quality string contains a character outside the range '!' to '~'",
    _NAME: "its name contains a byte that is not printable ASCII, which SAM cannot represent; rename it: ",
    _AT_FIRST: "its name starts with '@', which SAM reads as a header line; rename it",
}


def _complaint(chunk: Chunk, batch: ReadBatch, r: int, problem: int) -> str:
    """Return the error for record r of a chunk; the batch has only what precedes the problem."""
    if problem in (_NO_AT, _BLANK_BEFORE):
        return _MESSAGES[problem]
    text = chunk.data[batch.name_start[r] :].tobytes()
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n", 4)[:4]]
    if problem in (_NAME, _AT_FIRST, _INNER_CR) and not chunk.is_fastq:
        del lines[1:]
    elif not chunk.is_fastq:
        lines = [b"", chunk.data[batch.start[r] : batch.start[r] + batch.length[r]].tobytes()]
    if problem == _NO_PLUS and re.match(rb"(HD|SQ|RG|PG|CO)\t", lines[0]):
        return "this looks like SAM: convert it to BAM with samtools view -b"
    if any(b"\r" in line for line in lines):
        return about_cr(chunk.data)
    if problem in (_LENGTHS, _LETTER, _QUALITY):
        for what, line in zip(("sequence", "quality"), lines[1::2], strict=False):
            if line.rstrip(b" \t") != line:
                return f"its {what} line ends with white space: remove it"
    if problem in (_LENGTHS, _QUALITY) and len(lines[1]) != (n := len(lines[3])):
        lengths = f"{n_of(len(lines[1]), 'base')} but {n_of(n, 'quality', 'qualities')}"
        return f"{lengths}; the file is damaged or cut off"
    if problem == _NAME:
        return _MESSAGES[problem] + escaped(re.findall(rb"[^\t -~]", lines[0])[0])
    if problem == _LETTER:
        bad = lines[1].translate(None, LETTERS)[:1]
        return _MESSAGES[problem] + escaped(bad) + " (an alignment? remove its gaps)" * (bad in b"-*")
    return _MESSAGES[problem]


# Comments of reads: SAM tags, separated by tabs, which ``fmx search -C`` copies to their records.

_NUMBER = rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
_TAG = (
    rb"[A-Za-z][A-Za-z0-9]:(A:[!-~]|i:[-+]?\d{1,10}|f:%s|Z:[ -~]*|H:([0-9A-Fa-f]{2})*|B:[cCsSiIf](,%s)*)"
    % (_NUMBER, _NUMBER)
)
_COLON, _TEXT = b":Z"


def check_comments(chunk: Chunk, batch: ReadBatch) -> None:
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
            batch.searchable[r] = _is_searchable(batch.data[batch.start[r] : batch.start[r] + left])
    if left < trim.least:
        batch.searchable[r] = False
