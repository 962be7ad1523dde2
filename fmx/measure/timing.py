"""Timing of functions and whole commands, and a description of the machine."""

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import FmxError


@dataclass(frozen=True)
class TimedRun:
    """A finished command, or the medians of several: wall and CPU seconds.

    For one command also what it ``said``: the end of its error output.
    """

    wall: float
    cpu: float
    said: str = ""


def best(work: Callable[[], Any], n_runs: int = 3) -> float:
    """Return the least wall seconds of ``work()``: other work on the machine only adds to them."""
    least = float("inf")
    for _ in range(n_runs):
        start = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - start)
    return least


def run(command: Iterable[Any], stdout: int = subprocess.DEVNULL) -> TimedRun:
    """Run a command once. Raises FmxError with the end of its error output if it fails."""
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


def call(function: Callable[..., Any], *arguments: Any) -> TimedRun:
    """Call a function once, in this process, and time it."""
    wall, cpu = time.perf_counter(), time.process_time()
    function(*arguments)
    return TimedRun(time.perf_counter() - wall, time.process_time() - cpu)


def in_turn(works: Mapping[str, Callable[[], TimedRun]], n_runs: int) -> dict[str, list[TimedRun]]:
    """Do each work once uncounted, then all in turn n_runs times."""
    for work in works.values():
        work()
    runs: dict[str, list[TimedRun]] = {name: [] for name in works}
    for _ in range(n_runs):
        for name, work in works.items():
            runs[name].append(work())
    return runs


def medians(works: Mapping[str, Callable[[], TimedRun]], n_runs: int) -> dict[str, TimedRun]:
    """Return the medians of works that are done in turn."""
    return {name: median(runs) for name, runs in in_turn(works, n_runs).items()}


def medians_of_commands(commands: Mapping[str, Iterable[Any]], n_runs: int) -> dict[str, TimedRun]:
    """Return the medians of commands that are run in turn."""
    return medians({name: partial(run, command) for name, command in commands.items()}, n_runs)


def median(runs: Sequence[TimedRun]) -> TimedRun:
    """Return the median of the wall seconds and the median of the CPU seconds."""
    return TimedRun(statistics.median(run.wall for run in runs), statistics.median(run.cpu for run in runs))


def fmx_command(*arguments: Any) -> list:
    """Return a command line of the running fmx."""
    return [sys.executable, "-m", "fmx", *arguments]


def machine() -> str:
    """Describe the machine: processor, cores, memory."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB"
