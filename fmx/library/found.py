"""Hits and matches -> rows of a Table: what a worker of the library does with a span."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..index.reference import Blocks, contig_of, is_reverse, place_of, position_of_key
from ..input.pairs.mates import Mates
from ..input.reads import ReadBatch
from ..input.sets import n_changes
from ..search.hits import Hits
from ..search.near.near_mapper import NearHits
from ..search.pairs.pair_mapper import PairHits
from .names import Names
from .table import HIT, MATCH, NEAR_HIT, PROPER_PAIR


def rows_of_hits(blocks: Blocks, start: int, hits: Hits | NearHits) -> np.ndarray:
    """Hits, or NearHits, of reads ``start`` onwards as rows of HIT, or of NEAR_HIT."""
    dtype = NEAR_HIT if isinstance(hits, NearHits) else HIT
    rows, n_hits = np.empty(hits.position.size, dtype), np.diff(hits.first)
    rows["contig"], rows["position"] = _places(blocks, hits.position)
    rows["read"] = np.repeat(np.arange(start, start + n_hits.size), n_hits)
    rows["reverse"] = hits.reverse
    rows["occurrences"] = np.repeat(hits.total, n_hits)
    if isinstance(hits, NearHits):
        rows["mismatches"] = n_changes(hits.changes)
    return rows


class Piece(NamedTuple):
    """``rows`` of a Table, and ``names`` of queries that begin among these, or of pairs, or None."""

    rows: np.ndarray
    names: Names | None

    @property
    def nbytes(self) -> int:
        """What machines.road counts."""
        return self.rows.nbytes


class MatchRows:
    """Stands in the place of output.matches.MatchWriter: gives Pieces."""

    is_sam = False

    def __init__(self, blocks: Blocks, with_names: bool) -> None:
        self._blocks, self._with_names = blocks, with_names

    def format(self, batch: ReadBatch, strands: Any, matches: Any, rows: tuple[int, int]) -> Piece:
        """Matches, and the names of the queries whose first row is one of ``rows`` (from, to)."""
        found, own = np.empty(matches.length.size, MATCH), strands.row[matches.strand]
        query, reverse = own >> 1, own & 1 == 1
        begin = strands.offset[matches.strand] + matches.position
        found["query_position"] = np.where(reverse, batch.length[query] - begin - matches.length, begin)
        found["query"], found["reverse"], found["length"] = query, reverse, matches.length
        found["contig"], found["position"] = _places(self._blocks, matches.text)
        if not self._with_names:
            return Piece(found, None)
        queries = slice((rows[0] + 1) >> 1, (rows[1] + 1) >> 1)
        few = batch._replace(name_start=batch.name_start[queries], name_length=batch.name_length[queries])
        return Piece(found, Names.of_batch(few))

    def written(self, piece: Piece) -> None:
        """No buffer serves again."""


class PairRows:
    """Stands in the place of output.mates.MateWriter: gives Pieces of rows, or of names."""

    is_sam = False

    def format(self, mates: Mates, hits: PairHits, start: int, first: int, last: int) -> Piece:
        """The proper pairs of PairHits of pairs ``start`` onwards of some Mates."""
        found = hits.proper
        n_hits = np.diff(found.first)
        pair = np.repeat(np.arange(start, start + n_hits.size), n_hits)
        rows = np.empty(pair.size, PROPER_PAIR)
        begins = [position_of_key(key) for key in (found.one, found.two)]
        ends = [begin + batch.length[pair] for begin, batch in zip(begins, mates[:2], strict=True)]
        rows["pair"] = mates.origins[0].number - 1 + pair
        rows["contig"], (rows["position1"], rows["position2"]) = contig_of(found.one), begins
        rows["reverse1"], rows["reverse2"] = is_reverse(found.one), is_reverse(found.two)
        rows["insert"] = np.maximum(*ends) - np.minimum(*begins)
        rows["occurrences"] = np.repeat(found.total, n_hits)
        return Piece(rows, None)

    def split(self, batches: Any, is_hit: Any) -> Iterator[Piece]:
        """Yield the names of pairs."""
        yield Piece(np.empty(0, PROPER_PAIR), Names.of_batch(batches[0]))


def _places(blocks: Blocks, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(contig, place in it) of text positions, all int64[n]."""
    contig, place = np.empty(position.size, np.int64), np.empty(position.size, np.int64)
    _fill_places(blocks, position, contig, place)
    return contig, place


@compiled
def _fill_places(blocks: Blocks, position: np.ndarray, contig: np.ndarray, place: np.ndarray) -> None:
    """The Place of each text position; all int64[n]."""
    for i in range(position.size):
        contig[i], place[i] = place_of(blocks, position[i])
