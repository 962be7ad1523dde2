"""The job of fmx count: how often guides occur in the reads of samples."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from ..compiler import object_cache
from ..guides.assign import GuideWindow
from ..guides.counting import Counter, CountOptions
from ..guides.library import read_library
from ..guides.outputs import CountOutput
from ..guides.pipeline import (
    CountSummary,
    PairCountSummary,
    count,
    count_shard,
    make_counter,
    tell_samples,
    unpack,
)
from ..guides.samples import Sample, ScreenDesign
from ..machines.progress import Progress
from ..output.run import LocalRun
from ..system.files import PLACE
from . import FilesJob, JobContext, absolute
from .identity import identity
from .run import say_run

if TYPE_CHECKING:
    from .identity import Manifest


@dataclass(frozen=True)
class CountJob(FilesJob):
    """Count the guides of ``libraries`` in ``samples``; ``columns``: the columns of the libraries."""

    name: ClassVar[str] = "count"
    samples: tuple[Sample, ...] = field(metadata=PLACE)
    libraries: tuple[str, ...] = field(metadata=PLACE)
    columns: tuple = field(metadata=PLACE)
    counting: CountOptions
    output: CountOutput

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*(path for sample in self.samples for path in sample.paths), *self.libraries)

    def absolute(self) -> Self:
        samples = tuple(sample.anywhere() for sample in self.samples)
        return replace(self, samples=samples, libraries=absolute(self.libraries))

    def open(self, context: JobContext) -> None:
        """Nothing to open: there is no index."""

    def identity(self, opened: None) -> dict:
        screen = ScreenDesign.of(list(self.samples), self.columns)
        return identity("count", self.inputs, counting=self.counting, output=self.output, screen=screen)

    def prepare(self, opened: None, context: JobContext) -> Counter:
        return context.cache.shared("counter", partial(self._counter, context))

    def execute(
        self, opened: None, prepared: Counter, context: JobContext
    ) -> CountSummary | PairCountSummary:
        if context.shard:
            return count_shard(prepared, self.samples, self.output, context.shard, context.progress)
        return count(prepared, self.samples, self.output, _alone(self.output), context.progress)

    def say(self, opened: None, summary: CountSummary | PairCountSummary, context: JobContext) -> None:
        if not context.shard:  # a shard prints its own summary
            say_run(context.progress, "count", summary, None, ())

    def merge(self, opened: None, folder: Path, shards: "Iterable[Manifest]", progress: Progress) -> list:
        return add_up(self.output, progress, folder, shards, self)

    def _counter(self, context: JobContext) -> Counter:
        progress = context.progress
        object_cache.on_first_compile(progress)
        libraries = [read_library(path, self.columns, progress.say) for path in self.libraries]
        options = replace(self.counting, n_threads=context.resources.threads)
        return make_counter(libraries, self.samples, options, progress)


def _alone(output: CountOutput) -> LocalRun:
    return LocalRun(output.path, reports=output.reports)


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
    from .merge import bodies, facts_of

    found: list = []
    run = _alone(output)
    with run.opened(b"") as sink:
        seen = unpack(bodies(folder, shards, found))
        if job:
            library = replace(seen.library, path=", ".join(job.libraries))
            seen = replace(seen, library=library, samples=list(job.samples))
        sink.write(seen.table(output.kind))
        if report := output.report:
            wall = progress.wall if job else None
            run.note(None, facts=lambda: facts_of(folder, found, report, wall) | seen.details())
    counting = CountOptions(**found[0].run["options"]["counting"])
    looked = tuple(GuideWindow(**each) for each in found[0].run["options"]["counting"]["looked"])
    tell_samples(seen, progress, replace(counting, looked=looked))
    return found
