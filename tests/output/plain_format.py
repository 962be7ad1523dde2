"""An output format as docs/layouts.md tells it: read, contig, position and strand of a hit, as numbers."""

from typing import NamedTuple

from fmx.index.reference import Blocks
from fmx.output import put
from fmx.output.hits import HitWriter
from fmx.output.records import REVERSE, UNMAPPED, put_record


class Plain(NamedTuple):
    """Contigs and their blocks."""

    names: put.NameLines
    blocks: Blocks


def open_hits(reference, output, sam_header):
    """(writer, bytes before the first record)."""
    form = Plain(put.make_names(reference.names), reference.blocks)
    return HitWriter(form, end=b"end\n"), b"read contig position reverse\n"


@put_record.register(Plain)
def _put_hit(form, out, at, batch, record):
    if record.flag & UNMAPPED:
        return at
    at = put.field(out, put.number(out, at, record.query), record.contig)
    at = put.field(out, put.field(out, at, record.start), 1 if record.flag & REVERSE else 0)
    return put.byte(out, at, put.LINE)
