"""fmx bench dask: cost of a cluster, and work of unequal workers, compared with one process.

The cluster consists of processes of this machine: a scheduler and a worker of each kind.
"""

import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click

from .. import options
from ..errors import FmxError, n_of
from ..measure import tables, timing
from . import files
from .options import output, runs

PERIOD = 0.2  # seconds; a slow worker is stopped for a fraction of each period


class WorkerKind(NamedTuple):
    """How a worker is started: its ``threads``, and the ``gpu`` that it sees, or None."""

    threads: int
    gpu: int | None = None

    @classmethod
    def of(cls, text: str) -> "WorkerKind":
        """Parse THREADS or THREADS@GPU. Raises ValueError."""
        found = re.fullmatch(r"([1-9]\d{0,3})(?:@(\d{1,3}))?", text)
        if not found:
            raise ValueError(f"{text!r} is neither THREADS nor THREADS@GPU")
        return cls(int(found[1]), int(found[2]) if found[2] else None)

    def __str__(self) -> str:
        gpu = "" if self.gpu is None else f", GPU {self.gpu}"
        return f"{self.threads} thread{'s' if self.threads > 1 else ''}{gpu}"


@dataclass(frozen=True)
class DaskCluster:
    """A running cluster: the ``file`` that names its scheduler, and its processes."""

    file: Any
    scheduler: subprocess.Popen
    workers: list


@contextmanager
def started(
    folder: Path,
    kinds: Sequence[WorkerKind],
    variables: Iterable[tuple[str, str]] = (),
    before: Sequence[str] = (),
    patience: float = 60,
) -> Iterator[DaskCluster]:
    """Start a scheduler and a worker of each WorkerKind in ``folder``.

    Yield the DaskCluster when all are ready.

    ``variables``: for their environment. ``before``: words before the commands of workers, such as taskset.
    Raises FmxError if they are not ready in ``patience`` seconds.
    """
    file, environment = folder / "scheduler.json", {**os.environ, **dict(variables)}
    processes: list[subprocess.Popen] = []

    def start(words: Sequence[str], module: str, *arguments: str, **more: str) -> None:
        command = [*words, sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", str(file)]
        command += ["--no-dashboard", *arguments]
        environ = {**environment, **more}
        processes.append(subprocess.Popen(command, env=environ, stdout=log, stderr=log, cwd=folder))

    def wait(what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + patience
        while not what():
            if time.monotonic() > deadline or processes[-1].poll() is not None:
                raise FmxError(f"the Dask cluster did not start: see {log.name}")
            time.sleep(0.02)

    with open(folder / "dask.log", "ab") as log:
        try:
            start((), "dask_scheduler", "--port", "0")
            wait(file.exists)
            for kind in kinds:
                gpu = {} if kind.gpu is None else {"CUDA_VISIBLE_DEVICES": str(kind.gpu)}
                start(before, "dask_worker", "--no-nanny", "--nthreads", str(kind.threads), **gpu)
            begin = log.tell()
            wait(lambda: _since(log.name, begin).count("Registered to:") >= len(kinds))
            yield DaskCluster(file, processes[0], processes[1:])
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.wait()
            file.unlink(missing_ok=True)


def _since(path: str, begin: int) -> str:
    with open(path, errors="replace") as file:
        file.seek(begin)
        return file.read()


@contextmanager
def slowed(process: subprocess.Popen, share: float) -> Iterator[None]:
    """Stop a process for a fraction of the time, 0 to less than 1."""
    is_over = threading.Event()

    def hinder() -> None:
        while not is_over.is_set():
            process.send_signal(signal.SIGSTOP)
            time.sleep(PERIOD * share)
            process.send_signal(signal.SIGCONT)
            is_over.wait(PERIOD * (1 - share))

    thread = threading.Thread(target=hinder)
    if share:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if share:
            thread.join()


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a running process."""
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def measured(command: list, cluster: DaskCluster) -> tuple:
    """Run a client of a DaskCluster.

    Return (its TimedRun; CPU seconds of the scheduler and of each worker meanwhile; number of shards of each
    worker).
    """
    from distributed import Client

    processes = [cluster.scheduler, *cluster.workers]
    with Client(scheduler_file=str(cluster.file)) as client:
        before = [cpu_seconds(process.pid) for process in processes], client.run(_tasks)
        found = timing.run(command)
        after = [cpu_seconds(process.pid) for process in processes], client.run(_tasks)
    seconds = [new - old for new, old in zip(after[0], before[0], strict=True)]
    did = {pid: n - before[1][worker][1] for worker, (pid, n) in after[1].items()}
    return found, seconds, [did[process.pid] for process in cluster.workers]


def _tasks(dask_worker: Any) -> tuple:
    """Return (process of a worker, number of its finished tasks)."""
    return os.getpid(), dask_worker.state.executed_count


# The command and its table.


class _Worker(click.ParamType):
    name = "worker"

    def convert(self, value: Any, param: Any, ctx: Any) -> WorkerKind:
        try:
            return WorkerKind.of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(
    cls=options.Command,
    epilog="taskset -c 1 fmx bench dask --on 0 --worker 1 -- search -x ref.fmx reads.fq -o out.bam -t 1\n"
    "fmx bench dask --worker 2 --worker 1 --slow 0.6 -- pairwise genes.fa --id 0.97 -o close.tsv",
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND ...")
@click.option(
    "--worker", "kinds", type=_Worker(), multiple=True, default=["2"], show_default=True,
    metavar="THREADS[@GPU]",
    help="Start a worker with THREADS threads that uses only GPU number GPU. May be repeated.",
)  # fmt: skip
@click.option(
    "--slow", type=options.Number(0.0, 0.95, float), default=0.0, metavar="X",
    help="Suspend the last worker for a fraction X of the time.",
)  # fmt: skip
@click.option(
    "--on", "cores", metavar="CORES",
    help="Run the single process and the workers on these cores, e.g. 0-3; the client and the scheduler use "
    "the cores that fmx bench itself may use.",
)  # fmt: skip
@runs
@output("dask")
def dask_command(
    words: tuple[str, ...], kinds: tuple[WorkerKind, ...], slow: float, cores: str | None, **given: Any
) -> None:
    """Time a command on a Dask cluster running on this machine.

    Runs fmx COMMAND in a single process and on a cluster, in turn; starts a scheduler and workers for it.
    Prints the median wall time, the median CPU time of each process, and the number of shards of each worker.
    """
    before = ("taskset", "-c", cores) if cores else ()
    with files.work_folder() as folder, started(folder, kinds, before=before) as cluster:
        alone = [*before, *timing.fmx_command(*words)]
        shared = timing.fmx_command(*words, "--scheduler-file", cluster.file)
        tries = []
        with slowed(cluster.workers[-1], slow):
            for _ in range(given["n_runs"] + 1):  # the first may compile, and is not counted
                tries.append((timing.run(alone), *measured(shared, cluster)))
    machine = f"{timing.machine()}; medians of {n_of(given['n_runs'], 'run')}"
    tables.keep(given["output"], "dask", machine, list(rows_of(tries[1:], kinds)))


def rows_of(tries: Sequence[tuple], kinds: Sequence[WorkerKind]) -> Iterator[dict]:
    """Yield a row for the process alone, one for all processes of the cluster, and one for each."""
    alone, client, shared, counts = (list(column) for column in zip(*tries, strict=True))
    one, own = timing.median(alone), timing.median(client)
    yield {"processes": "one alone", "wall s": one.wall, "CPU s": one.cpu, **_rate(alone[0], one.wall)}
    parts = [own.cpu, *map(statistics.median, zip(*shared, strict=True))]
    seen = {"wall s": own.wall, "CPU s": sum(parts), **_rate(client[0], own.wall)}
    yield {"processes": "Dask, all", **seen, "times": own.wall / one.wall}
    names = ["client", "scheduler", *(f"worker of {kind}" for kind in kinds)]
    shards = [None, None, *map(statistics.median, zip(*counts, strict=True))]
    for name, seconds, n in zip(names, parts, shards, strict=True):
        yield {"processes": name, "CPU s": seconds, "shards": n}


def _rate(run: timing.TimedRun, seconds: float) -> dict:
    """Return {unit per second: rate} from the counts that a command printed."""
    found = re.search(r"([\d,]+) (reads|pairs|bases)\b(?!/s)", run.said)
    return {f"{found[2]}/s": int(found[1].replace(",", "")) / seconds} if found else {}
