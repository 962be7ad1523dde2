"""fmx bench verify: how fast a GPU seeds and verifies, by the form of what it holds and the block of threads.

The forms are those of fmx search (search/gpu/gpu_search.py): the index's own arrays, or wide rows and text
in sectors, each with seeds of several lengths.
"""

import click

from .. import options
from .kit.options import count, length, only, output, queries

TEXTS = ("random", "repeats")


@click.command(cls=options.Command)
@output("verify")
@options.device
@count("--symbols", default="1G", help="Length of the text.")
@only("--text", "kinds", TEXTS, "text")
@queries
@length
@click.option(
    "--seed",
    "seeds",
    multiple=True,
    type=click.IntRange(4, 16),
    default=(15, 16),
    show_default=True,
    help="Symbols of a seed, besides those of an index.",
)
@click.option(
    "--block",
    "blocks",
    multiple=True,
    type=click.IntRange(32, 256),
    default=(32, 128),
    show_default=True,
    help="Threads of a block.",
)
def command(**given):
    """Time seed and verify on a GPU."""
    from .kit import gpu_index

    gpu_index.run_seeds(given)
