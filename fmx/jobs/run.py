"""Runs a job, or one shard of it; used by commands and by workers of a cluster."""

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from ..machines.progress import Progress
from ..output.run import Run
from . import Cache, Context, Job, Resources

if TYPE_CHECKING:
    from .shard import ShardRun


def run(
    job: Job,
    resources: Resources | None = None,
    progress: Progress | None = None,
    shard: "ShardRun | None" = None,
    cache: Cache | None = None,
) -> Any:
    """Run a job, or a shard of it; return the summary, None if the shard was complete before.

    By default on one core, without messages; ``cache``: keeps objects from one shard to the next.
    Raises FmxError.
    """
    context = Context(resources or Resources(), progress or Progress(True), cache or Cache(), shard or Run())
    opened = job.open(context)
    if shard and not shard.begin(job, opened, context):
        context.progress.say(f"{shard} is done already; nothing to do")
        return None
    prepare = partial(job.prepare, opened, context)
    is_worker = shard and shard.client is not None  # does other shards of the same job, too
    steps = context.cache.reused(context.resources.place, prepare) if is_worker else nullcontext(prepare())
    with steps as prepared:
        summary = job.execute(opened, prepared, context)
    job.say(opened, summary, context)
    return summary
