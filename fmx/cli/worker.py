"""What a worker of a cluster does with shards: they share its cores and GPUs, and what is made for a run."""

import functools
import threading
from contextlib import contextmanager
from importlib import import_module

from ..cluster.dask import n_threads_here
from ..errors import DeviceError
from ..jobs.kept import kept_for
from ..jobs.shard import seen
from ..options import ALL_GPUS
from ..system import resources


class Gpus:
    """The GPUs of a worker, by their numbers, each for one shard at a time."""

    def __init__(self):
        self._changed, self._busy = threading.Condition(), set()
        self.unfit: set = set()

    @contextmanager
    def one(self, numbers, wait):
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


def seen_there(paths, index_path) -> dict:
    """What a worker sees of the inputs and the index."""
    from ..index.disk.store import read_meta

    return seen(paths, index_path and read_meta(index_path))


def do_shard(command, given, run, shard):
    """One shard of a command, ``given`` its options: its number.

    On the CPU a thread of the worker does it, on a GPU as many as each of its GPUs has; with ``auto`` on a
    GPU if one is free, and will do.
    """
    resources.keep_freed()
    given = {**given, "shard": shard, "run": run, "kept": kept_for((command, run, given))}
    work = import_module(f".commands.{command}", __package__).command.callback
    engine = given.get("engine", "cpu")
    numbers = _gpus_for(command, given) if engine != "cpu" else []
    with _gpus.one(numbers, wait=engine not in ("cpu", "auto")) as number:
        if number is not None:
            there = {"device": number, "gpus": None, "threads": max(1, n_threads_here() // len(numbers))}
            try:
                work(**given | there | {"engine": "cuda" if engine == "auto" else engine})
                return shard[0]
            except DeviceError:
                if engine != "auto":
                    raise
                _gpus.unfit.add(number)
    work(**given | ({"engine": "cpu", "gpus": None} if "engine" in given else {}))
    return shard[0]


def _gpus_for(command, given) -> list:
    """Numbers of the GPUs that shards may have: --gpus, from --device on; by itself one, of pairwise all."""
    usual = ALL_GPUS if command == "pairwise" and given["device"] is None else 1
    first, n, there = given["device"] or 0, given["gpus"] or usual, n_gpus_here()
    if n == ALL_GPUS:
        n = max(there - first, 1)
    if given["engine"] == "auto":
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
