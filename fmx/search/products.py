"""Hits of primers -> products of PCR: two primers of a pair that face each other within a maximum distance.

+ product    forward -->              and on the other strand, -:    reverse -->
                        <-- reverse                                                 <-- forward
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import n_of
from ..input.chunks import literal_fasta
from ..input.sets import n_changes
from ..input.spans import read_chunks
from ..machines.progress import RunCounts
from ..report import JobOutput

if TYPE_CHECKING:
    from ..index.reference import Blocks
    from ..input.tables import Pair
    from .mapper import Mapper

_AT_ONCE = 1 << 18  # products that are made at a time
_CONTIG_BITS = 40  # bits of a place below the contig


class PrimerHits(NamedTuple):
    """Hits of a primer. ``place`` int64[n]: contig * 2^40 + start; ``reverse`` bool[n]."""

    place: np.ndarray
    reverse: np.ndarray
    mismatches: np.ndarray

    def on(self, strand: int) -> "PrimerHits":
        """Return the hits on a strand: 0 plus, 1 minus."""
        return PrimerHits(*(column[self.reverse == strand] for column in self))


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


def pairs_of_hits(
    mapper: "Mapper", pairs: "Sequence[Pair]", blocks: "Blocks"
) -> Iterator[tuple[PrimerHits, PrimerHits]]:
    """Yield (PrimerHits of the forward primer, of the reverse primer) for each pair of primers."""
    primers = [primer for pair in pairs for primer in (pair.forward, pair.reverse)]
    waiting: list = []
    for chunk in read_chunks([literal_fasta(primers)]):
        for _, hits in mapper.hits_of(mapper.search(chunk)):
            block = np.searchsorted(blocks.text_start, hits.position, "right") - 1
            start = hits.position - blocks.text_start[block] + blocks.contig_start[block]
            place = blocks.contig[block] << _CONTIG_BITS | start
            columns = place, hits.reverse, n_changes(hits.changes)
            waiting += [PrimerHits(*(column[a:b] for column in columns)) for a, b in pairwise(hits.first)]
            while len(waiting) > 1:
                yield waiting[0], waiting[1]
                del waiting[:2]


def products_of(
    forward: PrimerHits, reverse: PrimerHits, lengths: tuple[int, int], most: int
) -> Iterator[Products]:
    """Yield the Products of a pair by contig, start, end and strand; at least one item, perhaps empty.

    ``lengths``: bases of the two primers. ``most``: bases of the longest product.
    """
    strands = [
        _facing(forward.on(0), reverse.on(1), lengths, most),
        _facing(reverse.on(0), forward.on(1), lengths[::-1], most),
    ]
    columns = [np.concatenate(column) for column in zip(*strands, strict=True)]
    columns.append(np.repeat([False, True], [columns_of[0].size for columns_of in strands]))
    order = np.lexsort((columns[4], columns[1], columns[0]))
    for a in range(0, max(order.size, 1), _AT_ONCE):
        left, size, of_left, of_right, minus = (column[order[a : a + _AT_ONCE]] for column in columns)
        start = left & ((1 << _CONTIG_BITS) - 1)
        mismatches = np.where(minus, (of_right, of_left), (of_left, of_right))
        yield Products(left >> _CONTIG_BITS, start, start + size, minus, mismatches, order.size)


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


@dataclass(frozen=True)
class ProductOutput(JobOutput):
    """Output of PCR products of at most ``most`` bases; ``kind`` is one of output.lines.KINDS.

    ``absent``: also write a line for each pair without a product.
    """

    most: int = 3000
    absent: bool = False


@dataclass(frozen=True)
class ProductSummary(RunCounts):
    """Number of primer pairs, of those that ``amplify``, and of their products."""

    pairs: int
    amplify: int
    products: int

    things = "pairs"

    def sentence(self) -> str:
        """Return one line that describes the run."""
        have, in_all = n_of(self.amplify, "has", "have"), n_of(self.products, "product")
        return f"{n_of(self.pairs, 'pair')} of primers: {have} products; {in_all}"
