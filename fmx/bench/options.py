"""Options that several questions of ``fmx bench`` share; as in all commands, sizes may be 500M or 3G."""

import click

from .. import options
from ..options import ALL_GPUS


def count(*names, default, help, **more):
    """An option that is a number of things, from 1 on, also as in 3G."""
    kind = options.Bytes(bare=True)
    return click.option(*names, type=kind, metavar="N", default=default, show_default=True, help=help, **more)


def output(folder):
    """Where tables and figures go."""
    return click.option(
        "-o", "--output", type=click.Path(), default=folder, show_default=True,
        help="Folder for tables and figures.",
    )  # fmt: skip


def only(name, into, choices, what):
    """An option that is given for each of what is wanted; all of them without it."""
    return click.option(name, into, multiple=True, type=click.Choice(choices), help=f"Only this {what}.")


length = count("--length", default="100", help="Bases of a read.")
queries = count("--queries", default="40M", help="Number of patterns.")
runs = count("--runs", "n_runs", default="3", help="Counted runs of each.")
work = click.option(
    "--work", type=click.Path(), help="Folder to work in and keep.  [default: a temporary one]"
)


# How many GPUs a benchmark tries, one after the other.


def steps_to(n) -> list:
    """1, 2, 4 ... up to n, and n."""
    return sorted({1 << i for i in range(n.bit_length())} | {n})


def counts_of(first, asked) -> list:
    """The same up to as many as --gpus asks for, one by itself, from GPU number ``first`` on."""
    if asked == ALL_GPUS:
        from ..machines import gpu

        asked = gpu.n_devices() - first
    return steps_to(max(asked or 1, 1))
