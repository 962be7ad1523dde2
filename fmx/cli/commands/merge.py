"""fmx merge: shards into one result."""

import os

import click

from ... import options


@options.command
@click.argument("folder", type=click.Path())
@options.output
@click.option(
    "--counts", type=click.Path(), metavar="FILE", help="Also write the table of reads and hits per contig."
)
@options.quiet
def command(given):
    """Join the shards in a folder.

    FOLDER is what fmx search, locate, mem or pairwise with --shard were given as -o. All shards of one run
    must be there. The output is that of a run without --shard.
    """
    from ...cluster.merge import manifests, merge, sentence
    from ...machines.progress import Progress
    from ..places import check_places

    found = manifests(given.folder)
    kind = found[0].run["options"]["output"]["kind"].upper()
    outputs = {"-o": (given.output, [kind]), "--counts": (given.counts, ["TSV"])}
    check_places([], outputs)
    folder = os.path.realpath(given.folder)
    for option, (path, _) in outputs.items():
        if path and path != "-" and os.path.realpath(path).startswith(f"{folder}{os.sep}"):
            raise click.UsageError(
                f"{option} {path} lies in {given.folder}, among the shards; name a place outside"
            )
    merge(given.folder, found, given.output, given.counts)
    Progress(given.quiet).say(sentence(found))
