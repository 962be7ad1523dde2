"""The job of fmx mem: maximal exact matches of queries."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..mem.matching import MemOptions, MemOutput, MemSummary, prepare
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

    def prepare(self, context: Context) -> Callable[[Context], MemSummary]:
        options = replace(self.matching, n_threads=context.resources.threads)
        index, place = self.index.open(context), context.resources.place
        find = prepare(index, options, self.output, context.progress, place)
        return lambda of: find(self.inputs, of.progress, of.run)
