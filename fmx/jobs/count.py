"""The job of fmx count: how often guides stand in the reads of samples."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from ..guides.counting import Counter, CountOptions
from ..guides.journey import Counted, count, count_shard, make_counter, tell_samples, unpack, why_whole
from ..guides.library import read_library
from ..guides.outputs import CountOutput, opened, write
from ..guides.samples import Sample, Screen
from ..system.files import PLACE
from .identity import absolute, identity, n_of_files
from .kept import Kept
from .merge import bodies
from .resources import Resources
from .told import tell_run


@dataclass(frozen=True)
class CountJob:
    """Guides of ``libraries``, of which ``columns`` say what, in Samples."""

    name: ClassVar[str] = "count"
    index_path: ClassVar[None] = None
    samples: tuple[Sample, ...] = field(metadata=PLACE)
    libraries: tuple[str, ...] = field(metadata=PLACE)
    columns: tuple = field(metadata=PLACE)
    counting: CountOptions
    output: CountOutput

    @property
    def inputs(self) -> tuple[str, ...]:
        return (*(path for sample in self.samples for path in sample.paths), *self.libraries)

    def alone(self) -> str:
        return str(why_whole(self.samples) or "")

    def absolute(self) -> "CountJob":
        samples = tuple(sample.anywhere() for sample in self.samples)
        return replace(self, samples=samples, libraries=absolute(self.libraries))

    def open(self, resources: Resources, progress, kept: Kept) -> None:
        """Nothing: there is no index."""

    def identity(self, opened: None) -> dict:
        screen = Screen.of(list(self.samples), self.columns)
        return identity("count", self.inputs, counting=self.counting, output=self.output, screen=screen)

    def n_parts(self, opened: None, resources: Resources, progress, kept: Kept) -> int:
        return n_of_files(self.inputs, resources.engine)

    def prepare(self, opened: None, resources: Resources, progress, kept: Kept) -> Counter:
        return kept.shared("counter", partial(self._counter, resources, progress))

    def execute(self, opened: None, prepared: Counter, shard, resources: Resources, progress) -> Counted:
        options = self._options(resources)
        if shard:
            return count_shard(prepared, self.samples, options, shard, progress)
        return count(prepared, self.samples, options, self.output, progress)

    def tell(self, opened: None, summary: Counted, shard, progress) -> None:
        if not shard:  # which has told it
            tell_run(progress, "count", summary, None, ())

    def merge(self, opened: None, folder, shards, progress) -> list:
        return add_up(self.output, progress, folder, shards)

    def _options(self, resources: Resources) -> CountOptions:
        return replace(self.counting, n_threads=resources.threads)

    def _counter(self, resources: Resources, progress: Any) -> Counter:
        libraries = [read_library(path, self.columns, progress.say) for path in self.libraries]
        return make_counter(libraries, self.samples, self._options(resources), progress)


def add_up(output: CountOutput, progress, folder, shards) -> list:
    """Write what shards of a count have seen together: their Manifests, all that come."""
    found: list = []
    with opened(output) as files:
        stats = write(files, output.kind, unpack(bodies(folder, shards, found)))
    tell_samples(stats, progress)
    return found
