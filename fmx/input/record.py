"""One record of FASTA or FASTQ: finds its fields in the data and checks them.

The CPU parses records one after another (reads.py), a GPU with one thread per record (reads_gpu.py).
"""

import re
from typing import Any

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import find_byte, leading_zeros, load_big_endian
from ..dna import LETTERS, OTHER
from ..errors import escaped, n_of
from .chunks import CR, NEWLINE, Chunk, about_cr, skip_blank

OK, TRUNCATED, NO_AT, BLANK_BEFORE, NO_PLUS, LENGTHS = range(6)
LETTER, QUALITY, BAD_NAME, AT_FIRST, INNER_CR = range(6, 11)
TAB, SPACE = 9, 32


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
        return -AT_FIRST
    if data[stop] == SPACE or data[stop] == TAB:
        newline = find_byte(data, NEWLINE, stop, data.size)
        return -INNER_CR if _has_cr(data, stop, newline) else newline + 1
    if data[stop] == CR:
        stop += 1
    return stop + 1 if data[stop] == NEWLINE else -BAD_NAME


@inlined
def _has_cr(data, start, newline):
    """Return whether there is a CR other than one before the LF at ``newline``."""
    place = find_byte(data, CR, start, newline)
    return place >= 0 and place < newline - 1


@inlined
def is_searchable(letters):
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
    batch.searchable[r] = is_searchable(letters)
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
        return i, BLANK_BEFORE if skip_blank(data, i) > i else NO_AT
    after = _take_header(batch, r, i + 1)
    if after < 0:
        return i, -after
    if after >= data.size:
        return i, TRUNCATED
    batch.start[r] = after
    end, after = _line_end(data, after)
    batch.length[r] = end - batch.start[r]
    if after >= data.size:
        return i, TRUNCATED
    if data[after] != ord("+"):
        return i, NO_PLUS
    if data[after + 1] == NEWLINE:
        after += 2
    else:
        plus = after
        end, after = _line_end(data, plus)
        if _has_cr(data, plus, after - 1):
            return i, INNER_CR
    if after >= data.size:
        if batch.length[r] > 0:
            return i, TRUNCATED
        batch.quality_start[r] = data.size
    else:
        batch.quality_start[r] = after
        end = after + batch.length[r]
        if end < data.size and data[end] == NEWLINE:  # if qualities are in range, this is their line
            after = end + 1
        else:
            end, after = _line_end(data, after)
        if end - batch.quality_start[r] != batch.length[r]:
            return i, LENGTHS
    if not _check_letters(batch, r, code):
        return i, LETTER
    n, start, bad = batch.length[r], batch.quality_start[r], np.uint8(0)
    qualities = data[start : start + n]
    for j in range(n):
        bad = np.uint8(bad | np.uint8(np.uint8(qualities[j] - np.uint8(33)) > 93))
    if bad:
        return i, QUALITY
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
    return i, OK if _check_letters(batch, r, code) else LETTER


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
    TRUNCATED: "the file ends within this record: truncated FASTQ",
    NO_AT: "expected '@' at its start: each FASTQ record must have four lines",
    BLANK_BEFORE: "there is a blank line before this record: remove that line",
    NO_PLUS: "expected '+' at the start of its third line: each FASTQ record must have four lines (seqtk seq "
    "joins lines)",
    LETTER: "the sequence contains a character that is not a base: ",
    QUALITY: "the quality string contains a character outside the range '!' to '~'",
    BAD_NAME: "its name contains a byte that is not printable ASCII, which SAM cannot represent; rename it: ",
    AT_FIRST: "its name starts with '@', which SAM reads as a header line; rename it",
}


def complaint(chunk: Chunk, batch: Any, r: int, problem: int) -> str:
    """Return the error for record r of a chunk; the ReadBatch has only what precedes the problem."""
    if problem in (NO_AT, BLANK_BEFORE):
        return _MESSAGES[problem]
    text = chunk.data[batch.name_start[r] :].tobytes()
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n", 4)[:4]]
    if problem in (BAD_NAME, AT_FIRST, INNER_CR) and not chunk.is_fastq:
        del lines[1:]
    elif not chunk.is_fastq:
        lines = [b"", chunk.data[batch.start[r] : batch.start[r] + batch.length[r]].tobytes()]
    if problem == NO_PLUS and re.match(rb"(HD|SQ|RG|PG|CO)\t", lines[0]):
        return "this looks like SAM: convert it to BAM with samtools view -b"
    if any(b"\r" in line for line in lines):
        return about_cr(chunk.data)
    if problem in (LENGTHS, LETTER, QUALITY):
        for what, line in zip(("sequence", "quality"), lines[1::2], strict=False):
            if line.rstrip(b" \t") != line:
                return f"its {what} line ends with white space: remove it"
    if problem in (LENGTHS, QUALITY) and len(lines[1]) != (n := len(lines[3])):
        lengths = f"{n_of(len(lines[1]), 'base')} but {n_of(n, 'quality', 'qualities')}"
        return f"{lengths}; the file is damaged or cut off"
    if problem == BAD_NAME:
        return _MESSAGES[problem] + escaped(re.findall(rb"[^\t -~]", lines[0])[0])
    if problem == LETTER:
        bad = lines[1].translate(None, LETTERS)[:1]
        return _MESSAGES[problem] + escaped(bad) + " (an alignment? remove its gaps)" * (bad in b"-*")
    return _MESSAGES[problem]
