"""Timing work on a GPU: seconds by events, energy by NVML, what the device is; tables, figures.

Only what asks a GPU imports CUDA.
"""

import functools
import json
import statistics
import time
from pathlib import Path

import click
import numpy as np

from ..errors import CUDA_EXTRA, DeviceError, FmxError, installed
from . import timing

N_THREADS = 256


def launch(function, n, *arguments, stream=0):
    """Run a kernel with one thread for each of n things."""
    function[-(-n // N_THREADS), N_THREADS, stream](*arguments)


def seconds(work, n_runs=3) -> float:
    """Median time that what ``work()`` starts takes on the device; the first run is not counted."""
    from ..machines import gpu

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
    from ..machines import gpu

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


def require_device() -> str:
    """The name of the GPU.  Raises DeviceError where there is none."""
    from ..machines import gpu

    if gpu.SIMULATED:
        raise DeviceError("the CUDA simulator's speed means nothing: unset NUMBA_ENABLE_CUDASIM")
    return gpu.open_device()


def save(folder, name, device, rows) -> None:
    """Write the rows (dicts) as NAME.json and a Markdown table NAME.md."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y-%m-%d")
    found = {"device": device, "date": stamp, "rows": rows}
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1))
    (folder / f"{name}.md").write_text(f"{device}, {stamp}\n\n{markdown(rows)}")


def markdown(rows: list) -> str:
    """Rows (dicts of the same keys) as a Markdown table."""
    if not rows:
        return "(nothing)\n"
    keys = list(rows[0])
    lines = ["| " + " | ".join(keys) + " |", "|" + " --- |" * len(keys)]
    lines += ["| " + " | ".join(_cell(row.get(key)) for key in keys) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value) -> str:
    if value is None:
        return ""
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    return f"{number:.3g}" if abs(number) < 100 else f"{number:,.0f}"


def plot(path, lines: dict, x_label, y_label, title, log_x=True) -> None:
    """A figure of several lines, {label: (xs, ys)}; without matplotlib it is said that there is none."""
    try:
        pyplot = timing.pyplot()
    except FmxError as error:
        click.echo(f"{path} is not drawn: {error}", err=True)
        return
    figure, axes = pyplot.subplots(figsize=(8.5, 4.2), constrained_layout=True)
    for (label, (xs, ys)), marker in zip(lines.items(), "osv^D*Px+.<>1234" * 4, strict=False):
        axes.plot(xs, ys, marker=marker, markersize=5, label=label)
    if log_x:
        axes.set_xscale("log", base=2)
        ticks = sorted({x for xs, _ in lines.values() for x in xs})
        axes.set_xticks(
            ticks,
            [f"{x:,.0f}" if x >= 1000 else f"{x:g}" for x in ticks],
            rotation=30 if len(ticks) > 8 else 0,
        )
        axes.minorticks_off()
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
