"""The job of fmx mem: maximal exact matches of queries."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..mem.matching import Matching, MemOptions, MemOutput, MemSummary, find, prepare
from ..system import PLACE
from . import Context, IndexChoice, Job


@dataclass(frozen=True)
class MemJob(Job):
    """Find the maximal exact matches of the sequences of ``inputs``."""

    name: ClassVar[str] = "mem"
    index: IndexChoice = field(metadata=PLACE)
    inputs: tuple[str, ...] = field(metadata=PLACE)
    matching: MemOptions
    output: MemOutput

    def prepare(self, context: Context) -> Matching:
        options = replace(self.matching, n_threads=context.resources.threads)
        return prepare(
            self.index.open(context), options, self.output, context.progress, context.resources.place
        )

    def execute(self, prepared: Matching, context: Context) -> MemSummary:
        return find(prepared, self.inputs, self.output, context.progress, context.run)
