"""Runs the jobs of a command: checks inputs and outputs, then runs here, as one shard, or on a cluster."""

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..input.chunks import begins_fastq, look_at
from ..input.streams import STANDARD
from ..jobs import Cache, Context, Job, Resources
from ..jobs.run import run
from ..machines.progress import Progress
from .options import plain


class Sharing(NamedTuple):
    """--shard as (number, count), --scheduler and --scheduler-file; None if not given."""

    shard: tuple[int, int] | None
    scheduler: str | None
    scheduler_file: str | None


def run_jobs(
    jobs: Sequence[Job], resources: Resources, sharing: Sharing, quiet: bool,
    tables: Iterable[str | None] = (), check: Callable[[str, int], Any] | None = begins_fastq,
) -> None:  # fmt: skip
    """Check the inputs and outputs of jobs, then run them in turn: here, as one shard or on a cluster.

    ``tables``: other inputs, such as a sample sheet, or None; ``check(path, first byte)`` refuses an input.
    Raises UsageError, FmxError.
    """
    shard, scheduler, file = sharing
    if shard and (scheduler or file):
        raise click.UsageError("give only one of --shard and --scheduler: a cluster run makes its own shards")
    if scheduler and file:
        raise click.UsageError("give only one of --scheduler and --scheduler-file")
    places = [{"-o": job.output.path} if shard else job.output.places for job in jobs]
    inputs = dict.fromkeys(path for job in jobs for path in job.inputs)
    written = [item for of_job in places for item in of_job.items()]
    others = list(filter(None, tables))
    check_clashes([*inputs, *others], written, jobs[0].index_paths)
    for path in inputs:
        look_at(path, check)
    for path in others:
        look_at(path, None)
    progress, cache = Progress(quiet, warns=True), Cache()
    with_targets = [job.with_targets(Context(resources, progress, cache)) for job in jobs]
    if with_targets != [*jobs] and not shard:
        written = [item for job in with_targets for item in job.output.places.items()]
        check_clashes([*inputs, *others], written, jobs[0].index_paths)
    for job in with_targets:
        if (why := job.why_alone()) and any(sharing):
            raise click.UsageError(why)
        folder = folder_of_shards(job.output.places.values())
        address = scheduler
        if folder and job.inputs and not (why or any(sharing)) and all(map(os.path.isfile, job.inputs)):
            address = os.environ.get("DASK_SCHEDULER_ADDRESS")
        if address or file:
            from ..jobs.cluster import on_cluster

            if not folder:
                raise click.UsageError("a cluster run needs -o FILE, in a folder that all workers can see")
            on_cluster(job, resources, progress, address, file, folder)
        else:
            shard_run = None
            if shard:
                from ..jobs.shard import ShardRun

                shard_run = ShardRun(*shard, str(job.output.path), options=_options())
            run(job, resources, progress, shard_run, cache)


def folder_of_shards(places: Iterable[str | None]) -> str | None:
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


def check_clashes(
    inputs: Iterable[str], outputs: Iterable[tuple[str, str | None]], indexes: Iterable[str] = ()
) -> None:
    """Raise UsageError for an output that is also an input or another output, or lies in an index.

    ``outputs``: (option, path).  Files are compared, not their names; devices and pipes may repeat.
    """
    files = {_identity(path, 0): f"the input {path}" for path in inputs}
    searched = {_identity(path, 0): path for path in indexes}
    for option, path in outputs:
        identity = path and (_identity(path, 1) or ((STANDARD,) if path == STANDARD else None))
        if not path or not identity:
            continue
        if identity in files:
            raise click.UsageError(
                f"{option} {path} is the same file as {files[identity]}; choose another name"
            )
        folders = [] if path == STANDARD else [os.path.realpath(path)]
        while folders and (parent := os.path.dirname(folders[-1])) != folders[-1]:
            folders.append(parent)
        for folder in {_identity(folder, 1) for folder in folders} & searched.keys() - {None}:
            raise click.UsageError(
                f"{option} {path} is the index that is searched; choose another name"
                if identity == folder
                else f"{option} {path} is inside the index {searched[folder]}; choose a path outside it"
            )
        files[identity] = f"{option} {path}"


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
