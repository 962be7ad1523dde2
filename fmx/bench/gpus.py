"""fmx bench gpus: the search stage on one GPU and on several of a machine, in one run.

Each GPU has the same text, index and patterns in its memory; n of them share the patterns out.
"""

import click

from .. import options
from .kit.options import count, length, output, queries


@options.command
@output("gpus")
@options.all_gpus
@count("--bases", default="1G", help="Length of the reference.")
@queries
@length
@click.option(
    "--layout", "names", multiple=True, default=["verify", "bvsfm-k2-d96"], show_default=True,
    help="What to search: layouts, or verify, which is seed and verify.",
)  # fmt: skip
def command(given):
    """Time the search on one GPU and on several.

    Writes a table into a folder: bases a second of 1, 2, 4 ... GPUs, up to --gpus.
    """
    from ..machines.places import choose_place, in_words
    from ..measure import gpu_timing
    from .kit import gpu_index

    given.engine = "cuda"
    where = options.device_of(given, n_gpus=None)
    gpu_timing.open_gpu(where.first)
    choose_place(
        where, lambda sessions: gpu_index.run_several(given, sessions, in_words(sessions)), None, click.echo
    )
