"""fmx bench papers: the figures and tables of the five papers, side by side with what fmx measures."""

import click

from .. import options
from .kit.options import only, output

ON_CPU = ("search", "cores", "columns", "mem", "cluster")
ON_GPU = ("roofline", "designs", "threads", "sizes", "energy", "short", "mem-gpu", "pairwise")


@click.command(cls=options.Command)
@click.argument("results", nargs=-1, type=click.Path(exists=True, dir_okay=False))
@output("papers")
@only("--run", "names", (*ON_CPU, *ON_GPU), "run")
@click.option("--gpu", is_flag=True, help="Also the runs on a GPU.")
@options.device
@click.option(
    "--genes", type=click.Path(exists=True), help="16S genes to align (FASTA), for a paper's table 5."
)
@click.option("--genome", type=click.Path(exists=True), help="A genome (FASTA), for the columns of COFI.")
@click.option("--quick", is_flag=True, help="Small sizes: to see that it works, not how fast it is.")
@options.threads
def command(**given):
    """Make the figures of the papers that fmx builds on.

    Runs other benches, and writes papers.md: what each paper says, what was measured, why they differ. Its
    tables are kept in papers.json, its figures drawn into figures/. With RESULTS (such files) only what --run
    asks for is run: the page is made of what they hold.
    """
    from pathlib import Path

    from ..measure import tables
    from .kit import figures
    from .kit.papers import facts, page

    known: list = []
    for path in given["results"]:
        known = facts.add(known, tables.read(path))
    folder = Path(given["output"])
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    names = given["names"] or (() if known else ON_CPU + (ON_GPU if given["gpu"] else ()))
    known = facts.make_all(names, given, known, lambda made: tables.write(made, folder / "papers.json"))
    tables.write(known, folder / "papers.json")
    pictures = {path.stem for table in known for path in figures.draw(table, folder / "figures")}
    (folder / "papers.md").write_text(page.page(known, pictures, given["quick"]), encoding="utf-8")
    click.echo(f"{folder / 'papers.md'}: {len(known)} tables")
