"""--shard and --scheduler: a command's work in shards, one of them or all on a cluster."""

import os
import shutil
import time
from functools import partial
from pathlib import Path

import click

from ..cluster.merge import in_order, merge, sentence
from ..cluster.run import ShardRun, identity
from ..errors import ClusterError
from ..options import find_index, find_indexes

SHARD, LARGE = 32 << 20, 128 << 20  # bytes of input that a shard on a cluster has; of much input
SEVERAL, MOST = 64, 4096  # shards, from which on they are larger; at most
PAIRWISE = 64  # shards of pairs
INPUTS = ("reads", "patterns", "queries", "seqs", "other", "libraries")  # what commands call them
_INSTEAD = {  # what to do
    "--first": "cut the files before, as by head -n",
    "--skip": "cut the files before, as by tail -n",
    "--sort": "merge the shards as BAM, then samtools sort",
    "CRAM": "merge the shards as BAM, then samtools view -C",
    "PARQUET": "merge the shards as TSV, then convert it",
    "Parquet": "merge the shards as TSV, then convert it",
}
OUTPUTS = ("stats", "json_path", "report")  # of all shards together


def places_of(given, outputs) -> dict:
    """The ``outputs`` of check_places: with --shard, -o is a folder.  Raises UsageError."""
    if not given.shard:
        return outputs
    if given.output == "-":
        raise click.UsageError("--shard needs -o FOLDER, where 'fmx merge' finds all shards")
    return {option: (path, []) for option, (path, _) in outputs.items() if option.startswith("-o")}


def refuse_shards(given, alone: dict) -> None:
    """Note that there can be no shards with any of ``alone``: {option: whether it was given}.

    Raises UsageError where shards are asked for.
    """
    named = [option for option, value in alone.items() if value]
    if named and (given.shard or given.scheduler or given.scheduler_file):
        what = f"{named[0]} is for all of the inputs together: not with shards of them"
        raise click.UsageError(f"{what}; {_INSTEAD[named[0]]}" if named[0] in _INSTEAD else what)
    given.alone = bool(named)


def undone_shard(given, progress, command, paths, meta=None, join=None, **wanted):
    """(is there anything left to do here, the ShardRun of --shard or None), in the folder of its output.

    On a cluster, all is done by then, and ``join`` (folder, Manifests as they come), by default
    cluster.merge.merge, has written it.  ``wanted`` as of cluster.run.identity.
    """
    address = _address(given, paths)
    if not (given.shard or address or given.scheduler_file):
        return True, None
    run = identity(command, paths, meta, **wanted)
    if not given.shard:
        kept = {"counts": getattr(given, "counts", None), "report": getattr(wanted["output"], "report", None)}
        asides = getattr(wanted["output"], "takers", dict)()
        join = join or partial(merge, path=given.output, asides=asides, **kept)
        _on_cluster(given, address, run, paths, join, progress)
        return False, None
    if run != getattr(given, "run", run):
        raise ClusterError("the index or the inputs were changed while their shards were done")
    folder, is_lasting = wanted["output"].path, not hasattr(given, "run")
    shard = ShardRun(folder, given.shard, run, is_lasting=is_lasting)
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
    alone = any(getattr(given, name, None) for name in ("matrix", "checkpoint", "literal", "alone"))
    if alone or given.output == "-" or not all(map(os.path.isfile, paths)):
        return None
    return os.environ.get("DASK_SCHEDULER_ADDRESS")


def _on_cluster(given, address, run, paths, join, progress):
    """Do all shards on a Dask cluster, and ``join`` them; what was done before an error is kept."""
    from ..cluster.dask import Cluster
    from .worker import do_shard, seen_there

    if given.output == "-" or not os.path.isdir(os.path.dirname(os.path.abspath(given.output))):
        raise click.UsageError("on a cluster give -o FILE, in a folder that all workers see")
    folder = Path(f"{os.path.abspath(given.output)}.shards")
    command = run["command"]
    n = PAIRWISE if command == "pairwise" else n_shards(sum(map(os.path.getsize, paths)))
    there = _as_seen_there(given, folder) | {"kind": run["options"]["output"]["kind"]}
    work = partial(do_shard, command, there, run)
    see = partial(seen_there, [os.path.abspath(path) for path in paths], _index_of(there))
    start = time.monotonic()
    with Cluster(address, given.scheduler_file) as cluster:
        n_threads = cluster.check({key: run[key] for key in ("fmx", "index", "inputs")}, see)
        progress.say(f"{n} shards on {n_threads} threads of the cluster at {cluster.name}")

        def done():
            for i, number in enumerate(cluster.results(work, [(number, n) for number in range(1, n + 1)]), 1):
                left = int((time.monotonic() - start) / i * (n - i))
                progress.show(f"{i} of {n} shards, {left // 60}:{left % 60:02d} left")
                yield number

        wanted = bool(getattr(given, "counts", None)), bool(getattr(given, "reports", None))
        found = join(folder, in_order(folder, n, done(), *wanted))
    shutil.rmtree(folder, ignore_errors=True)
    progress.say(f"{sentence(found)}; {time.monotonic() - start:.1f} s")


def n_shards(n_bytes) -> int:
    """How many shards so much input has: whatever the cluster is, so that a second run goes on with them."""
    size = min(max(n_bytes // SEVERAL, SHARD), LARGE)
    return max(1, min(n_bytes // size, MOST))


def _as_seen_there(given, folder) -> dict:
    """What a worker's command is given: whole paths, one thread, a folder for the shards."""
    there = {**vars(given), "output": str(folder), "threads": 1, "quiet": True}
    there |= dict.fromkeys(("scheduler", "scheduler_file", *OUTPUTS))
    if "index_paths" in there:
        there["index_paths"] = tuple(map(os.path.abspath, find_indexes(given.index_paths)))
    if "index_path" in there:
        there["index_path"] = os.path.abspath(find_index(given.index_path))
    for name in INPUTS:
        if value := there.get(name):
            whole = os.path.abspath
            there[name] = whole(value) if isinstance(value, str) else tuple(map(whole, value))
    return {key: there[key] for key in (*vars(given), "index_path") if key in there}


def _index_of(there):
    """The index that a worker's command is given, if it takes one."""
    return there.get("index_path") or next(iter(there.get("index_paths", ())), None)
