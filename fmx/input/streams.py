"""Streams: input files, compressed or not, and standard input; output files that appear complete."""

import io
import os
import re
import shlex
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from isal import igzip

from ..codecs import CompressedStream, GzipStream, kind_of, named_gzip
from ..codecs.bgzf import LONGEST, last_block
from ..errors import InputError, cannot_write, named_input, shown
from ..system import DraftFile, RegularFile, tell, widen
from .dna import LETTERS

if TYPE_CHECKING:
    from concurrent.futures import Future

    from . import ReadPath

SUFFIX = r"(\.(fastq|fq|fasta|fa|fna|txt))?(\.(gz|bgz|bgzf|zst|xz|bz2))?$"


def stem_of(path: str, suffix: str = SUFFIX) -> str:
    """Return the stem of a path: ``day0`` for runs/day0.fq.gz."""
    return re.sub(suffix, "", os.path.basename(path), flags=re.IGNORECASE)


def stems_of(paths: "Sequence[ReadPath]", suffix: str = SUFFIX) -> list:
    """Return the stems of files, with their folders if two are equal."""
    names = list(map(os.fsdecode, paths))
    stems = [stem_of(name, suffix) for name in names]
    if len(set(stems)) == len(stems):
        return stems
    return [os.path.join(os.path.dirname(name), stem) for name, stem in zip(names, stems, strict=True)]


STANDARD = "-"
GIVEN = "given sequences"  # name in messages of an input of bytes


class GivenBytes(bytes):
    """FASTA that a program gave as ``argument``, which is its name in messages."""

    argument: str

    def __new__(cls, argument: str, data: bytes) -> Self:
        fasta = super().__new__(cls, data)
        fasta.argument = argument
        return fasta

    def __str__(self) -> str:
        return f"given {self.argument}"


def input_name(path: "ReadPath") -> str:
    """Return the name of an input in messages."""
    if type(path) is bytes:
        return GIVEN
    if str(path) == STANDARD:
        return "standard input"
    return path if isinstance(path, str) else str(path)  # may be an alignments.AlignmentsPath


def is_alignments(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is BAM or CRAM."""
    if head[:4] == b"CRAM":
        return True
    if head[:2] != b"\x1f\x8b":
        return False
    try:
        return zlib.decompressobj(31).decompress(head, 4) == b"BAM\1"
    except zlib.error:
        return False


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
        if is_alignments(head):
            from .alignments import Alignments  # imported on first use

            self._file = self.alignments = Alignments(self.path, self._raw, path)
        self.is_gzip, kind = head[:2] == b"\x1f\x8b" and not self.alignments, kind_of(head)
        self._is_plain = not (self.is_gzip or kind or self.alignments)
        if self.is_gzip:
            self._file = GzipStream(self.path, self._raw)
        elif kind:
            self._file = CompressedStream(self.path, self._raw, kind)

    def size_hint(self) -> int:
        """Expected bytes: exact for an uncompressed file, else an estimate."""
        return (self.size if self._is_plain else 4 * self.size) or 1 << 20

    def position(self) -> int:
        """Return the bytes of the file that were read; 0 if unknown."""
        return self._raw.tell() if self._raw.seekable() and not self.alignments else 0

    def regular(self) -> RegularFile | None:
        """The file, uncompressed or gzip, for any thread to read; None if it can only be read in order."""
        if self.size and (self._is_plain or self.is_gzip):
            return RegularFile(self.path, self._raw.fileno())
        return None

    def check_end(self, begin: bytes) -> None:
        """Warn if the last block of a BGZF file has data: the file may be cut off.

        ``begin``: the first byte of the data; a pipe must have been read.  Raises InputError if the data end
        inside a line, except for FASTQ, whose last record shows it.
        """
        if not self.is_gzip:
            return
        file = self.regular()
        tail = file.bytes(LONGEST, max(0, file.size - LONGEST)) if file else self._file.tail()
        block, what = last_block(tail), "the BGZF end-of-file marker is missing"
        if not any(block[-4:]):  # an empty block, or none
            return
        with named_gzip(self.path):
            is_inside = begin != b"@" and not igzip.decompress(block).endswith(b"\n")
        if is_inside:
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


def collating(path: str) -> str:
    """Return the command that maps the pairs of BAM or CRAM in any order; "" if a file is neither."""
    if not os.path.isfile(path):
        return ""
    with Source(path) as source:
        command = f"samtools collate -O {shlex.quote(path)} | fmx search --interleaved -"
        return command if source.alignments else ""


def is_wrapped(head: bytes) -> bool:
    """Return whether FASTQ that begins with ``head`` has a record with several lines of sequence there.

    Its qualities must have as many characters as the sequence, and end before a record, or beyond the head.
    """
    lines = [line.removesuffix(b"\r") for line in head.split(b"\n")[:-1]]
    i, n = 0, len(lines)
    while i < n and lines[i].startswith(b"@"):
        plus = next((j for j in range(i + 1, n) if lines[j].startswith(b"+")), n)
        if plus > i + 2:
            sequence = b"".join(lines[i + 1 : plus])
            left, j = len(sequence), plus + 1
            while left > 0 and j < n:
                left, j = left - len(lines[j]), j + 1
            is_record = left == 0 if j < n and lines[j][:1] in (b"@", b"") else left >= 0 and j >= n
            return is_record and all(lines[i + 1 : plus]) and not sequence.translate(None, LETTERS)
        i = plus + 2
    return False


class OutputFile:
    """An open file, which appears whole at ``path`` with ``commit``; ``file``: the open binary file.

    Devices, pipes and '-' (standard output) are written directly, and so are files ``in_folder``, a draft
    already.  With ``has_thread``, a thread writes one piece at a time to a file that is not written directly,
    and its errors are raised later.  ``stack`` closes the file; a draft without ``commit`` is removed.
    ``replaced``: suffixes of older files, such as an index, that ``commit`` removes.  Raises OutputError.
    """

    def __init__(
        self, path: str, stack: ExitStack, has_thread: bool = False, in_folder: bool = False
    ) -> None:
        self.path, self._stack, self._pool = path, stack, None
        self._drafts: list[DraftFile] = []
        self._last: Future[None] | None = None
        self.replaced: tuple[str, ...] = ()
        with named_output(path):
            if path == STANDARD:
                self.file: BinaryIO = sys.stdout.buffer
            elif in_folder or is_special(path):
                descriptor = None if in_folder else descriptor_of(path)
                place = path if descriptor is None else os.dup(descriptor)
                self.file = open(place, "xb" if in_folder else "wb")  # noqa: SIM115
                stack.callback(self._close)
            else:
                self._drafts.append(stack.enter_context(DraftFile(path)))
                self.file = self._drafts[0].file
        if not (self._drafts or in_folder):
            widen(self.file)
        elif has_thread:
            from concurrent.futures import ThreadPoolExecutor  # not needed without files of reads

            self._pool = stack.enter_context(ThreadPoolExecutor(1))

    def _close(self) -> None:
        with suppress(OSError):  # data that a full device did not accept
            self.file.close()

    @property
    def draft(self) -> str | None:
        """Path of the draft; None if the file is written directly."""
        return str(self._drafts[0].path) if self._drafts else None

    def companion(self, suffix: str) -> str:
        """Return the path of a draft that appears with the file, under its name with a suffix."""
        self._drafts.append(self._stack.enter_context(DraftFile(f"{self._drafts[0].final}{suffix}")))
        return str(self._drafts[-1].path)

    def write(self, piece: Any) -> None:
        """Write bytes, or have the thread write them."""
        if not self._pool:
            return self._put(piece)
        if self._last:
            self._last.result()
        self._last = self._pool.submit(self._put, piece)

    def _put(self, piece: Any) -> None:
        with named_output(self.path):
            self.file.write(piece)

    def complete(self) -> None:
        """Wait until all pieces have been written, a draft to disk."""
        if self._last:
            self._last.result()
        with named_output(self.path):
            self.file.flush()
            for draft in self._drafts:
                draft.complete()

    def commit(self) -> None:
        """Rename the complete drafts to their final names."""
        with named_output(self.path):
            for suffix in self.replaced:
                with suppress(FileNotFoundError):
                    os.unlink(f"{self._drafts[0].final}{suffix}")
            for draft in self._drafts:
                draft.commit(is_complete=True)


def is_special(path: str) -> bool:
    """Whether a path exists and is not a regular file, or names an open descriptor.  Raises OSError."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode) or descriptor_of(path) is not None
    except FileNotFoundError:
        return False


def descriptor_of(path: str) -> int | None:
    """The open descriptor that a path such as /dev/stdout or /dev/fd/3 names; keeps its append mode."""
    while os.path.islink(path):
        folder = os.path.realpath(os.path.dirname(path))
        if folder == f"/proc/{os.getpid()}/fd":
            return int(os.path.basename(path))
        path = os.path.join(folder, os.readlink(path))
    return None


@contextmanager
def named_output(path: str) -> Iterator[None]:
    """Turn system errors while writing an output into OutputError, except for a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write("standard output" if path == STANDARD else path, error) from error
