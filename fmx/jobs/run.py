"""Runs a job, whole or in part, and prints its summary; used by commands and by workers of a cluster."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ..errors import ClusterError, n_of
from ..input.streams import input_name
from ..machines.progress import Progress, RunCounts
from . import (
    Job,
    JobContext,
    LocalCache,
    OpenedT,
    PartedJob,
    PreparedT,
    Resources,
    SummaryT,
    WorkerCache,
)

if TYPE_CHECKING:
    from ..output.run import PartRun
    from ..search.summary import Asked, Summary
    from .identity import Manifest
    from .shard import ShardRun


@dataclass(frozen=True)
class Part:
    """Part ``number``, from 1, of ``count``, into ``folder``; ``run``: the identity of the run as the client
    of a cluster sees it, or None; ``given``: {option: value} of the command, or None."""

    number: int
    count: int
    folder: str
    run: dict | None = None
    given: dict | None = None


def run(
    job: Job[OpenedT, PreparedT, SummaryT],
    resources: Resources | None = None,
    progress: Progress | None = None,
    part: Part | None = None,
    cache: WorkerCache | None = None,
) -> SummaryT | None:
    """Run a job, or a part of a PartedJob; return the summary, None if the part was done before.

    By default on one core, without messages; ``cache``: keeps objects from one part to the next.
    Raises FmxError.
    """
    context = JobContext(resources or Resources(), progress or Progress(True), cache or LocalCache())
    opened = job.open(context)
    if part:
        shard = shard_of(cast(PartedJob, job), opened, part, context)
        if shard.is_done():
            context.progress.say(f"{shard} is done already; nothing to do")
            return None
        context = replace(context, shard=shard)
    make = partial(job.prepare, opened, context)
    with context.cache.lent(context.resources.place, make) as prepared:
        summary = job.execute(opened, prepared, context)
    job.say(opened, summary, context)
    return summary


def shard_of(
    job: PartedJob[OpenedT, PreparedT, SummaryT], opened: OpenedT, part: Part, context: JobContext
) -> "ShardRun":
    """Return the ShardRun of a part.  Raises ClusterError if a worker's inputs differ from the client's."""
    from .identity import unlike
    from .shard import ShardRun

    here = job.identity(opened)
    if part.run and here != part.run:  # a worker that joined after the check
        differs = unlike(here, part.run, job.index_paths) or "its inputs differ from the client's"
        raise ClusterError(f"worker on {os.uname().nodename}: {differs}")
    number, wall = (part.number, part.count), context.progress.wall
    if part.run is None:
        return ShardRun(part.folder, number, here, wall, given=part.given)
    return ShardRun(part.folder, number, here, wall, context.cache, is_lasting=False)


# Messages at the end of a run: the same for a whole run, a cluster run and fmx merge.


_SUMMARIES = {  # by command, and by what its summary counts first
    ("search", "reads"): ("search.summary", "Summary"),
    ("search", "pairs"): ("search.summary", "PairSummary"),
    ("locate", "reads"): ("search.summary", "Summary"),
    ("mem", "queries"): ("mem.matching", "MemSummary"),
    ("pairwise", "pairs"): ("align.pipeline", "AlignmentSummary"),
    ("count", "reads"): ("guides.pipeline", "CountSummary"),
    ("count", "pairs"): ("guides.pipeline", "PairCountSummary"),
    ("products", "pairs"): ("search.products", "ProductSummary"),
}


def say_summary(
    progress: Progress,
    command: str,
    summary: RunCounts,
    asked: "Asked | None",
    names: Sequence[str],
    pace: str,
    skip: int = 0,
) -> None:
    """Print the summary of a run with its speed (``pace``), then warnings and hints.

    ``asked``: options that the wording depends on, or None; ``names``: the inputs, empty for a shard;
    ``skip``: the value of --skip.
    """
    if names and not getattr(summary, summary.things):
        things, files = _called(summary.things, asked), ", ".join(map(input_name, names))
        if command == "pairwise" and not names[1:]:
            progress.warn(f"{files} has fewer than two sequences, so there are no pairs")
        else:
            skipped = f"--skip {skip} leaves no" if skip else "no"
            progress.warn(f"{skipped} {things} in {files}")
    progress.say(f"{summary.sentence(asked)}; {pace}")
    if asked:
        from ..search.summary import hint, hint_for_patterns

        if found := (hint if command == "search" else hint_for_patterns)(cast("Summary", summary), asked):
            progress.say(f"hint: {found}")


def _called(things: str, asked: "Asked | None") -> str:
    """Return what to call the reads, or other items, of a summary."""
    return f"{asked.noun}s" if asked and things == "reads" else things


def say_run(
    progress: Progress,
    command: str,
    summary: RunCounts,
    asked: "Asked | None",
    names: Sequence[str],
    shard: "PartRun | None" = None,
    skip: int = 0,
) -> None:
    """Print the summary of a run, or of its ``shard``, with time and rate; then restart the clock."""
    wall, (n, things) = progress.wall, summary.seen()
    if shard and not getattr(summary, summary.things):
        progress.warn(shard.why_empty(_called(summary.things, asked)))
    pace = f"{wall.in_words()}, {wall.rate(n, _called(things, asked))}"
    say_summary(progress, command, summary, asked, () if shard else names, pace, skip)
    progress.begin()


def say_shards(progress: Progress, found: "Sequence[Manifest]", pace: str) -> None:
    """Print the summary of all shards of a run, added up from their Manifests."""
    run = found[0].run
    total = {name: sum(shard.summary[name] for shard in found) for name in found[0].summary}
    module, name = _SUMMARIES[run["command"], next(iter(total))]
    summary = getattr(import_module(f"...{module}", __name__), name)(**total)
    asked = None
    if "asked" in run["options"]:
        from ..search.summary import Asked

        asked = Asked(**run["options"]["asked"])
    names = [] if run["command"] == "count" else [name for name, *_ in run["inputs"]]  # samples have warnings
    pace, skip = f"{n_of(len(found), 'shard')}, {pace}", run["options"].get("mapping", {}).get("skip", 0)
    say_summary(progress, run["command"], summary, asked, names, pace, skip)
