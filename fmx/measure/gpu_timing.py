"""Timing of work on a GPU: seconds by events, energy by NVML."""

import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import click

from ..errors import DeviceError
from ..machines import gpu

N_THREADS = 256


def launch(function: Any, n: int, *arguments: Any, stream: Any = 0) -> None:
    """Run a kernel with one thread for each of n items."""
    function[-(-n // N_THREADS), N_THREADS, stream](*arguments)


def seconds(work: Callable[[], Any], n_runs: int = 3) -> float:
    """Return the median time on the device of what ``work()`` starts; the first run is not counted."""
    work()
    return statistics.median(gpu.timed(work) for _ in range(n_runs))


@functools.cache
def counts_energy() -> bool:
    """Return whether NVML measures the GPU's energy; if not, print the reason once."""
    try:
        gpu.millijoules()
    except DeviceError as error:
        click.echo(f"energy is not measured: {error}", err=True)
        return False
    return True


def joules(work: Callable[[], Any], at_least: float = 3) -> tuple[float, float] | tuple[None, None]:
    """Return (joules, watts) of one ``work()``, measured by NVML for ``at_least`` seconds.

    Returns (None, None) without NVML.

    NVML updates its counter about once per second: the measurement lasts from one update to another.
    """
    if not counts_energy():
        return None, None

    def work_until_moved() -> tuple[int, float, float]:
        n, before = 0, gpu.millijoules()
        while (found := gpu.millijoules()) == before:
            work()
            gpu.synchronize()
            n += 1
        return n, found / 1000, time.perf_counter()

    _, before, start = work_until_moved()
    n, found, stop = 0, before, start
    while stop - start < at_least:
        n_more, found, stop = work_until_moved()
        n += n_more
    return (found - before) / n, (found - before) / (stop - start)


def open_gpu(number: int = 0) -> str:
    """Open a GPU for measurements and return its name. Raises DeviceError if there is none."""
    if gpu.SIMULATED:
        raise DeviceError("the speed of the CUDA simulator is meaningless: unset NUMBA_ENABLE_CUDASIM")
    return gpu.open_device(number)
