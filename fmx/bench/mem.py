"""fmx bench mem: maximal exact matches, the workloads and the stages of MUMmerGPU++, and mummer beside them.

stages      copy in, match, copy out, post-process of each algorithm and engine (figures 9 and 10), energy
commands    whole commands with a prebuilt index, and mummer less what it takes for one query of four bases
"""

import shutil
from itertools import product
from typing import NamedTuple

import click

from .. import options
from .kit.options import count, only, output, runs, work

ALGORITHMS, ENGINES, EXPERIMENTS = ("seeds", "mummergpu"), ("cpu", "cuda"), ("stages", "commands")
CHANGED = 0.01  # share of a query's symbols that differ from the reference


class Workload(NamedTuple):
    """Queries of ``length`` bases and three least lengths of a match (table 1: configurations 1 to 3)."""

    length: int
    leasts: tuple


WORKLOADS = {
    "HS1": Workload(200, (25, 50, 100)),
    "HS2": Workload(700, (50, 100, 200)),
    "MONO": Workload(120, (20, 40, 80)),
    "SUIS": Workload(36, (15, 20, 30)),
}


@click.command(cls=options.Command)
@click.argument("reference", required=False, type=click.Path(exists=True))
@count("--size", default="30M", help="Without REFERENCE: bases of a random one.")
@count("--bases", default="10M", help="Bases of the queries of a workload.")
@only("--workload", "names", tuple(WORKLOADS), "workload")
@only("--experiment", "experiments", EXPERIMENTS, "experiment")
@click.option(
    "--engine", "engines", multiple=True, type=click.Choice(ENGINES), default=["cpu"], show_default=True
)
@options.gpus
@only("--algorithm", "algorithms", ALGORITHMS, "algorithm")
@runs
@work
@output("mem")
@options.threads
def command(**given):
    """Time finding maximal exact matches.

    Stage by stage and as whole commands, with mummer in the same run if it is installed. With --engine cuda
    on 1, 2, 4 ... GPUs, up to --gpus.
    """
    from ..measure import timing

    asked = given["experiments"] or EXPERIMENTS
    from .. import workflow
    from ..measure.texts import random_fasta
    from .kit import figures, files, mem_stages
    from .kit.options import counts_of

    with files.work_folder(given["work"]) as folder:
        fasta, index = folder / "reference.fa", folder / "reference.fmx"
        if given["reference"]:
            files.write_plain([given["reference"]], fasta)
        else:
            fasta.write_bytes(random_fasta(given["size"]))
        options = workflow.IndexOptions(with_lcp=True)
        workflow.build_index(fasta, index, options, given["threads"])
        machine, work = timing.machine(), []
        for name in given["names"] or WORKLOADS:
            length, queries = WORKLOADS[name].length, folder / f"{name}.fa"
            n = max(1, given["bases"] // length)
            files.write_reads(fasta, n, length, queries, files.FASTA, CHANGED)
            for configuration, least in enumerate(WORKLOADS[name].leasts, 1):
                row = {"workload": name, "bases": length, "least": least, "configuration": configuration}
                work.append((row, queries, n))
        given["device"] = given["device"] or 0
        counts = {"cpu": [0], "cuda": counts_of(given["device"], given["gpus"])}
        places = [(engine, n) for engine in given["engines"] for n in counts[engine]]
        ways = list(product(given["algorithms"] or ALGORITHMS, places))
        if "stages" in asked:
            rows = mem_stages.run(index, work, ways, given)
            figures.keep(given["output"], "mem-stages", machine, rows)
        if "commands" in asked:
            rows = [
                row for about, queries, _ in work for row in _commands(fasta, about, queries, ways, given)
            ]
            figures.keep(given["output"], "mem-commands", machine, rows)


def _commands(fasta, about, queries, ways, given) -> list:
    """A row for each command: seconds, and against mummer less its index."""
    from ..measure import timing

    nothing, least = fasta.with_name("nothing.fa"), about["least"]
    nothing.write_text(">nothing\nACGT\n")
    commands = {}
    for algorithm, (engine, n_gpus) in ways:
        where = ["--device", given["device"], "--gpus", n_gpus] if n_gpus else []
        commands[f"fmx {algorithm} {engine}{f' {n_gpus}' if n_gpus > 1 else ''}"] = timing.fmx_command(
            "mem", "-q", "-b", "-l", least, "-t", given["threads"], "-x", fasta.with_suffix(".fmx"),
            "--algorithm", algorithm, "--engine", engine, *where, queries,
        )  # fmt: skip
    if shutil.which("mummer"):
        mummer = ["mummer", "-maxmatch", "-b", "-n", "-l", least, fasta]
        commands |= {"mummer": [*mummer, queries], "mummer's index": [*mummer, nothing]}
    found = timing.medians(commands, given["n_runs"])
    base = None
    if "mummer" in found:
        whole, index = found["mummer"], found["mummer's index"]
        found["mummer less index"] = timing.Run(whole.wall - index.wall, whole.cpu - index.cpu)
        base = found["mummer less index"].wall
    return [
        about | {"command": name, "wall s": run.wall, "CPU s": run.cpu,
                 "times as fast as mummer": base / run.wall if base else None}
        for name, run in found.items()
    ]  # fmt: skip
