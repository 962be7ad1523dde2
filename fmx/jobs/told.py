"""What is told of a run when it is done, in the same words by itself, on a cluster, and after fmx merge."""

from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import n_of

if TYPE_CHECKING:
    from ..search.facts import Asked

_SUMMARIES = {  # by the command, and by what its summary counts first
    ("search", "reads"): ("search.summary", "Summary"),
    ("search", "pairs"): ("search.summary", "PairSummary"),
    ("locate", "reads"): ("search.summary", "Summary"),
    ("mem", "queries"): ("mem.matching", "MemSummary"),
    ("pairwise", "pairs"): ("align.journey", "AlignmentSummary"),
    ("count", "reads"): ("guides.journey", "CountSummary"),
    ("count", "pairs"): ("guides.journey", "CountedPairs"),
    ("products", "pairs"): ("search.products", "ProductSummary"),
}


def tell(progress, command: str, summary, asked: "Asked | None", names, pace: str) -> None:
    """Say what a run has seen, how fast (``pace``), and what may be the matter.

    ``asked``: what the words on reads depend on, else None; ``names`` of the inputs, none of a shard's.
    """
    if names and not getattr(summary, summary.things):
        things = _called(summary.things, asked)
        progress.say(f"warning: no {things} in {', '.join(map(str, names))}")
    progress.say(f"{summary.sentence(asked)}; {pace}")
    if asked:
        from ..search.facts import hint, hint_for_patterns

        if found := (hint if command == "search" else hint_for_patterns)(summary, asked):
            progress.say(f"hint: {found}")


def _called(things: str, asked: "Asked | None") -> str:
    """What a Summary's reads, or anything else, are called."""
    return f"{asked.noun}s" if asked and things == "reads" else things


def tell_run(progress, command: str, summary, asked: "Asked | None", names, shard=None) -> None:
    """The same of a run by itself, or of its ``shard`` (jobs.shard.ShardRun); a new one begins."""
    wall, (n, things) = progress.wall, summary.seen()
    if shard and not getattr(summary, summary.things):
        progress.say(f"warning: {shard.why_empty(_called(summary.things, asked))}")
    pace = f"{wall.in_words()}, {wall.rate(n, _called(things, asked))}"
    tell(progress, command, summary, asked, () if shard else names, pace)
    progress.begin()


def tell_shards(progress, found, pace: str) -> None:
    """The same of all shards of a run, by their Manifests."""
    run = found[0].run
    total = {name: sum(shard.summary[name] for shard in found) for name in found[0].summary}
    module, name = _SUMMARIES[run["command"], next(iter(total))]
    summary = getattr(import_module(f"...{module}", __name__), name)(**total)
    asked = None
    if "told" in run["options"]:
        from ..search.facts import Asked

        asked = Asked(**run["options"]["told"])
    names = [] if run["command"] == "count" else [name for name, *_ in run["inputs"]]  # samples tell theirs
    tell(progress, run["command"], summary, asked, names, f"{n_of(len(found), 'shard')}, {pace}")
