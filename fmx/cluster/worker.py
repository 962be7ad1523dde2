"""What a worker of a cluster does with shards: they share its cores and GPUs, and what is made for a run."""

import functools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ..errors import DeviceError
from ..jobs import PartedJob
from ..jobs.identity import seen
from ..jobs.resources import Resources, cache_for
from ..jobs.run import Part
from ..jobs.run import run as run_job
from ..machines.places import ALL_GPUS
from ..machines.progress import Progress
from ..system.process import keep_freed
from .dask import n_threads_here


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
