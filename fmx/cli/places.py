"""What a command reads and writes, looked at before any of it is opened for the work."""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from ..input.chunks import begins_fastq, look_at
from ..input.streams import STANDARD

SUFFIXES = {
    "SAM": (".sam",), "BAM": (".bam",), "BED": (".bed",), "TSV": (".tsv",), "PAF": (".paf",),
    "CRAM": (".cram",), "PARQUET": (".parquet",), "NPZ": (".npz",), "PHYLIP": (".phy", ".phylip"),
    "RTAB": (".rtab",), "JSON": (".json",), "HTML": (".html", ".htm"), "LOG": (".log",),
    "FASTA": (".fa", ".fasta", ".fna"), "FASTQ": (".fq", ".fastq"),
}  # fmt: skip
GZIP = "gzip"  # among formats: a name may end with .gz, which compresses
READS = ["FASTA", "FASTQ", GZIP]
BINARY = {"BAM", "CRAM", "PARQUET", "NPZ"}
FOREIGN = {
    ".vcf", ".bcf", ".gff", ".gff3", ".gtf", ".maf", ".psl", ".delta", ".bw", ".bigwig", ".csv", ".xls",
    ".xlsx", ".ods", ".npy", ".h5", ".pdf", ".png", ".fmx",
    ".gz", ".bgz", ".bgzf", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz",
}  # fmt: skip
_NAMES = {"mummer": "MUMmer's format", "mageck": "TSV", "long": "TSV"}  # of kinds that are called otherwise


def check_places(
    inputs: Iterable[str],
    outputs: dict,
    index: str | Path | None = None,
    check: Callable[[str, int], Any] = begins_fastq,
) -> None:
    """Look at what a command reads, and where and as what it writes: {option: (path or None, formats)}.

    Raises UsageError for an output that is an input or another output, lies in the index, whose suffix says
    none of its formats, or that is no text and a terminal; InputError for an input that cannot be read, or
    that ``check`` refuses (path, first byte).
    """
    written = {option: (path, formats) for option, (path, formats) in outputs.items() if path}
    _check_clashes(inputs, {option: path for option, (path, _) in written.items()}, index)
    for option, (path, formats) in written.items():
        _check_suffix(option, path, formats)
        if formats and BINARY.issuperset(formats) and _is_terminal(path):
            raise click.UsageError(f"{formats[0]} is no text for a terminal: give -o FILE, or a pipe")
    for path in inputs:
        look_at(path, check)


def anything(path: str, byte: int) -> None:
    """Whatever a table begins with, who reads it judges."""


def _check_clashes(inputs: Iterable[str], outputs: dict, index: str | Path | None) -> None:
    """Compares files, not names: links and spellings hide nothing.  Devices and pipes may repeat."""
    taken = {_identity(path, 0): f"the input {path}" for path in inputs}
    whole = index and _identity(index, 0)
    for option, path in outputs.items():
        identity = _identity(path, 1) or ((STANDARD,) if str(path) == STANDARD else None)
        if not identity:
            continue
        if identity in taken:
            raise click.UsageError(f"{option} {path} is the same file as {taken[identity]}; name another")
        if whole and str(path) != STANDARD and whole in _folders(path):
            raise click.UsageError(f"{option} {path} lies in the index {index}; name a place outside it")
        taken[identity] = f"{option} {path}"


def format_of(kind: str | None, path: str, kinds: Sequence[str], usual: str) -> tuple[str, list]:
    """(the format of an output, those that its name may say, as check_places takes them).

    It is the ``kind`` that --format says, if it is not None, else the one of ``kinds`` that the suffix says,
    else the ``usual`` one.
    """
    return (kind, named([kind])) if kind else (kind_of(path, kinds) or usual, named(kinds))


def kind_of(path: str, kinds: Iterable[str]) -> str | None:
    """The first of ``kinds`` that the suffix of an output says, or None."""
    suffix = suffix_of(path)
    said = (kind for kind in kinds for name in named([kind]) if suffix in SUFFIXES.get(name, ()))
    return next(said, None)


def named(kinds: Iterable[str]) -> list[str]:
    """Kinds of output as formats."""
    return list(dict.fromkeys(_NAMES.get(kind, kind.upper()) for kind in kinds))


def suffix_of(path: str) -> str:
    """The suffix of a name in lower case, if it says a format: .txt says none, and is right for each."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix in FOREIGN or suffix in chain(*SUFFIXES.values()) else ""


def _check_suffix(option: str, path: str, formats: Sequence[str]) -> None:
    suffix = suffix_of(path.lower().removesuffix(".gz") if GZIP in formats else path)
    if formats and suffix and suffix not in {end for each in formats for end in SUFFIXES.get(each, ())}:
        names = [name for name in formats if name != GZIP]
        what = ", ".join([*names[:-2], " or ".join(names[-2:])])
        choose = "choose another name or format" if option.startswith("-o") else "choose another name"
        raise click.UsageError(f"{option} {path}: the output is {what}, not {suffix}; {choose}")


def _is_terminal(path: str) -> bool:
    """Is it standard output that is a terminal, or the name of a terminal?"""
    if str(path) == STANDARD:
        return sys.stdout.isatty()
    try:
        if not stat.S_ISCHR(os.stat(path).st_mode):
            return False
        descriptor = os.open(path, os.O_WRONLY | os.O_NOCTTY)
    except OSError:  # writing to it will tell
        return False
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def _identity(path: str | Path, descriptor: int) -> tuple | None:
    """What tells files apart, be they there or not yet; None for devices, pipes and what cannot be known."""
    try:
        found = os.fstat(descriptor) if str(path) == STANDARD else os.stat(path)
    except FileNotFoundError:
        folder, name = os.path.split(os.path.realpath(path))
        parent = _identity(folder, descriptor)
        return parent and (*parent, os.fsencode(name))
    except OSError:
        return None
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
        return found.st_dev, found.st_ino
    return None


def _folders(path: str) -> list:
    """A path and all folders above it, as identities."""
    found = [os.path.realpath(path)]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return [_identity(folder, 1) for folder in found]
