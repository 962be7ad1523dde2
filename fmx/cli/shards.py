"""--shard: a share of a command's work, into a folder."""

import click

from ..cluster.run import ShardRun, identity


def places_of(given, outputs) -> dict:
    """The ``outputs`` of check_places: with --shard, -o is a folder.  Raises UsageError."""
    if not given.shard:
        return outputs
    if given.output == "-":
        raise click.UsageError("--shard needs -o FOLDER, where 'fmx merge' finds all shards")
    return {"-o": (given.output, [])}


def undone_shard(given, progress, command, paths, meta=None, **wanted):
    """(is there anything to do, the ShardRun of --shard or None); ``wanted`` as of cluster.run.identity."""
    if not given.shard:
        return True, None
    run = ShardRun(given.output, given.shard, identity(command, paths, meta, **wanted))
    if run.is_done():
        progress.say(f"{run} is there already")
        return False, None
    return True, run
