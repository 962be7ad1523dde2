"""fmx merge: shards into one result."""

import os

import click

from ... import options
from .count import add_up, counted_places, told


@options.command
@click.argument("folder", type=click.Path())
@options.output
@click.option(
    "--counts", type=click.Path(), metavar="FILE", help="Also write the table of reads and hits per contig."
)
@told
@options.quiet
def command(given):
    """Join the shards in a folder.

    FOLDER is what fmx search, locate, mem, pairwise or count with --shard were given as -o. All shards of one
    run must be there. The output is that of a run without --shard.
    """
    from ...cluster.merge import check_counts, manifests, merge, sentence
    from ...count.outputs import CountOutput
    from ...machines.progress import Progress
    from ..places import check_places

    found = manifests(given.folder)
    kind = found[0].run["options"]["output"]["kind"]
    is_count = found[0].run["command"] == "count"
    outputs = counted_places(given, kind) if is_count else {"-o": (given.output, [kind.upper()])}
    outputs["--counts"] = (given.counts, ["TSV"])
    for option in ("counts",) if is_count else ("stats", "json_path", "report"):
        if getattr(given, option):
            raise click.UsageError(
                f"--{option.removesuffix('_path')} is for shards of fmx {'search' if is_count else 'count'}"
            )
    check_places([], outputs)
    folder = os.path.realpath(given.folder)
    for option, (path, _) in outputs.items():
        if path and path != "-" and os.path.realpath(path).startswith(f"{folder}{os.sep}"):
            raise click.UsageError(
                f"{option} {path} lies in {given.folder}, among the shards; name a place outside"
            )
    progress = Progress(given.quiet)
    if is_count:
        output = CountOutput(given.output, kind, given.stats, given.json_path, given.report)
        add_up(output, progress, given.folder, found)
    else:
        if given.counts:
            check_counts(given.folder, found)
        merge(given.folder, found, given.output, given.counts)
    progress.say(sentence(found))
