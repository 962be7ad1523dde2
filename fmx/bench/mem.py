"""fmx bench mem: maximal exact matches, the workloads and the stages of MUMmerGPU++, and mummer beside them.

stages      copy in, match, copy out, post-process of each algorithm and engine (figures 9 and 10), energy
commands    whole commands with a prebuilt index, and mummer less what it takes for one query of four bases
"""

import shutil
import statistics
import tempfile
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click

from .. import options

ALGORITHMS, ENGINES, EXPERIMENTS = ("seeds", "mummergpu"), ("cpu", "cuda"), ("stages", "commands")


class Case(NamedTuple):
    """A workload (_mem_data.Workload), the file of its queries, and their number."""

    name: str
    workload: Any
    queries: Path
    n_queries: int


@click.command()
@click.argument("reference", required=False, type=click.Path(exists=True))
@click.option("--size", type=click.IntRange(1), default=30_000_000, show_default=True,
              help="Without REFERENCE: bases of a random one.")  # fmt: skip
@click.option("--bases", type=click.IntRange(1), default=10_000_000, show_default=True,
              help="Bases of the queries of a workload.")  # fmt: skip
@click.option("--workload", "names", multiple=True, metavar="NAME", help="Only these: HS1, HS2, MONO, SUIS.")
@click.option("--experiment", multiple=True, type=click.Choice(EXPERIMENTS), help="Only these.")
@click.option(
    "--engine", "engines", multiple=True, type=click.Choice(ENGINES), default=["cpu"], show_default=True
)
@click.option("--algorithm", "algorithms", multiple=True, type=click.Choice(ALGORITHMS), help="Only these.")
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Counted runs of each.")
@click.option("--work", type=click.Path(), help="Folder to work in and keep [default: a temporary one].")
@click.option("-o", "--output", default="mem", show_default=True, help="Folder for tables and figures.")
@options.threads
def command(reference, size, bases, names, experiment, engines, algorithms, runs, work, output, threads):
    """Time finding maximal exact matches.

    Stage by stage and as whole commands, with mummer in the same run if it is installed.
    """
    from ..measure import timing
    from .kit import mem_data as data

    asked = experiment or EXPERIMENTS
    if "stages" in asked:
        from .kit import mem_figures  # which needs matplotlib: here, before the work

    unknown = [name for name in names if name not in data.WORKLOADS]
    if unknown:
        raise click.UsageError(f"no workload {unknown[0]}; there are: {', '.join(data.WORKLOADS)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(work or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        fasta, index = _prepare(reference, size, folder, threads)
        cases = [_case(name, fasta, bases, folder) for name in names or data.WORKLOADS]
        ways = list(product(algorithms or ALGORITHMS, engines))
        if "stages" in asked:
            rows, machine = _stages(index, cases, ways, runs, threads)
            _save(output, "mem-stages", machine, rows)
            mem_figures.draw(output, rows, machine)
        if "commands" in asked:
            _save(
                output,
                "mem-commands",
                timing.machine(),
                _commands(fasta, index, cases, ways, runs, threads),
            )


def _prepare(reference, size, folder, threads) -> tuple:
    """(the reference as plain FASTA, its index)."""
    from .. import workflow
    from .kit.mem_data import write_reference
    from .map import plain

    fasta, index = folder / "reference.fa", folder / "reference.fmx"
    if reference:
        plain(reference, folder)
    else:
        write_reference(fasta, size)
    workflow.build_index(fasta, index, n_threads=threads, with_lcp=True)
    return fasta, index


def _case(name, fasta, bases, folder) -> Case:
    """A workload and its queries as a file."""
    from .kit import mem_data as data

    workload, queries = data.WORKLOADS[name], folder / f"{name}.fa"
    return Case(name, workload, queries, data.write_queries(fasta, bases, workload.length, queries))


def _stages(index, cases, ways, runs, threads) -> tuple:
    """(a row for each workload, least length, algorithm and engine; the machine in words)."""
    from ..index import fm_index as index_module
    from ..measure import gpu_timing, timing
    from .kit import mem_stages as stages

    opened, rows, machine = index_module.load(index, method="verify"), [], timing.machine()
    for case in cases:
        strands = stages.read_strands(case.queries)
        expected: dict = {}
        for (configuration, least), (algorithm, engine) in product(enumerate(case.workload.leasts, 1), ways):
            matcher = stages.make_matcher(opened, algorithm, least, engine, threads)
            row = {"workload": case.name, "bases": case.workload.length, "least": least,
                   "configuration": configuration, "algorithm": algorithm,
                   "engine": "GPU" if engine == "cuda" else f"{threads} threads"}  # fmt: skip
            rows.append(row | stages.measure(matcher, strands, case.n_queries, threads, runs, expected))
            click.echo(gpu_timing.markdown(rows[-1:]).splitlines()[-1], err=True)
            if engine == "cuda" and ";" not in machine:
                machine = f"{matcher.name}; {machine}"
    return rows, machine


def _commands(fasta, index, cases, ways, runs, threads) -> list:
    """A row for each workload, least length and command: seconds, and against mummer less its index."""
    from ..measure import timing

    nothing, rows = fasta.with_name("nothing.fa"), []
    nothing.write_text(">nothing\nACGT\n")
    for case in cases:
        for configuration, least in enumerate(case.workload.leasts, 1):
            commands = {}
            for algorithm, engine in ways:
                commands[f"fmx {algorithm} {engine}"] = timing.fmx_command(
                    "mem", "-q", "-b", "-l", least, "-t", threads, "-x", index, "--algorithm", algorithm,
                    "--engine", engine, case.queries,
                )  # fmt: skip
            if shutil.which("mummer"):
                mummer = ["mummer", "-maxmatch", "-b", "-n", "-l", str(least), str(fasta)]
                commands["mummer"] = [*mummer, str(case.queries)]
                commands["mummer's index"] = [*mummer, str(nothing)]
            found = timing.in_turn(commands, runs)
            wall = {name: timing.median_wall(items) for name, items in found.items()}
            cpu = {name: statistics.median(item.cpu for item in items) for name, items in found.items()}
            if "mummer" in wall:
                build = "mummer's index"
                wall["mummer less index"] = wall["mummer"] - wall[build]
                cpu["mummer less index"] = cpu["mummer"] - cpu[build]
            base = wall.get("mummer less index")
            rows += [
                {"workload": case.name, "bases": case.workload.length, "least": least,
                 "configuration": configuration, "command": name, "wall s": wall[name], "CPU s": cpu[name],
                 "times as fast as mummer": base / wall[name] if base else None} for name in wall
            ]  # fmt: skip
    return rows


def _save(folder, name, machine, rows) -> None:
    from ..measure import gpu_timing

    gpu_timing.save(folder, name, machine, rows)
    click.echo(f"\n{machine}\n\n{gpu_timing.markdown(rows)}")
