"""Formats hits and matches as rows of Tables, where commands write records."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..index.reference import Blocks, Names, Reference, contig_of, is_reverse, place_of, position_of_key
from ..input.mates import Mates
from ..input.reads import ReadBatch
from ..input.sets import n_changes
from ..output.hits import BatchWriter
from ..search.hits import Hits
from ..search.pairs import PairHits
from .table import NEAR_HIT, NEAR_PROPER_PAIR, Table, make_table


class RowPiece(NamedTuple):
    """``rows`` of a Table, and ``names`` of the queries, reads or pairs that begin among them, or None."""

    rows: np.ndarray
    names: Names | None

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes


class RowWriter(BatchWriter):
    """Makes RowPieces of hits: rows of ``dtype``, and names if ``with_names``.

    The first column numbers reads from 0: within a chunk, or within all input if ``is_absolute``.
    """

    is_absolute = False

    def __init__(self, dtype: np.dtype, reference: Reference, with_names: bool) -> None:
        super().__init__()
        self.dtype, self.with_names, self._blocks = dtype, with_names, reference.blocks
        self.column, self.contigs = dtype.descr[0][0], Names.of(reference.names)

    def table(self, rows: Iterable[np.ndarray], names: Iterable[Any], first: int = 0) -> Table:
        """Return rows as a Table; ``names``: Names of their first columns, numbered from ``first``."""
        known = {"contig": self.contigs}
        if self.with_names:
            known[self.column] = Names.joined(names, first)
        return make_table(np.concatenate([np.empty(0, self.dtype), *map(np.asarray, rows)]), known)

    def piece(self, rows: np.ndarray, batch: ReadBatch, first: int, last: int) -> RowPiece:
        """Return a piece with the names of reads ``first`` to ``last`` of a batch."""
        return RowPiece(rows, Names.of_batch(batch, first, last) if self.with_names else None)


class HitRows(RowWriter):
    """Rows of HIT or NEAR_HIT."""

    def format(self, batch: ReadBatch, hits: Hits, start: int, first_hit: int, last_hit: int) -> RowPiece:
        """Return rows of the hits ``first_hit`` to ``last_hit`` of the reads from ``start`` on."""
        chosen, n_hits = slice(first_hit, last_hit), np.diff(hits.first.clip(first_hit, last_hit))
        rows = np.empty(hits.position[chosen].size, self.dtype)
        rows["contig"], rows["position"] = places(self._blocks, hits.position[chosen])
        rows["read"] = np.repeat(np.arange(start, start + n_hits.size), n_hits)
        rows["reverse"] = hits.reverse[chosen]
        rows["occurrences"] = np.repeat(hits.total, n_hits)
        if self.dtype == NEAR_HIT:
            rows["mismatches"] = n_changes(hits.changes[chosen])
        return self.piece(rows, batch, start, start + (0 if first_hit else n_hits.size))


class PairRows(RowWriter):
    """Rows of PROPER_PAIR or NEAR_PROPER_PAIR."""

    is_absolute = True

    def format(self, mates: Mates, hits: PairHits, start: int, first: int, last: int) -> RowPiece:
        """Return rows of the proper pairs of the pairs from ``start`` on."""
        proper = hits.proper
        n_hits = np.diff(proper.first)
        pair = np.repeat(np.arange(start, start + n_hits.size), n_hits)
        rows = np.empty(pair.size, self.dtype)
        begins = [position_of_key(key) for key in (proper.one, proper.two)]
        ends = [begin + batch.length[pair] for begin, batch in zip(begins, mates[:2], strict=True)]
        rows["pair"] = mates.origins[0][1] - 1 + pair
        rows["contig"], (rows["position1"], rows["position2"]) = contig_of(proper.one), begins
        rows["reverse1"], rows["reverse2"] = is_reverse(proper.one), is_reverse(proper.two)
        rows["insert"] = np.maximum(*ends) - np.minimum(*begins)
        rows["occurrences"] = np.repeat(proper.total, n_hits)
        if self.dtype == NEAR_PROPER_PAIR:
            rows["mismatches1"], rows["mismatches2"] = n_changes(proper.changes1), n_changes(proper.changes2)
        return self.piece(rows, mates[0], start, start + (0 if first else n_hits.size))


class MatchRows(RowWriter):
    """Rows of MATCH; used instead of output.lines.MatchWriter."""

    def format(  # type: ignore[override]
        self, batch: ReadBatch, strands: Any, matches: Any, rows: tuple[int, int]
    ) -> RowPiece:
        """Format matches, with the names of the queries whose first row is in ``rows`` (from, to)."""
        table, row = np.empty(matches.length.size, self.dtype), strands.row[matches.strand]
        query, reverse = row >> 1, row & 1 == 1
        begin = strands.offset[matches.strand] + matches.position
        table["query_position"] = np.where(reverse, batch.length[query] - begin - matches.length, begin)
        table["query"], table["reverse"], table["length"] = query, reverse, matches.length
        table["contig"], table["position"] = places(self._blocks, matches.text)
        return self.piece(table, batch, (rows[0] + 1) >> 1, (rows[1] + 1) >> 1)


def places(blocks: Blocks, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (contig, position in it) of text positions, all int64[n]."""
    contig, place = np.empty(position.size, np.int64), np.empty(position.size, np.int64)
    _fill_places(blocks, position, contig, place)
    return contig, place


@compiled
def _fill_places(blocks: Blocks, position: np.ndarray, contig: np.ndarray, place: np.ndarray) -> None:
    for i in range(position.size):
        contig[i], place[i] = place_of(blocks, position[i])


def tables(writer: RowWriter, run: Callable[..., Generator]) -> Iterator[Table]:
    """Yield a Table for each Summary that ``run(write)`` yields, of the pieces written before it."""
    pieces: list[RowPiece] = []
    first = n = 0
    with closing(run(pieces.append)) as summaries:
        for part in summaries:
            if seen := getattr(part, part.things):  # zero in later parts of a chunk
                first, n = n, n + seen
            rows, names = [piece.rows for piece in pieces], [piece.names for piece in pieces]
            if not writer.is_absolute:
                for each in rows:
                    each[writer.column] += first
            pieces.clear()
            yield writer.table(rows, names, first)


def joined(writer: RowWriter, chunks: Iterable[Table]) -> Table:
    """Join the Tables of chunks, as made by ``tables``."""
    several = list(chunks)
    return writer.table(several, (each.names[writer.column] for each in several))
