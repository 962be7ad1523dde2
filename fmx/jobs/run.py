"""The one way in which a job is done: by itself, as a shard, by a worker of a cluster."""

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ..errors import ClusterError
from . import Job, PartedJob
from .identity import unlike
from .kept import Kept, Once
from .resources import Resources

if TYPE_CHECKING:
    from .shard import ShardRun


@dataclass(frozen=True)
class Part:
    """Part ``number``, from 1, of ``count``, into ``folder``; ``run``: the identity that a cluster's client
    found, or None."""

    number: int
    count: int
    folder: str
    run: dict | None = None


def run(
    job: Job, resources: Resources, progress: Any, part: Part | None = None, kept: Kept | None = None
) -> Any:
    """Do a job, or a part of a PartedJob: a summary; None where the part is there already.

    ``kept``: what is kept from one part to the next, if anything.  Raises FmxError.
    """
    kept = kept or Once()
    opened = job.open(resources, progress, kept)
    shard = part and shard_of(cast(PartedJob, job), opened, part, progress, kept)
    if shard and shard.is_done():
        progress.say(f"{shard} is there already")
        return None
    with kept.lent(resources.place, partial(job.prepare, opened, resources, progress, kept)) as prepared:
        summary = job.execute(opened, prepared, shard, resources, progress)
    job.tell(opened, summary, shard, progress)
    return summary


def shard_of(job: PartedJob, opened: Any, part: Part, progress: Any, kept: Kept) -> "ShardRun":
    """The ShardRun of a part.  Raises ClusterError where a worker sees other inputs than the client."""
    here = job.identity(opened)
    if part.run and here != part.run:  # on a worker that came later
        differs = unlike(here, part.run, job.index_paths) or "its inputs are others"
        raise ClusterError(f"worker on {os.uname().nodename}: {differs}")
    from .shard import ShardRun

    number = part.number, part.count
    if part.run is None:
        return ShardRun(part.folder, number, here, progress.wall)
    return ShardRun(part.folder, number, here, progress.wall, kept, is_lasting=False)
