"""Chunks of reads -> pieces of output, by several threads, in order, in bounded memory.

bytes -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> records
"""

import time
from contextlib import closing
from functools import partial

from ..errors import n_of
from ..input import spans
from ..input.pairs import pair_spans
from ..input.pairs.mates import PairedFiles
from ..machines.pipeline import travel
from ..machines.progress import Progress
from .summary import PairSummary, Summary


def map_spans(mappers, source, writer, sink, progress=None) -> Summary | PairSummary:
    """Map the reads of spans, or of PairSpans, in order, and write the records to ``sink`` (a binary file).

    ``mappers``: one for each place where reads are mapped, used by as many threads as its options say.
    """
    progress, start = progress or Progress(quiet=True), time.monotonic()
    noun = mappers[0].options.noun
    summary = PairSummary() if mappers[0].options.pairing else Summary()

    def work(mapper, emit, span):
        return mapper.map(span, writer.of(span), emit)

    def write(piece):
        sink.write(piece)
        writer.written(piece)

    workers = [partial(work, mapper) for mapper in mappers for _ in range(mapper.options.n_threads)]
    with closing(travel(source, workers, write)) as parts:
        for part in parts:
            summary.add(part)
            rate = summary.reads / max(time.monotonic() - start, 1e-9)
            seen = f"{n_of(summary.reads, noun)}, {rate:,.0f} {noun}s/s"
            progress.show(f"{seen}, {summary.mapped:,} mapped")
    return summary


def compile_all(mappers, writer, any_length=True) -> None:
    """Map one made-up read, so that what is not compiled yet is compiled before the clock starts.

    ``any_length``: whether reads of four letters may be searched.
    """
    is_near = any(mapper.options.near for mapper in mappers)
    letters = b"ACGT" * (8 if is_near else 1)  # four letters are nearly everywhere
    warm_up(mappers, writer, letters if any_length else b"N")
    for mapper in mappers:
        if mapper.tally:
            mapper.tally.clear()


def warm_up(mappers, writer, letters=b"N") -> None:
    """The same, beside others that map already: these letters occur nowhere, so that nothing is counted."""
    record = b"@r\n%s\n+\n%s\n" % (letters, len(letters) * b"I")
    for mapper in mappers:
        planned = (
            pair_spans.plan(PairedFiles((2 * record,))) if mapper.options.pairing else spans.plan([record])
        )
        for span in planned:
            mapper.map(span, writer.of(span), writer.written)
