"""The job of fmx mem: maximal exact matches of queries."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..mem.journey import Matching, MemOutput, find, prepare
from ..mem.matching import MemOptions, Summary
from ..system.files import PLACE
from .identity import absolute, identity, n_of_files
from .kept import Kept
from .opening import IndexChoice, Opened
from .resources import Resources
from .told import tell_run


@dataclass(frozen=True)
class MemJob:
    """Matches of the sequences of ``inputs`` in an index."""

    name: ClassVar[str] = "mem"
    index: IndexChoice = field(metadata=PLACE)
    inputs: tuple[str, ...] = field(metadata=PLACE)
    matching: MemOptions
    output: MemOutput

    @property
    def index_path(self) -> str:
        return str(self.index.paths[0])

    def alone(self) -> str:
        return "several -x" if self.index.paths[1:] else ""

    def absolute(self) -> "MemJob":
        return replace(self, index=self.index.absolute(), inputs=absolute(self.inputs))

    def open(self, resources: Resources, progress, kept: Kept) -> Opened:
        return self.index.open(resources, progress, kept)

    def identity(self, opened: Opened) -> dict:
        return identity("mem", self.inputs, opened.fm_index.meta, matching=self.matching, output=self.output)

    def n_parts(self, opened: Opened, resources: Resources, progress, kept: Kept) -> int:
        return n_of_files(self.inputs, resources.engine)

    def prepare(self, opened: Opened, resources: Resources, progress, kept: Kept) -> Matching:
        options, output = replace(self.matching, n_threads=resources.threads), opened.told(self.output)
        return prepare(opened.fm_index, options, output, progress, resources.place)

    def execute(self, opened: Opened, prepared: Matching, shard, resources: Resources, progress) -> Summary:
        return find(prepared, self.inputs, self.output, progress, shard)

    def tell(self, opened: Opened, summary: Summary, shard, progress) -> None:
        tell_run(progress, "mem", summary, None, self.inputs, shard)

    def merge(self, opened: Opened, folder, shards, progress) -> list:
        from .merge import merge

        report = opened.told(self.output).report
        return merge(folder, shards, self.output.path, report=report, wall=progress.wall)
