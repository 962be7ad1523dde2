"""fmx bench index: how fast a GPU builds an index, and whether searches on it find what they must.

The text is made on the GPU, with the repeats of a genome (measure/texts.py), and neither read nor written:

build      seconds of the suffix array, the tables and each layout, after a small run that compiles
search     patterns drawn from the text, by each layout and by seed and verify: all intervals are checked
"""

import click

from .. import options
from .kit.options import count, length, output, runs


@click.command(cls=options.Command)
@output("index")
@options.device
@count("--symbols", default=("100M", "3G"), multiple=True, help="Lengths of texts.")
@click.option("--layout", "layout_names", multiple=True, help="Layouts.  [default: bvsfm-k2-d96 and cofi]")
@count("--queries", default="10M", help="Number of patterns.")
@length
@options.gpu_memory
@runs
def command(**given):
    """Time building an index on a GPU.

    Also checks that searches on it are right.
    """
    from .kit import gpu_index

    gpu_index.run_builds(given)
