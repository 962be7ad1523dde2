"""Timing whole commands in turn, and saying what was measured on which machine."""

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from ..errors import FmxError, installed


@dataclass(frozen=True)
class Run:
    """One finished command: seconds of wall and CPU."""

    wall: float
    cpu: float


def run(command, stdout=subprocess.DEVNULL) -> Run:
    """Run a command once.  Raises FmxError with its last words if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip()[-300:]
        raise FmxError(f"{' '.join(map(str, command))}: exit {done.returncode}: {words}")
    return Run(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def in_turn(commands: dict, n_runs: int) -> dict:
    """Run each command once uncounted, then all in turn n_runs times: {name: [Run, ...]}."""
    for command in commands.values():
        run(command)
    runs: dict = {name: [] for name in commands}
    for _ in range(n_runs):
        for name, command in commands.items():
            runs[name].append(run(command))
    return runs


def median_wall(runs) -> float:
    return statistics.median(item.wall for item in runs)


def fmx_command(*arguments) -> list:
    """The running fmx as a command line."""
    return [sys.executable, "-m", "fmx", *map(str, arguments)]


def pyplot():
    """matplotlib.pyplot, drawing into files.  Raises FmxError without matplotlib."""
    with installed("matplotlib", "matplotlib", FmxError):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    return pyplot


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
