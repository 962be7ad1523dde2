"""Times functions and whole commands, both sides in turn, and keeps tables of the results as JSON.

A table names the machine, the date, the commit and the command, so that each figure can be traced.
"""

import functools
import json
import os
import platform
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from fmx.errors import DeviceError, FmxError

ROOT = Path(__file__).resolve().parents[2]


class TimedRun(NamedTuple):
    """Wall and CPU seconds of a command, or the medians of several runs."""

    wall: float
    cpu: float


def run(command: Iterable[Any]) -> TimedRun:
    """Run a command once, without its output. Raises FmxError with the end of its errors if it fails."""
    words = [str(word) for word in command]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        error = done.stderr.decode(errors="replace").strip()[-300:]
        raise FmxError(f"{' '.join(words)}: exit {done.returncode}: {error}")
    return TimedRun(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def medians(commands: Mapping[str, Iterable[Any]], n_runs: int) -> dict[str, TimedRun]:
    """Return the medians of n_runs of each command, run in turn after one run of each that is not counted."""
    words = {name: list(command) for name, command in commands.items()}
    for command in words.values():
        run(command)
    runs = [{name: run(command) for name, command in words.items()} for _ in range(n_runs)]
    return {
        name: TimedRun(
            *(statistics.median(column) for column in zip(*(each[name] for each in runs), strict=True))
        )
        for name in words
    }


def best(work: Callable[[], Any], n_runs: int = 3) -> float:
    """Return the least wall seconds of ``work()``: other work on the machine only adds to them."""
    seconds = []
    for _ in range(n_runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def fmx_command(*arguments: Any) -> list:
    """Return a command line of the installed fmx."""
    return [sys.executable, "-m", "fmx", *arguments]


def require(tools: Iterable[str]) -> None:
    """Raise FmxError if one of these programs is not installed."""
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        raise FmxError(f"not installed: {', '.join(missing)}")


def compared(what: str, runs: Mapping[str, TimedRun], n_reads: int | None = None) -> list[dict]:
    """Return a row for each of {name: TimedRun}: seconds, reads per second, and the ratios to the first."""
    rows, base = [], next(iter(runs.values()))
    for name, timed in runs.items():
        row = {what: name, "wall s": timed.wall, "CPU s": timed.cpu}
        row |= {"reads/s": n_reads / timed.wall} if n_reads else {}
        rows.append(row | {"times, wall": timed.wall / base.wall, "times, CPU": timed.cpu / base.cpu})
    return rows


# Work on a GPU, timed by events.


def gpu_seconds(work: Callable[[], Any], n_runs: int = 3) -> float:
    """Return the median time on the device of what ``work()`` starts; the first run is not counted."""
    from fmx.machines import gpu

    times = []
    for _ in range(n_runs + 1):
        start, _, stop = gpu.mark(), work(), gpu.mark()
        gpu.synchronize()
        times.append(gpu.seconds_between(start, stop))
    return statistics.median(times[1:])


def open_gpu(number: int = 0) -> str:
    """Open a GPU for measurements and return its name. Raises DeviceError if there is none."""
    from fmx.machines import gpu

    if gpu.SIMULATED:
        raise DeviceError("the speed of the CUDA simulator is meaningless: unset NUMBA_ENABLE_CUDASIM")
    return gpu.open_device(number)


# Tables.


class Table(NamedTuple):
    """Measurements of a command: ``rows`` (dicts of column: value), and what they mean, a ``note``."""

    table: str
    command: str
    device: str
    date: str
    rows: list
    commit: str = ""
    note: str = ""


def machine() -> str:
    """Describe the machine: processor, cores, memory."""
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{(models or [model])[0]}, {os.cpu_count()} cores, {memory:.0f} GiB"


@functools.cache
def commit() -> str:
    """Return the commit of the checkout, "+" after it if files differ; empty outside a checkout."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--abbrev=8", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def keep(folder: str | Path, name: str, device: str, rows: list[dict]) -> Table:
    """Print rows as Markdown, and write them to NAME.json in a folder."""
    words = [Path(word).name if "/" in word else word for word in sys.argv[1:]]
    table = Table(name, shlex.join(["docs/bench", *words]), device, time.strftime("%Y-%m-%d"), rows, commit())
    Path(folder).mkdir(parents=True, exist_ok=True)
    write([table], Path(folder) / f"{name}.json")
    click.echo(f"\n{name}: {device}; {table.commit}\n\n{markdown(rows)}")
    return table


def markdown(rows: list) -> str:
    """Format rows as a Markdown table."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(keys) + " |", "|" + "---|" * len(keys)]
    lines += ["| " + " | ".join(_cell(row.get(key)) for key in keys) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if not isinstance(value, float | np.floating):
        return "" if value is None else str(value)
    number = float(value)
    return f"{number:.3g}" if abs(number) < 100 else f"{number:,.0f}"


def write(tables: Iterable[Table], path: str | Path) -> None:
    """Write tables as JSON, one row per line."""
    texts = []
    for table in tables:
        head = {
            key: value for key, value in table._asdict().items() if value != Table._field_defaults.get(key)
        }
        rows = ",\n".join(json.dumps(row, default=float) for row in head.pop("rows"))
        texts.append(f'{json.dumps(head)[:-1]}, "rows": [\n{rows}\n]}}')
    Path(path).write_text("[\n" + ",\n".join(texts) + "\n]\n")


def read(path: str | Path) -> list[Table]:
    """Read the tables of a file that ``write`` wrote. Raises FmxError if it is not such a file."""
    try:
        return [Table(**table) for table in json.loads(Path(path).read_text())]
    except (ValueError, TypeError, OSError) as error:
        raise FmxError(f"{path}: not tables of docs/bench: {error}") from None


# Options that commands share.


def common(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for threads, runs, working files and tables to a command."""
    path, count = click.Path(file_okay=False), click.IntRange(1)
    for option in (
        click.option(
            "-o", "--output", type=path, default="bench", help="Folder of tables.  [default: bench]"
        ),
        click.option("--work", type=path, help="Keep working files in this folder.  [default: none is kept]"),
        click.option("--runs", "n_runs", type=count, default=3, show_default=True, help="Timed runs."),
        click.option("-t", "--threads", type=count, default=os.cpu_count(), help="CPU threads."),
    ):
        command = option(command)
    return command
