"""fmx bench gpu: the papers' GPU experiments on this device, over a random text made there.

designs      every layout and engine: bases, LF mappings, entries a second, share of the ceiling, energy
threads      throughput against threads under way (Chacon et al. 2015, figure 6)
sizes        throughput against the length of the reference (figures 8 and 9)
cpu          the best of the GPU against this machine's CPU (figure 5)
"""

import click

EXPERIMENTS = ("designs", "threads", "sizes", "cpu")


@click.command()
@click.option("-o", "--output", default="gpu", show_default=True, help="Folder for tables and figures.")
@click.option("--bases", default=10**9, show_default=True, help="Length of the reference.")
@click.option("--queries", default=40 * 10**6, show_default=True, help="Number of patterns.")
@click.option("--length", default=100, show_default=True, help="Length of a pattern.")
@click.option("--prefix", default=8, show_default=True, help="Symbols that the prefix table looks up.")
@click.option("--experiment", multiple=True, type=click.Choice(EXPERIMENTS), help="Only these.")
@click.option("--layout", "names", multiple=True, help="Only these layouts (designs).")
@click.option("--engine", "engine_names", multiple=True, help="Only these engines (designs).")
@click.option("--energy/--no-energy", default=True, help="Also measure joules, by NVML.")
def command(**given):
    """Run the GPU experiments of the papers.

    Writes tables and figures into a folder.
    """
    from .kit import device_designs

    given["experiment"] = given["experiment"] or EXPERIMENTS
    device_designs.run(**given)
