"""What is done with jobs: all of them here, or with --shard a part, or on a cluster with --scheduler."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from ..jobs import LocalCache, PartedJob, Resources
from ..jobs.identity import shards_beside
from ..jobs.run import Part, run
from ..machines.places import ALL_GPUS
from ..machines.progress import Progress
from ..options import device_of
from ..options.values import find_indexes
from .places import check_places, kind_of, suffix_of

if TYPE_CHECKING:
    from ..jobs.indexes import IndexChoice
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
        address, place = _address(given, job), shards_beside(job.output.places)
        if not (address or given.scheduler_file):
            part = Part(given.shard[0], given.shard[1], job.output.path) if given.shard else None
            run(job, resources, progress, part, cache)
            continue
        if not place:
            raise click.UsageError("on a cluster give -o FILE, in a folder that all workers see")
        from ..cluster.shards import on_cluster

        on_cluster(job, resources, progress, address, given.scheduler_file, place)


def resources_of(given: SimpleNamespace, n_gpus: int | None = 1) -> Resources:
    """What options say of cores and GPUs; ``n_gpus`` as of device_of.  Raises UsageError."""
    device = device_of(given, n_gpus)
    gpus = ALL_GPUS if device.n_gpus is None else device.n_gpus
    return Resources(given.threads, device.engine, device.first, gpus, device.memory)


def index_of(given: SimpleNamespace) -> IndexChoice:
    """The index, or indexes, of -x, and how they are searched.  Raises UsageError, IndexFileError."""
    from ..jobs.indexes import IndexChoice

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
    is_fit = not job.why_alone() and shards_beside(job.output.places) and job.inputs
    return (
        os.environ.get("DASK_SCHEDULER_ADDRESS") if is_fit and all(map(os.path.isfile, job.inputs)) else None
    )
