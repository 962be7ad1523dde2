"""Streams: input files, compressed or not, and standard input; FASTQ with sequences in several lines."""

import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codecs import GZIP, CompressedStream, kind_of
from ..codecs.bgzf import LONGEST, last_block
from ..dna import LETTERS
from ..errors import InputError, named_input, shown
from ..system import RegularFile, tell, widen

if TYPE_CHECKING:
    from . import Reader, ReadPath

_SUFFIX = r"(\.(fastq|fq|fasta|fa|fna|txt))?(\.(gz|bgz|bgzf|zst|xz|bz2))?$"


def stem_of(path: str, suffix: str = _SUFFIX) -> str:
    """Return the stem of a path: ``day0`` for runs/day0.fq.gz."""
    return re.sub(suffix, "", os.path.basename(path), flags=re.IGNORECASE)


def stems_of(paths: "Sequence[ReadPath]", suffix: str = _SUFFIX) -> list:
    """Return the stems of files, with their folders if two are equal."""
    names = list(map(os.fsdecode, paths))
    stems = [stem_of(name, suffix) for name in names]
    if len(set(stems)) == len(stems):
        return stems
    return [os.path.join(os.path.dirname(name), stem) for name, stem in zip(names, stems, strict=True)]


STANDARD = "-"
GIVEN = "given sequences"  # name in messages of an input of bytes


def input_name(path: "ReadPath") -> str:
    """Return the name of an input in messages."""
    if isinstance(path, bytes):
        return GIVEN
    if str(path) == STANDARD:
        return "standard input"
    return path if isinstance(path, str) else str(path)  # may be an alignments.AlignmentsPath


class Source:
    """An input opened for reading: a path, '-', or bytes.  Its first bytes decide its type, not its name.

    ``size``: bytes of a file, 0 of others.  Errors of disk and compression become InputError.
    """

    def __init__(self, path: "ReadPath") -> None:
        self.path = input_name(path)
        with named_input(self.path):
            if isinstance(path, bytes):
                self._raw: Any = io.BufferedReader(io.BytesIO(path))
            else:
                self._raw = sys.stdin.buffer if str(path) == STANDARD else open(path, "rb")  # noqa: SIM115
                widen(self._raw)
            head = self._raw.peek(8)
            is_file = not isinstance(path, bytes) and self._raw is not sys.stdin.buffer
            status = os.fstat(self._raw.fileno()) if is_file else None
        self.size = status.st_size if status and stat.S_ISREG(status.st_mode) else 0
        self._file: Any = self._raw
        self.alignments: Any = None  # an Alignments
        is_alignments = head[:4] == b"CRAM"
        if head[:2] == b"\x1f\x8b":
            with suppress(zlib.error):
                is_alignments = zlib.decompressobj(31).decompress(head, 4) == b"BAM\1"
        if is_alignments:
            from .alignments import Alignments  # imported on first use

            self._file = self.alignments = Alignments(self.path, self._raw, path)
        kind = None if self.alignments else kind_of(head)
        self.is_gzip, self._is_plain = kind is GZIP, not (kind or self.alignments)
        if kind:
            self._file = CompressedStream(self.path, self._raw, kind)

    def position(self) -> int:
        """Return the bytes of the file that were read; 0 if unknown."""
        return self._raw.tell() if self._raw.seekable() and not self.alignments else 0

    def regular(self) -> RegularFile | None:
        """Return the file, uncompressed or gzip, for any thread to read; None if it must be read in order."""
        if self.size and (self._is_plain or self.is_gzip):
            return RegularFile(self.path, self._raw.fileno())
        return None

    def check_end(self, begin: bytes) -> None:
        """Warn if a BGZF file lacks the empty last block that marks its end.

        ``begin``: the first byte of the data; a pipe must have been read.  Raises InputError if they then end
        inside a line, except for FASTQ, where parsing finds that.
        """
        if not self.is_gzip:
            return
        file = self.regular()
        tail = file.bytes(LONGEST, max(0, file.size - LONGEST)) if file else self._file.tail()
        block, what = last_block(tail), "the BGZF end-of-file marker is missing"
        if not any(block[-4:]):  # an empty block, or none
            return
        data = np.empty(LONGEST, np.uint8)
        n = CompressedStream(self.path, io.BytesIO(block), GZIP).readinto(data)
        if begin != b"@" and data[n - 1] != ord("\n"):
            what = f"truncated ({what}, and the last line has no end); copy or download it again"
            raise InputError(self.path, "gzip stream", what)
        tell(f"fmx: warning: {shown(self.path)}: {what}; if the file was cut off, copy or download it again")

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` (uint8 array) as far as the input goes; return the number of bytes."""
        view, done = memoryview(buffer), 0
        with named_input(self.path):
            while done < len(view) and (n := self._file.readinto(view[done:])):
                done += n
        return done

    def close(self) -> None:
        if self.alignments:
            self.alignments.close()
        if self._raw is not sys.stdin.buffer:
            self._raw.close()

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# FASTQ with sequences in several lines, read in order and given as FASTQ with four lines per record.

_AT_ONCE = 1 << 18  # bytes


def is_wrapped(head: bytes) -> bool:
    """Return whether FASTQ that begins with ``head`` has a record with several lines of sequence there.

    Its qualities must have as many characters as the sequence, and end before a record, or beyond the head.
    """
    lines = iter(head.split(b"\n")[:-1])
    for header, letters, _, qualities in _records_of(lines):
        if not header.startswith(b"@") or len(letters) < 2 <= len(qualities):
            break
        if letters[1:]:
            sequence, line = _text(_joined(letters)), next(lines, None)
            missing = len(sequence) - len(_text(_joined(qualities)))
            is_record = (
                missing >= 0 if line is None else missing == 0 and (line[:1] == b"@" or not line.strip())
            )
            return is_record and all(map(_text, letters)) and not sequence.translate(None, LETTERS)
    return False


class WrappedFastq:
    """The records of a Reader of FASTQ, each in four lines; damaged ones as they are."""

    def __init__(self, reader: "Reader") -> None:
        self._records, self._ahead = _records_of(_lines_of(reader)), bytearray()

    def readinto(self, view: np.ndarray) -> int:
        """Fill ``view`` (uint8 array), as far as the records go; return the number of bytes.

        Raises InputError.
        """
        ahead = self._ahead
        while len(ahead) < view.size and (record := next(self._records, None)):
            header, letters, plus, qualities = record
            ahead += header + _joined(letters) + plus + _joined(qualities)
        n = min(view.size, len(ahead))
        view[:n] = np.frombuffer(ahead[:n], np.uint8)
        del ahead[:n]
        return n


def _lines_of(reader: "Reader") -> Iterator[bytes]:
    """Yield the lines of a Reader with their ends; the last one may have none."""
    data, rest = np.empty(_AT_ONCE, np.uint8), b""
    while n := reader.readinto(data):
        *lines, rest = (rest + data[:n].tobytes()).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


def _records_of(lines: Iterator[bytes]) -> Iterator[tuple[bytes, list[bytes], bytes, list[bytes]]]:
    """Yield (header, lines of the sequence, line of +, lines of qualities) of each record.

    Qualities end with the line that makes them as long as the sequence, as one of them may begin with @.
    """
    for header in lines:
        letters, plus, qualities = [], b"", []  # type: tuple[list, bytes, list]
        if header.startswith(b"@"):
            for line in lines:
                if line.startswith(b"+"):
                    plus = line
                    break
                letters.append(line)
            missing = len(_text(_joined(letters)))
            for line in lines:
                qualities.append(line)
                missing -= len(_text(line))
                if missing <= 0:
                    break
        yield header, letters, plus, qualities


def _text(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _joined(lines: list[bytes]) -> bytes:
    """Return lines as one, with the end of the last."""
    return b"".join([*map(_text, lines[:-1]), *lines[-1:]])
