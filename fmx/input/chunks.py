"""Chunks of whole records, cut by counting newlines; also look_at, checks of a file; and literal_fasta."""

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compiler.functions import brief, compiled, inlined
from ..compiler.primitives import address_of, at, call_c, find_byte
from ..dna import LETTERS
from ..errors import InputError, escaped
from .streams import GIVEN, STANDARD, Source

CHUNK_SIZE, _BLOCK = 1 << 23, 1 << 12  # bytes of a chunk (with more than FEW threads twice as many), a block
AT_ONCE = 1 << 18  # bytes: what was read is still in the cache of a core when its newlines are counted
FEW = 16  # most threads that do not contend for Python's lock
NEWLINE, CR = 10, 13
NOT_READ = "an earlier part of the input could not be read; see the first error"
IS_BAM = "this is BAM or CRAM; expected FASTA"
_CONVERT = "convert with: tr '\\r' '\\n'"


@dataclass(frozen=True)
class Chunk:
    """Whole records: ``data`` uint8[n], ending with a newline.

    ``number``: of the first record in its file, from 1; ``n_bound``: number of records by newlines, too
    large only if one is damaged; ``on_gpu``: its bytes on a GPU that has inflated them (reads_gpu.py);
    ``data`` then lacks the middle.
    """

    path: str
    data: np.ndarray
    is_fastq: bool
    number: int
    n_bound: int
    on_gpu: Any = None

    def read(self, hold: object = None) -> "Chunk":
        """Return itself, so that a Chunk can stand for a Span."""
        return self

    def whole(self) -> "Chunk":
        """Return the chunk with all of its ``data`` in host memory."""
        if self.on_gpu is None:
            return self
        from ..machines import gpu  # only where there is one

        gpu.copy(self.on_gpu, self.data)
        return replace(self, on_gpu=None)

    def cut(self, n: int) -> "tuple[Chunk, Chunk]":
        """Return (the first n records, the others); for ``data`` without a part on a GPU."""
        at = _find_record(self.data, n, self.is_fastq) if n < self.n_bound else self.data.size
        tail = replace(self, data=self.data[at:], number=self.number + n, n_bound=self.n_bound - n)
        return replace(self, data=self.data[:at], n_bound=n), tail


def begins_fastq(path: str, byte: int) -> bool:
    """Whether a file that begins with ``byte`` is FASTQ, not FASTA.  Raises InputError if it is neither."""
    if byte == ord("@"):
        return True
    if byte == ord(">"):
        return False
    what = f"found {escaped(bytes([byte]))} ({_FOREIGN.get(byte, _OTHER)})"
    raise InputError(path, "record 1", f"expected '@' (FASTQ) or '>' (FASTA) at its start, {what}")


_OTHER = "sequences need a line '>NAME' before each; convert SAM with samtools view -b"


def no_fasta(byte: int) -> str:
    """Return the message for a file that begins with ``byte`` but should be FASTA."""
    hint = f" ({_FOREIGN[byte]})" if byte in _FOREIGN else ""
    return f"expected '>' at the start of a FASTA file, found {escaped(bytes([byte]))}{hint}"


_FOREIGN = {
    ord("@"): "this looks like FASTQ or SAM",
    0x1F: "compressed twice? decompress it once",
    0xEF: "a byte order mark? save the file without one",
    0xFE: "UTF-16? save the file as UTF-8",
    0xFF: "UTF-16? save the file as UTF-8",
}


def look_at(path: str, check: Callable[..., Any] | None = begins_fastq) -> None:
    """Raise InputError if a file cannot be opened, or ``check`` (path, first byte) refuses it.

    Warns of BGZF that may be cut off.  Of a pipe only the permissions are checked, of standard input nothing.
    """
    if str(path) == STANDARD:
        return
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        if not os.access(path, os.R_OK):
            raise InputError(path, "", os.strerror(errno.EACCES))
        return
    if "," in path and not os.path.lexists(path) and all(map(os.path.isfile, path.split(","))):
        raise InputError(path, "", "No such file or directory: separate files by spaces, not by commas")
    if os.path.isfile(os.path.join(path, "meta.json")):
        advice = ": give it with -x" if check is begins_fastq else ""
        raise InputError(path, "", f"this is an index, not a file of sequences{advice}")
    with Source(path) as source:
        if source.alignments:
            try:
                if check:
                    check(source.path, ord("@"))
            except InputError as error:
                raise InputError(source.path, "", IS_BAM) from error
            return source.alignments.check()
        head = bytearray(1 << 12)
        refuse_archive(source.path, head := head[: source.readinto(head)])
        begin = head.lstrip()
        source.check_end(bytes(begin[:1]))
    if begin and check:
        check(source.path, begin[0])


def refuse_archive(path: str, begin: Any) -> None:
    """Raise InputError if a file that begins with these bytes is a tar or zip archive."""
    kind = "tar" if bytes(begin[257:262]) == b"ustar" else "zip" if bytes(begin[:4]) == b"PK\3\4" else ""
    if kind:
        also = {"zip": ", or save a workbook (.xlsx) as CSV"}.get(kind, "")
        raise InputError(path, "", f"this is a {kind} archive: unpack it{also}")


def repeated(paths: tuple[str, ...], done: str) -> str:
    """Return a warning if a file is given more than once, or ""; ``done``: what becomes of its reads."""
    for path in paths:
        if os.path.isfile(path) and paths.count(path) > 1:
            return f"{path} is given more than once, so its reads are {done} several times"
    return ""


# Sequences and bytes.


def literal_fasta(sequences: Sequence[str], names: Sequence[str] | None = None) -> bytes:
    """Return the sequences (str or bytes) as FASTA, for spans.plan; ``names``: by default numbers from 0.

    Raises InputError for a sequence with characters that are not bases.
    """
    lines = []
    for i, sequence in enumerate(sequences):
        letters = bytes_of(sequence)
        refuse_letters(letters, i + 1)
        lines.append(b">%s\n%s\n" % (bytes_of(names[i]) if names else b"%d" % i, letters))
    return b"".join(lines)


def refuse_letters(letters: bytes, number: int, path: str = GIVEN) -> None:
    """Raise InputError if given sequence ``number``, from 1, has characters that are not bases."""
    if other := letters.translate(None, LETTERS):
        several = "; give several sequences as a list" if other[:1].isspace() or other[:1] == b"," else ""
        what = f"{escaped(other[:1])} is not a base{several}"
        raise InputError(path, f"record {number}", what)


def bytes_of(text: str | bytes) -> bytes:
    """Return the bytes of str or bytes; restores bytes that are not UTF-8 in names of files."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)


def about_cr(data: np.ndarray) -> str:
    """Return the message for bytes (uint8) with a CR that is not at the end of a line."""
    if (data[:-1] == NEWLINE).any():
        return f"CR inside a line, not before LF; if it ends a line, {_CONVERT}"
    return f"lines end with CR alone: {_CONVERT}"


@inlined
def _is_blank(byte):
    return byte == 32 or 9 <= byte <= 13


@brief
def skip_blank(data, i):
    """Return the index of the first byte from i on that is not white space."""
    while i < data.size and _is_blank(data[i]):
        i += 1
    return i


@compiled
def count(data, n, is_fastq):
    """Count newlines in the first n bytes of data (uint8): all (FASTQ), or those followed by '>' (FASTA).

    Sums of 8 bits fill vector registers.  ``is_border`` and reads_gpu.py find the same ones.
    """
    n_borders, stop = 0, min(n, data.size if is_fastq else data.size - 1)
    for start in range(0, stop, 128):
        few, end = np.uint8(0), min(start + 128, stop)
        if is_fastq:
            for i in range(start, end):
                few = np.uint8(few + (at(data, i) == NEWLINE))
        else:
            for i in range(start, end):
                few = np.uint8(few + np.uint8((at(data, i) == NEWLINE) & (at(data, i + 1) == ord(">"))))
        n_borders += np.int64(few)
    return n_borders


@compiled
def read_counted(pread, descriptor, offset, data, size, is_fastq):
    """Fill ``data`` (uint8) with bytes of an open file from ``offset``, by the C function at ``pread``.

    Return (number of bytes, fewer after an error; ``count`` of the first ``size``).
    """
    n, start, n_newlines = np.int64(0), np.int64(0), np.int64(0)
    while n < data.size:
        more = call_c(pread, descriptor, address_of(data, n), min(AT_ONCE, data.size - n), offset + n)
        if more <= 0:
            break
        n += more
        n_newlines += count(data[start:n], max(min(size, n) - start, 0), is_fastq)
        start = n if is_fastq else n - 1  # what follows a newline at the end is not known yet
    return n, n_newlines


@inlined
def is_border(data, i, is_fastq):
    """Return whether byte i is a newline that counts, as in ``count``."""
    return data[i] == NEWLINE and (is_fastq or (i + 1 < data.size and data[i + 1] == ord(">")))


@brief
def find_border(data, i, left, is_fastq):
    """Return (index after the ``left``-th newline that counts from i on, 0), or (place to go on, rest)."""
    stop = data.size if is_fastq else data.size - 1
    while left > 4 and i + _BLOCK < data.size:
        n_borders = count(data[i : i + _BLOCK + 1], _BLOCK, is_fastq)
        if n_borders >= left:
            break
        i, left = i + _BLOCK, left - n_borders
    while left > 0:
        newline = find_byte(data, NEWLINE, i, stop) if i < stop else -1
        if newline < 0:
            return max(i, stop), left
        i = newline + 1
        if is_fastq or data[i] == ord(">"):
            left -= 1
    return i, 0


@compiled
def _find_record(data, n, is_fastq):
    """Return where record n, from 0, of whole records (uint8) begins."""
    return find_border(data, 0, 4 * n if is_fastq else n, is_fastq)[0]


@compiled
def find_end(data):
    """Return where the last line of data (uint8) that is not blank ends: at its newline, if it has one."""
    end = data.size
    while end > 0 and _is_blank(data[end - 1]):
        end -= 1
    newline = find_byte(data, NEWLINE, end, data.size) if end > 0 else end
    return data.size if newline < 0 else newline
