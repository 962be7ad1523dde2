"""Runs the shards of a job on the workers of a Dask cluster (--scheduler), and merges them.

The scheduler and its workers are processes of Dask (distributed); all must see the inputs, the index and the
folder of the shards.  Each free worker takes the next shard; if one is lost, another runs its shards.  Shards
stay in the folder until all are merged, so that a second run can resume.
"""

import itertools
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

from .._version import __version__
from ..errors import ClusterError, installed, n_of
from ..machines.places import CPU
from ..machines.progress import Progress
from ..output.files import named_output
from ..report import command_line, on_behalf_of
from ..system import keep_freed, lock_new
from . import Cache, Context, Job, Resources
from . import run as run_job
from .merge import in_order, merge, say_shards, summary_of
from .shard import Manifest, ShardRun, absolute, identity, name_of, read_manifest

SCHEDULER = 6  # seconds in which a scheduler must answer
_PATIENCE = 60  # seconds to wait for the first worker


def on_cluster(
    job: Job, resources: Resources, progress: Progress, address: str | None, file: str | None, place: str
) -> None:
    """Run all shards of a job on a Dask cluster and merge them; after an error, finished shards are kept.

    ``address``, ``file``: as for Cluster; ``place``: the folder of the shards.
    """
    run, n = identity(job), job.n_parts(Context(resources, progress, Cache()))
    worker_job, before = absolute(job), set[int]()
    new: list[Manifest] = []  # finished by this run

    def finished() -> set[int]:
        return {i for i in range(1, n + 1) if os.path.exists(folder / name_of(i, n))}

    def rate() -> str:
        n_new, unit = summary_of(new).seen() if new else (0, "")
        return f", {progress.wall.rate(n_new, unit)}" if n_new else ""

    def message() -> str:
        return f"{len(before) + len(new)} of {n_of(n, 'shard')}{rate()}"

    def manifests() -> Iterator[Manifest]:
        work = partial(on_behalf_of, command_line(), do_shard, worker_job, resources, run, str(folder))
        for number in cluster.results(work, [(number, n) for number in range(1, n + 1)]):
            shard = read_manifest(folder / name_of(number, n))
            new.extend([shard] if number not in before else [])
            progress.show(message())
            yield shard

    with Cluster(address, file, progress.say) as cluster:
        n_threads = cluster.n_threads()
        with _locked_folder(place) as (place, folder):
            progress.say(f"{n_of(n, 'shard')} on the cluster at {cluster.name} ({n_of(n_threads, 'thread')})")
            if before := finished():
                progress.say(f"an earlier run has finished {len(before):,} of them, in {place}")
            progress.follow(lambda: len(new) / max(1, n - len(before)))
            progress.wall.turn_to("cluster")
            try:
                with progress.kept_up(message):
                    merged = merge(folder, in_order(folder, manifests()), job.output, progress, job)
            except KeyboardInterrupt:
                if n_kept := len(finished()):
                    what = f"{n_kept:,} of {n_of(n, 'shard')}"
                    progress.say(f"finished and kept in {place}: {what}; repeat the command to resume")
                raise
            for path in folder.iterdir():
                shutil.rmtree(path, ignore_errors=True)
    say_shards(progress, merged, f"{progress.wall.in_words()}{rate()}")


@contextmanager
def _locked_folder(place: str) -> Iterator[tuple[str, Path]]:
    """Lock ``place``, the folder of the shards, or PLACE2, PLACE3, ... if other clients use it.

    Yields its name and its absolute path.
    """
    for number in itertools.count(1):
        folder = place if number == 1 else f"{place}{number}"
        path = os.path.join(folder, ".lock")
        with named_output(folder), suppress(FileNotFoundError):  # removed again by another client
            os.makedirs(folder, exist_ok=True)
            lock = open(path, "wb")  # noqa: SIM115
            if lock_new(path, lock.fileno()):
                break
            lock.close()
    try:
        yield folder, Path(os.path.abspath(folder))
    finally:
        with suppress(OSError):  # shards are kept
            os.remove(path)
            os.rmdir(folder)
        lock.close()


class Cluster:
    """A Dask cluster, given by the ``address`` of its scheduler or the path of a scheduler ``file``.

    ``say`` reports that a worker is waited for, or lost; ``patience``: seconds to wait for the first worker,
    or for a result.  Raises ClusterError if the scheduler does not answer.
    """

    def __init__(
        self, address: str | None, file: str | None, say: Callable[[str], None], patience: float = _PATIENCE
    ) -> None:
        with installed("Dask", "'.[cluster]' in a clone of fmx", ClusterError):
            import distributed
        self._dask, self.name, self._say, self._patience = distributed, address or file, say, patience
        for logger in list(logging.root.manager.loggerDict):
            if logger.startswith("distributed"):
                logging.getLogger(logger).setLevel(logging.CRITICAL + 1)  # fmx reports errors itself
        deadline = time.monotonic() + SCHEDULER
        while file and not os.path.exists(file):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"--scheduler-file {file}: No such file or directory: is the scheduler running?"
                )
            time.sleep(0.1)
        try:
            timeout = max(1.0, deadline - time.monotonic())
            self._client = distributed.Client(address=address, scheduler_file=file, timeout=timeout)
        except (OSError, ValueError) as error:
            raise ClusterError(f"no Dask scheduler answers at {self.name}: {_first_line(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close(timeout=5)

    def n_threads(self) -> int:
        """Return the number of threads of all workers, after waiting for the first worker."""
        self._client.subscribe_topic("all", self._note)
        try:
            if not self._client.nthreads():
                self._say(f"waiting up to {self._patience} s for a worker at {self.name}")
                self._client.wait_for_workers(1, timeout=self._patience)
            return sum(self._client.nthreads().values())
        except (OSError, self._dask.TimeoutError) as error:
            raise ClusterError(
                f"no worker at {self.name} after {self._patience} s: run 'dask worker'"
            ) from error

    def _note(self, event: tuple) -> None:
        """Report a lost worker; called with an event of the scheduler by the client's own thread."""
        message = event[1]
        if isinstance(message, dict) and message.get("action") == "remove-worker":
            self._say(f"lost worker {message['worker']}: others run its shards")

    def results(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Yield the result of ``work(item)`` for each item as it finishes.

        Raises the first error of ``work``, after the other items are cancelled; ClusterError if the scheduler
        is lost.
        """
        futures = self._client.map(work, items, pure=False, retries=0)
        try:
            for future in self._dask.as_completed(futures):
                yield future.result(timeout=self._patience)
        except self._dask.KilledWorker as error:
            raise ClusterError(
                f"{error.task} killed several workers: give them more memory, or check their logs"
            ) from error
        except (self._dask.CancelledError, self._dask.TimeoutError) as error:
            raise self._lost() from error
        except (ImportError, AttributeError) as error:  # in reading the job
            raise ClusterError(f"a worker cannot run fmx {__version__} ({_first_line(error)})") from error
        finally:
            if self._client.status == "running":
                self._client.cancel(futures, force=True)

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"lost the scheduler at {self.name}: start it and run this again; finished shards are kept"
        )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# On a worker: its shards share cores, GPUs, and what is kept in memory for a run.


def n_threads_here() -> int:
    """Return the number of threads of this worker."""
    from distributed import get_worker

    return get_worker().state.nthreads


# What the shards of a worker share: the cache of the run whose shards were done last, and the GPUs, for one
# shard at a time.
_here = SimpleNamespace(choosing=threading.Lock(), gpus=threading.Lock(), cache=Cache())


def do_shard(job: Job, resources: Resources, run: dict, folder: str, shard: tuple[int, int]) -> int:
    """Run one shard (number, count) of a job into ``folder``; return its number.  ``run``: its identity.

    On the CPU, also with ``auto``, a shard uses one thread of the worker, on GPUs all.
    """
    keep_freed()
    with _here.choosing:
        if _here.cache.run != (job, resources, run):
            _here.cache = Cache((job, resources, run))
        cache, is_for_gpus = _here.cache, resources.place.engine not in ("cpu", "auto")
    with _here.gpus if is_for_gpus else nullcontext():
        n_threads = n_threads_here() if is_for_gpus else 1
        on = Resources(n_threads, resources.place if is_for_gpus else CPU)
        run_job(job, on, Progress(quiet=True), ShardRun(*shard, folder, run), cache)
    return shard[0]
