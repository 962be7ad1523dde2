"""The job of fmx locate --pairs: PCR products of primer pairs."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from ..compiler import object_cache
from ..index.reference import letters_between
from ..input.tables import Pair, read_pairs
from ..machines.pipeline import run_ordered
from ..output import lines
from ..search.mappers import choose_mapper
from ..search.mapping import Hooks, MapOptions
from ..search.products import ProductOutput, ProductSummary, pairs_of_hits, products_of
from ..system import PLACE
from . import Context, IndexChoice, Job

_PAIRS = 128  # pairs that a thread takes at a time


@dataclass(frozen=True)
class ProductsJob(Job):
    """List the PCR products of the primer pairs in a table, ``pairs``."""

    name: ClassVar[str] = "products"
    index: IndexChoice = field(metadata=PLACE)
    pairs: str = field(metadata=PLACE)
    mapping: MapOptions
    output: ProductOutput

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.pairs,)

    def prepare(self, context: Context) -> Callable[[Context], ProductSummary]:
        fm_index = self.index.open(context, with_text=True, of_any_length=True)
        object_cache.on_first_compile(context.progress)
        options, output = self.mapping.on(context.resources.threads), self.output
        hooks = Hooks(say=context.progress.say)
        mapper = choose_mapper(fm_index, options, context.resources.place, hooks)
        reference = fm_index.reference
        letters = partial(letters_between, fm_index)

        def work(emit: Callable[..., Any], some: Sequence[Pair]) -> list[int]:
            totals = []
            for pair, hits in zip(some, pairs_of_hits(mapper, some, reference.blocks), strict=True):
                for products in products_of(*hits, (len(pair.forward), len(pair.reverse)), output.most):
                    emit(lines.lines_of(output.kind, pair, products, reference.names, letters))
                if output.absent and not products.total:
                    emit(lines.absent(pair))
                totals.append(products.total)
            return totals

        def write(context: Context) -> ProductSummary:
            pairs, n_amplified, n_products = read_pairs(self.pairs), 0, 0
            pairs = pairs[slice(*context.run.share_of(len(pairs)))]
            items = [pairs[i : i + _PAIRS] for i in range(0, len(pairs), _PAIRS)]
            with context.run.opened(output, lines.head_of(output.kind)) as outputs:
                results = run_ordered(items, [work] * mapper.options.n_threads, outputs.write)
                with context.progress.wall.spending("mapping"), closing(results):
                    for totals in results:
                        n_amplified += sum(n > 0 for n in totals)
                        n_products += sum(totals)
                summary = ProductSummary(len(pairs), n_amplified, n_products)
                outputs.finish(summary)
            return summary

        return write
