"""fmx bench search: the papers' CPU experiments, search alone, tables and figures.

Langarita et al. 2020 (figures 8 and 10 to 17: column sizes, search intensity, interleaving, prefetch,
conditional moves, COFI against bvSFM) and Chacon et al. 2015 (layouts against each other and against
reference size).  Reference and reads are made in memory; reads are searched on one strand, and a sample of
the answers of every query is checked before it is timed.
"""

from pathlib import Path

import click

from .. import options

SIZES = (1, 10, 30, 100)


@click.command()
@click.option(
    "--size", "sizes", type=click.IntRange(1, 2000), multiple=True, default=SIZES, show_default=True,
    help="Reference sizes in megabases; the last one serves the questions of one size.",
)  # fmt: skip
@click.option("--reads", "n_reads", type=click.IntRange(1000), default=1_000_000, show_default=True)
@click.option("--length", type=click.IntRange(20), default=100, show_default=True, help="Bases of a read.")
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Best of this many runs.")
@click.option("--only", "questions", type=click.Choice(["layouts", "sizes", "switches", "steps", "columns"]),
              multiple=True, help="Ask only this.")  # fmt: skip
@click.option("-o", "--output", "folder", type=click.Path(), default="docs/figures", show_default=True,
              help="Folder for the figures and search.md.")  # fmt: skip
@options.threads
def command(sizes, n_reads, length, runs, questions, folder, threads):
    """Time searching alone, on the CPU.

    By layout, size of the reference, switches of the engine, and k and columns of COFI.
    """
    from ..measure import timing
    from .kit import search_figures
    from .kit.search_experiment import Experiment

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    asked = questions or ("layouts", "sizes", "switches", "steps", "columns")
    report = [
        f"machine: {timing.machine()}; {threads} threads; {n_reads:,} reads of {length} bases, one strand"
    ]
    experiments = {}

    def experiment(megabases):
        if megabases not in experiments:
            experiments.clear()  # one reference in memory at a time
            experiments[megabases] = Experiment(megabases * 10**6, n_reads, length, runs, threads)
        return experiments[megabases]

    if "sizes" in asked:
        report.append(search_figures.sizes(sizes, experiment, target))
    if "layouts" in asked:
        report.append(search_figures.layouts(experiment(sizes[-1]), target))
    if "switches" in asked:
        report.append(search_figures.switches(experiment(sizes[-1]), target))
    if "steps" in asked:
        report.append(search_figures.steps(experiment(sizes[-1]), target))
    if "columns" in asked:
        report.append(search_figures.columns(experiment(sizes[-1]), target))
    text = "\n\n".join(report)
    (target / "search.md").write_text(text + "\n")
    click.echo(text)
