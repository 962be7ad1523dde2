"""The job of fmx mem: maximal exact matches of queries."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..mem.matching import Matching, MemOptions, MemOutput, MemSummary, find, prepare
from ..system import PLACE
from . import Context, IndexChoice, IndexedJob, Opened


@dataclass(frozen=True)
class MemJob(IndexedJob):
    """Find the maximal exact matches of the sequences of ``inputs``."""

    name: ClassVar[str] = "mem"
    index: IndexChoice = field(metadata=PLACE)
    inputs: tuple[str, ...] = field(metadata=PLACE)
    matching: MemOptions
    output: MemOutput

    def prepare(self, opened: Opened, context: Context) -> Matching:
        options = replace(self.matching, n_threads=context.resources.threads)
        output, place = opened.in_report(self.output), context.resources.place
        return prepare(opened.fm_index, options, output, context.progress, place)

    def execute(self, opened: Opened, prepared: Matching, context: Context) -> MemSummary:
        return find(prepared, self.inputs, self.output, context.progress, context.run)
