"""What commands of ``fmx bench`` share: options (sizes may be 500M or 3G), and tables of timed runs."""

import shutil
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from .. import options
from ..errors import FmxError, n_of
from ..machines.places import ALL_GPUS
from ..measure import timing
from ..measure.tables import markdown

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def count(*names: str, default: str | None, help: str) -> Decorator:
    """Return an option for a number from 1 on, which may be written as 3G."""
    kind = options.Bytes(bare=True)
    return click.option(*names, type=kind, metavar="N", default=default, show_default=True, help=help)


def counts(*names: str, default: tuple[str, ...], help: str) -> Decorator:
    """Return an option for numbers from 1 on, such as 3G, that may be repeated."""
    kind = options.Bytes(bare=True)
    return click.option(
        *names, type=kind, metavar="N", default=default, show_default=True, multiple=True, help=help
    )


def output(folder: str) -> Decorator:
    """Return the option for the folder of tables."""
    return click.option(
        "-o", "--output", type=click.Path(), default=folder, show_default=True,
        help="Folder to write tables to.",
    )  # fmt: skip


def only(name: str, into: str, choices: Iterable[str], what: str) -> Decorator:
    """Return an option that selects one of ``choices`` and may be repeated; without it, all are used."""
    return click.option(
        name,
        into,
        multiple=True,
        type=click.Choice(list(choices)),
        help=f"Limit the run to this {what}. May be repeated.",
    )


length = count("--length", default="100", help="Length of a read, in bases.")
queries = count("--queries", default="40M", help="Number of patterns.")
runs = count("--runs", "n_runs", default="3", help="Number of timed runs of each measurement.")
work = click.option(
    "--work",
    type=click.Path(),
    help="Write working files to this folder, and keep them.  [default: a temporary folder]",
)


# Numbers of GPUs that a benchmark tries, one after the other.


def steps_to(n: int) -> list[int]:
    """Return 1, 2, 4 ... up to n, and n."""
    return sorted({1 << i for i in range(n.bit_length())} | {n})


def steps_of_gpus(first: int, asked: int | None) -> list[int]:
    """Return ``steps_to`` the number of GPUs of --gpus, 1 by default, from GPU number ``first`` on."""
    if asked == ALL_GPUS:
        from ..machines import gpu

        asked = gpu.n_devices() - first
    return steps_to(max(asked or 1, 1))


# Commands or functions timed side by side.


def require(tools: Iterable[str]) -> None:
    """Raise FmxError if one of these programs is not installed."""
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        raise FmxError(f"not installed: {', '.join(missing)}")


def show_machine(n_threads: int, n_runs: int) -> None:
    """Print the machine, the threads and the number of runs."""
    click.echo(f"machine: {timing.machine()}; {n_of(n_threads, 'thread')}; medians of {n_of(n_runs, 'run')}")


def compared(
    what: str, found: Mapping[str, timing.TimedRun], base: str, n_reads: int | None = None
) -> list[dict]:
    """Return a row for each of {name: TimedRun}: seconds, reads per second, and the ratio to ``base``.

    Runs that report all hits, whose names end with " -a", are compared with ``base`` -a if it exists.
    """
    rows = []
    for name, run in found.items():
        other = found.get(f"{base} -a", found[base]) if name.endswith(" -a") else found[base]
        row = {what: name, "wall s": run.wall, "CPU s": run.cpu}
        row |= {"reads/s": n_reads / run.wall} if n_reads else {}
        rows.append(row | {f"times {base}": run.wall / other.wall})
    return rows


def show(rows: list[dict]) -> None:
    """Print rows as a Markdown table."""
    click.echo("\n" + markdown(rows), nl=False)


def pair_row(
    part: str, name: str, seconds: float, pairs: int, length: int | None = None, **more: Any
) -> dict:
    """Return a row for one measurement; with ``length``, also the cells of sequences of this length."""
    found = {"part": part, "name": name, **more, "pairs": pairs, "length": length, "seconds": seconds}
    found["pairs_per_s"] = pairs / seconds
    return found | ({"gcells_per_s": pairs * length * length / seconds / 1e9} if length else {})
