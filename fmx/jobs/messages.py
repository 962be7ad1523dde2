"""Messages at the end of a run: the same for a whole run, a cluster run and fmx merge."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ..errors import n_of
from ..input.streams import input_name
from ..machines.progress import Progress, RunCounts
from ..output.run import Run

if TYPE_CHECKING:
    from ..search.summary import Asked, Summary
    from .identity import Manifest


def say_summary(
    progress: Progress,
    command: str,
    summary: RunCounts,
    wording: "Asked | None",
    names: Sequence[str],
    pace: str,
    skip: int = 0,
) -> None:
    """Print the summary of a run with its speed (``pace``), then warnings and hints.

    ``wording``: options that the wording depends on, or None; ``names``: the inputs, empty for a shard;
    ``skip``: the value of --skip.
    """
    if names and not getattr(summary, summary.things):
        things, files = _called(summary.things, wording), ", ".join(map(input_name, names))
        if command == "pairwise" and not names[1:]:
            progress.warn(f"{files} has fewer than two sequences, so there are no pairs")
        else:
            skipped = f"--skip {skip} leaves no" if skip else "no"
            progress.warn(f"{skipped} {things} in {files}")
    progress.say(f"{summary.sentence(wording)}; {pace}")
    if wording:
        from ..search.summary import hint, hint_for_patterns

        if advice := (hint if command == "search" else hint_for_patterns)(cast("Summary", summary), wording):
            progress.say(f"hint: {advice}")


def _called(things: str, wording: "Asked | None") -> str:
    """Return what to call the reads, or other items, of a summary."""
    return f"{wording.noun}s" if wording and things == "reads" else things


def say_run(
    progress: Progress,
    run: Run,
    command: str,
    summary: RunCounts,
    names: Sequence[str],
    wording: "Asked | None" = None,
    skip: int = 0,
) -> None:
    """Print the summary of a run, or of a shard, with time and rate; then restart the clock."""
    wall, (n, things) = progress.wall, summary.seen()
    if not getattr(summary, summary.things) and (why := run.why_empty(_called(summary.things, wording))):
        progress.warn(why)
    pace = f"{wall.in_words()}, {wall.rate(n, _called(things, wording))}"
    say_summary(progress, command, summary, wording, names if run.is_whole else (), pace, skip)
    progress.begin()


def say_shards(progress: Progress, shards: "Sequence[Manifest]", pace: str) -> None:
    """Print the summary of all shards of a run, added up from their Manifests."""
    run, options = shards[0].run, shards[0].run["options"]
    total = {name: sum(shard.summary[name] for shard in shards) for name in shards[0].summary}
    summary, wording = _summary_of(run["command"], total), None
    if "asked" in options:
        from ..search.summary import Asked

        wording = Asked(**options["asked"])
    names = [] if run["command"] == "count" else [name for name, *_ in run["inputs"]]  # samples have warnings
    pace, skip = f"{n_of(len(shards), 'shard')}, {pace}", options.get("mapping", {}).get("skip", 0)
    say_summary(progress, run["command"], summary, wording, names, pace, skip)


def _summary_of(command: str, numbers: dict) -> RunCounts:
    """Return the summary of a command from its numbers."""
    if command == "mem":
        from ..mem.matching import MemSummary

        return MemSummary(**numbers)
    if command == "pairwise":
        from ..align.pipeline import AlignmentSummary

        return AlignmentSummary(**numbers)
    if command == "count":
        from ..guides.pipeline import CountSummary, PairCountSummary

        return (PairCountSummary if "pairs" in numbers else CountSummary)(**numbers)
    if command == "products":
        from ..search.products import ProductSummary

        return ProductSummary(**numbers)
    from ..search.summary import PairSummary, Summary

    return (PairSummary if "pairs" in numbers else Summary)(**numbers)
