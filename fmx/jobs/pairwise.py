"""The job of fmx pairwise: alignments of pairs of sequences."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from ..align import pipeline
from ..align.jobs import AlignmentJob, cut
from ..align.pipeline import AlignmentSummary, PairOptions, PairOutput
from ..system import PLACE
from . import MOST, Context, Job

_CHUNKS = (64, 64, 1), (16, 128, 128)  # least number of shards; chunks per shard with and without the filter


@dataclass(frozen=True)
class PairJob(Job):
    """Align all pairs of one file, or each sequence of the first of ``inputs`` with each of the second."""

    name: ClassVar[str] = "pairwise"
    inputs: tuple[str, ...] = field(metadata=PLACE)
    pairs: PairOptions
    output: PairOutput

    def n_parts(self, context: Context) -> int:
        _, job = self._read(context)
        several, with_filter, without = _CHUNKS[context.resources.place.engine not in ("cpu", "auto")]
        n = len(cut(job))
        return max(1, min(max(n // (with_filter if job.filtered else without), several), n, MOST))

    def prepare(self, context: Context) -> Callable[[Context], AlignmentSummary]:
        gpus, pairs = pipeline.open_gpus(context.resources.place, context.progress), self._read(context)
        options = replace(self.pairs, n_threads=context.resources.threads)
        return lambda of: pipeline.align(*pairs, options, self.output, of.progress, gpus, of.run)

    def _read(self, context: Context) -> tuple[tuple, AlignmentJob]:
        options = replace(self.pairs, n_threads=context.resources.threads)
        make = partial(pipeline.prepare, self.inputs, options, self.output, context.progress)
        return context.cache.shared("sequences", make)
