"""Timing work on a GPU: seconds by events, energy by NVML.  Only what asks a GPU imports CUDA."""

import functools
import statistics
import time

import click

from ..errors import CUDA_EXTRA, DeviceError, installed
from ..machines import gpu

N_THREADS = 256


def launch(function, n, *arguments, stream=0):
    """Run a kernel with one thread for each of n things."""
    function[-(-n // N_THREADS), N_THREADS, stream](*arguments)


def seconds(work, n_runs=3) -> float:
    """Median time that what ``work()`` starts takes on the device; the first run is not counted."""

    work()
    return statistics.median(gpu.timed(work) for _ in range(n_runs))


@functools.cache
def _nvml():
    """The module pynvml, ready; None where it does not work, which is said once."""
    try:
        with installed("nvidia-ml-py", CUDA_EXTRA):
            import pynvml

            pynvml.nvmlInit()
    except DeviceError as error:
        click.echo(f"energy is not measured: {error}", err=True)
        return None
    return pynvml


def joules(work, at_least=3):
    """(joules, watts) of one ``work()``, by NVML over so many seconds or more; (None, None) without NVML.

    NVML's counter moves now and then, once a second or so: counted is from one move to another.
    """

    pynvml = _nvml()
    if pynvml is None:
        return None, None
    device = pynvml.nvmlDeviceGetHandleByIndex(gpu.number())

    def work_until_moved():
        n, before = 0, pynvml.nvmlDeviceGetTotalEnergyConsumption(device)
        while (found := pynvml.nvmlDeviceGetTotalEnergyConsumption(device)) == before:
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


def open_gpu(number=0) -> str:
    """Open a GPU to measure it; its name.  Raises DeviceError where there is none."""

    if gpu.SIMULATED:
        raise DeviceError("the CUDA simulator's speed means nothing: unset NUMBA_ENABLE_CUDASIM")
    return gpu.open_device(number)
