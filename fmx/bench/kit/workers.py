"""A Dask cluster of processes of this machine, to measure and to test: a scheduler and unlike workers."""

import heapq
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...errors import FmxError
from ...measure import timing

PATIENCE = 60  # seconds for the scheduler and for workers to start
PERIOD = 0.2  # seconds, for a share of which a slow worker stands still


class Kind(NamedTuple):
    """How a worker is started: its ``threads``; the ``gpu`` that it sees, or None."""

    threads: int
    gpu: int | None = None

    @classmethod
    def of(cls, text) -> "Kind":
        """THREADS or THREADS@GPU.  Raises ValueError."""
        found = re.fullmatch(r"([1-9]\d{0,3})(?:@(\d{1,3}))?", text)
        if not found:
            raise ValueError(f"{text!r} is not THREADS nor THREADS@GPU")
        return cls(int(found[1]), int(found[2]) if found[2] else None)

    def __str__(self):
        gpu = "" if self.gpu is None else f", GPU {self.gpu}"
        return f"{self.threads} thread{'s' if self.threads > 1 else ''}{gpu}"


@dataclass(frozen=True)
class Started:
    """A running cluster: the ``file`` that names its scheduler, and its processes."""

    file: Any
    scheduler: subprocess.Popen
    workers: list


@contextmanager
def started(folder, kinds, variables=(), before=()):
    """A scheduler and a worker of each Kind, at work in ``folder``: Started, all of them ready.

    ``variables`` for their environment; ``before``: words before the commands of workers, as of taskset.
    Raises FmxError.
    """
    file, environment, processes = folder / "scheduler.json", {**os.environ, **dict(variables)}, []

    def start(words, module, *arguments, **more):
        command = [*words, sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", str(file)]
        command += ["--no-dashboard", *arguments]
        streams = {"stdout": log, "stderr": log, "cwd": folder}
        processes.append(subprocess.Popen(command, env={**environment, **more}, **streams))

    def wait(what):
        deadline = time.monotonic() + PATIENCE
        while not what():
            if time.monotonic() > deadline or processes[-1].poll() is not None:
                raise FmxError(f"no Dask cluster came up: see {log.name}")
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
            yield Started(file, processes[0], processes[1:])
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.wait()
            file.unlink(missing_ok=True)


def _since(path, begin) -> str:
    with open(path, errors="replace") as file:
        file.seek(begin)
        return file.read()


@contextmanager
def slowed(process, share):
    """Let a process stand still for a share of the time, 0 to less than 1."""
    is_over = threading.Event()

    def hinder():
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


def cpu_seconds(pid) -> float:
    """What a running process has taken of the CPU."""
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def measured(command, cluster) -> tuple:
    """Run a client of a Started cluster: (its Run; CPU seconds of the scheduler and of each worker in it;
    how many shards each worker did)."""
    from distributed import Client

    processes = [cluster.scheduler, *cluster.workers]
    with Client(scheduler_file=str(cluster.file)) as client:
        before = [cpu_seconds(process.pid) for process in processes], client.run(_tasks)
        found = timing.run(command)
        after = [cpu_seconds(process.pid) for process in processes], client.run(_tasks)
    seconds = [new - old for new, old in zip(after[0], before[0], strict=True)]
    did = {pid: n - before[1][worker][1] for worker, (pid, n) in after[1].items()}
    return found, seconds, [did[process.pid] for process in cluster.workers]


def _tasks(dask_worker) -> tuple:
    """(a worker's process, how many tasks it has done)."""
    return os.getpid(), dask_worker.state.executed_count


# A cluster on paper: shards dealt out by a scheduler to nodes that pull them, simulated event by event.
#
# node     starts, fetches the index, then: asks, works, asks again ...
# shard    takes as long as its slowest part: work, reading, writing (they overlap, as in a run)
# disk     a shared file system: its bandwidth is divided by the nodes that are at work
# failure  comes to a node at random times; its shard goes to another, and it starts anew
# merge    the client copies all bodies at the end


@dataclass(frozen=True)
class Site:
    """A cluster.  ``rates``: reads/s of each node; seconds, bytes, bytes/s.

    ``failures``: of a node and day; ``merging`` 0: the shards stay as they are.
    """

    rates: tuple
    start: float = 20.0
    index: float = 30e9
    disk: float = 20e9
    dispatch: float = 0.002
    failures: float = 0.0
    merging: float = 2e9
    read_in: float = 60.0  # bytes of a read, compressed
    read_out: float = 56.0  # of its BAM record


@dataclass(frozen=True)
class Outcome:
    """``seconds`` in all, of which ``merging``; ``lost`` shards that were done again."""

    seconds: float
    merging: float
    lost: int
    done: int


def simulate(site, n_reads, shard, seed=1) -> Outcome:
    """What n_reads take on a Site in shards of ``shard`` reads."""
    chance, n_nodes = random.Random(seed), len(site.rates)
    n_shards = -(-n_reads // shard)
    fetching = site.index * n_nodes / site.disk
    events = [(site.start + fetching, node) for node in range(n_nodes)]
    heapq.heapify(events)
    free, left, again, lost, done, last = 0.0, n_shards, 0, 0, 0, 0.0
    waiting: list = []  # nodes that found no shard left, while others may still fail
    under_way = 0
    fails = [_next_failure(site, chance, 0.0) for _ in range(n_nodes)]
    while events:
        now, node = heapq.heappop(events)
        if node < 0:  # a shard has ended: done, or lost with its node
            under_way -= 1
            if node == -1:
                done, last = done + 1, max(last, now)
            else:
                lost, again = lost + 1, again + 1
                for idle in waiting:
                    heapq.heappush(events, (now, idle))
                waiting.clear()
            continue
        if left + again == 0:
            if under_way:
                waiting.append(node)
            continue
        if left:
            left -= 1
        else:
            again -= 1
        free = max(now, free) + site.dispatch
        active = n_nodes if left else max(1, under_way + 1)
        moved = shard * (site.read_in + site.read_out) / (site.disk / active)
        end = free + max(shard / site.rates[node], moved)
        under_way += 1
        if fails[node] < end:
            heapq.heappush(events, (max(free, fails[node]), -2))
            back = max(free, fails[node]) + site.start + site.index / site.disk
            fails[node] = _next_failure(site, chance, back)
            heapq.heappush(events, (back, node))
        else:
            heapq.heappush(events, (end, -1))
            heapq.heappush(events, (end, node))
    merging = n_reads * site.read_out / site.merging if site.merging else 0.0
    return Outcome(last + merging, merging, lost, done)


def _next_failure(site, chance, now) -> float:
    return now + chance.expovariate(site.failures / 86400) if site.failures else float("inf")


def of_nodes(site, n) -> Site:
    """The same with n nodes, of the rates that it has in turn."""
    return replace(site, rates=tuple(site.rates[i % len(site.rates)] for i in range(n)))


def best_shard(site, n_reads, sizes) -> tuple:
    """(reads of the shards that end soonest, Outcome) of some sizes."""
    return min(((size, simulate(site, n_reads, size)) for size in sizes), key=lambda found: found[1].seconds)
