"""The job of fmx locate --pairs: PCR products of primer pairs."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ..compiler import object_cache
from ..input.tables import read_pairs
from ..output import lines
from ..search.mappers import choose_mapper
from ..search.mapping import MapOptions
from ..search.products import ProductOutput, ProductSummary, amplify
from ..system import PLACE
from . import Context, IndexChoice, IndexedJob, Opened


@dataclass(frozen=True)
class ProductsJob(IndexedJob):
    """List the PCR products of the primer pairs in a table, ``pairs``."""

    name: ClassVar[str] = "products"
    paths: ClassVar[tuple[str, ...]] = ("index", "pairs")
    index: IndexChoice = field(metadata=PLACE)
    pairs: str = field(metadata=PLACE)
    mapping: MapOptions
    output: ProductOutput

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.pairs,)

    def open(self, context: Context) -> Opened:
        return self.index.of_any_length().open(context, with_text=True)

    def prepare(self, opened: Opened, context: Context) -> Any:
        object_cache.on_first_compile(context.progress)
        options = replace(self.mapping, n_threads=context.resources.threads, chunk_size=0)
        return choose_mapper(opened.fm_index, options, context.resources.place, context.progress)

    def execute(self, opened: Opened, prepared: Any, context: Context) -> ProductSummary:
        pairs, run = read_pairs(self.pairs), context.run
        pairs = pairs[slice(*run.share_of(len(pairs)))]
        return amplify(opened.fm_index, pairs, prepared, self.output, lines, run, context.progress)
