"""fmx bench stages: where the time of a whole search goes, stage by stage, with all its threads.

The journey is that of ``fmx search``, and each stage adds up the seconds that threads spend in it.  What a
GPU does while they wait in SEARCH and LOCATE comes after them, by its own clock.
"""

import os
import threading
import time
from collections import defaultdict
from contextlib import contextmanager

import click

from .. import options, workflow
from ..input import reads
from ..input.chunks import read_chunks
from ..input.streams import whole_output
from ..machines.progress import Progress
from ..search import mapping
from ..search.mapper import MapOptions

MAIN = ("read", "write")  # the main thread's; else it waits for the workers


class Clock:
    """Seconds by stage, of all threads; one within another is OUTER/INNER, and counted there alone."""

    def __init__(self):
        self.spent: dict = defaultdict(float)
        self.lock, self.own = threading.Lock(), threading.local()

    @contextmanager
    def stage(self, name):
        """Time what is done within."""
        outer = getattr(self.own, "stage", None)
        self.own.stage = here = [f"{outer[0]}/{name}" if outer else name, 0.0]
        start = time.perf_counter()
        try:
            yield
        finally:
            whole = time.perf_counter() - start
            self.own.stage = outer
            if outer:
                outer[1] += whole
            with self.lock:
                self.spent[here[0]] += whole - here[1]

    def calls(self, name, function):
        """The function, each call timed."""

        def timed(*arguments):
            with self.stage(name):
                return function(*arguments)

        return timed

    def items(self, name, items):
        """The items, the making of each timed."""
        items, end = iter(items), object()
        while (item := self.calls(name, next)(items, end)) is not end:
            yield item


class Sink:
    """A file whose writing is timed."""

    def __init__(self, clock, file):
        self.write = clock.calls("write", file.write)


def watch(clock, mapper, writer) -> None:
    """Let the stages of a mapper and a writer tell the clock."""
    parse, pack = clock.calls("parse", reads.parse), clock.calls("pack", reads.pack)
    intervals, hits_of = clock.calls("search", mapper.intervals), mapper.hits_of

    def search(chunk):
        batch = parse(chunk)
        return batch, intervals(pack(batch, mapper.options.strands))

    mapper.search = search
    mapper.hits_of = lambda *arguments: clock.items("locate", hits_of(*arguments))
    mapper.summarise = clock.calls("summarise", mapper.summarise)
    writer.format = clock.calls("format", writer.format)


def table(spent, wall, n_threads) -> list:
    """A row (stage, seconds, share) for each stage: main thread, workers, and what neither does."""
    main = {stage: spent.get(stage, 0.0) for stage in MAIN}
    workers = {stage: seconds for stage, seconds in sorted(spent.items()) if stage not in MAIN}
    main["wait"] = max(0.0, wall - sum(main.values()))
    workers["idle"] = max(0.0, n_threads * wall - sum(workers.values()))
    rows = [(f"main: {stage}", seconds, seconds / wall) for stage, seconds in main.items()]
    return rows + [(stage, seconds, seconds / wall / n_threads) for stage, seconds in workers.items()]


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="READS")
@options.index
@click.option("-o", "--output", default=os.devnull, show_default=True, help="Where the records go.")
@options.layout
@options.method
@options.engine
@options.device
@options.gpu_memory
@options.threads
def command(files, index_path, output, layout, method, engine, device, gpu_memory, threads):
    """Seconds of all threads by stage, for READS searched as fmx search does it, SAM out."""
    fm_index = options.open_index(index_path, layout, method, threads)
    gpu = workflow.Device(engine, device, gpu_memory)
    mapper = workflow.make_mapper(fm_index, MapOptions(n_threads=threads), 0, gpu, Progress(quiet=True))
    writer, _ = workflow.make_writer(fm_index.reference, workflow.Output())
    mapping.compile_all(mapper, writer)
    clock, flights = Clock(), getattr(mapper.searchers[0], "flights", None)
    if flights:
        flights.clock.seconds.clear()
    watch(clock, mapper, writer)
    start = time.perf_counter()
    with whole_output(output) as file:
        source = clock.items("read", read_chunks(files, mapper.options.chunk_size))
        summary = mapping.map_chunks(mapper, source, writer, Sink(clock, file))
    wall = time.perf_counter() - start
    for stage, seconds, share in table(clock.spent, wall, threads):
        click.echo(f"{stage:16}{seconds:9.3f} s {100 * share:5.1f} %")
    for stage, seconds in flights.clock.seconds.items() if flights else ():
        click.echo(f"GPU: {stage:11}{seconds:9.3f} s")
    speed = summary.reads / wall / 1e6
    click.echo(f"{summary.reads:,} reads, {threads} threads, {wall:.3f} s, {speed:.2f} M reads/s")
