"""Reads tables in text files: CSV, TSV or semicolon-separated, with or without a header line."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..dna import IUPAC
from ..errors import InputError, n_of, shown
from .spans import read_whole
from .streams import Source

_FOREIGN = {
    b"PK\x03\x04": "an Excel workbook or another zip file: save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook: save the table as CSV",
    b"\xff\xfe": "text in UTF-16: save it as UTF-8",
    b"\xfe\xff": "text in UTF-16: save it as UTF-8",
}


def read_text(path: str | Path) -> str:
    """Return the text of a file, compressed or not, without a byte order mark.  Raises InputError."""
    with Source(path) as source:
        data = read_whole(source).tobytes()
    for begin, what in _FOREIGN.items():
        if data.startswith(begin):
            raise InputError(path, "", f"this is {what}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data[: error.start].count(b"\n")
        raise InputError(path, f"line {line}", "not UTF-8 text: save the file as UTF-8") from error


def read_rows(path: str | Path, text: str, known: Mapping[str, Sequence[str]]) -> list:
    """Return (line number, cells) of each line of a table that is not blank.  Raises InputError.

    The first line sets the separator and the number of cells.  Lines that begin with # are left out, except
    one before the first line that has headings of two or more of ``known`` (as for find_columns).
    """
    lines = text.splitlines()
    first = next((line for line in lines if line.strip() and line.lstrip()[:1] != "#"), "")
    delimiter = next((mark for mark in "\t,;" if mark in first), "\t")
    is_begun = False
    for i, line in enumerate(lines) if "#" in text else ():
        if line.lstrip().startswith("#"):
            heading = line.lstrip().lstrip("#")
            is_heading = not is_begun and len(find_columns(heading.split(delimiter), known)) > 1
            lines[i] = line = heading if is_heading else ""
        is_begun = is_begun or line.strip() != ""
    reader, rows = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter, strict=True), []
    try:
        for cells in reader:
            cells = list(map(str.strip, cells))
            if any(cells):
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        raise InputError(path, f"line {reader.line_num}", f"not a line of a table: {error}") from error
    n = len(rows[0][1]) if rows else 0
    for number, cells in rows:
        if len(cells) != n:
            what = f"it has {n_of(len(cells), 'column')}, but line {rows[0][0]} has {n}"
            remedy = f"give every line the same number of columns, separated by {delimiter!r}"
            raise InputError(path, f"line {number}", f"{what}: {remedy}")
    return rows


def read_named(path: str | Path, known: Mapping[str, Sequence[str]]) -> tuple:
    """Return (columns of ``known`` from find_columns, rows from read_rows) of a table.

    Without a header line, the columns are those of ``known``, in order.  Raises InputError.
    """
    rows = read_rows(path, read_text(path), known)
    columns = find_columns(rows[0][1], known) if rows else {}
    if len(columns) == len(known):
        return columns, rows[1:]
    return {name: column for column, name in enumerate(known)}, rows


def find_columns(cells: Sequence[str], known: Mapping[str, Sequence[str]]) -> dict:
    """Return {name: column} of a header line; ``known``: {name: possible headings}.

    Case, spaces and punctuation are ignored; if several columns match, the earlier heading wins.
    """
    plain = [re.sub(r"[\W_]", "", cell).lower() for cell in cells]
    return {
        name: plain.index(next(heading for heading in headings if heading in plain))
        for name, headings in known.items()
        if set(headings) & set(plain)
    }


# Pairs of primers: a table of name, forward and reverse primer, both written from 5' to 3'.

_LETTERS = set(IUPAC.decode())
_COLUMNS = {
    "name": ("name", "pair", "id", "primer", "primerpair", "assay", "target"),
    "forward": ("forward", "fwd", "f", "left", "forwardprimer", "leftprimer", "primer1", "forwardsequence"),
    "reverse": ("reverse", "rev", "r", "right", "reverseprimer", "rightprimer", "primer2", "reversesequence"),
}


class Pair(NamedTuple):
    """A pair of primers, in upper case."""

    name: str
    forward: str
    reverse: str


def read_pairs(path: str | Path) -> list:
    """The Pairs of a table, with or without a header line.  Raises InputError, which names the line."""
    columns, rows = read_named(path, _COLUMNS)
    pairs: list = []
    lines: dict = {}
    for number, cells in rows:
        where = f"line {number}"
        if len(cells) < 3:
            what = "expected name, forward primer and reverse primer, separated by tabs or commas"
            raise InputError(path, where, what)
        name, *primers = (cells[columns[each]] for each in _COLUMNS)
        if not name or not name.isprintable() or any(mark in name for mark in " \t"):
            what = f"{shown(name)!r} is not a name: use printable characters only"
            raise InputError(path, where, what)
        for which, primer in zip(("forward", "reverse"), primers, strict=True):
            if not primer or not _LETTERS.issuperset(primer.upper()):
                not_one = f"{shown(primer)!r} is not a {which} primer"
                what = f"pair {shown(name)}: {not_one}: use A C G T and IUPAC codes"
                if number == rows[0][0]:
                    what += "; if this line is a header, call its columns name, forward and reverse"
                raise InputError(path, where, what)
        if name in lines:
            what = f"{shown(name)} is also the pair of {lines[name]}: rename one"
            raise InputError(path, where, what)
        lines[name] = where
        pairs.append(Pair(name, *map(str.upper, primers)))
    if not pairs:
        raise InputError(path, "", "no primer pairs: give lines of name, forward and reverse primer")
    return pairs
