"""Reads files -> chunks of whole records: bytes are cut at record borders before anything is parsed."""

import errno
import os
from dataclasses import dataclass

import numpy as np

from .errors import InputError
from .jit import at, compiled, find_byte, inlined
from .streams import STANDARD, Source

CHUNK_SIZE = 1 << 23  # each costs a thread about 0.2 ms of Python, which other threads wait for
NEWLINE = 10


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


def read_chunks(paths, chunk_size=CHUNK_SIZE):
    """Yield the Chunks of several FASTA or FASTQ files in order.

    A file without records yields nothing.  Raises InputError where a file is neither.
    """
    for path in paths:
        with Source(path) as source:
            yield from _chunks_of(source, chunk_size)


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
    """Sequences (str or bytes) as FASTA, for read_chunks; named by their number from 0 unless named."""
    lines = []
    for i, sequence in enumerate(sequences):
        letters = sequence.encode() if isinstance(sequence, str) else bytes(sequence)
        if b"\n" in letters or b">" in letters:
            raise InputError("given sequences", f"record {i + 1}", "a sequence holds a line end or '>'")
        lines.append(b">%s\n%s\n" % (names[i].encode() if names else b"%d" % i, letters))
    return b"".join(lines)


def _chunks_of(source, chunk_size):
    rest, number, is_fastq = np.empty(0, np.uint8), 1, None
    while True:
        buffer = np.empty(rest.size + max(chunk_size, rest.size) + 1, np.uint8)
        buffer[: rest.size] = rest
        n = rest.size + source.readinto(buffer[rest.size : -1])
        last = n < buffer.size - 1
        if is_fastq is None:
            skipped = _n_blank(buffer[:n])
            if skipped == n and last:
                return
            if skipped < n:
                is_fastq = begins_fastq(source.path, buffer[skipped])
                if skipped:
                    buffer, n = buffer[skipped:], n - skipped
        if last and n and buffer[n - 1] != NEWLINE:
            buffer[n] = NEWLINE
            n += 1
        if is_fastq:
            stop, n_bound = _cut_fastq(buffer[:n], last)
        else:
            stop, n_bound = _cut_fasta(buffer[:n], last)
        if stop:
            yield Chunk(source.path, buffer[:stop], bool(is_fastq), number, n_bound)
            number += n_bound
        if last:
            return
        rest = buffer[stop:n]


@compiled
def _n_blank(data):
    """Number of white-space bytes at the start."""
    for i in range(data.size):
        if data[i] != 32 and (data[i] < 9 or data[i] > 13):
            return i
    return data.size


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
    """(end of the last whole record, number of records); everything if this is the file's end."""
    n_lines = _n_lines(data)
    if last:
        return data.size, (n_lines + 3) // 4
    stop = data.size
    for _ in range(n_lines % 4 + 1):
        stop -= 1
        while stop >= 0 and data[stop] != NEWLINE:
            stop -= 1
    return stop + 1, n_lines // 4


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
