"""Samples: their names and files, from arguments or a sample sheet."""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..errors import InputError, brief, n_of
from ..input.streams import STANDARD, stem_of
from ..input.tables import find_columns, read_rows, read_text
from ..system import PLACE

_STDIN = ("-", "/dev/stdin", "/dev/fd/0")
_COLUMNS = {
    "sample": ("sample", "samplename", "sampleid", "name", "label", "id"),
    "reads": ("reads", "reads1", "fastq", "fastq1", "fastqpath", "file", "path", "read1", "r1"),
    "mates": ("reads2", "mates", "fastq2", "read2", "r2"),
}


@dataclass(frozen=True)
class Sample:
    """A sample: its ``name`` and files, one per lane: reads or mates 1 (``first``), and as many mates 2."""

    name: str
    first: tuple = field(metadata=PLACE)
    second: tuple = field(default=(), metadata=PLACE)

    @property
    def paths(self) -> tuple:
        """All files."""
        return (*self.first, *self.second)

    @property
    def unit(self) -> str:
        """What is counted: read or pair."""
        return "pair" if self.second else "read"

    def together(self) -> Iterator:
        """Return (file,) or (file of mates 1, file of mates 2) for each file."""
        return zip(self.first, self.second, strict=True) if self.second else zip(self.first, strict=True)


def samples_of(arguments: Sequence[str], names: Sequence[str] | None = None, mates: tuple = ()) -> list:
    """Return the Samples of arguments, each of which is a file, or several files separated by commas.

    ``names``: of the samples, by default those of their first files; ``mates``: arguments with files of mates
    2.  Raises ValueError with a message for the user.
    """
    first, second = [list(map(_files, paths)) for paths in (arguments, mates)]
    if not all(path for files in (*first, *second) for path in files):
        raise ValueError("empty file name in a comma-separated list")
    by_option = names is not None
    if names is None:
        stems = ["stdin" if files[0] in _STDIN else stem_of(files[0]) for files in first]
        mates_of = [re.fullmatch(r"(.+?)(_R?[12](?:_001)?)", stem) for stem in stems]
        short = [each[1] for each in mates_of if each]  # without a suffix for mates 1 or 2 that all have
        is_safe = len({each and each[2] for each in mates_of}) == 1 and len(set(short)) == len(stems)
        names = short if is_safe else stems
    if len(names) != len(first):
        named, samples = n_of(len(names), "name"), n_of(len(first), "sample")
        are = "is" if len(first) == 1 else "are"
        raise ValueError(
            f"--names lists {named}, but {samples} {are} given: each argument is one sample; commas join the "
            "files of one sample"
        )
    if mates and list(map(len, first)) != list(map(len, second)):
        raise ValueError(
            "-1 and -2 differ in number of files: give one file with second mates for each file with first "
            "mates"
        )
    _check_names(names, by_option)
    return [Sample(*each) for each in zip(names, first, second or [()] * len(first), strict=True)]


def _files(text: str) -> tuple:
    return (text,) if os.path.exists(text) else tuple(text.split(","))


def read_sheet(path: str) -> list:
    """Return the Samples of a table with the columns sample, reads and reads2 (for mates).

    A sample has a line for each of its files; paths are relative to the current folder.  Raises InputError.
    """
    rows = read_rows(path, read_text(path), _COLUMNS)
    columns = find_columns(rows[0][1], _COLUMNS) if rows else {}
    if not {"sample", "reads"} <= set(columns):
        raise InputError(path, "line 1", "a sample sheet needs a header with columns sample and reads")
    samples: dict = {}
    for number, cells in rows[1:]:
        name, first, second = (cells[columns[x]] if x in columns else "" for x in _COLUMNS)
        if not name or not first:
            raise InputError(path, f"line {number}", "sample without a name or a file of reads")
        files = samples.setdefault(name, Sample(name, ()))
        more = Sample(name, _files(first), _files(second) if second else ())
        for file in more.paths:
            if file != STANDARD and not os.path.exists(file):
                raise InputError(path, f"line {number}", f"{file}: {os.strerror(errno.ENOENT)}")
        samples[name] = Sample(name, files.first + more.first, files.second + more.second)
        if samples[name].second and len(samples[name].second) != len(samples[name].first):
            raise InputError(
                path, f"line {number}", f"{name} has a file with first mates but none with second mates"
            )
    if not samples:
        raise InputError(path, "", "the sample sheet has no samples")
    if len({bool(sample.second) for sample in samples.values()}) > 1:
        raise InputError(
            path, "", "some samples have pairs and others single reads: give each kind its own sheet and run"
        )
    try:
        _check_names(list(samples))
    except ValueError as error:
        raise InputError(path, "", str(error)) from error
    return list(samples.values())


def _check_names(names: Sequence[str], by_option: bool = False) -> None:
    for name in names:
        if not name.isprintable() or not name:
            raise ValueError(f"sample name {brief(name, 60)!r} cannot be the name of a column: give --names")
        if names.count(name) > 1:
            if by_option:
                raise ValueError(f"--names has {brief(name, 60)} twice; each sample needs its own name")
            raise ValueError(f"two samples are named {brief(name, 60)}: give all names with --names")
