"""Runs shards on the workers of a Dask cluster: each free worker takes the next shard.

The scheduler and its workers are processes of Dask (distributed); all must see the inputs, the index and the
folder of the shards.  If a worker is lost, another one runs its shards.  The client counts finished shards
and merges them at the end.  They stay in the folder until then, so that a second run can resume.
"""

import logging
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from .._version import __version__
from ..errors import ClusterError, FmxError, installed
from ..jobs.identity import unlike

SCHEDULER = 6  # seconds in which a scheduler must answer
PATIENCE = 60  # seconds to wait for the first worker
AWHILE = 0.02  # seconds between checks for finished shards


def check_worker(run: dict, index_paths: Sequence[str], look: Callable[[], dict]) -> tuple[str, str]:
    """(host of this worker, how it differs from the client or ""); ``look()``: what it sees, for ``run``."""
    try:
        return os.uname().nodename, unlike(look(), run, index_paths)
    except FmxError as error:
        return os.uname().nodename, str(error)


def n_threads_here() -> int:
    """Return the number of threads of this worker."""
    from distributed import get_worker

    return get_worker().state.nthreads


class Cluster:
    """A Dask cluster, given by the ``address`` of its scheduler or the path of a scheduler ``file``.

    ``patience``: seconds to wait for the first worker, or for a result.  Raises ClusterError if the scheduler
    does not answer.
    """

    def __init__(
        self, address: str | None = None, file: str | None = None, patience: float = PATIENCE
    ) -> None:
        with installed("Dask", "'.[cluster]' in a clone of fmx", ClusterError):
            import distributed
        self._dask, self.name, self._patience = distributed, address or file, patience
        for logger in list(logging.root.manager.loggerDict):
            if logger.startswith("distributed"):
                logging.getLogger(logger).setLevel(logging.CRITICAL + 1)  # fmx reports errors itself
        self._hosts: dict[str, str] = {}  # by address of the worker
        self._lost_workers: deque[str] = deque()  # addresses not reported yet
        deadline = time.monotonic() + SCHEDULER
        while file and not os.path.exists(file) and time.monotonic() < deadline:
            time.sleep(0.1)
        try:
            if file and not os.path.exists(file):
                raise ClusterError(
                    f"--scheduler-file {file}: No such file or directory: is the scheduler running?"
                )
            left = max(1.0, deadline - time.monotonic())
            self._client = distributed.Client(address=address, scheduler_file=file, timeout=left)
        except (OSError, ValueError) as error:
            raise ClusterError(f"no Dask scheduler answers at {self.name}: {_first_line(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close(timeout=5)

    def wait(self, say: Callable[[str], None]) -> None:
        """Wait for the first worker, with a message.  Raises ClusterError if none comes."""
        if self._client.nthreads():
            return
        say(f"waiting up to {self._patience} s for a worker at {self.name}")
        try:
            self._client.wait_for_workers(1, timeout=self._patience)
        except (OSError, self._dask.TimeoutError) as error:
            raise ClusterError(
                f"no worker at {self.name} after {self._patience} s: run 'dask worker'"
            ) from error

    def check(self, run: dict, index_paths: Sequence[str], look: Callable[[], dict]) -> int:
        """Number of threads of all workers, 0 if all are lost.

        ``run``: the identity of the run on the client; ``index_paths``, ``look``: as for check_worker.
        Raises ClusterError if a worker's inputs or fmx version differ.
        """
        self._client.subscribe_topic("all", self._note)
        try:
            answers = self._client.run(check_worker, run, index_paths, look, on_error="return")
            n_threads = self._client.nthreads()
        except OSError as error:
            raise self._lost() from error
        for worker, answer in answers.items():
            if isinstance(answer, OSError):  # no connection: it is lost
                n_threads.pop(worker, None)
                continue
            if isinstance(answer, BaseException):
                raise ClusterError(f"worker {worker}: cannot run fmx {__version__} ({_first_line(answer)})")
            self._hosts[worker], differs = answer
            if differs:
                raise ClusterError(f"worker {self._named(worker)}: {differs}")
        return sum(n_threads.values())

    def _named(self, worker: str) -> str:
        host = self._hosts.get(worker)
        return f"{worker} on {host}" if host else worker

    def results(
        self, work: Callable[[Any], Any], items: Sequence[Any], say: Callable[[str], None]
    ) -> Iterator[Any]:
        """Yield the result of ``work(item)`` for each item as it finishes; ``say`` reports lost workers.

        Raises the first error of ``work``, after the other items are cancelled; ClusterError if the scheduler
        is lost.
        """
        stamp = time.time_ns()
        keys = [f"fmx-{stamp}-{i}" for i in range(len(items))]
        futures = self._client.map(work, items, key=keys, pure=False, retries=0)
        done, pending = self._dask.as_completed(futures), set(futures)
        try:
            while pending:
                finished = self._next(done)
                while self._lost_workers:
                    say(f"lost worker {self._named(self._lost_workers.popleft())}: others run its shards")
                for future in finished:
                    pending.discard(future)
                    yield self._result(future)
        finally:
            if pending and self._client.status == "running":
                self._client.cancel(list(pending), force=True)

    def _note(self, event: tuple) -> None:
        """Handle an event of the scheduler; called by the client's own thread."""
        message = event[1]
        if isinstance(message, dict) and message.get("action") == "remove-worker":
            self._lost_workers.append(message["worker"])

    def _next(self, done: Any) -> list:
        """Futures that have finished; waits a moment if there are none."""
        if finished := done.next_batch(block=False):
            return finished
        if self._client.status != "running":
            raise self._lost()
        time.sleep(AWHILE)
        return []

    def _result(self, future: Any) -> Any:
        try:
            return future.result(timeout=self._patience)
        except FmxError:
            raise
        except self._dask.KilledWorker as error:
            raise ClusterError(
                f"{error.task} killed several workers: give them more memory, or check their logs"
            ) from error
        except (self._dask.CancelledError, self._dask.TimeoutError) as error:
            raise self._lost() from error

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"lost the scheduler at {self.name}: start it and run this again; finished shards are kept"
        )


def _first_line(error: BaseException) -> str:
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return re.sub(r"\d+\.\d{3,}", lambda seconds: f"{float(seconds[0]):.1f}", text)
