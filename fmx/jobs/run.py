"""Runs a job, whole or in part; used by commands and by workers of a cluster."""

import os
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import ClusterError
from ..machines.progress import Progress
from . import Cache, Context, Job, Resources

if TYPE_CHECKING:
    from .shard import ShardRun


@dataclass(frozen=True)
class Part:
    """Part ``number``, from 1, of ``count``, into ``folder``; ``run``: the identity of the run as the client
    of a cluster sees it, or None; ``options``: {option: value} of the command, or None."""

    number: int
    count: int
    folder: str
    run: dict | None = None
    options: dict | None = None


def run(
    job: Job,
    resources: Resources | None = None,
    progress: Progress | None = None,
    part: Part | None = None,
    cache: Cache | None = None,
) -> Any:
    """Run a job, or a part of it; return the summary, None if the part was done before.

    By default on one core, without messages; ``cache``: keeps objects from one part to the next.
    Raises FmxError.
    """
    context = Context(resources or Resources(), progress or Progress(True), cache or Cache())
    opened = job.open(context)
    if part:
        shard = shard_of(job, opened, part, context)
        if shard.is_done():
            context.progress.say(f"{shard} is done already; nothing to do")
            return None
        context = replace(context, run=shard)
    prepare = partial(job.prepare, opened, context)
    is_worker = part and part.run  # does other shards of the same job, too
    with (
        context.cache.reused(context.resources.place, prepare)
        if is_worker
        else nullcontext(prepare()) as prepared
    ):
        summary = job.execute(opened, prepared, context)
    job.say(opened, summary, context)
    return summary


def shard_of(job: Job, opened: Any, part: Part, context: Context) -> "ShardRun":
    """Return the ShardRun of a part.  Raises ClusterError if a worker's inputs differ from the client's."""
    from .identity import unlike
    from .shard import ShardRun

    identity, number, wall = job.identity(opened), (part.number, part.count), context.progress.wall
    if part.run is None:
        return ShardRun(part.folder, number, identity, wall, options=part.options)
    if identity != part.run:  # a worker that joined after the check
        differs = unlike(identity, part.run, job.index_paths) or "its inputs differ from the client's"
        raise ClusterError(f"worker on {os.uname().nodename}: {differs}")
    return ShardRun(part.folder, number, identity, wall, context.cache, is_lasting=False)
