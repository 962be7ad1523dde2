"""Runs the job of a command: checks inputs and outputs, then runs here, as one shard, or on a cluster."""

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from ..input.chunks import begins_fastq, look_at
from ..input.streams import STANDARD
from ..jobs import Cache, Context, Job, run
from ..machines.progress import Progress
from .options import refuse, resources_of


def run_job(
    args: Any, job: Job, *tables: str | None, check: Callable[[str, int], Any] | None = begins_fastq
) -> None:
    """Check the inputs and outputs of a job, then run it: here, as one shard or on a cluster.

    ``args``: all options; ``tables``: other inputs, such as a sample sheet, or None; ``check(path, first
    byte)`` refuses an input.  Raises UsageError, FmxError.
    """
    resources, shard, scheduler, file = resources_of(args), args.shard, args.scheduler, args.scheduler_file
    what = "give only one of --shard and --scheduler: a cluster run makes its own shards"
    refuse((shard and (scheduler or file), what))
    refuse((scheduler and file, "give only one of --scheduler and --scheduler-file"))
    inputs = dict.fromkeys(job.inputs, check) | dict.fromkeys(filter(None, tables))
    check_clashes(inputs, job.output.places.items(), job.index_paths)
    for path, of_input in inputs.items():
        look_at(path, of_input)
    progress, cache = Progress(args.quiet, warns=True), Cache()
    job = job.with_targets(Context(resources, progress, cache))  # with the names of its --al files
    check_clashes(inputs, job.output.places.items(), job.index_paths)
    if scheduler or file:
        from ..jobs.cluster import on_cluster

        # The shards lie beside the first output that is a regular file.
        for path in filter(None, job.output.places.values()):
            is_file = path != STANDARD and (os.path.isfile(path) or not os.path.exists(path))
            if is_file and os.path.isdir(os.path.dirname(os.path.abspath(path))):
                on_cluster(job, resources, progress, scheduler, file, f"{path}.shards")
                return
        raise click.UsageError("a cluster run needs -o FILE, in a folder that all workers can see")
    shard_run = None
    if shard:
        from ..jobs.shard import ShardRun

        shard_run = ShardRun(shard[0], shard[1], str(job.output.path))
    run(job, resources, progress, shard_run, cache)


def check_clashes(
    inputs: Iterable[str], outputs: Iterable[tuple[str, str | None]], folders: Iterable[str] = ()
) -> None:
    """Raise UsageError for an output that is also an input or another output, or lies in one of ``folders``.

    ``outputs``: (option, path).  Two names of one file clash; a device or pipe may be named twice.
    """
    files = {_identity(path, 0): f"the input {path}" for path in inputs}
    for option, path in outputs:
        identity = path and (_identity(path, 1) or (STANDARD if path == STANDARD else None))
        if not path or not identity:
            continue
        if identity in files:
            raise click.UsageError(
                f"{option} {path} is the same file as {files[identity]}; choose another name"
            )
        for folder in folders:
            if path != STANDARD and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
                what = f"lies in {folder}, which is read; choose a path outside it"
                raise click.UsageError(f"{option} {path} {what}")
        files[identity] = f"{option} {path}"


def _identity(path: str, descriptor: int) -> object:
    """What identifies a file, whether or not it exists yet; None for devices and pipes."""
    try:
        status = os.fstat(descriptor) if path == STANDARD else os.stat(path)
    except OSError:
        return os.path.realpath(path)
    is_place = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return (status.st_dev, status.st_ino) if is_place else None
