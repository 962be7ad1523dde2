"""Hits and matches -> rows of a Table: what a worker of the library does with a span."""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..index.place_keys import contig_of, is_reverse, position_of_key
from ..index.reference import place_of
from ..input.changes import n_changes
from ..search.near_hits import NearHits
from .names import Names
from .table import HIT, MATCH, NEAR_HIT, PROPER_PAIR


def rows_of_hits(blocks, start, hits) -> np.ndarray:
    """Hits, or NearHits, of reads ``start`` onwards as rows of HIT, or of NEAR_HIT."""
    is_near = isinstance(hits, NearHits)
    rows, n_hits = np.empty(hits.position.size, NEAR_HIT if is_near else HIT), np.diff(hits.first)
    rows["contig"], rows["position"] = _places(blocks, hits.position)
    rows["read"] = np.repeat(np.arange(start, start + n_hits.size), n_hits)
    rows["reverse"] = hits.reverse
    rows["occurrences"] = np.repeat(hits.total, n_hits)
    if is_near:
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

    def __init__(self, blocks, with_names):
        self._blocks, self._with_names = blocks, with_names

    def format(self, batch, strands, matches, rows) -> Piece:
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

    def written(self, piece) -> None:
        """No buffer serves again."""


class PairRows:
    """Stands in the place of output.mates.MateWriter: gives Pieces of rows, or of names."""

    is_sam = False

    def format(self, mates, hits, start, first, last) -> Piece:
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

    def split(self, batches, is_hit):
        """Yield the names of pairs."""
        yield Piece(np.empty(0, PROPER_PAIR), Names.of_batch(batches[0]))


def _places(blocks, position) -> tuple:
    """(contig, place in it) of text positions, all int64[n]."""
    contig, place = np.empty(position.size, np.int64), np.empty(position.size, np.int64)
    _fill_places(blocks, position, contig, place)
    return contig, place


@compiled
def _fill_places(blocks, position, contig, place):
    """The Place of each text position; all int64[n]."""
    for i in range(position.size):
        contig[i], place[i] = place_of(blocks, position[i])
