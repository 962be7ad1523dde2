"""Timing work and whole commands, and saying what was measured on which machine."""

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import FmxError


@dataclass(frozen=True)
class TimedRun:
    """One finished command, or the medians of several: seconds of wall and CPU; of one, what it ``said``."""

    wall: float
    cpu: float
    said: str = ""


def best(work: Callable[[], Any], n_runs: int = 3) -> float:
    """Least seconds that ``work()`` takes by the clock: other work on the machine only adds."""
    least = float("inf")
    for _ in range(n_runs):
        start = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - start)
    return least


def run(command: Iterable[Any], stdout: int = subprocess.DEVNULL) -> TimedRun:
    """Run a command once.  Raises FmxError with its last words if it fails."""
    command = [str(word) for word in command]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = done.stderr.decode(errors="replace").strip()[-300:]
    if done.returncode:
        raise FmxError(f"{' '.join(command)}: exit {done.returncode}: {said}")
    return TimedRun(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, said)


def in_turn(commands: dict, n_runs: int) -> dict:
    """Run each command once uncounted, then all in turn n_runs times: {name: [TimedRun, ...]}."""
    for command in commands.values():
        run(command)
    runs: dict = {name: [] for name in commands}
    for _ in range(n_runs):
        for name, command in commands.items():
            runs[name].append(run(command))
    return runs


def medians(commands: dict, n_runs: int) -> dict:
    """{name: TimedRun} of commands that are run in turn."""
    return {
        name: TimedRun(
            statistics.median(run.wall for run in runs), statistics.median(run.cpu for run in runs)
        )
        for name, runs in in_turn(commands, n_runs).items()
    }


def fmx_command(*arguments: Any) -> list:
    """The running fmx as a command line."""
    return [sys.executable, "-m", "fmx", *arguments]


def machine() -> str:
    """The machine in words: processor, cores, memory."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB"
