"""Maximal matches of queries as records of a format."""

import numpy as np

from ..compiler.functions import compiled, inlined
from ..index.reference import place_of
from .buffers import Buffers
from .records import Record, put_head, put_record, widest


class MatchWriter(Buffers):
    """Formats matches by a form (records.py); one instance serves all threads.

    ``is_sam``: queries must keep SAM's rules, and the letters of each match are written.
    """

    def __init__(self, form, is_sam=False):
        super().__init__()
        self.form, self.is_sam, self._widest = form, is_sam, widest(form)

    def format(self, batch, strands, matches, rows) -> np.ndarray:
        """Bytes of matches, and of what precedes each of ``rows`` (from, to), with matches or without."""
        n_lines = rows[1] - rows[0] + matches.length.size
        room = n_lines * self._widest + int(_room_of_names(batch, strands, matches, *rows))
        if self.is_sam:
            room += int(matches.length.sum())
        out = self.take(room)
        return out[: _write(self.form, batch, strands, matches, *rows, out)]


@compiled
def _room_of_names(batch, strands, matches, row, last_row):
    """Bytes of the names of rows and of matches."""
    room = np.int64(0)
    for i in range(row, last_row):
        room += batch.name_length[i >> 1]
    for j in range(matches.length.size):
        room += batch.name_length[strands.row[matches.strand[j]] >> 1]
    return room


@compiled
def _write(form, batch, strands, matches, row, last_row, out):
    at = np.int64(0)
    for j in range(matches.length.size):
        last = strands.row[matches.strand[j]]
        while row <= last:
            at = put_head(form, out, at, batch, row)
            row += 1
        at = put_record(form, out, at, batch, _record(form, batch, strands, matches, j))
    while row < last_row:
        at = put_head(form, out, at, batch, row)
        row += 1
    return at


@inlined
def _record(form, batch, strands, matches, j):
    """Match j as its query was given, on the plus strand of its contig."""
    i, length = matches.strand[j], matches.length[j]
    query, reverse = strands.row[i] >> 1, strands.row[i] & 1 == 1
    begin = strands.offset[i] + matches.position[j]
    begin = batch.length[query] - begin - length if reverse else begin
    place = place_of(form.blocks, matches.text[j])
    return Record(query, begin, begin + length, reverse, place.contig, place.position, 0, 0, 0, 0, 0)
