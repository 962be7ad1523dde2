"""Reads files -> chunks of whole records: bytes are cut at record borders before anything is parsed."""

import errno
import os
from dataclasses import dataclass

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, find_byte
from ..errors import InputError
from .dna import LETTERS
from .streams import STANDARD, Source

CHUNK_SIZE = 1 << 23  # each costs a thread about 0.2 ms of Python, which other threads wait for
NEWLINE, CR = 10, 13
BLANK_LINE = "a blank line stands between records before it: remove it"
_CONVERT = "convert with: tr '\\r' '\\n'"


@dataclass(frozen=True)
class Chunk:
    """Whole records: ``data`` uint8[n], ending with a newline.

    ``number`` counts the first record in its file, from 1; ``n_bound`` is at least the number of records.
    """

    path: str
    data: np.ndarray
    is_fastq: bool
    number: int
    n_bound: int


def begins_fastq(path, byte) -> bool:
    """Is a file that begins with ``byte`` FASTQ, or FASTA?  Raises InputError if it is neither."""
    if byte == ord("@"):
        return True
    if byte == ord(">"):
        return False
    raise InputError(path, "first byte", f"expected '@' (FASTQ) or '>' (FASTA), found {bytes([byte])!r}")


def read_chunks(paths, chunk_size=CHUNK_SIZE, check=begins_fastq):
    """Yield the Chunks of several FASTA or FASTQ files in order.

    A file without records yields nothing.  ``check`` (path, first byte) tells FASTQ and raises InputError.
    """
    for path in paths:
        with Source(path) as source:
            yield from _chunks_of(source, chunk_size, check)


def look_at(path, check=begins_fastq) -> None:
    """Raise InputError if a file cannot be opened, or ``check`` (path, first byte) refuses how it begins.

    A pipe can be opened only once: it is asked for leave to read.  Standard input is left alone.
    """
    if str(path) == STANDARD:
        return
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        if not os.access(path, os.R_OK):
            raise InputError(path, "", os.strerror(errno.EACCES))
        return
    with Source(path) as source:
        head = bytearray(1 << 12)
        begin = head[: source.readinto(head)].lstrip()
    if begin:
        check(source.path, begin[0])


def literal_fasta(sequences, names=None) -> bytes:
    """Sequences (str or bytes) as FASTA, for read_chunks; named by their number from 0 unless named.

    Raises InputError for one that holds anything but letters.
    """
    lines = []
    for i, sequence in enumerate(sequences):
        letters = _bytes_of(sequence)
        if other := letters.translate(None, LETTERS):
            what = f"{other[:1]!r} is not a letter of a sequence"
            raise InputError("given sequences", f"record {i + 1}", what)
        lines.append(b">%s\n%s\n" % (_bytes_of(names[i]) if names else b"%d" % i, letters))
    return b"".join(lines)


def _bytes_of(text) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)


def about_cr(data) -> str:
    """What to say of bytes (uint8) that hold a CR which is not at the end of a line."""
    if (data[:-1] == NEWLINE).any():
        return f"a CR inside a line, not right before its LF; if it is to end a line, {_CONVERT}"
    return f"line ends are CR alone: {_CONVERT}"


def _chunks_of(source, chunk_size, check):
    rest, number, is_fastq, after_blank = np.empty(0, np.uint8), 1, None, False
    while True:
        n = rest.size
        buffer = np.empty(n + max(chunk_size, n) + 1, np.uint8)
        buffer[:n] = rest
        rest = buffer[:0]  # what it was cut from is free before more is read
        n += source.readinto(buffer[n:-1])
        last = n < buffer.size - 1
        skipped = skip_blank(buffer[:n], 0)
        after_blank = after_blank or skipped > 0
        if skipped == n:
            if last:
                return
            continue
        if is_fastq is None:
            is_fastq, after_blank = check(source.path, buffer[skipped]), False
        elif after_blank:
            raise InputError(source.path, f"record {number}", BLANK_LINE)
        buffer, n = buffer[skipped:], n - skipped
        if last and buffer[n - 1] != NEWLINE:
            buffer[n] = NEWLINE
            n += 1
        stop, n_bound = _cut_fastq(buffer[:n], last) if is_fastq else _cut_fasta(buffer[:n], last)
        rest = buffer[stop:n]
        if stop:
            yield Chunk(source.path, buffer[:stop], is_fastq, number, n_bound)
            number += n_bound
        elif number == 1 and (rest[:-1] == CR).any() and not (rest == NEWLINE).any():
            raise InputError(source.path, "record 1", about_cr(rest))
        if last:
            return


@inlined
def _is_blank(byte):
    return byte == 32 or 9 <= byte <= 13


@compiled
def skip_blank(data, i):
    """Index of the first byte from i on that is no white space."""
    while i < data.size and _is_blank(data[i]):
        i += 1
    return i


@inlined
def _n_lines(data):
    """Number of newlines, 128 bytes at a time: sums of 8 bits fill vector registers, and the reader waits."""
    n_lines = 0
    for start in range(0, data.size, 128):
        few = np.uint8(0)
        for i in range(start, min(start + 128, data.size)):
            few = np.uint8(few + (at(data, i) == NEWLINE))
        n_lines += few
    return n_lines


@compiled
def _cut_fastq(data, last):
    """(end of the last whole record, number of records); everything if this is the file's end.

    Blank lines that follow a record, four at a time, are left to what comes after.
    """
    n_lines, stop = _n_lines(data), data.size
    n_records = (n_lines + 3) // 4
    if not last:
        n_records = n_lines // 4
        for _ in range(n_lines % 4 + 1):
            stop -= 1
            while stop >= 0 and data[stop] != NEWLINE:
                stop -= 1
        stop += 1
    end = stop
    while end > 0 and _is_blank(data[end - 1]):
        end -= 1
    n_blank = _n_lines(data[end:stop]) - 1
    if n_blank >= 4:
        n_records -= n_blank // 4
        stop = end
        for _ in range(n_blank % 4 + 1):
            stop = find_byte(data, NEWLINE, stop, data.size) + 1
    return stop, n_records


@compiled
def _cut_fasta(data, last):
    """(start of the last record, number of records before it); everything if this is the file's end."""
    n_records = stop = i = 0
    while i >= 0 and i < data.size:
        if data[i] == ord(">"):
            n_records += 1
            stop = i
        i = find_byte(data, NEWLINE, i, data.size) + 1
        if i == 0:
            break
    if last:
        return data.size, n_records
    return stop, n_records - 1
