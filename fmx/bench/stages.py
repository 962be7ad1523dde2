"""fmx bench stages: where the time of a whole search goes, stage by stage, with all its threads.

The journey is that of ``fmx search``, and each stage adds up the seconds that threads spend in it.  What a
GPU does while they wait in SEARCH and LOCATE comes after them, by its own clock.
"""

import os
import time

import click

from .. import options, workflow
from ..index.fm_index import load
from ..input.spans import plan
from ..input.streams import whole_output
from ..machines.progress import Progress
from ..machines.watch import Clock, Timed
from ..options.finding import find_index
from ..search import mapping
from ..search.mapping import MapOptions


def timed(clock, source):
    """The spans of a source, whose making is timed: a stream is read so."""
    source = iter(source)
    while True:
        with clock.timed("read"):
            span = next(source, None)
        if span is None:
            return
        yield span


def table(spent, wall, n_threads) -> list:
    """A row (stage, seconds, share) for each stage: main thread, workers, and what neither does."""
    workers = dict(sorted(spent.items()))
    main = {"write": workers.pop("write", 0.0)}
    main["wait"] = max(0.0, wall - main["write"])
    workers["idle"] = max(0.0, n_threads * wall - sum(workers.values()))
    rows = [(f"main: {stage}", seconds, seconds / wall) for stage, seconds in main.items()]
    return rows + [(stage, seconds, seconds / wall / n_threads) for stage, seconds in workers.items()]


@options.command
@click.argument("files", nargs=-1, required=True, metavar="READS")
@options.index
@click.option("-o", "--output", default=os.devnull, show_default=True, help="Where the records go.")
@click.option("--bam", is_flag=True, help="Map to BAM instead of SAM.")
@options.layout
@options.method
@options.engine
@options.gpus
@options.gpu_memory
@options.threads
def command(given):
    """Time fmx search stage by stage.

    Maps READS as fmx search does, to SAM or BAM, and prints the seconds of all threads by stage.
    """
    threads, clock = given.threads, Clock()
    fm_index = load(find_index(given.index_path), given.layout, given.method, threads)
    where, wanted = options.device_of(given), MapOptions(n_threads=threads)
    mappers = workflow.make_mappers(fm_index, wanted, where, Progress(quiet=True), clock=clock)
    writer, _ = workflow.make_writer(fm_index.reference, workflow.Output(kind="bam" if given.bam else "sam"))
    mapping.compile_all(mappers, writer)
    sessions = [session for mapper in mappers for session in mapper.sessions]
    n_threads = sum(mapper.options.n_threads for mapper in mappers)
    for one in (clock, *(session.clock for session in sessions)):
        one.seconds.clear()
    start = time.perf_counter()
    with whole_output(given.output) as file:
        size = min(mapper.options.chunk_size for mapper in mappers)
        source = timed(clock, plan(given.files, size, n_threads=n_threads))
        summary = mapping.map_spans(mappers, source, writer, Timed(clock, file))
    wall = time.perf_counter() - start
    for stage, seconds, share in table(clock.seconds, wall, n_threads):
        click.echo(f"{stage:16}{seconds:9.3f} s {100 * share:5.1f} %")
    for session in sessions:
        for stage, seconds in session.clock.seconds.items():
            click.echo(f"GPU {session.number}: {stage:9}{seconds:9.3f} s")
    speed = summary.reads / wall / 1e6
    click.echo(f"{summary.reads:,} reads, {threads} threads, {wall:.3f} s, {speed:.2f} M reads/s")
