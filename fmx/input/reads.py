"""Bytes of FASTA or FASTQ -> ReadBatch: arrays, no Python object per read.

The packed words of read r and of its reverse complement stand next to each other (n_words = ceil(m / 32)):

    words   | read 0 | reverse 0 | read 1 | reverse 1 | ... | spare |
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import find_byte, leading_zeros, load_big_endian
from ..errors import InputError
from .chunks import CR, NEWLINE, skip_blank
from .dna import CODE, OTHER, WORD, pack_letters, reverse_complement, symbols
from .read_problems import (
    AT_FIRST,
    BAD_NAME,
    BLANK_BEFORE,
    INNER_CR,
    LENGTHS,
    LETTER,
    NO_AT,
    NO_PLUS,
    OK,
    QUALITY,
    TRUNCATED,
    complaint,
)

TAB, SPACE = 9, 32
LONGEST_NAME, LONGEST_READ = 254, 2**28 - 1  # of SAM and BAM: an operation of a CIGAR has 28 bits
FORWARD, REVERSE = 1, 2  # strands, as bits


class ReadBatch(NamedTuple):
    """A chunk of reads.  Offsets are into ``data`` uint8[n]; all int64[n_reads].

    ``quality_start`` is -1 for FASTA; ``searchable`` bool[n_reads]: only A C G T U, at least one.
    """

    data: np.ndarray
    name_start: np.ndarray
    name_length: np.ndarray
    start: np.ndarray
    length: np.ndarray
    quality_start: np.ndarray
    searchable: np.ndarray


class Patterns(NamedTuple):
    """What an engine searches: pattern i is ``length[i]`` symbols packed from word ``first[i]``.

    ``length`` int64[n] is 0 where nothing is to be searched; ``words`` uint64 ends with a spare word.
    """

    words: np.ndarray
    first: np.ndarray
    length: np.ndarray


def parse(chunk) -> ReadBatch:
    """The reads of a chunk.  Raises InputError that names the record."""
    n = chunk.n_bound
    columns = [np.empty(n, np.int64) for _ in range(5)]
    batch = ReadBatch(chunk.data, *columns, np.empty(n, np.bool_))  # type: ignore[call-arg]
    scan = _scan_fastq if chunk.is_fastq else _scan_fasta
    n_reads, problem = scan(batch, CODE)
    if problem:
        raise InputError(
            chunk.path, f"record {chunk.number + n_reads}", complaint(chunk, batch, n_reads, problem)
        )
    return ReadBatch(chunk.data, *(field[:n_reads] for field in batch[1:]))


def check_sam(chunk, batch) -> None:
    """Raise InputError that names the first record of a chunk that SAM and BAM cannot hold."""
    for lengths, most, what, remedy in (
        (batch.name_length, LONGEST_NAME, "name is longer than {} characters", "rename it"),
        (batch.length, LONGEST_READ, "sequence is longer than {} letters", "write another format"),
    ):
        if lengths.max(initial=0) > most:
            number = chunk.number + int(np.argmax(lengths > most))
            what = f"its {what.format(most)}, the limit of SAM and BAM; {remedy}"
            raise InputError(chunk.path, f"record {number}", what)


def pack(batch, strands=FORWARD | REVERSE) -> Patterns:
    """The searchable reads of a batch as patterns: row 2r is read r, row 2r + 1 its reverse complement."""
    n_reads = batch.length.size
    n_words = np.where(batch.searchable, (batch.length + WORD - 1) // WORD, 0)
    first = np.zeros(2 * n_reads + 1, np.int64)
    np.cumsum(np.repeat(n_words, 2), out=first[1:])
    patterns = Patterns(np.empty(first[-1] + 1, np.uint64), first[:-1], np.zeros(2 * n_reads, np.int64))
    patterns.words[-1] = 0
    _pack(batch, strands, CODE, patterns)
    return patterns


@inlined
def _line_end(data, i):
    """(end of the line at i without its CR, start of the next line)."""
    newline = find_byte(data, NEWLINE, i, data.size)
    end = newline
    if end > i and data[end - 1] == CR:
        end -= 1
    return end, newline + 1


@inlined
def _name_end(data, i):
    """Index of the first byte from i on that is no printable ASCII or a space: the data end with one."""
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
    """Note the name, the first word of a header line whose rest begins at i: the next line, or -problem."""
    data = batch.data
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
    """True if there is a CR before the one that may precede the LF at ``newline``."""
    found = find_byte(data, CR, start, newline)
    return found >= 0 and found < newline - 1


@inlined
def _check_letters(batch, r, code):
    """Note whether read r is searchable; True if every byte is a letter."""
    letters = batch.data[batch.start[r] : batch.start[r] + batch.length[r]]
    unknown = np.uint8(0)  # kept in 8 bits, this loop works on whole vectors of bytes
    for i in range(letters.size):
        x = letters[i] & np.uint8(0xDF)  # upper case
        known = (x == 65) | (x == 67) | (x == 71) | (x == 84) | (x == 85)
        unknown = np.uint8(unknown | np.uint8(not known))
    batch.searchable[r] = unknown == 0 and letters.size > 0
    worst = np.uint8(0)
    if unknown:
        for i in range(letters.size):
            worst = max(worst, code[letters[i]])
    return worst <= OTHER


@inlined
def _check_qualities(data, start, n):
    """True if all are printable."""
    qualities, bad = data[start : start + n], np.uint8(0)
    for i in range(n):
        bad = np.uint8(bad | np.uint8(np.uint8(qualities[i] - np.uint8(33)) > 93))
    return bad == 0


@inlined
def _after_records(data, i):
    """The problem with what follows the last record: blank lines may only end the file."""
    j = skip_blank(data, i)
    return OK if j == data.size else BLANK_BEFORE if j > i else NO_AT


@compiled
def _scan_fastq(batch, code):
    """Fill the batch; (number of whole records, problem with the next one)."""
    data, i, n = batch.data, 0, 0
    while i < data.size:
        if data[i] != ord("@"):
            return n, _after_records(data, i)
        after = _take_header(batch, n, i + 1)
        if after < 0:
            return n, -after
        if after >= data.size:
            return n, TRUNCATED
        batch.start[n] = after
        end, after = _line_end(data, after)
        batch.length[n] = end - batch.start[n]
        if after >= data.size:
            return n, TRUNCATED
        if data[after] != ord("+"):
            return n, NO_PLUS
        if data[after + 1] == NEWLINE:
            after += 2
        else:
            plus = after
            end, after = _line_end(data, plus)
            if _has_cr(data, plus, after - 1):
                return n, INNER_CR
        if after >= data.size:
            if batch.length[n] > 0:
                return n, TRUNCATED
            batch.quality_start[n] = data.size
        else:
            batch.quality_start[n] = after
            end = after + batch.length[n]
            if end < data.size and data[end] == NEWLINE:  # then qualities in their range are the line
                after = end + 1
            else:
                end, after = _line_end(data, after)
            if end - batch.quality_start[n] != batch.length[n]:
                return n, LENGTHS
        if not _check_letters(batch, n, code):
            return n, LETTER
        if not _check_qualities(data, batch.quality_start[n], batch.length[n]):
            return n, QUALITY
        i = after
        n += 1
    return n, OK


@compiled
def _scan_fasta(batch, code):
    """Fill the batch, joining the lines of a sequence in place."""
    data, i, n = batch.data, 0, 0
    while i < data.size:
        after = _take_header(batch, n, i + 1)
        if after < 0:
            return n, -after
        i = to = batch.start[n] = after
        while i < data.size and data[i] != ord(">"):
            end, after = _line_end(data, i)
            for j in range(i, end):
                if data[j] != SPACE and data[j] != TAB:
                    data[to] = data[j]
                    to += 1
            i = after
        batch.length[n] = to - batch.start[n]
        batch.quality_start[n] = -1
        if not _check_letters(batch, n, code):
            return n, LETTER
        n += 1
    return n, OK


@compiled
def _pack(batch, strands, code, patterns):
    for r in range(batch.length.size):
        if not batch.searchable[r]:
            continue
        length, first, other = batch.length[r], patterns.first[2 * r], patterns.first[2 * r + 1]
        pack_read(batch.data, batch.start[r], length, code, patterns.words, first)
        if strands & FORWARD:
            patterns.length[2 * r] = length
        if strands & REVERSE:
            patterns.length[2 * r + 1] = length
            pack_reverse(patterns.words, first, other, length)


@inlined
def pack_read(data, start, length, code, words, first):
    """Pack ``length`` letters of ``data`` from ``start``, all of them A C G T U, from word ``first`` on."""
    for i in range(0, length, WORD):
        at, k = start + i, min(WORD, length - i)
        word = np.uint64(0)
        if at + WORD <= data.size:
            for j in range(at, at + WORD, 8):
                word = (word << np.uint64(16)) | pack_letters(data, j)
            if k < WORD:
                word = (word >> np.uint64(2 * (WORD - k))) << np.uint64(2 * (WORD - k))
        else:
            for j in range(at, at + k):
                word = (word << np.uint64(2)) | np.uint64(code[data[j]])
            word <<= np.uint64(2 * (WORD - k))
        words[first + (i >> 5)] = word


@inlined
def pack_reverse(words, first, other, length):
    """Pack the reverse complement of the ``length`` symbols at word ``first`` from word ``other`` on."""
    for i in range(0, length, WORD):
        k = min(WORD, length - i)
        word = reverse_complement(symbols(words, first, length - i - k, k), k)
        words[other + (i >> 5)] = word << np.uint64(2 * (WORD - k))
