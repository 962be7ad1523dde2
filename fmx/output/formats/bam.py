"""BAM: records are encoded in compiled code and compressed into BGZF blocks with isal, by the same thread.

isal at level 1 is several times faster than pysam's BGZF writer, which uses zlib and holds Python's lock.
CRAM, sorted output and that with -C go through samtools.  output/__init__.py finds open_hits and container by
their names.  BamHits has the fields of sam.SamHits.
"""

import os
import re
import select
import struct
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ...codecs.bgzf import BGZF_END, deflate
from ...compiler.functions import compiled, inlined, static_type
from ...compiler.primitives import at as element
from ...errors import OutputError, UnsupportedError, installed
from ...index.reference import contig_of, position_of_key
from ...input import alignments
from ...input.streams import STANDARD
from ...system import DraftFolder, available_cores
from .. import PLAIN, Container, Opening, SamHeader, put
from ..files import OutputFile
from ..hits import HitWriter
from ..records import (
    COMMENTS,
    NOWHERE,
    REVERSE,
    SECONDARY,
    UNMAPPED,
    begin_text_tag,
    end_text_tag,
    insert_of,
    put_number_tag,
    put_record,
    put_tags,
)
from . import sam
from .sam import SamHits, form_of, quality_of

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ..search_output import SearchOutput

_MAX_CONTIG = 2**31 - 1  # bases
_NIBBLE = np.full(256, 15, np.uint8)  # letter -> 4-bit code of BAM
for _code, _letter in enumerate(b"=ACMGRSVTWYHKDBN"):
    _NIBBLE[_letter] = _code
_BYTE, _INT, _TEXT = b"CiZ"  # types of tags


def header(reference: "Reference", sam_header: bytes, names: "put.NameLines") -> bytes:
    """Return the BAM header: SAM text and the table of contigs; ``names``: put.NameLines of the contigs.

    Raises UnsupportedError for a contig that is too long for BAM.
    """
    longest = int(np.argmax(reference.lengths))
    if reference.lengths[longest] > _MAX_CONTIG:
        raise UnsupportedError(
            f"contig {reference.names[longest]} has {reference.lengths[longest]} bases, but BAM supports at "
            f"most {_MAX_CONTIG}: write SAM"
        )
    n = reference.lengths.size
    table = np.empty(names.data.size + 9 * n, np.uint8)
    table = table[: _put_contigs(table, names, reference.lengths)]
    start = struct.pack("<4si", b"BAM\1", len(sam_header))
    return b"".join((start, sam_header, struct.pack("<i", n), table.data))


@compiled
def _put_contigs(out, names, lengths):
    """Write each contig's name and length, int64[n]; return the number of bytes."""
    at = np.int64(0)
    for i in range(lengths.size):
        at = put.integer(out, at, names.first[i + 1] - names.first[i], 4)  # including the NUL after the name
        at = put.integer(out, put.byte(out, put.name(out, at, names, i), 0), lengths[i], 4)
    return at


BamHits = static_type("BamHits", SamHits._fields, __name__)


def open_hits(reference: "Reference", output: "SearchOutput", sam_header: SamHeader) -> Opening:
    """Return (HitWriter, header)."""
    form = form_of(BamHits, reference, output)
    head = header(reference, sam_header(form.names), form.names)
    if output.tags & COMMENTS:  # samtools converts the records
        return sam.open_hits(reference, output, sam_header)
    if _is_needed(output):  # samtools takes uncompressed records
        return HitWriter(form, True), head
    return HitWriter(form, True, deflate, BGZF_END), deflate(np.frombuffer(head, np.uint8))


@inlined
def _bin(start, end):
    """Return the bin of [start, end), by reg2bin of the SAM specification (section 5.3)."""
    end -= 1
    shift, base = 14, ((1 << 15) - 1) // 7
    while shift < 29:
        if start >> shift == end >> shift:
            return base + (start >> shift)
        shift += 3
        base = (base - 1) // 8
    return np.int64(0)


@put_number_tag.register(BamHits)
def _put_number_tag(form, out, at, name, x, n_bytes):
    at = put.byte(out, put.text(out, at, name), _BYTE if n_bytes == 1 else _INT)
    return put.integer(out, at, x, n_bytes)


@begin_text_tag.register(BamHits)
def _begin_text_tag(form, out, at, name):
    return put.byte(out, put.text(out, at, name), _TEXT)


@end_text_tag.register(BamHits)
def _end_text_tag(form, out, at):
    return put.byte(out, at, 0)


@put_record.register(BamHits)
def _put_hit(form, out, at, batch, record):
    if record.contig < 0 and not form.unmapped:
        return at
    begin, r, n, key, start = at, record.query, record.end, record.mate.key, record.start
    is_mapped, is_secondary = (record.flag & UNMAPPED) == 0, (record.flag & SECONDARY) != 0
    at = put.integer(out, put.integer(out, at + 4, record.contig, 4), start, 4)  # the size comes last
    at = put.byte(out, at, max(1, batch.name_length[r]) + 1)
    at = put.byte(out, at, quality_of(record.n_best) if is_mapped else 0)
    at = put.integer(out, at, 4680 if record.contig < 0 else _bin(start, start + (n if is_mapped else 1)), 2)
    at = put.integer(out, put.integer(out, at, np.int64(is_mapped), 2), record.flag, 2)
    at = put.integer(out, put.integer(out, at, 0 if is_secondary else n, 4), contig_of(key), 4)
    at = put.integer(out, at, position_of_key(key) if key != NOWHERE else -1, 4)
    at = put.query(out, put.integer(out, at, insert_of(form, record), 4), batch, r)
    at = put.byte(out, at, 0)
    if is_mapped:
        at = put.integer(out, at, n << 4, 4)
    if not is_secondary:
        at = _put_read(out, at, batch, r, (record.flag & REVERSE) != 0)
    at = put_tags(form, out, at, batch, record)
    put.integer(out, begin, at - begin - 4, 4)
    return at


@inlined
def _put_codes(out, at, batch, r, reverse):
    """Write the 4-bit codes of read r, one per byte; its bases are A C G T U.  Like put.bases."""
    start, n = batch.start[r], batch.length[r]
    source, target = batch.data[start : start + n], out[at : at + n]
    a, c, g, t = (8, 4, 2, 1) if reverse else (1, 2, 4, 8)
    for j in range(n):
        x = element(source, n - 1 - j if reverse else j) & np.uint8(0xDF)
        y = np.uint8(t)
        y = np.uint8(a) if x == 65 else y
        y = np.uint8(c) if x == 67 else y
        target[j] = np.uint8(g) if x == 71 else y


@inlined
def _put_read(out, at, batch, r, reverse):
    """Write bases, two per byte, and qualities; the place of the qualities first holds one base per byte."""
    n = batch.length[r]
    n_bytes = (n + 1) >> 1
    letters = at + n_bytes
    packed, codes = out[at:letters], out[letters : letters + n + 1]
    if batch.searchable[r]:
        _put_codes(out, letters, batch, r, reverse)
    else:
        put.letters(out, letters, batch, r, reverse)
        for j in range(n):
            codes[j] = _NIBBLE[codes[j]]
    codes[n] = 0  # '=': the unused half of the last byte
    for j in range(n_bytes):
        packed[j] = np.uint8(codes[2 * j] << 4) | codes[2 * j + 1]
    if batch.quality_start[r] < 0:
        codes[:n] = 255
    else:
        put.qualities(out, letters, batch, r, reverse)
        for j in range(n):
            codes[j] = np.uint8(codes[j] - np.uint8(33))
    return letters + n


# BAM and CRAM through pysam's samtools, in a separate process: sorted and indexed, or as CRAM.
#
#     uncompressed records, or SAM with -C -> pipe -> samtools view, or sort (pieces of bounded memory in a
#     draft of a folder next to the output) -> output and its index, which are drafts
#
# Shards are compressed fast, and sorted in little memory, as a worker makes several at a time.
# CRAM stores the bases of reads (no_ref), so that it can be read without the reference, unless a FASTA file
# is given.

_MEMORY = 1 << 30  # bytes of records that all threads hold at a time
_LEAST = 32 << 20  # of these, per thread
_AT_ONCE = 1 << 20  # bytes that are read
_LONGEST = 2**29  # longest contig that .bai supports, in bases; longer ones need .csi


def _is_needed(output: "SearchOutput") -> bool:
    """Return whether the records of BAM or CRAM go through samtools."""
    return output.sort or output.kind == "cram" or bool(output.tags & COMMENTS)


@dataclass(frozen=True)
class Samtools(Container):
    """``kind`` sam, bam or cram; sorted, with an index of suffix ``index``, or (None) in the input's order.

    ``fasta``: the reference for CRAM; without one, CRAM stores the bases of reads.
    """

    kind: str
    index: str | None
    fasta: str | None

    @contextmanager
    def opened(self, file: OutputFile, n_threads: int) -> Iterator[BinaryIO]:
        """Start samtools; yield its standard input, which takes SAM or BAM.  Raises OutputError."""
        with installed("pysam", alignments.PACKAGE, OutputError):
            import pysam  # noqa: F401
        options = ["-@", str(n_threads), "--no-PG"]
        if self.kind == "cram":
            options += ["--reference", self.fasta] if self.fasta else ["--output-fmt-option", "no_ref=1"]
        is_fast = file.in_folder or (self.kind == "bam" and not self.index)  # as fmx compresses BAM
        kind = f"{self.kind},level=1" if is_fast else self.kind
        with ExitStack() as stack:
            target: str | int = file.draft or os.dup(1 if file.path == STANDARD else file.file.fileno())
            if isinstance(target, int):
                stack.callback(os.close, target)
            name = file.draft or "-"
            if self.index:
                options += ["-m", str(_LEAST if file.in_folder else max(_MEMORY // n_threads, _LEAST))]
                folder: str | Path = (
                    stack.enter_context(DraftFolder(file.path)).path
                    if file.draft
                    else stack.enter_context(tempfile.TemporaryDirectory(prefix="fmx-"))
                )
                command = ["sort", "-O", kind, "-T", f"{folder}/piece", *options]
                if file.draft:
                    name, command = f"{name}##idx##{file.companion(self.index)}", [*command, "--write-index"]
            else:
                command = ["view", "-h", "-O", kind, *options]
            with _child([*command, "-o", name], target, file.path) as pipe:
                yield pipe
            if self.kind == "cram" and file.draft:  # begins with the name of the draft
                os.pwrite(file.file.fileno(), b"-".ljust(20, b"\0"), 6)

    def pieces(self, path: str, data: Iterator[bytes], n_head: int) -> Iterator[bytes]:
        from isal.igzip import IGzipFile  # only for fmx merge

        deque(data, 0)
        command = ["view", "-u", "--no-PG", "-@", str(available_cores()), path]
        command += ["--reference", self.fasta] if self.fasta else []
        with (
            tempfile.TemporaryFile() as messages,
            alignments.start(command, stdout=alignments.PIPE, stderr=messages) as child,
        ):
            records = IGzipFile(fileobj=child.stdout)
            with suppress(EOFError, struct.error):  # samtools ended
                if n_head:
                    _skip_header(records)
                while piece := records.read(_AT_ONCE):
                    yield piece
            if child.wait() != 0:
                why = alignments.last_message(messages, child.returncode)
                why += f"; check that --reference {self.fasta} is unchanged" if self.fasta else ""
                raise OutputError(f"{path}: samtools could not read: {why}")


def _skip_header(file: Any) -> None:
    """Read a BAM header."""
    _, n_text = struct.unpack("<4si", file.read(8))
    file.read(n_text)
    (n_contigs,) = struct.unpack("<i", file.read(4))
    for _ in range(n_contigs):
        (n_name,) = struct.unpack("<i", file.read(4))
        file.read(n_name + 4)


@contextmanager
def _child(arguments: Sequence[str], target: str | int, path: str) -> Iterator[BinaryIO]:
    """Run samtools; yield its standard input, a binary file.

    ``target``: its output, a file or the descriptor of its standard output; ``path``: the name in messages.
    Raises OutputError or OSError if it fails.
    """
    output = alignments.NOTHING if isinstance(target, str) else target
    with tempfile.TemporaryFile() as messages, ExitStack() as stack:
        child = alignments.start([*arguments, "-"], stdin=alignments.PIPE, stdout=output, stderr=messages)
        stack.callback(child.wait)
        stack.callback(child.kill)  # does nothing if it has ended
        pipe: Any = child.stdin
        stack.callback(_close, pipe)
        with suppress(BrokenPipeError):
            yield pipe
            pipe.close()
        if child.wait() != 0:
            _write_again(target)
            why = _why_not_written(messages, child.returncode, arguments[-1], path)
            raise OutputError(f"samtools could not write: {why}")


def _why_not_written(stderr: BinaryIO, code: int, draft: str, path: str) -> str:
    """Return what samtools says is wrong with its output ``draft``, which will be ``path``, in one line."""
    last = alignments.last_message(stderr, code).split("\\n")[-1].replace(f'"{draft}"', path)
    stderr.seek(0)
    differs = re.search(r"M5 tag discrepancy for reference '(.*)'", stderr.read().decode(errors="replace"))
    if differs:
        return f"contig {differs[1]} of --reference differs from that of the index; use the indexed FASTA"
    return last


def _write_again(target: str | int) -> None:
    """Write to an output that samtools could not write, to raise the OSError that samtools does not name."""
    with open(target, "ab", buffering=0, closefd=isinstance(target, str)) as file:
        poll = select.poll()
        poll.register(file, 0)
        if file.seekable() or poll.poll(0):  # not a pipe that is being read
            file.write(bytes(1 << 16))


def _close(pipe: BinaryIO) -> None:
    with suppress(BrokenPipeError):
        pipe.close()


def container(reference: "Reference", output: "SearchOutput") -> Container:
    """Return the container of an output: samtools, if it is needed."""
    if not _is_needed(output):
        return PLAIN
    fasta = os.path.abspath(output.fasta) if output.fasta and output.kind == "cram" else None
    index = ".crai" if output.kind == "cram" else ".csi" if max(reference.lengths) > _LONGEST else ".bai"
    return Samtools(output.kind, index if output.sort else None, fasta)
