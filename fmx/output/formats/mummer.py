"""The format of MUMmer's mummer: a header line per row, then one line per match, 1-based."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...dna import FORWARD, REVERSE
from ...index.reference import Blocks
from .. import Opening, SamHeader, put, records
from ..lines import MatchWriter
from ..records import contigs_of, put_head, put_record

if TYPE_CHECKING:
    from ...index.reference import Reference

_HEAD, _REVERSE, _LENGTH, _GAP = map(put.as_bytes, ("> ", " Reverse", "  Len = ", "  "))


class _Mummer(NamedTuple):
    """``width`` of the column of contigs, 0 for none; ``which`` strands have header lines (reads.pack);
    ``original`` and ``lengths``: mummer's options -c and -L."""

    names: put.NameLines
    blocks: Blocks
    which: int
    width: int
    original: bool
    lengths: bool


def open_matches(reference: "Reference", output: Any, which: int, sam_header: SamHeader) -> Opening:
    """Return (MatchWriter, nothing)."""
    columns = output.four_columns or len(reference.names) > 1
    names, blocks = contigs_of(reference)
    width = int(np.diff(names.first).max()) - 1 if columns else 0
    form = _Mummer(names, blocks, which, width, output.original, output.lengths)
    return MatchWriter(form), b""


@put_head.register(_Mummer)
def _put_head(form, out, at, batch, row):
    if form.which & (REVERSE if row & 1 else FORWARD) == 0:
        return at
    at = put.text(out, at, _HEAD)
    if batch.name_length[row >> 1] > 0:
        at = put.query(out, at, batch, row >> 1)
    if row & 1:
        at = put.text(out, at, _REVERSE)
    if form.lengths:
        at = put.number(out, put.text(out, at, _LENGTH), batch.length[row >> 1])
    return put.byte(out, at, put.LINE)


@put_record.register(_Mummer)
def _put_match(form, out, at, batch, record):
    if form.width:
        end = at + _GAP.size + form.width
        at = put.name(out, put.text(out, at, _GAP), form.names, record.contig)
        while at < end:
            at = put.byte(out, at, put.SPACE)
        at = put.text(out, at, _GAP)
    begin = record.begin + 1
    if record.flag & records.REVERSE:
        begin = record.end if form.original else batch.length[record.query] - record.end + 1
    at = put.padded(out, put.text(out, put.padded(out, at, record.start + 1), _GAP), begin)
    return put.byte(out, put.padded(out, put.text(out, at, _GAP), record.end - record.begin), put.LINE)
