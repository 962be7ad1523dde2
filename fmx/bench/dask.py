"""fmx bench dask: what a cluster costs and how unlike workers share, beside one process on the same cores."""

import re
import statistics

import click

from .. import options
from .kit.options import output, runs


class _Worker(click.ParamType):
    name = "worker"

    def convert(self, value, param, ctx):
        from .kit.workers import Kind

        try:
            return Kind.of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(cls=options.Command)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND ...")
@click.option(
    "--worker", "kinds", type=_Worker(), multiple=True, default=["2"], show_default=True,
    metavar="THREADS[@GPU]", help="A worker of so many threads, which sees this GPU alone.  May be repeated.",
)  # fmt: skip
@click.option(
    "--slow", type=options.Number(0.0, 0.95, float), default=0.0, metavar="X",
    help="Let the last worker stand still for a share of X of the time.",
)  # fmt: skip
@click.option(
    "--on", "cores", metavar="CORES",
    help="Cores for the one process, and for workers, as taskset takes them; others have those of this one.",
)  # fmt: skip
@runs
@output("dask")
def command(words, kinds, slow, cores, **given):
    """Time a command on a Dask cluster of this machine.

    Runs fmx COMMAND by itself and on a scheduler and workers that are started for it, in turn. Prints medians
    of seconds, of the CPU's seconds of each process, and how many shards each worker did.

    \b
    taskset -c 1 fmx bench dask --on 0 --worker 1 -- search -x ref.fmx reads.fq -o out.bam -t 1
    fmx bench dask --worker 2 --worker 1 --slow 0.6 -- pairwise genes.fa --id 0.97 -o close.tsv
    """
    from ..measure import timing
    from .kit import figures, files
    from .kit.workers import measured, slowed, started

    before = ("taskset", "-c", cores) if cores else ()
    with files.work_folder() as folder, started(folder, kinds, before=before) as cluster:
        alone = [*before, *timing.fmx_command(*words)]
        shared = timing.fmx_command(*words, "--scheduler-file", cluster.file)
        tries = []
        with slowed(cluster.workers[-1], slow):
            for _ in range(given["n_runs"] + 1):  # the first may compile, and is not counted
                tries.append((timing.run(alone), *measured(shared, cluster)))
    machine = f"{timing.machine()}; medians of {given['n_runs']} runs"
    figures.keep(given["output"], "dask", machine, list(_rows(tries[1:], kinds)))


def _rows(tries, kinds):
    """Yield a row for the process by itself, one for all processes of the cluster, and one for each."""
    alone, client, shared, counts = (list(column) for column in zip(*tries, strict=True))
    wall, cpu = (statistics.median(getattr(run, name) for run in alone) for name in ("wall", "cpu"))
    yield {"processes": "one by itself", "wall s": wall, "CPU s": cpu, **_rate(alone[0], wall)}
    here, there = (statistics.median(run.wall for run in client), zip(*shared, strict=True))
    parts = [statistics.median(run.cpu for run in client), *map(statistics.median, there)]
    told = {"wall s": here, "CPU s": sum(parts), **_rate(client[0], here), "times": here / wall}
    yield {"processes": "Dask, all", **told}
    names = ["client", "scheduler", *(f"worker of {kind}" for kind in kinds)]
    shards = [None, None, *map(statistics.median, zip(*counts, strict=True))]
    for name, seconds, n in zip(names, parts, shards, strict=True):
        yield {"processes": name, "CPU s": seconds, "shards": n}


def _rate(run, seconds) -> dict:
    """{what a second: how many} by what a command said it has done."""
    found = re.search(r"([\d,]+) (reads|pairs|bases)\b(?!/s)", run.said)
    return {f"{found[2]}/s": int(found[1].replace(",", "")) / seconds} if found else {}
