"""fmx bench verify: how fast a GPU can seed and verify, by symbols of the seed and by what lies side by side.

verify s      seed table of s symbols, suffix array and packed text: what fmx search does (s at most 13 there)
wide rows     suffix and position in one sector of 32 bytes, one or two patterns a thread (_wide_rows.py)
"""

import click

TEXTS = ("random", "repeats")


@click.command()
@click.option("-o", "--output", default="verify", show_default=True, help="Folder for the table.")
@click.option("--symbols", default=10**9, show_default=True, help="Length of the text.")
@click.option("--text", "kinds", multiple=True, type=click.Choice(TEXTS), help="Only this text.")
@click.option("--queries", default=40 * 10**6, show_default=True, help="Number of patterns.")
@click.option("--length", default=100, show_default=True, help="Length of a pattern.")
@click.option(
    "--seed", "seeds", multiple=True, type=click.IntRange(4, 16), default=(13, 15, 16), show_default=True
)
def command(**given):
    """Time seed and verify on a GPU."""
    from .kit import device_seeds

    device_seeds.run(**given)
