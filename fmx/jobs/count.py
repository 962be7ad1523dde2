"""The job of fmx count: how often guides occur in the reads of samples."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..compiler import object_cache
from ..errors import OutputError
from ..guides import pipeline
from ..guides.assign import GuideWindow
from ..guides.counting import Counter, CountOptions
from ..guides.library import read_library
from ..guides.pipeline import CountSummary, PairCountSummary
from ..guides.results import CountOutput
from ..guides.samples import Sample
from ..machines.progress import Progress
from ..output.run import Run
from ..system import PLACE
from . import Context, Job
from .identity import OUTPUT, as_json

if TYPE_CHECKING:
    from .identity import Manifest


@dataclass(frozen=True)
class CountJob(Job):
    """Count the guides of ``libraries`` in ``samples``; ``columns``: the columns of the libraries."""

    name: ClassVar[str] = "count"
    paths: ClassVar[tuple[str, ...]] = ("samples", "libraries")
    samples: tuple[Sample, ...] = field(metadata=PLACE)
    libraries: tuple[str, ...] = field(metadata=PLACE)
    columns: tuple = field(metadata=PLACE)
    counting: CountOptions
    output: CountOutput

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*(path for sample in self.samples for path in sample.paths), *self.libraries)

    def facts(self, opened: None) -> dict:
        names = {each.name: [os.path.basename(path) for path in each.paths] for each in self.samples}
        return {"screen": as_json({"samples": names, "columns": self.columns})}

    def with_targets(self, context: Context) -> "CountJob":
        reads = self.output.reads
        if not reads.is_by_target:
            return self
        if not (library := self.prepare(None, context).targets.library):
            raise OutputError(
                f"--al {reads.mapped}: with two libraries, it is not known beforehand which pairs of guides "
                "occur: give one library of pairs"
            )
        return replace(self, output=replace(self.output, reads=reads.of_targets(library.ids)))

    def prepare(self, opened: None, context: Context) -> Counter:
        return context.cache.shared("counter", partial(self._counter, context))

    def execute(self, opened: None, prepared: Counter, context: Context) -> CountSummary | PairCountSummary:
        return pipeline.count(prepared, self.samples, self.output, context.run, context.progress)

    def say(self, opened: None, summary: CountSummary | PairCountSummary, context: Context) -> None:
        if context.run.is_whole:  # a shard prints its own summary
            super().say(opened, summary, context)

    def merge(self, opened: None, folder: Path, shards: "Iterable[Manifest]", progress: Progress) -> list:
        return add_up(self.output, progress, folder, shards, self)

    def _counter(self, context: Context) -> Counter:
        progress = context.progress
        object_cache.on_first_compile(progress)
        libraries = [read_library(path, self.columns, progress.say) for path in self.libraries]
        options = replace(self.counting, n_threads=context.resources.threads)
        return pipeline.make_counter(libraries, self.samples, options, progress)


def add_up(
    output: CountOutput,
    progress: Progress,
    folder: Path,
    shards: "Iterable[Manifest]",
    job: CountJob | None = None,
) -> list:
    """Add up the shards of a count and write the table; return the Manifests of all shards.

    ``job``: supplies the file names as the user gave them; without it, as the shards stored them.
    """
    from .merge import facts_of, whole, write_reads

    merged: list = []

    def counts_of(shard: "Manifest") -> bytes:
        merged.append(shard)
        write_reads(folder, shard, output, outputs)
        return whole(folder, shard, OUTPUT)

    with Run().opened(output) as outputs:
        result = pipeline.unpack(map(counts_of, shards))
        if job:
            library = replace(result.library, path=", ".join(job.libraries))
            result = replace(result, library=library, samples=list(job.samples))
        outputs.write(result.table(output.kind))
        if report := output.report:
            wall = progress.wall if job else None
            outputs.finish(None, facts=lambda: facts_of(folder, merged, report, wall) | result.details())
    counting = CountOptions(**merged[0].run["options"]["counting"])
    looked = tuple(GuideWindow(**each) for each in merged[0].run["options"]["counting"]["looked"])
    pipeline.say_samples(result, progress, replace(counting, looked=looked))
    return merged
