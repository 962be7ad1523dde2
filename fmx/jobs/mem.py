"""The job of fmx mem: maximal exact matches of queries."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from ..machines.progress import Progress
from ..mem.matching import MemOptions, MemSummary
from ..mem.pipeline import Matching, MemOutput, find, prepare
from ..system.files import PLACE
from . import IndexChoice, IndexedJob, JobContext, Opened, absolute
from .identity import identity
from .run import say_run

if TYPE_CHECKING:
    from .identity import Manifest


@dataclass(frozen=True)
class MemJob(IndexedJob):
    """Find the maximal exact matches of the sequences of ``inputs``."""

    name: ClassVar[str] = "mem"
    index: IndexChoice = field(metadata=PLACE)
    inputs: tuple[str, ...] = field(metadata=PLACE)
    matching: MemOptions
    output: MemOutput

    def absolute(self) -> Self:
        return replace(self, index=self.index.absolute(), inputs=absolute(self.inputs))

    def open(self, context: JobContext) -> Opened:
        return self.index.open(context)

    def identity(self, opened: Opened) -> dict:
        return identity("mem", self.inputs, opened.metas, matching=self.matching, output=self.output)

    def prepare(self, opened: Opened, context: JobContext) -> Matching:
        options = replace(self.matching, n_threads=context.resources.threads)
        output, place = opened.in_report(self.output), context.resources.place
        return prepare(opened.fm_index, options, output, context.progress, place)

    def execute(self, opened: Opened, prepared: Matching, context: JobContext) -> MemSummary:
        return find(prepared, self.inputs, self.output, context.progress, context.shard)

    def say(self, opened: Opened, summary: MemSummary, context: JobContext) -> None:
        say_run(context.progress, "mem", summary, None, self.inputs, context.shard)

    def merge(self, opened: Opened, folder: Path, shards: "Iterable[Manifest]", progress: Progress) -> list:
        from .merge import merge

        report = opened.in_report(self.output).report
        return merge(folder, shards, self.output.path, report=report, wall=progress.wall)
