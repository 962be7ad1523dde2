"""The job of fmx count: guides in reads of samples; jobs/merge.py reads ``counting.looked`` by its name."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..compiler import object_cache
from ..errors import OutputError
from ..guides import counting
from ..guides.assign import CountOptions
from ..guides.counting import Counter, CountSummary
from ..guides.library import read_library
from ..guides.samples import Sample
from ..report import JobOutput
from ..system import PLACE
from . import Context, Job


@dataclass(frozen=True)
class CountJob(Job):
    """Count the guides of ``libraries`` in ``samples``; ``columns``: as of read_library."""

    name: ClassVar[str] = "count"
    samples: tuple[Sample, ...] = field(metadata=PLACE)
    libraries: tuple[str, ...] = field(metadata=PLACE)
    columns: tuple
    counting: CountOptions
    output: JobOutput

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*(path for sample in self.samples for path in sample.paths), *self.libraries)

    def facts(self) -> dict:
        names = {each.name: [os.path.basename(path) for path in each.paths] for each in self.samples}
        return {"samples": names}

    def with_targets(self, context: Context) -> "CountJob":
        reads = self.output.reads
        if not reads.is_by_target:
            return self
        if not (library := self._counter(context).targets.library):
            raise OutputError(
                f"--al {reads.mapped}: with two libraries, it is not known beforehand which pairs of guides "
                "occur: give one library of pairs"
            )
        return replace(self, output=replace(self.output, reads=reads.of_targets(library.ids)))

    def _counter(self, context: Context) -> Counter:
        def make() -> Counter:
            progress = context.progress
            object_cache.on_first_compile(progress)
            libraries = [read_library(path, self.columns, progress.say) for path in self.libraries]
            options = replace(self.counting, n_threads=context.resources.threads)
            return counting.make_counter(libraries, self.samples, options, progress)

        return context.cache.shared("counter", make)

    def prepare(self, context: Context) -> Callable[[Context], CountSummary]:
        counter = self._counter(context)
        return lambda now: counting.count(counter, self.samples, self.output, now.run, now.progress)
