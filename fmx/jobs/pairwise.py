"""The job of fmx pairwise: alignments of pairs of sequences."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..align.jobs import cut
from ..align.pipeline import (
    AlignmentSummary,
    PairInput,
    PairOptions,
    PairOutput,
    ScoringGpus,
    align,
    open_gpus,
    prepare,
)
from ..machines.progress import Progress
from ..system.files import PLACE
from . import FilesJob, JobContext, absolute
from .identity import MOST, identity, is_gpu
from .run import say_run

if TYPE_CHECKING:
    from .identity import Manifest

CHUNKS = (64, 64, 1), (16, 128, 128)  # least number of shards; chunks per shard with and without the filter


@dataclass(frozen=True)
class PairJob(FilesJob):
    """Align all pairs of one file, or each sequence of the first of ``inputs`` with each of the second."""

    name: ClassVar[str] = "pairwise"
    inputs: tuple[str, ...] = field(metadata=PLACE)
    pairs: PairOptions
    output: PairOutput

    def why_alone(self) -> str:
        is_kept = (
            "--checkpoint is for runs in one process, and shards can be resumed without it: leave it out"
        )
        return is_kept if self.output.checkpoint else ""

    def absolute(self) -> "PairJob":
        return replace(self, inputs=absolute(self.inputs))

    def open(self, context: JobContext) -> None:
        """Nothing to open: sequences are read before they are aligned."""

    def identity(self, opened: None) -> dict:
        return identity("pairwise", self.inputs, pairs=self.pairs, output=self.output)

    def n_parts(self, opened: None, context: JobContext) -> int:
        job = self._read(context).job
        return n_of_chunks(len(cut(job)), job.filtered, context.resources.engine)

    def prepare(self, opened: None, context: JobContext) -> tuple[ScoringGpus, PairInput]:
        return open_gpus(context.resources.place, context.progress), self._read(context)

    def execute(
        self, opened: None, prepared: tuple[ScoringGpus, PairInput], context: JobContext
    ) -> AlignmentSummary:
        (gpus, read), options = prepared, self._options(context)
        return align(read, options, self.output, context.progress, gpus, context.shard)

    def say(self, opened: None, summary: AlignmentSummary, context: JobContext) -> None:
        say_run(context.progress, "pairwise", summary, None, () if context.shard else self.inputs)

    def merge(self, opened: None, folder: Path, shards: "Iterable[Manifest]", progress: Progress) -> list:
        from .merge import merge

        return merge(folder, shards, self.output.path, wall=progress.wall)

    def _options(self, context: JobContext) -> PairOptions:
        return replace(self.pairs, n_threads=context.resources.threads)

    def _read(self, context: JobContext) -> PairInput:
        make = partial(prepare, self.inputs, self._options(context), self.output, context.progress)
        return context.cache.shared("sequences", make)


def n_of_chunks(n: int, filtered: bool, engine: str) -> int:
    """Number of shards for n chunks of pairs (align/jobs.py); ``filtered``: few pairs pass the filter."""
    several, with_filter, without = CHUNKS[is_gpu(engine)]
    return max(1, min(max(n // (with_filter if filtered else without), several), n, MOST))
