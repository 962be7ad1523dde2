"""The job of fmx pairwise: alignments of pairs of sequences."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from ..align import pipeline
from ..align.jobs import cut
from ..align.pipeline import AlignmentSummary, PairInput, PairOptions, PairOutput, ScoringGpus
from ..system import PLACE
from . import Context, Job
from .identity import MOST, is_gpu

CHUNKS = (64, 64, 1), (16, 128, 128)  # least number of shards; chunks per shard with and without the filter


@dataclass(frozen=True)
class PairJob(Job):
    """Align all pairs of one file, or each sequence of the first of ``inputs`` with each of the second."""

    name: ClassVar[str] = "pairwise"
    inputs: tuple[str, ...] = field(metadata=PLACE)
    pairs: PairOptions
    output: PairOutput

    def n_parts(self, context: Context) -> int:
        job = self._read(context).job
        return n_of_chunks(len(cut(job)), job.filtered, context.resources.place.engine)

    def prepare(self, context: Context) -> tuple[ScoringGpus, PairInput]:
        return pipeline.open_gpus(context.resources.place, context.progress), self._read(context)

    def execute(self, prepared: tuple[ScoringGpus, PairInput], context: Context) -> AlignmentSummary:
        (gpus, read), options = prepared, replace(self.pairs, n_threads=context.resources.threads)
        return pipeline.align(read, options, self.output, context.progress, gpus, context.run)

    def _read(self, context: Context) -> PairInput:
        options = replace(self.pairs, n_threads=context.resources.threads)
        make = partial(pipeline.prepare, self.inputs, options, self.output, context.progress)
        return context.cache.shared("sequences", make)


def n_of_chunks(n: int, filtered: bool, engine: str) -> int:
    """Number of shards for n chunks of pairs (align/jobs.py); ``filtered``: few pairs pass the filter."""
    several, with_filter, without = CHUNKS[is_gpu(engine)]
    return max(1, min(max(n // (with_filter if filtered else without), several), n, MOST))
