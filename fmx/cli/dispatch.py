"""Runs the jobs of a command: checks inputs and outputs, then runs here, as one shard, or on a cluster."""

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
from ..jobs import Cache, Job, Resources
from ..jobs.run import run
from ..machines.progress import Progress
from .options import find_indexes, plain

if TYPE_CHECKING:
    from ..jobs import IndexChoice


def do(
    args: SimpleNamespace, outputs: dict, *jobs: Job,
    tables: Sequence[str] = (), check: Callable[[str, int], Any] | None = begins_fastq, n_gpus: int = 1,
) -> None:  # fmt: skip
    """Check the inputs and ``outputs`` of jobs (as check_places does), then run them one after the other, by
    the options: here, as one shard or on a cluster.

    ``tables``: other inputs, such as sample sheets; ``n_gpus``: default number of GPUs.  Raises UsageError,
    FmxError.
    """
    inputs = [*(path for job in jobs for path in job.inputs), *([args.reference] if args.reference else ())]
    first, *others = jobs[0].index_paths or (None,)
    places = _without_shards(args, outputs) if args.shard else outputs
    check_places(inputs, places, first, check)
    check_places(tables, places, check=None)
    for other in others:
        check_places([], outputs, other)
    resources, progress, cache = resources_of(args, n_gpus), Progress(args.quiet, warns=True), Cache()
    for job in jobs:
        if (why := job.why_alone()) and (args.shard or args.scheduler or args.scheduler_file):
            raise click.UsageError(why)
        address = _address(args, job)
        if address or args.scheduler_file:
            from ..cluster.shards import on_cluster

            if not (place := shards_beside(job.output.places)):
                raise click.UsageError("a cluster run needs -o FILE, in a folder that all workers can see")
            on_cluster(job, resources, progress, address, args.scheduler_file, place)
        else:
            shard = None
            if args.shard:
                from ..jobs.shard import ShardRun

                number, count = args.shard
                shard = ShardRun(number, count, str(job.output.path), options=_options())
            run(job, resources, progress, shard, cache)


def resources_of(args: SimpleNamespace, n_gpus: int = 1) -> Resources:
    """Cores and GPUs from --threads, --engine, --device, --gpus and --gpu-memory.

    ``n_gpus``: number of GPUs without --device and --gpus.  Raises UsageError for an option for GPUs with
    --engine cpu.
    """
    of_gpus = {"--device": args.device, "--gpus": args.gpus, "--gpu-memory": args.gpu_memory}
    for name, value in of_gpus.items():
        if value is not None and args.engine == "cpu":
            raise click.UsageError(
                f"{name} has no effect with --engine cpu: use --engine cuda or auto, or omit {name}"
            )
    gpus = args.gpus or (n_gpus if args.device is None else 1)
    return Resources(args.threads, args.engine, args.device or 0, gpus, args.gpu_memory)


def index_of(args: SimpleNamespace) -> IndexChoice:
    """Return the index or indexes of -x, and how to search them.  Raises UsageError, IndexFileError."""
    from ..jobs import IndexChoice

    paths = find_indexes(args.index_paths)
    if paths[1:] and args.max_memory:
        raise click.UsageError(
            "--max-memory works with one index only: give one -x, or leave out --max-memory"
        )
    return IndexChoice(paths, args.layout, args.method, args.max_memory, args.verify)


def _without_shards(args: SimpleNamespace, outputs: dict) -> dict:
    """Return the outputs of a shard: only -o, which is a folder.  Raises UsageError."""
    if args.output == "-":
        raise click.UsageError("--shard needs -o FOLDER, the folder that 'fmx merge' reads")
    if suffix_of(args.output):
        params = click.get_current_context().command.params
        (choices,) = (each.type for each in params if each.name == "kind")
        assert isinstance(choices, click.Choice)
        kind, stem = args.kind or kind_of(args.output, choices.choices), args.output
        while suffix_of(stem):
            stem = os.path.splitext(stem)[0]
        raise click.UsageError(
            f"-o {args.output}: with --shard, -o names a folder of shards, not a file: "
            f"use -o {stem}.d{f' --format {kind}' if kind else ''}"
        )
    for option, (path, formats) in outputs.items():
        if path and not option.startswith("-o"):
            _check_suffix(option, path, formats)
    return {option: (path, []) for option, (path, _) in outputs.items() if option.startswith("-o")}


def shards_beside(places: Iterable[str | None]) -> str | None:
    """The folder for the shards of a cluster run: next to the first output that is, or will be, a file."""
    for path in filter(None, places):
        is_file = path != STANDARD and (os.path.isfile(path) or not os.path.exists(path))
        if is_file and os.path.isdir(os.path.dirname(os.path.abspath(path))):
            return f"{path}.shards"
    return None


def _options() -> dict:
    """Return {option: value} of the current command, as JSON types; a parsed value as the user wrote it."""
    context = click.get_current_context()
    return {
        each.opts[0]: each.type.written(value) if value and hasattr(each.type, "written") else plain(value)
        for each in context.command.params
        if each.opts[0][0] == "-" and each.name in context.params
        for value in [context.params[each.name]]
    }


def _address(args: SimpleNamespace, job: Job) -> str | None:
    """The scheduler's address, from the options or, if the job can be split, the environment; else None."""
    if args.shard:
        if args.scheduler or args.scheduler_file:
            raise click.UsageError(
                "give only one of --shard and --scheduler: a cluster run makes its own shards"
            )
        return None
    if args.scheduler and args.scheduler_file:
        raise click.UsageError("give only one of --scheduler and --scheduler-file")
    if args.scheduler or args.scheduler_file:
        return args.scheduler
    if not (address := os.environ.get("DASK_SCHEDULER_ADDRESS")):
        return None
    is_fit = not job.why_alone() and shards_beside(job.output.places) and job.inputs
    return address if is_fit and all(map(os.path.isfile, job.inputs)) else None


# Inputs and outputs of a command, checked before any of them is opened.

SUFFIXES = {
    "SAM": (".sam",), "BAM": (".bam",), "BED": (".bed",), "TSV": (".tsv",), "PAF": (".paf",),
    "CRAM": (".cram",), "Parquet": (".parquet",), "NPZ": (".npz",), "PHYLIP": (".phy", ".phylip"),
    "RTAB": (".rtab",), "JSON": (".json",), "HTML": (".html", ".htm"), "LOG": (".log",),
    "FASTA": (".fa", ".fasta", ".fna"), "FASTQ": (".fq", ".fastq"),
}  # fmt: skip
GZIP = "gzip"  # among formats: a name may end with .gz, which compresses
READS = ["FASTA", "FASTQ", GZIP]
BINARY = {"BAM", "CRAM", "Parquet", "NPZ"}
FOREIGN = {
    ".vcf", ".bcf", ".gff", ".gff3", ".gtf", ".maf", ".psl", ".delta", ".bw", ".bigwig", ".csv", ".xls",
    ".xlsx", ".ods", ".npy", ".h5", ".pdf", ".png", ".fmx",
    ".gz", ".bgz", ".bgzf", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz",
}  # fmt: skip
_NAMES = {
    "mummer": "MUMmer's format",
    "mageck": "TSV",
    "long": "TSV",
    "parquet": "Parquet",
}  # kinds whose format has another name


def check_places(
    inputs: Iterable[str],
    outputs: dict,
    index: str | Path | None = None,
    check: Callable[[str, int], Any] | None = begins_fastq,
) -> None:
    """Check the inputs and outputs of a command; ``outputs``: {option: (path or None, formats)}.

    Raises UsageError for an output that is also an input or another output, lies inside the index, has a
    suffix of another format, or is binary and would go to a terminal; InputError for an input that cannot be
    read, or that ``check(path, first byte)`` refuses.
    """
    written = {option: (path, formats) for option, (path, formats) in outputs.items() if path}
    check_clashes(inputs, {option: path for option, (path, _) in written.items()}, index)
    for option, (path, formats) in written.items():
        _check_suffix(option, path, formats)
        if formats and BINARY.issuperset(formats) and _is_terminal(path):
            raise click.UsageError(
                f"{formats[0]} is binary and not written to a terminal: use -o FILE or a pipe"
            )
    for path in dict.fromkeys(inputs):
        look_at(path, check)


def check_clashes(inputs: Iterable[str], outputs: dict, index: str | Path | None = None) -> None:
    """Raise UsageError for clashes; compares files, not names.  Devices and pipes may repeat."""
    taken = {_identity(path, 0): f"the input {path}" for path in inputs}
    whole = index and _identity(index, 0)
    for option, path in outputs.items():
        identity = _identity(path, 1) or ((STANDARD,) if str(path) == STANDARD else None)
        if not identity:
            continue
        if identity in taken:
            raise click.UsageError(
                f"{option} {path} is the same file as {taken[identity]}; choose another name"
            )
        if whole and str(path) != STANDARD and whole in _folders(path):
            raise click.UsageError(
                f"{option} {path} is the index that is searched; choose another name"
                if identity == whole
                else f"{option} {path} is inside the index {index}; choose a path outside it"
            )
        taken[identity] = f"{option} {path}"


def format_of(kind: str | None, path: str, kinds: Sequence[str], usual: str) -> tuple[str, list]:
    """Return (the format of an output, the formats that its suffix may name, for check_places).

    The format is ``kind``, the value of --format, if given; else the one of ``kinds`` that the suffix names;
    else ``usual``.
    """
    if kind:
        return kind, named([kind])
    named_kind = kind_of(path, kinds)
    if not (named_kind or suffix_of(path)):
        _check_unknown(path, named(kinds), usual)
    return named_kind or usual, named(kinds)


def _check_unknown(path: str, formats: Sequence[str], usual: str) -> None:
    """Refuse a misspelled suffix, and warn that an output with another unknown suffix is SAM.

    Folders of shards, devices, pipes, and suffixes that are not only letters are not checked.
    Raises UsageError.
    """
    params, suffix = click.get_current_context().params, os.path.splitext(path)[1].lower()
    is_special = os.path.exists(path) and not os.path.isfile(path)
    if params.get("shard") or is_special or not suffix[1:].isalpha():
        return
    from difflib import get_close_matches  # only for unknown suffixes

    known = list(chain(*(SUFFIXES.get(name, ()) for name in formats)))
    if meant := get_close_matches(suffix, known, 1, 0.7):
        advice = f"did you mean {meant[0]}?{' To keep this name, use --format' if 'kind' in params else ''}"
        raise click.UsageError(f"-o {path}: no format has the suffix {suffix}: {advice}")
    if usual == "sam":
        what = f"no format has the suffix {suffix}, so the output is SAM"
        Progress(params["quiet"]).say(f"warning: -o {path}: {what}; to choose another, use --format")


def kind_of(path: str, kinds: Iterable[str]) -> str | None:
    """Return the first of ``kinds`` that the suffix of an output names, or None."""
    suffix = suffix_of(path)
    fitting = (kind for kind in kinds for name in named([kind]) if suffix in SUFFIXES.get(name, ()))
    return next(fitting, None)


def named(kinds: Iterable[str]) -> list[str]:
    """Return the format names of kinds of output."""
    return list(dict.fromkeys(_NAMES.get(kind, kind.upper()) for kind in kinds))


def suffix_of(path: str) -> str:
    """The suffix of a name in lower case if it names a format, else ""; .txt fits every text format."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix in FOREIGN or suffix in chain(*SUFFIXES.values()) else ""


def _check_suffix(option: str, path: str, formats: Sequence[str]) -> None:
    suffix = suffix_of(path.lower().removesuffix(".gz") if GZIP in formats else path)
    if formats and suffix and suffix not in {end for each in formats for end in SUFFIXES.get(each, ())}:
        kind = click.get_current_context().params.get("kind")
        if kind and option == "-o" and suffix != ".gz":
            advice = "leave out --format, or choose another name"
            raise click.UsageError(f"-o {path}: the suffix {suffix} contradicts --format {kind}; {advice}")
        names = [name for name in formats if name != GZIP]
        what = ", ".join([*names[:-2], " or ".join(names[-2:])])
        choose = "choose another name or format" if option.startswith("-o") else "choose another name"
        if suffix == ".gz":
            choose = f"choose a name without {suffix}, and compress the file afterwards"
        raise click.UsageError(f"{option} {path}: the output can only be {what}, not {suffix}; {choose}")


def _is_terminal(path: str) -> bool:
    """Return whether output goes to a terminal: standard output, or a device given by name."""
    if str(path) == STANDARD:
        return sys.stdout.isatty()
    try:
        if not stat.S_ISCHR(os.stat(path).st_mode):
            return False
        descriptor = os.open(path, os.O_WRONLY | os.O_NOCTTY)
    except OSError:  # reported when the output is opened
        return False
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def _identity(path: str | Path, descriptor: int) -> tuple | None:
    """What identifies a file, whether or not it exists yet; None for devices, pipes and unknown paths."""
    try:
        status = os.fstat(descriptor) if str(path) == STANDARD else os.stat(path)
    except FileNotFoundError:
        folder, name = os.path.split(os.path.realpath(path))
        parent = _identity(folder, descriptor)
        return parent and (*parent, os.fsencode(name))
    except OSError:
        return None
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return status.st_dev, status.st_ino
    return None


def _folders(path: str) -> list:
    """Return the identities of a path and of all folders above it."""
    folders = [os.path.realpath(path)]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    return [_identity(folder, 1) for folder in folders]
