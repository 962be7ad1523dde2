"""What a command reads and writes, looked at before any of it is opened for the work."""

import os
import stat
from itertools import chain

import click

from ..input.chunks import begins_fastq, look_at
from ..input.streams import STANDARD

SUFFIXES = {
    "SAM": (".sam",), "BAM": (".bam",), "BED": (".bed",), "TSV": (".tsv",), "PAF": (".paf",),
    "CRAM": (".cram",), "PARQUET": (".parquet",), "NPZ": (".npz",), "PHYLIP": (".phy", ".phylip"),
    "RTAB": (".rtab",), "JSON": (".json",), "HTML": (".html", ".htm"),
    "FASTA": (".fa", ".fasta", ".fna"), "FASTQ": (".fq", ".fastq"),
}  # fmt: skip
READS = ["FASTA", "FASTQ"]  # .gz compresses these
FOREIGN = {
    ".vcf", ".bcf", ".gff", ".csv", ".json", ".fmx",
    ".gz", ".bgz", ".bgzf", ".bz2", ".xz", ".zst", ".zip",
}  # fmt: skip


def check_places(inputs, outputs: dict, index=None, check=begins_fastq) -> None:
    """Look at what a command reads, and where and as what it writes: {option: (path or None, formats)}.

    Raises UsageError for an output that is an input or another output, lies in the index, or whose suffix
    says none of its formats; InputError for an input that cannot be read, or that ``check`` refuses
    (path, first byte).
    """
    written = {option: (path, formats) for option, (path, formats) in outputs.items() if path}
    _check_clashes(inputs, {option: path for option, (path, _) in written.items()}, index)
    for option, (path, formats) in written.items():
        _check_suffix(option, path, formats)
    for path in inputs:
        look_at(path, check)


def anything(path, byte) -> None:
    """Whatever a table begins with, who reads it judges."""


def _check_clashes(inputs, outputs, index):
    """Compares files, not names: links and spellings hide nothing.  Devices and pipes may repeat."""
    taken = {_identity(path, 0): f"the input {path}" for path in inputs}
    whole = index and _identity(index, 0)
    for option, path in outputs.items():
        identity = _identity(path, 1) or (str(path) == STANDARD and STANDARD)
        if not identity:
            continue
        if identity in taken:
            raise click.UsageError(f"{option} {path} is the same file as {taken[identity]}; name another")
        if whole and str(path) != STANDARD and whole in _folders(path):
            raise click.UsageError(f"{option} {path} lies in the index {index}; name a place outside it")
        taken[identity] = f"{option} {path}"


def kind_of(path, kinds, usual) -> str:
    """The one of ``kinds`` that the suffix of an output says, or the ``usual`` one."""
    suffix = os.path.splitext(path)[1].lower()
    return next((kind for kind in kinds if suffix in SUFFIXES.get(kind.upper(), ())), usual)


def named(kinds) -> list:
    """Formats as check_places takes them."""
    return [kind.upper() for kind in kinds]


def _check_suffix(option, path, formats):
    """A suffix that says nothing, as of out.txt, is right for every format."""
    name = path.lower().removesuffix(".gz") if formats and formats[0] in READS else path.lower()
    suffix, known = os.path.splitext(name)[1], {end for each in formats for end in SUFFIXES.get(each, ())}
    if formats and suffix not in known and (suffix in FOREIGN or suffix in chain(*SUFFIXES.values())):
        what = ", ".join([*formats[:-2], " or ".join(formats[-2:])])
        raise click.UsageError(
            f"{option} {path}: the output is {what}, not {suffix}; choose another name or format"
        )


def _identity(path, descriptor):
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


def _folders(path) -> list:
    """A path and all folders above it, as identities."""
    found = [os.path.realpath(path)]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return [_identity(folder, 1) for folder in found]
