"""Jobs of a command: their inputs and outputs checked, then done here, as a --shard, or on a cluster."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from ..input.chunks import begins_fastq, look_at
from ..input.streams import STANDARD
from ..jobs import LocalCache, PartedJob, Resources
from ..jobs.run import Part, run
from ..machines.places import ALL_GPUS
from ..machines.progress import Progress
from ..options import device_of, find_indexes

if TYPE_CHECKING:
    from ..jobs import IndexChoice
    from ..jobs.mem import MemJob
    from ..jobs.search import SearchJob


def do(given: SimpleNamespace, *jobs: PartedJob, n_gpus: int | None = 1) -> None:
    """Do jobs one after the other, as --shard, --scheduler, --threads, --quiet and GPUs say.

    ``n_gpus`` as of device_of.  Raises UsageError, FmxError.
    """
    resources, progress, cache = resources_of(given, n_gpus), Progress(given.quiet), LocalCache()
    for job in jobs:
        if (why := job.why_alone()) and is_shared(given):
            raise click.UsageError(why)
        address = _address(given, job)
        if not (address or given.scheduler_file):
            part = Part(given.shard[0], given.shard[1], job.output.path) if given.shard else None
            run(job, resources, progress, part, cache)
            continue
        from ..cluster.shards import on_cluster

        if not (place := shards_beside(job.output.places)):
            raise click.UsageError("on a cluster give -o FILE, in a folder that all workers see")
        on_cluster(job, resources, progress, address, given.scheduler_file, place)


def resources_of(given: SimpleNamespace, n_gpus: int | None = 1) -> Resources:
    """What options say of cores and GPUs; ``n_gpus`` as of device_of.  Raises UsageError."""
    device = device_of(given, n_gpus)
    gpus = ALL_GPUS if device.n_gpus is None else device.n_gpus
    return Resources(given.threads, device.engine, device.first, gpus, device.memory)


def index_of(given: SimpleNamespace) -> IndexChoice:
    """The index, or indexes, of -x, and how they are searched.  Raises UsageError, IndexFileError."""
    from ..jobs import IndexChoice

    paths = find_indexes(given.index_paths)
    if paths[1:] and given.max_memory:
        raise click.UsageError("--max-memory picks the search of one index: give one -x, or leave it out")
    return IndexChoice(paths, given.layout, given.method, given.max_memory, given.verify)


def do_with_index(given: SimpleNamespace, outputs: dict, *jobs: SearchJob | MemJob) -> None:
    """The same of jobs with one index, whose inputs, and ``outputs`` as check_places takes them, are checked
    first."""
    fasta = [given.reference] if given.reference else []
    inputs, (first, *others) = [path for job in jobs for path in job.inputs], jobs[0].index.paths
    check_places([*inputs, *fasta], places_of(given, outputs), first)
    for other in others:
        check_places([], outputs, other)
    do(given, *jobs)


def is_shared(given: SimpleNamespace) -> bool:
    """Are parts of the work asked for?"""
    return bool(given.shard or given.scheduler or given.scheduler_file)


def places_of(given: SimpleNamespace, outputs: dict) -> dict:
    """The ``outputs`` of check_places: with --shard, -o is a folder.  Raises UsageError."""
    if not given.shard:
        return outputs
    if given.output == "-":
        raise click.UsageError("--shard needs -o FOLDER, where 'fmx merge' finds all shards")
    if suffix_of(given.output):
        params = click.get_current_context().command.params
        (choices,) = (each.type for each in params if each.name == "kind")
        assert isinstance(choices, click.Choice)
        kind, stem = given.kind or kind_of(given.output, choices.choices), given.output
        while suffix_of(stem):
            stem = os.path.splitext(stem)[0]
        raise click.UsageError(
            f"-o {given.output}: with --shard this is the folder of all shards, which no suffix of a file "
            f"fits: say -o {stem}.d{f' --format {kind}' if kind else ''}"
        )
    return {option: (path, []) for option, (path, _) in outputs.items() if option.startswith("-o")}


def shards_beside(places: Iterable[str | None]) -> str | None:
    """Where the shards of a cluster lie: beside the first of the outputs that is a file, or becomes one."""
    for path in filter(None, places):
        is_file = path != STANDARD and (os.path.isfile(path) or not os.path.exists(path))
        if is_file and os.path.isdir(os.path.dirname(os.path.abspath(path))):
            return f"{path}.shards"
    return None


def _address(given: SimpleNamespace, job: PartedJob) -> str | None:
    """The scheduler's address, if the work is for a cluster; the environment's where work can be shared."""
    if given.shard:
        if given.scheduler or given.scheduler_file:
            raise click.UsageError("give only one of --shard and --scheduler: a cluster cuts shards itself")
        return None
    if given.scheduler and given.scheduler_file:
        raise click.UsageError("give only one of --scheduler and --scheduler-file")
    if given.scheduler or given.scheduler_file:
        return given.scheduler
    if not (address := os.environ.get("DASK_SCHEDULER_ADDRESS")):
        return None
    is_fit = not job.why_alone() and shards_beside(job.output.places) and job.inputs
    return address if is_fit and all(map(os.path.isfile, job.inputs)) else None


# What a command reads and writes, looked at before any of it is opened for the work.

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
