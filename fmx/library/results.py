"""Formats hits and matches as rows of Tables, where commands write records."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..errors import n_of
from ..index.reference import Blocks, Reference, contig_of, is_reverse, place_of, position_of_key
from ..input.mates import Mates
from ..input.reads import ReadBatch
from ..input.sets import n_changes
from ..machines.progress import Progress
from ..output.hits import BatchWriter
from ..search.hits import Hits
from ..search.pairs import PairHits
from .table import NEAR_HIT, NEAR_PROPER_PAIR, Names, Table, make_table


class RowPiece(NamedTuple):
    """``rows`` of a Table, and ``names`` of the queries, reads or pairs that begin among them, or None."""

    rows: np.ndarray
    names: Names | None = None

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
        self.reads_files = (Names,) if with_names else ()  # mappers call split() if there are reads_files

    def split(
        self, batches: tuple[ReadBatch, ...], read: np.ndarray, number: np.ndarray
    ) -> Iterator[RowPiece]:
        """Yield the names of reads or pairs."""
        if self.with_names:
            yield RowPiece(np.empty(0, self.dtype), Names.of_batch(batches[0]))


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
        return RowPiece(rows)


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
        return RowPiece(rows)


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
        if not self.with_names:
            return RowPiece(table)
        queries = slice((rows[0] + 1) >> 1, (rows[1] + 1) >> 1)
        few = batch._replace(name_start=batch.name_start[queries], name_length=batch.name_length[queries])
        return RowPiece(table, Names.of_batch(few))


def places(blocks: Blocks, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (contig, position in it) of text positions, all int64[n]."""
    contig, place = np.empty(position.size, np.int64), np.empty(position.size, np.int64)
    _fill_places(blocks, position, contig, place)
    return contig, place


@compiled
def _fill_places(blocks: Blocks, position: np.ndarray, contig: np.ndarray, place: np.ndarray) -> None:
    """Compute contig and place of each text position; all int64[n]."""
    for i in range(position.size):
        contig[i], place[i] = place_of(blocks, position[i])


def tables(writer: RowWriter, run: Callable[..., Generator], progress: Progress) -> Iterator[Table]:
    """Yield a Table for each Summary that ``run(write)`` yields, of the pieces written before it."""
    pieces: list[RowPiece] = []
    first, n, n_rows, start = 0, 0, 0, time.monotonic()
    with closing(run(pieces.append)) as summaries:
        for part in summaries:
            if seen := getattr(part, part.things):  # zero in later parts of a chunk
                first, n = n, n + seen
            rows = np.concatenate([np.empty(0, writer.dtype), *(piece.rows for piece in pieces)])
            if not writer.is_absolute:
                rows[writer.column] += first
            names = {"contig": writer.contigs}
            if writer.with_names:
                parts = [piece.names for piece in pieces if piece.names is not None]
                names[writer.column] = Names.joined(parts, first)
            pieces.clear()
            n_rows += rows.size
            rate = n / max(time.monotonic() - start, 1e-9)
            progress.show(f"{n_of(n, 'read')}, {rate:,.0f} reads/s, {n_of(n_rows, 'hit')}")
            yield make_table(rows, names)


def joined(writer: RowWriter, chunks: Iterable[Table]) -> Table:
    """Join the Tables of chunks, as made by ``tables``."""
    several = list(chunks)
    rows = np.concatenate([np.empty(0, writer.dtype), *map(np.asarray, several)])
    names = {"contig": writer.contigs}
    if writer.with_names:
        names[writer.column] = Names.joined([each.names[writer.column] for each in several])
    return make_table(rows, names)
