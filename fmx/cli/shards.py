"""--shard and --scheduler: a command's work in shards, one of them or all on a cluster."""

import os
from functools import partial

import click

from ..errors import ClusterError
from ..jobs.merge import merge
from ..jobs.shard import ShardRun, identity, unlike
from .places import kind_of, suffix_of

INSTEAD = {  # what to do
    "--first": "cut the files before, as by head -n",
    "--skip": "cut the files before, as by tail -n",
    "--sort": "merge the shards as BAM, then samtools sort",
    "CRAM": "merge the shards as BAM, then samtools view -C",
    "PARQUET": "merge the shards as TSV, then convert it",
}


def places_of(given, outputs: dict) -> dict:
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


def refuse_shards(given, alone: dict) -> None:
    """Note that there can be no shards with any of ``alone``: {option: whether it was given}.

    Raises UsageError where shards are asked for.
    """
    named = [option for option, value in alone.items() if value]
    if named and (given.shard or given.scheduler or given.scheduler_file):
        what = f"{named[0]} is for all of the inputs together: not with shards of them"
        raise click.UsageError(f"{what}; {INSTEAD[named[0]]}" if named[0] in INSTEAD else what)
    given.alone = bool(named)


def undone_shard(given, progress, command, paths, meta=None, join=None, n_shards=None, **wanted):
    """(is there anything left to do here, the ShardRun of --shard or None), in the folder of its output.

    On a cluster, all is done by then, and ``join`` (folder, Manifests as they come), by default
    jobs.merge.merge, has written it.  ``n_shards()``: how many it is given, by default by the bytes of
    ``paths``.  ``wanted`` as of jobs.shard.identity.
    """
    address = _address(given, paths)
    if not (given.shard or address or given.scheduler_file):
        return True, None
    run = identity(command, paths, meta, **wanted)
    if not given.shard:
        from .dealing import n_of_files, on_cluster

        kept = {"counts": getattr(given, "counts", None), "report": getattr(wanted["output"], "report", None)}
        asides = getattr(wanted["output"], "takers", dict)()
        join = join or partial(merge, path=given.output, asides=asides, wall=progress.wall, **kept)
        n_shards = n_shards or partial(n_of_files, paths, getattr(given, "engine", "cpu"))
        on_cluster(given, address, run, paths, n_shards(), join, progress)
        return False, None
    if run != (here := getattr(given, "run", run)):  # on a worker that came later
        index_path = getattr(given, "index_path", None) or next(iter(getattr(given, "index_paths", ())), None)
        differs = unlike(run, here, index_path) or "its inputs are others"
        raise ClusterError(f"worker on {os.uname().nodename}: {differs}")
    folder, is_lasting = wanted["output"].path, not hasattr(given, "run")
    shard = ShardRun(folder, given.shard, run, progress.wall, is_lasting=is_lasting)
    if shard.is_done():
        progress.say(f"{shard} is there already")
        return False, None
    return True, shard


def _address(given, paths):
    """The scheduler's address, if the work is for a cluster; the environment's where work can be shared."""
    if given.shard:
        if given.scheduler or given.scheduler_file:
            raise click.UsageError("give only one of --shard and --scheduler: a cluster cuts shards itself")
        return None
    if given.scheduler and given.scheduler_file:
        raise click.UsageError("give only one of --scheduler and --scheduler-file")
    if given.scheduler or given.scheduler_file:
        return given.scheduler
    if not (address := os.environ.get("DASK_SCHEDULER_ADDRESS")):
        return None
    from .dealing import has_place

    alone = any(getattr(given, name, None) for name in ("matrix", "checkpoint", "literal", "alone"))
    return address if not alone and has_place(given.output) and all(map(os.path.isfile, paths)) else None
