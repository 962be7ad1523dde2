"""Hits and matches -> rows of a Table: what a worker of the library does with a span."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..compiler.functions import compiled
from ..errors import n_of
from ..index.reference import Blocks, Reference, contig_of, is_reverse, place_of, position_of_key
from ..input import pair_spans
from ..input.mates import Mates, PairedFiles
from ..input.read_range import InputShare
from ..input.reads import ReadBatch
from ..input.sets import n_changes
from ..machines.pipeline import Shares, run_at
from ..machines.places import Auto, at_once
from ..machines.progress import Progress
from ..mem import matching
from ..search.hits import Hits
from ..search.mapper import Mapper
from ..search.near.matches import NearHits
from ..search.pairs.pair_mapper import PairHits, PairMapper
from ..search.summary import PairSummary
from ..workflow import tell_compiling
from .arguments import Source
from .table import HIT, MATCH, NEAR_HIT, PROPER_PAIR, Names, Table, make_table

Mappers: TypeAlias = Sequence[Mapper | Auto[Mapper]]  # as of Searchers.of


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
        """What machines.pipeline counts."""
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


# Reads and queries -> Tables: the journeys of the library, by threads, in order, in bounded memory.


def search(
    mappers: Mappers, source: Source, reference: Reference, is_shown: bool = False,
    is_numbered: bool = False,
) -> Iterator[Table]:  # fmt: skip
    """Yield a Table for each chunk of a Source of reads; ``mappers`` as of Searchers.of.

    ``is_shown``: how far it is, on standard error; ``is_numbered`` as of given.plan.
    """
    n_reads, n_hits = 0, 0
    pieces: list = []
    progress, share, start = Progress(quiet=not is_shown), InputShare(source.paths), time.monotonic()
    progress.follow(share)
    if is_shown:
        tell_compiling(progress)
    dtype = NEAR_HIT if mappers[0].options.near else HIT
    contigs = Names.of(reference.names)

    def work(mapper: Mapper, emit: Callable, span: Any) -> tuple[int, Names | None]:
        found = mapper.search(span.read())
        for at, some in mapper.hits_of(found):
            emit(rows_of_hits(reference.blocks, at, some))
        return found.total.size, Names.of_batch(found.given) if source.has_names else None

    plan = share.of(_plan(source, mappers, is_numbered))
    found = run_at(mappers, work, plan, pieces.append, progress.share, itemgetter(0))
    with closing(found) as parts:
        for n, names in parts:
            rows = np.concatenate([np.empty(0, dtype), *pieces])
            pieces.clear()
            rows["read"] += n_reads
            table = make_table(rows, {"contig": contigs})
            if names is not None:
                table.names["read"] = names.numbered_from(n_reads)
            n_reads, n_hits = n_reads + n, n_hits + rows.size
            rate = n_reads / max(time.monotonic() - start, 1e-9)
            progress.show(f"{n_of(n_reads, 'read')}, {rate:,.0f} reads/s, {n_of(n_hits, 'hit')}")
            yield table


def count(mappers: Mappers, source: Source) -> np.ndarray:
    """How often each read of a Source occurs, int64[n_reads]."""
    parts = [np.empty(0, np.int64)]

    def work(mapper: Mapper, emit: Callable, span: Any) -> int:
        found = mapper.search(span.read())
        if mapper.options.near:
            for _ in mapper.hits_of(found):  # which fills in the totals
                pass
        emit(found.total)
        return found.total.size

    for _ in run_at(mappers, work, _plan(source, mappers), parts.append, amount=int):
        pass
    return np.concatenate(parts)


def match(
    reference: Reference, finders: Sequence[matching.Finder | Auto[matching.Finder]], source: Source
) -> Iterator[Table]:
    """Yield a Table for each chunk of a Source of queries, or for a share of one.

    ``finders`` as of Searchers.finders, by MatchRows.
    """
    base = n_queries = 0
    pieces: list = []
    contigs = Names.of(reference.names)

    def work(finder: matching.Finder, emit: Callable, item: Any) -> Any:
        if isinstance(item, matching.QueryShare):
            return item.how(finder, emit, *item.what)
        return Shares(finder.shares(item.read()))

    n_threads = sum(finder.options.n_threads for finder in finders)
    plan = source.plan(at_once(finders)[0].task_size, n_threads)
    with closing(run_at(finders, work, plan, pieces.append, amount=matching.bases_of)) as parts:
        for part in parts:
            if part.queries:  # the first share of a chunk that has rows
                base, n_queries = n_queries, n_queries + part.queries
            rows = np.concatenate([np.empty(0, MATCH), *(piece.rows for piece in pieces)])
            rows["query"] += base
            names = {"contig": contigs}
            if source.has_names:
                names["query"] = Names.joined(piece.names for piece in pieces)
            pieces.clear()
            yield make_table(rows, names)


def pair(mappers: Mappers, sources: tuple[Source, Source], reference: Reference) -> Table:
    """The proper pairs of two Sources of mates; ``mappers`` as of Searchers.of, with a Pairing."""
    pieces: list = []
    writer = PairRows()

    def work(mapper: Mapper, emit: Callable, span: Any) -> PairSummary:
        return PairMapper(mapper, reference).map(span, writer, emit)

    files = PairedFiles(*((source.whole(),) for source in sources))
    size = min(mapper.options.chunk_size for mapper in mappers)
    plan = pair_spans.plan(files, size, sum(mapper.options.n_threads for mapper in mappers))
    for _ in run_at(mappers, work, plan, pieces.append):
        pass
    rows = np.concatenate([np.empty(0, PROPER_PAIR), *(piece.rows for piece in pieces)])
    names = {"contig": Names.of(reference.names)}
    if all(source.has_names for source in sources):
        names["pair"] = Names.joined(piece.names for piece in pieces if piece.names is not None)
    return make_table(rows, names)


def _plan(source: Source, mappers: Mappers, is_numbered: bool = False) -> Any:
    size = min(mapper.options.chunk_size for mapper in mappers)
    return source.plan(size, sum(mapper.options.n_threads for mapper in mappers), is_numbered)
