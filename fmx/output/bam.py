"""BAM: records encoded in compiled code, compressed by isal into BGZF blocks by the thread that made them.

pysam's BGZF writer works at zlib's speed and holds Python's lock; isal at level 1 is several times faster
(docs/architecture.md), so the 26 bytes around each deflate stream are written here.
"""

import struct
import zlib

import numpy as np
from isal import isal_zlib

from ..compiler.functions import compiled, inlined
from ..errors import UnsupportedError
from ..index.reference import find_block
from .sam import MAPQ
from .text import (
    as_bytes,
    put_all,
    put_backwards,
    put_byte,
    put_bytes,
    put_complement,
    put_letters,
    put_number,
    record_space,
)

MAX_CONTIG = 2**31 - 1  # bases
BLOCK = 0xFF00  # uncompressed bytes in a BGZF block
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_FIXED = 96  # bytes of a record beside name, letters, qualities and read group
_NIBBLE = np.full(256, 15, np.uint8)  # letter -> 4-bit code of BAM
for _code, _letter in enumerate(b"=ACMGRSVTWYHKDBN"):
    _NIBBLE[_letter] = _code
_NH, _HI, _NM, _MD = as_bytes("NHi"), as_bytes("HIi"), as_bytes("NMC\0"), as_bytes("MDZ")


def bgzf(data) -> bytes:
    """``data`` (bytes-like) as BGZF blocks, without the end marker."""
    view, blocks = memoryview(data), []
    for start in range(0, len(view), BLOCK):
        piece = view[start : start + BLOCK]
        deflated = isal_zlib.compress(piece, 1, wbits=-15)
        blocks.append(struct.pack("<4BI2BH2B2H", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(deflated) + 25))
        blocks.append(deflated)
        blocks.append(struct.pack("<2I", zlib.crc32(piece), len(piece)))
    return b"".join(blocks)


def header(reference, sam_header: bytes) -> bytes:
    """The BAM header: SAM text and the table of contigs, compressed.

    Raises UnsupportedError for a contig whose positions BAM cannot hold.
    """
    longest = int(np.argmax(reference.lengths))
    if reference.lengths[longest] > MAX_CONTIG:
        raise UnsupportedError(
            f"contig {reference.names[longest]} has {reference.lengths[longest]} bases, and BAM holds "
            f"contigs of at most {MAX_CONTIG}: write SAM"
        )
    parts = [b"BAM\1", struct.pack("<i", len(sam_header)), sam_header]
    parts.append(struct.pack("<i", len(reference.names)))
    for name, length in zip(reference.names, reference.lengths, strict=True):
        encoded = name.encode() + b"\0"
        parts += [struct.pack("<i", len(encoded)), encoded, struct.pack("<i", int(length))]
    return bgzf(b"".join(parts))


def open_writer(reference, output, sam_header):
    """(writer, bytes before the first record)."""
    writer = BamWriter(reference.blocks, output.unmapped, output.read_group_id)
    return writer, header(reference, sam_header())


class BamWriter:
    """Formats batches as compressed BAM; one instance serves all threads."""

    is_sam = True

    def __init__(self, blocks, unmapped: bool, read_group_id: str = ""):
        self.blocks, self.unmapped = blocks, unmapped
        self.tail = as_bytes(f"RGZ{read_group_id}\0" if read_group_id else "")

    def format(self, batch, hits, start, first_hit, last_hit) -> bytes:
        """Records of reads ``start`` onwards, as far as their hits are first_hit to last_hit."""
        space = record_space(batch, hits, start, first_hit, last_hit, _FIXED + self.tail.size)
        out = np.empty(space, np.uint8)
        n = _format(
            batch, hits, start, first_hit, last_hit, self.blocks, self.unmapped, self.tail,
            MAPQ, _NIBBLE, out,
        )  # fmt: skip
        return bgzf(out[:n])

    def end(self) -> bytes:
        return BGZF_END


@inlined
def _put_int(out, at, x, n_bytes):
    """x, little-endian in n_bytes."""
    for j in range(n_bytes):
        out[at + j] = np.uint8((x >> (8 * j)) & 255)
    return at + n_bytes


@inlined
def _bin(start, end):
    """The bin of [start, end), as the SAM specification's reg2bin (section 5.3)."""
    end -= 1
    shift, base = 14, ((1 << 15) - 1) // 7
    while shift < 29:
        if start >> shift == end >> shift:
            return base + (start >> shift)
        shift += 3
        base = (base - 1) // 8
    return np.int64(0)


@compiled
def _format(batch, hits, start, first_hit, last_hit, blocks, unmapped, tail, mapq, nibble, out):
    at = np.int64(0)
    for i in range(hits.total.size):
        r, total, first = start + i, hits.total[i], hits.first[i]
        if hits.first[i + 1] == first and unmapped:
            begin = at
            at = _put_core(out, at, batch, r, -1, -1, 0, 4680, 4, 0, batch.length[r])
            at = _put_read(out, at, batch, r, False, nibble)
            at = _put_int(out, put_all(out, at, _NH), total, 4)
            at = put_all(out, at, tail)
            _put_int(out, begin, at - begin - 4, 4)
        for hit in range(max(first, first_hit), min(hits.first[i + 1], last_hit)):
            position, reverse, length = hits.position[hit], hits.reverse[hit], batch.length[r]
            block = find_block(blocks, position)
            place = position - blocks.text_start[block] + blocks.contig_start[block]
            begin, flag = at, 16 * reverse + 256 * (hit > first)
            at = _put_core(
                out, at, batch, r, blocks.contig[block], place,
                mapq[total] if total < mapq.size else 0,
                _bin(place, place + length), flag, 1, 0 if hit > first else length,
            )  # fmt: skip
            at = _put_int(out, at, length << 4, 4)
            if hit == first:
                at = _put_read(out, at, batch, r, reverse, nibble)
            at = _put_int(out, put_all(out, at, _NH), total, 4)
            at = _put_int(out, put_all(out, at, _HI), hit - first + 1, 4)
            at = put_all(out, put_all(out, at, _NM), _MD)
            at = put_byte(out, put_number(out, at, length), 0)
            at = put_all(out, at, tail)
            _put_int(out, begin, at - begin - 4, 4)
    return at


@inlined
def _put_core(out, at, batch, r, contig, place, quality, bin_number, flag, n_cigar, length):
    """The fixed part of a record and its name; the size at its start is written when it is known."""
    n_name = max(1, batch.name_length[r])
    at = _put_int(out, at + 4, contig, 4)
    at = _put_int(out, at, place, 4)
    at = put_byte(out, at, n_name + 1)
    at = put_byte(out, at, quality)
    at = _put_int(out, at, bin_number, 2)
    at = _put_int(out, at, n_cigar, 2)
    at = _put_int(out, at, flag, 2)
    at = _put_int(out, at, length, 4)
    at = _put_int(out, _put_int(out, at, -1, 4), -1, 4)
    at = _put_int(out, at, 0, 4)
    if batch.name_length[r] == 0:
        at = put_byte(out, at, 42)
    at = put_bytes(out, at, batch.data, batch.name_start[r], batch.name_length[r])
    return put_byte(out, at, 0)


@inlined
def _put_read(out, at, batch, r, reverse, nibble):
    """Letters, two in a byte, and qualities; the letters stand in the place of the qualities meanwhile."""
    n, quality = batch.length[r], batch.quality_start[r]
    n_bytes = (n + 1) >> 1
    letters = at + n_bytes
    if reverse:
        put_complement(out, letters, batch, r)
    else:
        put_letters(out, letters, batch, r)
    out[letters + n] = 61  # '=', 0 in BAM: the half that is left over
    for j in range(n_bytes):
        out[at + j] = (nibble[out[letters + 2 * j]] << 4) | nibble[out[letters + 2 * j + 1]]
    at = letters
    if quality < 0:
        for j in range(n):
            out[at + j] = 255
    else:
        if reverse:
            put_backwards(out, at, batch.data, quality, n)
        else:
            put_bytes(out, at, batch.data, quality, n)
        for j in range(n):
            out[at + j] -= 33
    return at + n
