"""--scheduler: the shards of a job on the workers of a cluster, and what they make up together."""

import functools
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import DeviceError, n_of
from ..jobs import LocalCache, PartedJob, Resources, cache_for
from ..jobs.identity import Manifest, name_of, read_manifest, seen
from ..jobs.merge import in_order
from ..jobs.run import Part, say_shards
from ..jobs.run import run as run_job
from ..machines.places import ALL_GPUS
from ..machines.progress import Progress
from ..system.process import keep_freed
from . import dask
from .dask import n_threads_here

_UNITS = {"mem": "bases"}  # whose rate is told; of other commands what their summaries begin with


def on_cluster(
    job: PartedJob, resources: Resources, progress: Any, address: str | None, file: str | None, place: str
) -> None:
    """Do all shards of a job on a Dask cluster, and merge them; what was done before an error is kept.

    ``address``, ``file``: as of dask.Cluster; ``place``: the folder of the shards.
    """
    cache = LocalCache()
    opened = job.open(resources, progress, cache)
    run, n = job.identity(opened), job.n_parts(opened, resources, progress, cache)
    folder, there = Path(os.path.abspath(place)), job.absolute()
    work = partial(do_shard, there, resources, run, str(folder))
    look = partial(seen_there, there.inputs, there.index_paths)
    with dask.Cluster(address, file) as cluster:
        cluster.wait(progress.say)
        n_threads = cluster.check(run, there.index_paths, look)
        progress.say(f"{n_of(n, 'shard')} on {n_of(n_threads, 'thread')} of the cluster at {cluster.name}")
        names = [name_of(number, n) for number in range(1, n + 1)]
        before = [os.path.exists(folder / name) for name in names]
        if any(before):
            was_or_were = "was" if sum(before) == 1 else "were"
            progress.say(f"{sum(before):,} of them {was_or_were} done before, and kept in {place}")
        done = Done(job.name, before)
        progress.follow(done.share)

        def manifests() -> Iterator[Manifest]:
            items = [(number, n) for number in range(1, n + 1)]
            for number in cluster.results(work, items, progress.say):
                shard = read_manifest(folder / names[number - 1])
                done.add(shard)
                progress.show(done.message())
                yield shard

        progress.wall.turn_to("cluster")
        try:
            with progress.kept_up(done.message):
                found = job.merge(opened, folder, in_order(folder, manifests()), progress)
        except KeyboardInterrupt:
            if n_kept := sum(os.path.exists(folder / name) for name in names):
                is_or_are = "is" if n_kept == 1 else "are"
                progress.say(
                    f"{n_kept:,} of {n_of(n, 'shard')} {is_or_are} done, and kept in {place}: the same "
                    "command does the others"
                )
            raise
    shutil.rmtree(folder, ignore_errors=True)
    rate = f", {progress.wall.rate(*done.seen())}" if done.seen()[0] else ""
    say_shards(progress, found, f"{progress.wall.in_words()}{rate}")


class Done:
    """What was done of a run's shards, and how fast; ``before``: for each whether an earlier run did it."""

    def __init__(self, command: str, before: Sequence[bool]) -> None:
        self._unit, self._before, self._start = _UNITS.get(command, ""), before, time.monotonic()
        self._n, self._n_now, self._seen = 0, 0, 0

    def add(self, shard: Manifest) -> None:
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


# What a worker of a cluster does with shards: they share its cores and GPUs, and what is made for a run.


class Gpus:
    """The GPUs of a worker, by their numbers, each for one shard at a time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: set = set()
        self.unfit: set = set()

    @contextmanager
    def one(self, numbers: Sequence[int], wait: bool) -> Iterator[int | None]:
        """One of ``numbers`` that no other shard has; None where there is none, unless with ``wait``."""
        with self._changed:
            while not (free := [number for number in numbers if number not in self._busy]) and wait:
                self._changed.wait()
            self._busy |= set(free[:1])
        try:
            yield free[0] if free else None
        finally:
            with self._changed:
                self._busy -= set(free[:1])
                self._changed.notify_all()  # each waits for GPUs of its own


_gpus = Gpus()


def seen_there(paths: Sequence[str], index_paths: Sequence[str]) -> dict:
    """What a worker sees of the inputs and the indexes."""
    from ..index.disk.store import read_meta

    return seen(paths, [read_meta(path) for path in index_paths])


def do_shard(job: PartedJob, resources: Resources, run: dict, folder: str, shard: tuple[int, int]) -> int:
    """One shard (number, count) of a job whose identity is ``run``, into ``folder``: its number.

    On the CPU a thread of the worker does it, on a GPU as many as each of its GPUs has; with ``auto`` on a
    GPU if one is free, and will do.
    """
    keep_freed()
    cache, part, engine = cache_for((job, resources, run)), Part(*shard, folder, run), resources.engine
    numbers = _gpus_for(resources) if engine != "cpu" else []
    with _gpus.one(numbers, wait=engine not in ("cpu", "auto")) as number:
        if number is not None:
            own = replace(
                resources, engine="cuda" if engine == "auto" else engine, device=number, gpus=1,
                threads=max(1, n_threads_here() // len(numbers)),
            )  # fmt: skip
            try:
                run_job(job, own, Progress(quiet=True), part, cache)
                return part.number
            except DeviceError:
                if engine != "auto":
                    raise
                _gpus.unfit.add(number)
    run_job(job, replace(resources, engine="cpu", threads=1), Progress(quiet=True), part, cache)
    return part.number


def _gpus_for(resources: Resources) -> list[int]:
    """Numbers of the GPUs that shards may have."""
    first, n, there = resources.device, resources.gpus, n_gpus_here()
    if n == ALL_GPUS:
        n = max(there - first, 1)
    if resources.engine == "auto":
        return [number for number in range(first, min(first + n, there)) if number not in _gpus.unfit]
    return list(range(first, first + n))


@functools.cache
def n_gpus_here() -> int:
    """GPUs that this worker sees."""
    from ..machines import gpu

    try:
        return gpu.n_devices()
    except DeviceError:
        return 0
