"""Matches as text: MUMmer's own format, and PAF, BED6, TSV or SAM, one line a match.

A writer's ``format(batch, strands, matches, rows)`` gives the lines of matches, and the header lines of
``rows`` (from, to): rows without matches have one too in MUMmer's format.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.contract import by_type
from ..compiler.functions import compiled, inlined
from ..index.reference import Blocks, find_block
from ..input.reads import FORWARD, REVERSE
from ..output.text import Names, as_bytes, put_all, put_byte, put_bytes, put_name, put_number, put_padded

TAB, LINE, SPACE, PLUS, MINUS, STAR = 9, 10, 32, 43, 45, 42
_REVERSE, _LENGTH, _FULL, _EQUAL = map(as_bytes, (" Reverse", "  Len = ", "\t255\tcg:Z:", "=\n"))
_SAM_MATE, _SAM_TAGS = map(as_bytes, ("\t*\t0\t0\t", "\tNM:i:0\tMD:Z:"))
_NUMBERS = 260  # bytes of a line beside names and letters: enough for every number
TSV_HEADER = b"query\tquery_start\tquery_end\tstrand\tcontig\tstart\tend\tlength\n"


class Place(NamedTuple):
    """A match on the plus strand of its contig and as its query was given: 0-based, half-open."""

    query: int
    begin: int
    end: int
    reverse: bool
    contig: int
    start: int
    length: int


class Mummer(NamedTuple):
    """MUMmer's format: ``width`` of the column of contigs, 0 for none; the rest as its -c and -L."""

    names: Names
    blocks: Blocks
    which: int
    width: int
    original: bool
    lengths: bool


class Paf(NamedTuple):
    """PAF; ``contig_lengths`` int64[n]."""

    names: Names
    blocks: Blocks
    contig_lengths: np.ndarray


class Bed(NamedTuple):
    """BED6: the place in the reference, the query's name, 0, the strand."""

    names: Names
    blocks: Blocks


class Tsv(NamedTuple):
    """Places in query and reference, after TSV_HEADER."""

    names: Names
    blocks: Blocks


class Sam(NamedTuple):
    """SAM, each match an alignment of a part of its query, the rest clipped away."""

    names: Names
    blocks: Blocks


@by_type
def put_head(form, out, at, batch, row):
    """The header line of a row."""


@by_type
def put_match(form, out, at, batch, row, position, place):
    """The line of a match that starts at ``position`` of its row."""


def write(form, batch, strands, matches, rows, spare) -> np.ndarray:
    """Bytes of matches, and of the header lines of ``rows``, each before the matches of its row.

    They are the beginning of an array of their own, or of ``spare`` (deque), whose arrays are taken from it.
    """
    n_lines = rows[1] - rows[0] + matches.length.size
    space = n_lines * (_NUMBERS + int(np.diff(form.names.first).max()))
    space += int(_name_space(batch, strands, matches, *rows))
    if isinstance(form, Sam):
        space += 2 * int(matches.length.sum())
    out = _take(spare, space + 32)
    return out[: _write(form, batch, strands, matches, rows[0], rows[1], out)]


def _take(spare, size) -> np.ndarray:
    """An array of ``size`` bytes or more."""
    try:
        out = spare.pop()
    except IndexError:
        return np.empty(size, np.uint8)
    return out if out.size >= size else np.empty(size, np.uint8)


@compiled
def _name_space(batch, strands, matches, row, last_row):
    """Bytes of the names of rows and of matches."""
    space = np.int64(0)
    for i in range(row, last_row):
        space += batch.name_length[i >> 1]
    for j in range(matches.length.size):
        space += batch.name_length[strands.row[matches.strand[j]] >> 1]
    return space


@compiled
def _write(form, batch, strands, matches, row, last_row, out):
    at = np.int64(0)
    for j in range(matches.length.size):
        i = matches.strand[j]
        while row <= strands.row[i]:
            at = put_head(form, out, at, batch, row)
            row += 1
        position = strands.offset[i] + matches.position[j]
        at = put_match(
            form, out, at, batch, strands.row[i], position, _place(form, batch, strands, matches, j)
        )
    while row < last_row:
        at = put_head(form, out, at, batch, row)
        row += 1
    return at


@inlined
def _place(form, batch, strands, matches, j):
    i, length, text = matches.strand[j], matches.length[j], matches.text[j]
    query, reverse = strands.row[i] >> 1, strands.row[i] & 1 == 1
    begin = strands.offset[i] + matches.position[j]
    begin = batch.length[query] - begin - length if reverse else begin
    block = find_block(form.blocks, text)
    start = text - form.blocks.text_start[block] + form.blocks.contig_start[block]
    return Place(query, begin, begin + length, reverse, form.blocks.contig[block], start, length)


@inlined
def put_query(out, at, batch, r):
    """The name of a query; * if it has none."""
    if batch.name_length[r] == 0:
        return put_byte(out, at, STAR)
    return put_bytes(out, at, batch.data, batch.name_start[r], batch.name_length[r])


@inlined
def _put_gap(out, at):
    return put_byte(out, put_byte(out, at, SPACE), SPACE)


@put_head.register(Mummer)
def _head_mummer(form, out, at, batch, row):
    if form.which & (REVERSE if row & 1 else FORWARD) == 0:
        return at
    at = put_byte(out, put_byte(out, at, 62), SPACE)
    if batch.name_length[row >> 1] > 0:
        at = put_query(out, at, batch, row >> 1)
    if row & 1:
        at = put_all(out, at, _REVERSE)
    if form.lengths:
        at = put_number(out, put_all(out, at, _LENGTH), batch.length[row >> 1])
    return put_byte(out, at, LINE)


@put_match.register(Mummer)
def _match_mummer(form, out, at, batch, row, position, place):
    if form.width:
        at = _put_gap(out, at)
        end = at + form.width
        at = put_name(out, at, form.names, place.contig)
        while at < end:
            at = put_byte(out, at, SPACE)
        at = _put_gap(out, at)
    at = _put_gap(out, put_padded(out, at, place.start + 1))
    reverse = form.original and place.reverse
    at = _put_gap(out, put_padded(out, at, place.end if reverse else position + 1))
    return put_byte(out, put_padded(out, at, place.length), LINE)


@put_head.register(Paf)
def _head_paf(form, out, at, batch, row):
    return at


@put_match.register(Paf)
def _match_paf(form, out, at, batch, row, position, place):
    at = put_byte(out, put_query(out, at, batch, place.query), TAB)
    at = put_number(out, at, batch.length[place.query])
    at = put_number(out, put_byte(out, at, TAB), place.begin)
    at = put_number(out, put_byte(out, at, TAB), place.end)
    at = put_byte(out, put_byte(out, at, TAB), MINUS if place.reverse else PLUS)
    at = put_name(out, put_byte(out, at, TAB), form.names, place.contig)
    at = put_number(out, put_byte(out, at, TAB), form.contig_lengths[place.contig])
    at = put_number(out, put_byte(out, at, TAB), place.start)
    at = put_number(out, put_byte(out, at, TAB), place.start + place.length)
    at = put_number(out, put_byte(out, at, TAB), place.length)
    at = put_number(out, put_byte(out, at, TAB), place.length)
    at = put_number(out, put_all(out, at, _FULL), place.length)
    return put_all(out, at, _EQUAL)


@put_head.register(Bed)
def _head_bed(form, out, at, batch, row):
    return at


@put_match.register(Bed)
def _match_bed(form, out, at, batch, row, position, place):
    at = put_byte(out, put_name(out, at, form.names, place.contig), TAB)
    at = put_number(out, at, place.start)
    at = put_number(out, put_byte(out, at, TAB), place.start + place.length)
    at = put_query(out, put_byte(out, at, TAB), batch, place.query)
    at = put_byte(out, put_number(out, put_byte(out, at, TAB), 0), TAB)
    return put_byte(out, put_byte(out, at, MINUS if place.reverse else PLUS), LINE)


@put_head.register(Tsv)
def _head_tsv(form, out, at, batch, row):
    return at


@put_match.register(Tsv)
def _match_tsv(form, out, at, batch, row, position, place):
    at = put_number(out, put_byte(out, put_query(out, at, batch, place.query), TAB), place.begin)
    at = put_byte(out, put_number(out, put_byte(out, at, TAB), place.end), TAB)
    at = put_byte(out, put_byte(out, at, MINUS if place.reverse else PLUS), TAB)
    at = put_byte(out, put_name(out, at, form.names, place.contig), TAB)
    at = put_number(out, at, place.start)
    at = put_number(out, put_byte(out, at, TAB), place.start + place.length)
    return put_byte(out, put_number(out, put_byte(out, at, TAB), place.length), LINE)


@put_head.register(Sam)
def _head_sam(form, out, at, batch, row):
    return at


@inlined
def _put_clip(out, at, n):
    return put_byte(out, put_number(out, at, n), 72) if n > 0 else at


@put_match.register(Sam)
def _match_sam(form, out, at, batch, row, position, place):
    q = place.query
    at = put_query(out, at, batch, q)
    at = put_number(out, put_byte(out, at, TAB), 16 if place.reverse else 0)
    at = put_name(out, put_byte(out, at, TAB), form.names, place.contig)
    at = put_number(out, put_byte(out, at, TAB), place.start + 1)
    at = put_number(out, put_byte(out, at, TAB), 255)
    at = _put_clip(out, put_byte(out, at, TAB), position)
    at = put_byte(out, put_number(out, at, place.length), 77)
    at = _put_clip(out, at, batch.length[q] - position - place.length)
    at = put_all(out, at, _SAM_MATE)
    for j in range(place.length):
        k = batch.start[q] + (place.end - 1 - j if place.reverse else place.begin + j)
        out[at + j] = _letter(batch.data[k], place.reverse)
    at += place.length
    at = put_byte(out, put_byte(out, at, TAB), STAR)
    at = put_number(out, put_all(out, at, _SAM_TAGS), place.length)
    return put_byte(out, at, LINE)


@inlined
def _letter(byte, reverse):
    """A letter (A C G T U, any case) in upper case, U as T; its complement on the reverse strand."""
    code = (byte >> 1) & 3  # A 0, C 1, T and U 2, G 3
    code = (code ^ 2) if reverse else code
    if code == 0:
        return np.uint8(65)
    if code == 1:
        return np.uint8(67)
    return np.uint8(84) if code == 2 else np.uint8(71)
