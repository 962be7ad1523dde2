"""The job of fmx locate --pairs: PCR products of primer pairs."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from ..compiler import object_cache
from ..input.tables import read_pairs
from ..machines.progress import Progress
from ..output import lines
from ..output.run import LocalRun
from ..search.mappers import choose_mapper
from ..search.mapping import MapOptions
from ..search.products import ProductOutput, ProductSummary, amplify
from ..system.files import PLACE
from . import IndexChoice, IndexedJob, JobContext, Opened
from .identity import Manifest, identity
from .merge import merge
from .run import say_run


@dataclass(frozen=True)
class ProductsJob(IndexedJob):
    """List the PCR products of the primer pairs in a table, ``pairs``."""

    name: ClassVar[str] = "locate"
    index: IndexChoice = field(metadata=PLACE)
    pairs: str = field(metadata=PLACE)
    mapping: MapOptions
    output: ProductOutput

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.pairs,)

    def absolute(self) -> Self:
        return replace(self, index=self.index.absolute(), pairs=os.path.abspath(self.pairs))

    def open(self, context: JobContext) -> Opened:
        return self.index.of_any_length().open(context, with_text=True)

    def identity(self, opened: Opened) -> dict:
        return identity("products", self.inputs, opened.metas, mapping=self.mapping, output=self.output)

    def prepare(self, opened: Opened, context: JobContext) -> Any:
        object_cache.on_first_compile(context.progress)
        options = replace(self.mapping, n_threads=context.resources.threads, chunk_size=0)
        return choose_mapper(opened.fm_index, options, context.resources.place, context.progress)

    def execute(self, opened: Opened, prepared: Any, context: JobContext) -> ProductSummary:
        pairs, run = read_pairs(self.pairs), context.shard or LocalRun(self.output.path)
        own = pairs[slice(*run.share_of(len(pairs)))]
        return amplify(opened.fm_index, own, prepared, self.output, lines, run, context.progress)

    def say(self, opened: Opened, summary: ProductSummary, context: JobContext) -> None:
        say_run(context.progress, "products", summary, None, () if context.shard else self.inputs)

    def merge(self, opened: Opened, folder: Path, shards: Iterable[Manifest], progress: Progress) -> list:
        return merge(folder, shards, self.output.path, wall=progress.wall)
