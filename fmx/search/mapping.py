"""Chunks of reads -> pieces of output, by several threads, in order, in bounded memory.

bytes -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> records
"""

import time
from functools import partial

from ..input import spans
from ..machines.pipeline import travel
from ..machines.progress import Progress
from .summary import Summary


def map_spans(mappers, source, writer, sink, progress=None) -> Summary:
    """Map the reads of spans, in order, and write the records to ``sink`` (a binary file).

    ``mappers``: one for each place where reads are mapped, used by as many threads as its options say.
    """
    progress, summary, start = progress or Progress(quiet=True), Summary(), time.monotonic()

    def work(mapper, emit, span):
        return mapper.map(span, writer, emit)

    def write(piece):
        sink.write(piece)
        writer.written(piece)

    workers = [partial(work, mapper) for mapper in mappers for _ in range(mapper.options.n_threads)]
    for part in travel(source, workers, write):
        summary.add(part)
        rate = summary.reads / max(time.monotonic() - start, 1e-9)
        progress.show(f"{summary.reads:,} reads, {rate:,.0f} reads/s, {summary.mapped:,} mapped")
    return summary


def compile_all(mappers, writer) -> None:
    """Map one made-up read, so that what is not compiled yet is compiled before the clock starts."""
    warm_up(mappers, writer, b"ACGT")
    for mapper in mappers:
        if mapper.tally:
            mapper.tally.clear()


def warm_up(mappers, writer, letters=b"N") -> None:
    """The same, beside others that map already: these letters occur nowhere, so that nothing is counted."""
    (chunk,) = spans.read_chunks([b"@r\n%s\n+\n%s\n" % (letters, len(letters) * b"I")])
    for mapper in mappers:
        mapper.map(chunk, writer, writer.written)
