"""Occurrences as BED6 or TSV, and the table of counts per contig."""

import numpy as np

from ..compiler.functions import compiled
from ..index.reference import find_block
from .text import Names, make_names, put_byte, put_bytes, put_name, put_number, record_space

TAB, LINE, PLUS, MINUS = 9, 10, 43, 45
TSV_HEADER = b"pattern\tcontig\tstart\tend\tstrand\toccurrences\n"


def open_writer(reference, output, sam_header):
    """(writer, bytes before the first record)."""
    bed = output.kind == "bed"
    return TableWriter(make_names(reference.names), reference.blocks, bed), b"" if bed else TSV_HEADER


class TableWriter:
    """One line a hit, 0-based and half-open: BED6 (name; score 0), or TSV with the number of occurrences.

    A read without a name is named by its letters.
    """

    is_sam = False

    def __init__(self, names: Names, blocks, bed: bool):
        self.names, self.blocks, self.bed = names, blocks, bed
        self._fixed = 80 + int(np.diff(names.first).max())

    def format(self, batch, hits, start, first_hit, last_hit) -> np.ndarray:
        """Lines of reads ``start`` onwards, as far as their hits are first_hit to last_hit."""
        nameless = batch.name_length == 0
        batch = batch._replace(
            name_start=np.where(nameless, batch.start, batch.name_start),
            name_length=np.where(nameless, batch.length, batch.name_length),
        )
        out = np.empty(record_space(batch, hits, start, first_hit, last_hit, self._fixed), np.uint8)
        n = _format(batch, hits, start, first_hit, last_hit, self.names, self.blocks, self.bed, out)
        return out[:n]

    def end(self) -> bytes:
        return b""


@compiled
def _format(batch, hits, start, first_hit, last_hit, names, blocks, bed, out):
    at = np.int64(0)
    for i in range(hits.total.size):
        r = start + i
        for hit in range(max(hits.first[i], first_hit), min(hits.first[i + 1], last_hit)):
            position = hits.position[hit]
            block = find_block(blocks, position)
            place = position - blocks.text_start[block] + blocks.contig_start[block]
            if not bed:
                at = put_bytes(out, at, batch.data, batch.name_start[r], batch.name_length[r])
                at = put_byte(out, at, TAB)
            at = put_byte(out, put_name(out, at, names, blocks.contig[block]), TAB)
            at = put_byte(out, put_number(out, at, place), TAB)
            at = put_byte(out, put_number(out, at, place + batch.length[r]), TAB)
            if bed:
                at = put_bytes(out, at, batch.data, batch.name_start[r], batch.name_length[r])
                out[at], out[at + 1], out[at + 2] = TAB, 48, TAB
                at += 3
            at = put_byte(out, at, MINUS if hits.reverse[hit] else PLUS)
            if not bed:
                at = put_number(out, put_byte(out, at, TAB), hits.total[i])
            at = put_byte(out, at, LINE)
    return at


def counts_table(reference, tally) -> bytes:
    """Per contig: length, reads that occur in it, and their occurrences."""
    lines = ["contig\tlength\treads\thits\n"]
    for name, length, (reads, hits) in zip(reference.names, reference.lengths, tally.tolist(), strict=True):
        lines.append(f"{name}\t{length}\t{reads}\t{hits}\n")
    return "".join(lines).encode()
