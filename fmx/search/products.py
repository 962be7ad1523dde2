"""Hits of primers -> products of PCR: two primers of a pair that face each other within a maximum distance.

+ product    forward -->              and on the other strand, -:    reverse -->
                        <-- reverse                                                 <-- forward
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..errors import n_of
from ..index.disk import part_span
from ..index.reference import PackedLetters, place_of
from ..input.chunks import literal_fasta
from ..input.sets import n_changes
from ..input.spans import read_chunks
from ..machines.pipeline import run_ordered
from ..machines.progress import RunCounts
from ..report import JobOutput
from ..system import PLACE

if TYPE_CHECKING:
    from types import ModuleType

    from ..index.fm_index import AnyIndex
    from ..index.reference import Blocks
    from ..input.tables import Pair
    from ..machines.progress import Progress
    from .hits import Hits
    from .mapper import Mapper

AT_ONCE = 1 << 18  # products that are made at a time


class PrimerHits(NamedTuple):
    """Hits of a primer. ``place`` int64[n]: contig * 2^40 + start; ``reverse`` bool[n]."""

    place: np.ndarray
    reverse: np.ndarray
    mismatches: np.ndarray

    def on(self, strand: int) -> "PrimerHits":
        """Return the hits on a strand: 0 plus, 1 minus."""
        own = self.reverse == strand
        return PrimerHits(self.place[own], self.reverse[own], self.mismatches[own])


class Products(NamedTuple):
    """Some of the ``total`` products of a pair: int64[n] each, ``minus`` bool[n].

    ``start`` to ``end`` is half-open. ``mismatches`` int64[2, n]: of the forward and the reverse primer.
    """

    contig: np.ndarray
    start: np.ndarray
    end: np.ndarray
    minus: np.ndarray
    mismatches: np.ndarray
    total: int


CONTIG_BITS = 40  # bits of a place below the contig


def hits_of_primers(blocks: "Blocks", hits: "Hits") -> list:
    """Return the PrimerHits of each read of Hits."""
    place = np.empty(hits.position.size, np.int64)
    _places(blocks, hits.position, place)
    mismatches = n_changes(hits.changes)
    return [
        PrimerHits(place[a:b], hits.reverse[a:b], mismatches[a:b])
        for a, b in zip(hits.first[:-1], hits.first[1:], strict=True)
    ]


def pairs_of_hits(
    mapper: "Mapper", pairs: "Sequence[Pair]", blocks: "Blocks"
) -> Iterator[tuple[PrimerHits, PrimerHits]]:
    """Yield (PrimerHits of the forward primer, of the reverse primer) for each pair of primers."""
    primers = [primer for pair in pairs for primer in (pair.forward, pair.reverse)]
    held: list = []
    for chunk in read_chunks([literal_fasta(primers)]):
        for _, hits in mapper.hits_of(mapper.search(chunk)):
            held += hits_of_primers(blocks, hits)
            while len(held) > 1:
                yield held[0], held[1]
                del held[:2]


@compiled
def _places(blocks, position, place):
    for i in range(position.size):
        found = place_of(blocks, position[i])
        place[i] = found.contig << CONTIG_BITS | found.position


def products_of(
    forward: PrimerHits, reverse: PrimerHits, lengths: tuple[int, int], most: int
) -> Iterator[Products]:
    """Yield the Products of a pair by contig, start, end and strand; at least one item, perhaps empty.

    ``lengths``: bases of the two primers. ``most``: bases of the longest product.
    """
    ways = [
        _facing(forward.on(0), reverse.on(1), lengths, most),
        _facing(reverse.on(0), forward.on(1), lengths[::-1], most),
    ]
    columns = [np.concatenate(column) for column in zip(*ways, strict=True)]
    minus = np.repeat([False, True], [way[0].size for way in ways])
    left, size, of_left, of_right = columns
    order = np.lexsort((minus, size, left))
    for a in range(0, max(order.size, 1), AT_ONCE):
        own = order[a : a + AT_ONCE]
        start, strand = left[own] & ((1 << CONTIG_BITS) - 1), minus[own]
        mismatches = np.where(strand, (of_right[own], of_left[own]), (of_left[own], of_right[own]))
        yield Products(left[own] >> CONTIG_BITS, start, start + size[own], strand, mismatches, order.size)


def _facing(
    left: PrimerHits, right: PrimerHits, lengths: tuple[int, int], most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (place of the left hit, size, mismatches of the left, of the right hit) of facing hits.

    The right hit neither begins nor ends before the left one; the two may overlap.
    """
    first = np.searchsorted(right.place, left.place + max(0, lengths[0] - lengths[1]), "left")
    last = np.searchsorted(right.place, left.place + most - lengths[1], "right")
    n = np.maximum(last - first, 0)
    i = np.repeat(np.arange(n.size), n)
    j = np.arange(i.size) - np.repeat(np.cumsum(n) - n, n) + np.repeat(first, n)
    size = right.place[j] - left.place[i] + lengths[1]
    return left.place[i], size, left.mismatches[i], right.mismatches[j]


# Pairs of primers -> lines of their products, by several threads, in order.

_PAIRS = 128  # pairs that a worker takes at a time


@dataclass(frozen=True)
class ProductOutput(JobOutput):
    """Output of PCR products of at most ``most`` bases; ``kind`` is one of output.products.KINDS.

    ``absent``: also write a line for each pair without a product.
    """

    path: str = field(default="-", metadata=PLACE)
    kind: str = "tsv"
    most: int = 3000
    absent: bool = False


@dataclass(frozen=True)
class ProductSummary(RunCounts):
    """Number of primer pairs, of those that ``amplify``, and of their products."""

    pairs: int
    amplify: int
    products: int

    things = "pairs"

    def sentence(self, _: object = None) -> str:
        """Return one line that describes the run."""
        have, in_all = n_of(self.amplify, "has", "have"), n_of(self.products, "product")
        return f"{n_of(self.pairs, 'pair')} of primers: {have} products; {in_all}"


def amplify(
    fm_index: "AnyIndex",
    pairs: "Sequence[Pair]",
    mapper: Any,
    output: ProductOutput,
    writer: "ModuleType",
    run: Any,
    progress: "Progress",
) -> ProductSummary:
    """Write the products of primer pairs, in order, as a ProductOutput says.

    ``mapper``: a Mapper of near matches. ``writer``: the module output.lines, for every format. ``run``: an
    output.run.Run.
    """
    reference = fm_index.reference
    starts = [part_span(fm_index.meta, number)[0] for number in range(len(fm_index.parts))]
    letters, n_found, n_products = PackedLetters(fm_index, starts), 0, 0

    def work(emit: Callable[..., Any], some: "Sequence[Pair]") -> list[int]:
        n = []
        for pair, hits in zip(some, pairs_of_hits(mapper, some, reference.blocks), strict=True):
            for found in products_of(*hits, (len(pair.forward), len(pair.reverse)), output.most):
                emit(writer.lines_of(output.kind, pair, found, reference.names, letters))
            if output.absent and not found.total:
                emit(writer.absent(pair))
            n.append(found.total)
        return n

    items = [pairs[i : i + _PAIRS] for i in range(0, len(pairs), _PAIRS)]
    with run.opened(output, writer.head_of(output.kind)) as outputs:
        found = run_ordered(items, [work] * mapper.options.n_threads, outputs.write)
        with progress.wall.spending("mapping"), closing(found) as parts:
            for n in parts:
                n_found, n_products = n_found + sum(each > 0 for each in n), n_products + sum(n)
        summary = ProductSummary(len(pairs), n_found, n_products)
        outputs.finish(summary)
    return summary
