"""Reads and queries -> Tables: the journeys of the library, by threads, in order, in bounded memory."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import n_of
from ..index.reference import Reference
from ..input.pairs import pair_spans
from ..input.pairs.mates import PairedFiles
from ..input.read_range import Share
from ..machines.pipeline import Shares, travel
from ..machines.progress import Progress
from ..mem import matching
from ..search.mapping import Mapper
from ..search.pairs.pair_mapper import PairMapper
from ..workflow import tell_compiling
from .found import MatchRows, PairRows, rows_of_hits
from .names import Names
from .searchers import AnyIndex
from .sources import Source
from .table import HIT, MATCH, NEAR_HIT, PROPER_PAIR, Table, make_table


def search(
    mappers: list[Mapper], source: Source, reference: Reference, is_shown: bool = False,
    is_numbered: bool = False,
) -> Iterator[Table]:  # fmt: skip
    """Yield a Table for each chunk of a Source of reads; ``mappers`` as of Searchers.of.

    ``is_shown``: how far it is, on standard error; ``is_numbered`` as of given.plan.
    """
    n_reads, n_hits = 0, 0
    pieces: list = []
    progress, share, start = Progress(quiet=not is_shown), Share(source.paths), time.monotonic()
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
    with closing(travel(plan, _workers(work, mappers), pieces.append)) as parts:
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


def count(mappers: list[Mapper], source: Source) -> np.ndarray:
    """How often each read of a Source occurs, int64[n_reads]."""
    parts = [np.empty(0, np.int64)]

    def work(mapper: Mapper, emit: Callable, span: Any) -> None:
        found = mapper.search(span.read())
        if mapper.options.near:
            for _ in mapper.hits_of(found):  # which fills in the totals
                pass
        emit(found.total)

    for _ in travel(_plan(source, mappers), _workers(work, mappers), parts.append):
        pass
    return np.concatenate(parts)


def match(
    index: AnyIndex, options: matching.MemOptions, matchers: list[tuple[Any, int]], source: Source
) -> Iterator[Table]:
    """Yield a Table for each chunk of a Source of queries, or for a share of one.

    ``matchers`` as of Searchers.matchers; ``options`` mem.MemOptions.
    """
    reference = index.reference
    writer, base, n_queries = MatchRows(reference.blocks, source.has_names), 0, 0
    pieces: list = []
    finders = [
        matching.Finder(index, replace(options, n_threads=n_threads), writer, matcher)
        for matcher, n_threads in matchers
    ]
    contigs = Names.of(reference.names)

    def work(finder: matching.Finder, emit: Callable, item: Any) -> Any:
        if isinstance(item, matching.Share):
            return item.how(finder, emit, *item.what)
        return Shares(finder.shares(item.read()))

    plan = source.plan(finders[0].task_size, sum(finder.options.n_threads for finder in finders))
    with closing(travel(plan, _workers(work, finders), pieces.append)) as parts:
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


def pair(mappers: list[Mapper], sources: tuple[Source, Source], reference: Reference) -> Table:
    """The proper pairs of two Sources of mates; ``mappers`` as of Searchers.of, with a Pairing."""
    pieces: list = []
    writer, of_pairs = PairRows(), [PairMapper(mapper, reference) for mapper in mappers]

    def work(mapper: PairMapper, emit: Callable, span: Any) -> None:
        mapper.map(span, writer, emit)

    files = PairedFiles(*((source.whole(),) for source in sources))
    size = min(mapper.options.chunk_size for mapper in of_pairs)
    plan = pair_spans.plan(files, size, sum(mapper.options.n_threads for mapper in of_pairs))
    for _ in travel(plan, _workers(work, of_pairs), pieces.append):
        pass
    rows = np.concatenate([np.empty(0, PROPER_PAIR), *(piece.rows for piece in pieces)])
    names = {"contig": Names.of(reference.names)}
    if all(source.has_names for source in sources):
        names["pair"] = Names.joined(piece.names for piece in pieces if piece.names is not None)
    return make_table(rows, names)


def _plan(source: Source, mappers: list[Mapper], is_numbered: bool = False) -> Iterator[Any]:
    size = min(mapper.options.chunk_size for mapper in mappers)
    return source.plan(size, sum(mapper.options.n_threads for mapper in mappers), is_numbered)


def _workers(work: Callable, places: Iterable[Any]) -> list[Callable]:
    """``work`` by each of the places, as often as its options say."""
    return [partial(work, place) for place in places for _ in range(place.options.n_threads)]
