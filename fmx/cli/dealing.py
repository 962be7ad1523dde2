"""--scheduler: the shards of a command on the workers of a cluster, and what they make up together."""

import os
import shutil
import time
from functools import partial
from pathlib import Path

import click

from ..cluster import dask
from ..errors import n_of
from ..jobs.manifest import name_of, read_manifest
from ..jobs.merge import in_order
from ..jobs.told import tell_shards
from ..options.finding import find_index, find_indexes
from .worker import do_shard, seen_there

# Of cores, and of GPUs: how many before they are made larger; bytes of input of one at least, and at most.
SIZES = (64, 32 << 20, 128 << 20), (16, 256 << 20, 1 << 30)
CHUNKS = (64, 64, 1), (16, 128, 128)  # how many; chunks of pairs of one, with the filter and without it
MOST = 4096  # shards
INPUTS = (  # what commands call them
    "reads", "mates1", "mates2", "reference", "patterns", "queries", "seqs", "other", "libraries",
)  # fmt: skip
OUTPUTS = ("stats", "json_path", "report")  # of all shards together
_UNITS = {"mem": "bases"}  # whose rate is told; of other commands what their summaries begin with


def on_cluster(given, address, run, paths, n, join, progress):
    """Do all ``n`` shards on a Dask cluster, and ``join`` them; what was done before an error is kept."""
    if not has_place(given.output):
        raise click.UsageError("on a cluster give -o FILE, in a folder that all workers see")
    folder = Path(f"{os.path.abspath(given.output)}.shards")
    command = run["command"]
    there = _as_seen_there(given, folder) | {"kind": run["options"]["output"]["kind"]}
    work = partial(do_shard, command, there, run)
    index_path = _index_of(there)
    look = partial(seen_there, [os.path.abspath(path) for path in paths], index_path)
    with dask.Cluster(address, given.scheduler_file) as cluster:
        n_threads = cluster.check(run, index_path, look)
        progress.say(f"{n_of(n, 'shard')} on {n_of(n_threads, 'thread')} of the cluster at {cluster.name}")
        names = [name_of(number, n) for number in range(1, n + 1)]
        before = [os.path.exists(folder / name) for name in names]
        if any(before):
            was_or_were = "was" if sum(before) == 1 else "were"
            progress.say(
                f"{sum(before):,} of them {was_or_were} done before, and kept in {given.output}.shards"
            )
        done = Done(command, before)
        progress.follow(done.share)

        def manifests():
            items = [(number, n) for number in range(1, n + 1)]
            for number in cluster.results(work, items, progress.say):
                shard = read_manifest(folder / names[number - 1])
                done.add(shard)
                progress.show(done.message())
                yield shard

        progress.wall.turn_to("cluster")
        try:
            with progress.kept_up(done.message):
                found = join(folder, in_order(folder, manifests()))
        except KeyboardInterrupt:
            if n_kept := sum(os.path.exists(folder / name) for name in names):
                is_or_are = "is" if n_kept == 1 else "are"
                progress.say(
                    f"{n_kept:,} of {n_of(n, 'shard')} {is_or_are} done, and kept in {given.output}.shards: "
                    "the same command does the others"
                )
            raise
    shutil.rmtree(folder, ignore_errors=True)
    rate = f", {progress.wall.rate(*done.seen())}" if done.seen()[0] else ""
    tell_shards(progress, found, f"{progress.wall.in_words()}{rate}")


def has_place(output) -> bool:
    """May shards lie beside an output?  It must be a file, or become one."""
    folder = os.path.dirname(os.path.abspath(output))
    return output != "-" and (os.path.isfile(output) or not os.path.exists(output)) and os.path.isdir(folder)


class Done:
    """What was done of a run's shards, and how fast; ``before``: for each whether an earlier run did it."""

    def __init__(self, command, before):
        self._unit, self._before, self._start = _UNITS.get(command), before, time.monotonic()
        self._n, self._n_now, self._seen = 0, 0, 0

    def add(self, shard) -> None:
        """A shard, by its Manifest, was done now, or found."""
        self._unit = self._unit or next(iter(shard.summary))
        if not self._before[shard.number - 1]:
            self._n_now, self._seen = self._n_now + 1, self._seen + shard.summary[self._unit]
        self._n += 1

    def share(self) -> float:
        """What share of the shards that were left is done."""
        return self._n_now / max(1, len(self._before) - sum(self._before))

    def seen(self) -> tuple[int, str]:
        """How many reads, pairs or bases are done now, not before, and which of these."""
        return self._seen, self._unit

    def seconds(self) -> float:
        """Since the first shard was given out."""
        return time.monotonic() - self._start

    def rate(self) -> str:
        """So many reads, pairs or bases a second, behind a comma; nothing if none was done now."""
        return f", {self._seen / self.seconds():,.0f} {self._unit}/s" if self._seen else ""

    def message(self) -> str:
        """How far they are, for a line of progress."""
        return f"{self._n} of {n_of(len(self._before), 'shard')}{self.rate()}"


def n_of_files(paths, engine) -> int:
    """How many shards files have: whatever the cluster is, so that a second run goes on with them."""
    several, least, most = SIZES[is_gpu(engine)]
    n_bytes = sum(map(os.path.getsize, paths))
    return max(1, min(n_bytes // min(max(n_bytes // several, least), most), MOST))


def n_of_chunks(n, filtered, engine) -> int:
    """The same of n chunks of pairs (align/jobs.py), where most pairs are ``filtered`` out, or not."""
    several, with_filter, without = CHUNKS[is_gpu(engine)]
    return max(1, min(max(n // (with_filter if filtered else without), several), n, MOST))


def is_gpu(engine) -> bool:
    """Are all shards done on GPUs?"""
    return engine not in ("cpu", "auto")


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
