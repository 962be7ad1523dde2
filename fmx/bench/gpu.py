"""fmx bench gpu: the papers' GPU experiments on this GPU, over a random text made there.

designs      every layout and engine: bases, LF mappings, entries a second, share of the ceiling, energy
blocks       every layout and engine by the threads of a block
threads      throughput against threads under way (Chacon et al. 2015, figure 6; 2014, figures 4 and 7)
sizes        throughput against the length of the reference (figures 8 and 9)
cpu          the best of the GPU against this machine's CPU (figure 5)
"""

import click

from .. import options
from .kit.options import count, length, only, output, queries

EXPERIMENTS = ("designs", "blocks", "threads", "sizes", "cpu")


@click.command(cls=options.Command)
@output("gpu")
@options.device
@count("--bases", default="1G", help="Length of the reference.")
@queries
@length
@click.option("--prefix", default=8, show_default=True, help="Symbols that the prefix table looks up.")
@only("--experiment", "experiment", EXPERIMENTS, "experiment")
@click.option("--layout", "names", multiple=True, help="Only these layouts (designs, blocks, threads).")
@click.option("--engine", "engines", multiple=True, help="Only these engines of GPUs (designs, blocks).")
@click.option("--energy/--no-energy", default=True, help="Also measure joules, by NVML.")
def command(**given):
    """Run the GPU experiments of the papers.

    Writes tables and figures into a folder.
    """
    from .kit import designs

    designs.run(given | {"experiment": given["experiment"] or EXPERIMENTS})
