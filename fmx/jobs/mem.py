"""The job of fmx mem: maximal exact matches of queries."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..mem.matching import MemOptions, MemOutput, MemSummary, find, prepare
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
        matching = prepare(
            self.index.open(context), options, self.output, context.progress, context.resources.place
        )
        return lambda of: find(matching, self.inputs, self.output, of.progress, of.run)
