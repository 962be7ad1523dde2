"""Pairs of primers -> lines of their products, by several threads, in order."""

from contextlib import closing
from dataclasses import dataclass
from functools import partial

from ..errors import n_of
from ..index.parts import part_span
from ..index.reference import Letters
from ..input.streams import whole_output
from ..machines.pipeline import travel
from .products import pairs_of_hits, products_of

_PAIRS = 128  # that a worker takes at a time


@dataclass(frozen=True)
class ProductOutput:
    """Products of PCR of at most ``most`` letters, by ``kind`` one of output.products.KINDS.

    ``absent``: also a line for each pair without one.
    """

    path: str = "-"
    kind: str = "tsv"
    most: int = 3000
    absent: bool = False


def amplify(fm_index, pairs, mappers, output, writer, progress) -> None:
    """Write the products of primers.Pairs, in order, into a ProductOutput.

    ``mappers``: NearMappers of the index, each used by as many threads as its options say; ``writer``:
    output.products, whatever the format.
    """
    reference = fm_index.reference
    starts = [part_span(fm_index.meta, number)[0] for number in range(len(fm_index.parts))]
    letters, n_found, n_products = Letters(fm_index, starts), 0, 0

    def work(mapper, emit, some):
        n = []
        for pair, hits in zip(some, pairs_of_hits(mapper, some, reference.blocks), strict=True):
            for found in products_of(*hits, (len(pair.forward), len(pair.reverse)), output.most):
                emit(writer.lines_of(output.kind, pair, found, reference.names, letters))
            if output.absent and not found.total:
                emit(writer.absent(pair))
            n.append(found.total)
        return n

    workers = [partial(work, mapper) for mapper in mappers for _ in range(mapper.options.n_threads)]
    items = [pairs[i : i + _PAIRS] for i in range(0, len(pairs), _PAIRS)]
    with whole_output(output.path) as sink, closing(travel(items, workers, sink.write)) as parts:
        sink.write(writer.head_of(output.kind))
        for found in parts:
            n_found, n_products = n_found + sum(n > 0 for n in found), n_products + sum(found)
    have, in_all = n_of(n_found, "has", "have"), n_of(n_products, "product")
    progress.say(f"{n_of(len(pairs), 'pair')} of primers: {have} products; {in_all}")
