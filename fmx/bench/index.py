"""fmx bench index: how fast a GPU builds an index, and whether searches on it find what they must.

The text is made on the device, with the repeats of a genome (_texts.py), and neither read nor written:

build      seconds of the suffix array, the tables and each layout, after a small run that compiles
search     patterns drawn from the text, by each layout and by seed and verify: all intervals are checked
"""

import click

from .. import options


@click.command()
@click.option("-o", "--output", default="index", show_default=True, help="Folder for the tables.")
@click.option("--symbols", multiple=True, type=int, help="Lengths of texts.  [default: 10^8 and 3 * 10^9]")
@click.option("--layout", "layout_names", multiple=True, help="Layouts.  [default: bvsfm-k2-d96 and cofi]")
@click.option("--queries", default=10**7, show_default=True, help="Number of patterns.")
@click.option("--length", default=100, show_default=True, help="Length of a pattern.")
@options.gpu_memory
@click.option("--runs", "n_runs", default=3, show_default=True, help="Runs of each stage.")
def command(**given):
    """Time building an index on a GPU.

    Also checks that searches on it are right.
    """
    from .kit import device_builds

    device_builds.run(**given)
