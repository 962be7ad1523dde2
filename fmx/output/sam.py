"""SAM 1.6 text; which fields and flags are written is told in docs/formats.md."""

import numpy as np

from ..compiler.functions import compiled, inlined
from ..index.reference import find_block
from .text import (
    Names,
    as_bytes,
    make_names,
    put_all,
    put_backwards,
    put_byte,
    put_bytes,
    put_complement,
    put_letters,
    put_name,
    put_number,
    record_space,
)

TAB, STAR, LINE = 9, 42, 10
_UNMAPPED = as_bytes("\t4\t*\t0\t0\t*\t*\t0\t0\t")
_NH, _HI, _NM_MD = as_bytes("\tNH:i:"), as_bytes("\tHI:i:"), as_bytes("\tNM:i:0\tMD:Z:")
_MATCH = as_bytes("M\t*\t0\t0\t")
_FIXED = 160  # bytes of a record beside names, letters and read group


def header(reference, version, command_line, read_group="") -> bytes:
    """The header lines; ``read_group`` is a whole @RG line or empty."""
    lines = ["@HD\tVN:1.6\tSO:unsorted\tGO:query"]
    digests = reference.md5.tobytes().hex()
    for i, name in enumerate(reference.names):
        lines.append(f"@SQ\tSN:{name}\tLN:{reference.lengths[i]}\tM5:{digests[32 * i : 32 * i + 32]}")
    if read_group:
        lines.append(read_group)
    lines.append(f"@PG\tID:fmx\tPN:fmx\tVN:{version}\tCL:{command_line}")
    return "".join(line + "\n" for line in lines).encode()


def mapping_quality(n: int) -> int:
    """MAPQ of a read with n occurrences, each as likely: -10 log10(1 - 1/n), at most 60."""
    return 60 if n == 1 else min(60, round(-10 * np.log10(1 - 1 / n)))


MAPQ = np.array([0, *(mapping_quality(n) for n in range(1, 32))], np.int64)  # 0 from n = 10 on


def open_writer(reference, output, sam_header):
    """(writer, bytes before the first record)."""
    names = make_names(reference.names)
    return SamWriter(names, reference.blocks, output.unmapped, output.read_group_id), sam_header()


class SamWriter:
    """Formats batches as SAM text; one instance serves all threads."""

    is_sam = True

    def __init__(self, names: Names, blocks, unmapped: bool, read_group_id: str = ""):
        self.names, self.blocks, self.unmapped = names, blocks, unmapped
        self.tail = as_bytes(f"\tRG:Z:{read_group_id}" if read_group_id else "")
        self._fixed = _FIXED + self.tail.size + int(np.diff(names.first).max())

    def format(self, batch, hits, start, first_hit, last_hit) -> np.ndarray:
        """Bytes of the records of reads ``start`` onwards, as far as their hits are first_hit to last_hit."""
        space = record_space(batch, hits, start, first_hit, last_hit, self._fixed)
        out = np.empty(space, np.uint8)
        n = _format(
            batch, hits, start, first_hit, last_hit, self.names, self.blocks, self.unmapped, self.tail,
            MAPQ, out,
        )  # fmt: skip
        return out[:n]

    def end(self) -> bytes:
        return b""


@compiled
def _format(batch, hits, start, first_hit, last_hit, names, blocks, unmapped, tail, mapq, out):
    at = np.int64(0)
    for i in range(hits.total.size):
        r, total, first = start + i, hits.total[i], hits.first[i]
        if hits.first[i + 1] == first:
            if unmapped:
                at = put_bytes(out, at, batch.data, batch.name_start[r], batch.name_length[r])
                if batch.name_length[r] == 0:
                    at = put_byte(out, at, STAR)
                at = put_all(out, at, _UNMAPPED)
                at = _put_read(out, at, batch, r, False)
                at = put_number(out, put_all(out, at, _NH), total)
                at = put_byte(out, put_all(out, at, tail), LINE)
            continue
        for hit in range(max(first, first_hit), min(hits.first[i + 1], last_hit)):
            position, reverse = hits.position[hit], hits.reverse[hit]
            block = find_block(blocks, position)
            at = put_bytes(out, at, batch.data, batch.name_start[r], batch.name_length[r])
            if batch.name_length[r] == 0:
                at = put_byte(out, at, STAR)
            at = put_byte(out, at, TAB)
            at = put_number(out, at, 16 * reverse + 256 * (hit > first))
            at = put_name(out, put_byte(out, at, TAB), names, blocks.contig[block])
            at = put_byte(out, at, TAB)
            at = put_number(out, at, position - blocks.text_start[block] + blocks.contig_start[block] + 1)
            at = put_number(out, put_byte(out, at, TAB), mapq[total] if total < mapq.size else 0)
            at = put_number(out, put_byte(out, at, TAB), batch.length[r])
            at = put_all(out, at, _MATCH)
            if hit > first:
                out[at], out[at + 1], out[at + 2] = STAR, TAB, STAR
                at += 3
            else:
                at = _put_read(out, at, batch, r, reverse)
            at = put_number(out, put_all(out, at, _NH), total)
            at = put_number(out, put_all(out, at, _HI), hit - first + 1)
            at = put_number(out, put_all(out, at, _NM_MD), batch.length[r])
            at = put_byte(out, put_all(out, at, tail), LINE)
    return at


@inlined
def _put_read(out, at, batch, r, reverse):
    """SEQ and QUAL, as the strand asks."""
    n, quality = batch.length[r], batch.quality_start[r]
    if n == 0:
        at = put_byte(out, at, STAR)
    elif reverse:
        at = put_complement(out, at, batch, r)
    else:
        at = put_letters(out, at, batch, r)
    at = put_byte(out, at, TAB)
    if quality < 0 or n == 0:
        return put_byte(out, at, STAR)
    if reverse:
        return put_backwards(out, at, batch.data, quality, n)
    return put_bytes(out, at, batch.data, quality, n)
