"""fmx bench stages: where the time of a search goes, stage by stage, one thread and one chunk at a time."""

import time

import click

from .. import options, workflow
from .. import reads as reads_module
from ..chunks import read_chunks
from ..mapping import SLICE_HITS, MapOptions
from ..progress import Progress


@click.command()
@click.argument("reads", nargs=-1, required=True)
@options.index
@options.layout
@options.method
@options.engine
@options.device
@options.gpu_memory
def command(reads, index_path, layout, method, engine, device, gpu_memory):
    """Seconds per stage for READS: read, parse, pack, search, locate, format."""
    fm_index = options.open_index(index_path, layout, method, 1)
    gpu = workflow.Device(engine, device, int(gpu_memory * 10**9) if gpu_memory else None)
    mapper = workflow.make_mapper(fm_index, MapOptions(), 0, gpu, Progress(quiet=True))
    writer, _ = workflow.make_writer(fm_index.reference, workflow.Output())
    spent = dict.fromkeys(("read", "parse", "pack", "search", "locate", "format"), 0.0)
    measure(mapper, writer, read_chunks(reads[:1]), spent, at_most=2)  # compiles
    spent = dict.fromkeys(spent, 0.0)
    n = measure(mapper, writer, read_chunks(reads), spent)
    total = sum(spent.values())
    for stage, seconds in spent.items():
        rate = n / max(seconds, 1e-9) / 1e6
        click.echo(f"{stage:8}{seconds:9.3f} s {100 * seconds / total:5.1f} %{rate:9.1f} M reads/s")
    click.echo(f"{'all':8}{total:9.3f} s        {n / total / 1e6:9.2f} M reads/s")


def measure(mapper, writer, source, spent, at_most=None) -> int:
    """Map chunks and add up the seconds of each stage; the number of reads."""
    n_reads = 0
    clock = time.perf_counter
    start = clock()
    for n_chunks, chunk in enumerate(source, 1):
        times = [start, clock()]
        batch = reads_module.parse(chunk)
        times.append(clock())
        patterns = reads_module.pack(batch, mapper.options.strands)
        times.append(clock())
        intervals = mapper.intervals(patterns)
        times.append(clock())
        for stage, before, after in zip(("read", "parse", "pack", "search"), times, times[1:], strict=False):
            spent[stage] += after - before
        start = clock()
        for first_read, found in mapper.hits_of(batch, intervals):
            spent["locate"] += clock() - start
            start = clock()
            for first in range(0, max(1, found.position.size), SLICE_HITS):
                writer.format(batch, found, first_read, first, first + SLICE_HITS)
            spent["format"] += clock() - start
            start = clock()
        n_reads += batch.length.size
        if n_chunks == at_most:
            break
        start = clock()
    return n_reads
