"""Samples: their names, and their files."""

import os
import re
from dataclasses import dataclass

from ..errors import InputError, shown
from ..input.delimited import find_columns, read_rows, read_text

COLUMNS = {
    "sample": ("sample", "samplename", "sampleid", "name", "label", "id"),
    "reads": ("reads", "fastq", "fastq1", "fastqpath", "file", "path", "read1", "r1"),
}
_SUFFIX = r"(\.(fastq|fq|fasta|fa|fna|txt))?(\.(gz|bgz|bgzf|zst|xz|bz2))?$"


@dataclass(frozen=True)
class Sample:
    """A sample's ``name``, and the paths of its files, as those of a sequencer's lanes."""

    name: str
    paths: tuple


def samples_of(arguments, names=None) -> list:
    """Samples from arguments, each a file or several with commas between; ``names`` or by their first files.

    Raises ValueError that says what is wrong.
    """
    given = [(text,) if os.path.exists(text) else tuple(text.split(",")) for text in arguments]
    if names is None:
        names = [re.sub(_SUFFIX, "", os.path.basename(files[0]), flags=re.IGNORECASE) for files in given]
    if len(names) != len(given):
        raise ValueError(
            f"{len(names)} names for {len(given)} samples; files of one sample stand with commas"
        )
    _check_names(names)
    return [Sample(name, files) for name, files in zip(names, given, strict=True)]


def read_sheet(path) -> list:
    """The Samples of a table with columns sample and reads; lines of one sample are its files.

    Paths are those of the current folder.  Raises InputError.
    """
    rows = read_rows(path, read_text(path))
    columns = find_columns(rows[0][1], COLUMNS) if rows else {}
    if len(columns) < len(COLUMNS):
        raise InputError(path, "line 1", "a sample sheet begins with names of columns: sample and reads")
    files_of: dict = {}
    for number, cells in rows[1:]:
        name, files = (cells[columns[column]] for column in COLUMNS)
        if not name or not files:
            raise InputError(path, f"line {number}", "a sample without a name, or without a file of reads")
        files_of.setdefault(name, []).extend([files] if os.path.exists(files) else files.split(","))
    if not files_of:
        raise InputError(path, "", "this sample sheet holds no sample")
    try:
        _check_names(list(files_of))
    except ValueError as error:
        raise InputError(path, "", str(error)) from error
    return [Sample(name, tuple(files)) for name, files in files_of.items()]


def _check_names(names):
    for name in names:
        if not name.isprintable() or not name:
            raise ValueError(f"the name of a sample, {shown(name)!r}, cannot head a column")
        if names.count(name) > 1:
            raise ValueError(f"two samples are called {name}: name all of them (--names)")
