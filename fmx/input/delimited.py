"""Tables in text files: CSV, TSV or with semicolons, with or without a line of names."""

import csv
import io
import re

from ..errors import InputError, n_of
from .streams import Source
from .whole import read_whole

_FOREIGN = {
    b"PK\x03\x04": "an Excel workbook or another zip file: save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook: save the table as CSV",
    b"\xff\xfe": "text in UTF-16: save it as UTF-8",
    b"\xfe\xff": "text in UTF-16: save it as UTF-8",
}


def read_text(path) -> str:
    """The text of a file, plain or compressed, without a byte order mark.  Raises InputError."""
    with Source(path) as source:
        data = read_whole(source).tobytes()
    for begin, what in _FOREIGN.items():
        if data.startswith(begin):
            raise InputError(path, "", f"this is {what}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data[: error.start].count(b"\n")
        raise InputError(path, f"line {line}", "this is no text in UTF-8: save it as such") from error


def read_rows(path, text) -> list:
    """(number of its line, its cells) of each line of a table that holds anything.  Raises InputError.

    The first line tells what stands between cells, and how many of them a line has.
    """
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    delimiter = next((mark for mark in "\t,;" if mark in first), "\t")
    reader, rows = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter, strict=True), []
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if any(cells):
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        raise InputError(path, f"line {reader.line_num}", f"no line of a table: {error}") from error
    for number, cells in rows:
        if len(cells) != (n := len(rows[0][1])):
            what = f"it has {n_of(len(cells), 'column')} and line {rows[0][0]} has {n}"
            raise InputError(path, f"line {number}", f"{what}: is {delimiter!r} between all?")
    return rows


def read_named(path, known) -> tuple:
    """(columns of ``known`` as of ``find_columns``, rows as of ``read_rows``) of a table.

    Its line of names may be missing: then the first columns are those.  Lines that begin with # are left out.
    Raises InputError.
    """
    rows = [row for row in read_rows(path, read_text(path)) if not row[1][0].startswith("#")]
    columns = find_columns(rows[0][1], known) if rows else {}
    if len(columns) == len(known):
        return columns, rows[1:]
    return {name: column for column, name in enumerate(known)}, rows


def find_columns(cells, known) -> dict:
    """{name: column} of what a line of names holds of ``known``, {name: what it may be called}.

    Case, spaces and marks do not matter, and of several that fit the one that is called so first counts.
    """
    plain = [re.sub(r"[\W_]", "", cell).lower() for cell in cells]
    found = {}
    for name, called in known.items():
        for each in called:
            if each in plain:
                found[name] = plain.index(each)
                break
    return found
