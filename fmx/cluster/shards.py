"""--scheduler: runs the shards of a job on the workers of a cluster and merges them."""

import functools
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ..errors import DeviceError, n_of
from ..input.streams import named_output
from ..jobs import Cache, Context, IndexedJob, Job, Resources, cache_for, say_shards
from ..jobs.identity import Manifest, name_of, read_manifest, seen
from ..jobs.merge import in_order
from ..jobs.run import run as run_job
from ..jobs.shard import ShardRun
from ..machines.places import ALL_GPUS
from ..machines.progress import Progress
from ..system.files import lock_new
from ..system.process import keep_freed
from . import dask
from .dask import n_threads_here

_UNITS = {"mem": "bases"}  # unit of the rate; for other commands the first one of their summary


def on_cluster(
    job: Job, resources: Resources, progress: Progress, address: str | None, file: str | None, place: str
) -> None:
    """Run all shards of a job on a Dask cluster and merge them; after an error, finished shards are kept.

    ``address``, ``file``: as for dask.Cluster; ``place``: the folder of the shards.
    """
    context = Context(resources, progress, Cache())
    opened = job.open(context)
    run, n = job.identity(opened), job.n_parts(opened, context)
    worker_job, n_threads = job.absolute(), 0
    look = partial(seen_on_worker, worker_job.inputs, worker_job.index_paths)
    with ExitStack() as stack:
        cluster = stack.enter_context(dask.Cluster(address, file))
        while not n_threads:  # all workers may be lost during the check
            cluster.wait(progress.say)
            n_threads = cluster.check(run, worker_job.index_paths, look)
        place = stack.enter_context(_locked_folder(place))
        folder = Path(os.path.abspath(place))
        work = partial(do_shard, worker_job, resources, run, str(folder))
        progress.say(f"{n_of(n, 'shard')} on the cluster at {cluster.name} ({n_of(n_threads, 'thread')})")
        names = [name_of(number, n) for number in range(1, n + 1)]
        before = [os.path.exists(folder / name) for name in names]
        if any(before):
            was_or_were = "was" if sum(before) == 1 else "were"
            progress.say(f"{sum(before):,} of them {was_or_were} finished by an earlier run, in {place}")
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
                shards = job.merge(opened, folder, in_order(folder, manifests()), progress)
        except KeyboardInterrupt:
            if n_kept := sum(os.path.exists(folder / name) for name in names):
                is_or_are = "is" if n_kept == 1 else "are"
                progress.say(
                    f"{n_kept:,} of {n_of(n, 'shard')} {is_or_are} finished and kept in {place}: run the "
                    "same command again to resume"
                )
            raise
        for path in folder.iterdir():
            shutil.rmtree(path, ignore_errors=True)
    rate = f", {progress.wall.rate(*done.seen())}" if done.seen()[0] else ""
    say_shards(progress, shards, f"{progress.wall.in_words()}{rate}")


@contextmanager
def _locked_folder(place: str) -> Iterator[str]:
    """Lock and yield ``place``, the folder of the shards, or PLACE2, PLACE3, ... if other clients use it."""
    folder, number = place, 1
    while not (lock := _locked(folder)):
        number += 1
        folder = f"{place}{number}"
    try:
        yield folder
    finally:
        with suppress(OSError):  # shards are kept
            os.remove(lock.name)
            os.rmdir(folder)
        lock.close()


def _locked(folder: str) -> BinaryIO | None:
    """Make a folder and lock a file in it; return the file, or None if another client has locked it."""
    path = os.path.join(folder, ".lock")
    with named_output(folder):
        os.makedirs(folder, exist_ok=True)
        with suppress(FileNotFoundError):  # removed again by another client
            file = open(path, "wb")  # noqa: SIM115
            if lock_new(path, file.fileno()):
                return file
            file.close()
    return None


class Done:
    """Counts finished shards and their speed; ``before``: whether an earlier run finished each."""

    def __init__(
        self, command: str, before: Sequence[bool], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._unit, self._before, self._now, self._start = _UNITS.get(command, ""), before, now, now()
        self._n, self._n_now, self._seen = 0, 0, 0

    def add(self, shard: Manifest) -> None:
        """Count a shard, finished now or before."""
        self._unit = self._unit or next(iter(shard.summary))
        if not self._before[shard.number - 1]:
            self._n_now, self._seen = self._n_now + 1, self._seen + shard.summary[self._unit]
        self._n += 1

    def share(self) -> float:
        """Return the fraction of the remaining shards that are finished."""
        return self._n_now / max(1, len(self._before) - sum(self._before))

    def seen(self) -> tuple[int, str]:
        """Return (number of reads, pairs or bases finished by this run, which of these)."""
        return self._seen, self._unit

    def seconds(self) -> float:
        """Seconds since the first shard was submitted."""
        return self._now() - self._start

    def rate(self) -> str:
        """Reads, pairs or bases per second after a comma; "" if this run has finished none."""
        return f", {self._seen / self.seconds():,.0f} {self._unit}/s" if self._seen else ""

    def message(self) -> str:
        """Return the state of the run, for the progress line."""
        return f"{self._n} of {n_of(len(self._before), 'shard')}{self.rate()}"


# On a worker: its shards share cores, GPUs, and what is kept in memory for a run.


class Gpus:
    """The GPUs of a worker by number, each used by one shard at a time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: set = set()
        self.unfit: set = set()

    @contextmanager
    def one(self, numbers: Sequence[int], wait: bool) -> Iterator[int | None]:
        """A free GPU of ``numbers``; None if there is none, unless ``wait``."""
        with self._changed:
            while not (free := [number for number in numbers if number not in self._busy]) and wait:
                self._changed.wait()
            self._busy |= set(free[:1])
        try:
            yield free[0] if free else None
        finally:
            with self._changed:
                self._busy -= set(free[:1])
                self._changed.notify_all()  # waiting shards may accept different GPUs


_gpus = Gpus()


def seen_on_worker(paths: Sequence[str], index_paths: Sequence[str]) -> dict:
    """Return the inputs and the indexes as this worker reads them."""
    from ..index.disk.store import read_meta

    return seen(paths, [read_meta(path) for path in index_paths])


def do_shard(job: Job, resources: Resources, run: dict, folder: str, shard: tuple[int, int]) -> int:
    """Run one shard (number, count) of a job into ``folder``; return its number.  ``run``: its identity.

    On the CPU a shard uses one thread of the worker, on a GPU the threads divided by the number of GPUs. With
    ``auto``, shards of reads run on the CPU, because they are small; others on a GPU if one is free and
    suitable.
    """
    keep_freed()
    cache, engine = cache_for((job, resources, run)), resources.engine
    if engine == "auto" and isinstance(job, IndexedJob):
        engine = "cpu"
    numbers = _gpus_for(resources) if engine != "cpu" else []
    with _gpus.one(numbers, wait=engine not in ("cpu", "auto")) as number:
        if number is not None:
            on_gpu = replace(
                resources, engine="cuda" if engine == "auto" else engine, device=number, gpus=1,
                threads=max(1, n_threads_here() // len(numbers)),
            )  # fmt: skip
            try:
                run_job(job, on_gpu, Progress(quiet=True), ShardRun(*shard, folder, run), cache)
                return shard[0]
            except DeviceError:
                if engine != "auto":
                    raise
                _gpus.unfit.add(number)
    run_job(
        job,
        replace(resources, engine="cpu", threads=1),
        Progress(quiet=True),
        ShardRun(*shard, folder, run),
        cache,
    )
    return shard[0]


def _gpus_for(resources: Resources) -> list[int]:
    """Return the numbers of the GPUs that shards may use."""
    first, n, n_present = resources.device, resources.gpus, n_gpus_here()
    if n == ALL_GPUS:
        n = max(n_present - first, 1)
    if resources.engine == "auto":
        return [number for number in range(first, min(first + n, n_present)) if number not in _gpus.unfit]
    return list(range(first, first + n))


@functools.cache
def n_gpus_here() -> int:
    """Return the number of GPUs that this worker sees."""
    from ..machines import gpu

    try:
        return gpu.n_devices()
    except DeviceError:
        return 0
