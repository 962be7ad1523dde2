"""fmx bench search: the papers' CPU experiments, search alone, tables and figures.

Langarita et al. 2020 (figures 8 and 10 to 17: column sizes, search intensity, interleaving, prefetch,
conditional moves, COFI against bvSFM) and Chacon et al. 2015 (layouts against each other and against
reference size).  Reference, unless one is given, and reads are made in memory; reads are searched on one
strand, and the answers of every query are checked.
"""

import click

from .. import options
from .kit.options import count, length, only, output, runs

QUESTIONS = {  # tables of each
    "sizes": ["sizes"], "layouts": ["layouts"], "switches": ["interleaving", "switches"], "steps": ["cofi"],
    "columns": ["columns"],
}  # fmt: skip


@click.command(cls=options.Command)
@click.argument("reference", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--size", "sizes", type=click.IntRange(1, 2000), multiple=True, default=(1, 10, 30, 100),
    show_default=True, help="Sizes of random references, Mb; the last one serves the questions of one size.",
)  # fmt: skip
@count("--reads", "n_reads", default="1M", help="Number of reads.")
@length
@runs
@only("--only", "questions", tuple(QUESTIONS), "question")
@output("search")
@options.threads
def command(**given):
    """Time searching alone, on the CPU.

    By layout, size of the reference, switches of the engine, and k and columns of COFI. REFERENCE (FASTA) is
    the only one; without it they are random.
    """
    from pathlib import Path

    from ..index.reference import read_fasta
    from ..measure import timing
    from ..measure.texts import random_codes
    from .kit import cpu_search, figures

    asked, name = given["questions"] or QUESTIONS, ""
    if given["reference"]:
        _, text = read_fasta(given["reference"])
        sizes, name = (round(text.size / 1e6, 3),), f" of {Path(given['reference']).name}"
    else:
        text, sizes = None, given["sizes"]
    about = [given[name] for name in ("n_reads", "length", "n_runs", "threads")]
    made = {}

    def searches_of(megabases):
        if megabases not in made:
            made.clear()  # one reference in memory at a time
            codes = random_codes(megabases * 10**6) if text is None else text
            made[megabases] = cpu_search.Searches(codes, *about)
        return made[megabases]

    machine = (
        f"{timing.machine()}; {given['threads']} threads; {about[0]:,} reads of {about[1]} bases, one strand"
    )
    for table in [table for question in QUESTIONS if question in asked for table in QUESTIONS[question]]:
        if table == "sizes":
            rows, about = cpu_search.sizes(sizes, searches_of), machine
        else:
            rows, about = (
                cpu_search.QUESTIONS[table](searches_of(sizes[-1])),
                f"{machine}; {sizes[-1]} Mb{name}",
            )
        figures.keep(given["output"], f"search-{table}", about, rows)
