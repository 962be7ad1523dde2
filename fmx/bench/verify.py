"""fmx bench verify: how fast a GPU can seed and verify, by symbols of the seed and by what lies side by side.

verify s      seed table of s symbols, suffix array and packed text: what fmx search does (s at most 13 there)
wide rows     suffix and position in one sector of 32 bytes, one or two patterns a thread (kit/wide_rows.py)
"""

import click

from .. import options
from .kit.options import count, length, only, output, queries

TEXTS = ("random", "repeats")


@click.command()
@output("verify")
@options.device
@count("--symbols", default="1G", help="Length of the text.")
@only("--text", "kinds", TEXTS, "text")
@queries
@length
@click.option(
    "--seed", "seeds", multiple=True, type=click.IntRange(4, 16), default=(13, 15, 16), show_default=True
)
def command(**given):
    """Time seed and verify on a GPU."""
    from .kit import seeds

    seeds.run(given)
