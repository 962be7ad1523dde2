"""Queries -> lines of matches, by several threads, in order, in bounded memory.

bytes -> Chunk -> ReadBatch -> Strands -> Anchors -> Matches -> lines
"""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ..input import reads, spans
from ..machines.pipeline import Shares, travel
from ..machines.progress import Progress
from ..search.mapper import BOTH, make_query
from . import mummergpu, seeds
from .contracts import empty_matches, join_matches
from .slices import join, slices
from .strands import cut, make_strands
from .unique import in_query, in_reference

TASK = 1 << 20  # starts of matches in a piece of work: longer queries are shared out
LARGE_TASK = 1 << 24  # the same for a GPU

# name -> make(index, least): the matcher.
ALGORITHMS: dict = {"seeds": seeds.make_seeds, "mummergpu": mummergpu.make_mummergpu}
ALL, IN_REFERENCE, IN_BOTH = range(3)


@dataclass(frozen=True)
class MemOptions:
    """What is sought: ``least`` symbols, strands as of reads.pack, ALL, IN_REFERENCE or IN_BOTH."""

    least: int = 20
    strands: int = BOTH
    unique: int = ALL
    n_threads: int = 1
    algorithm: str = "seeds"


@dataclass
class Summary:
    """What a run has seen."""

    queries: int = 0
    bases: int = 0
    matches: int = 0

    def sentence(self, seconds: float) -> str:
        return f"{self.queries:,} queries of {self.bases:,} bases: {self.matches:,} matches; {seconds:.1f} s"


class Share(NamedTuple):
    """A share of a span of queries: what a Finder of any worker does, ``how(finder, emit, *what)``."""

    how: Callable
    what: tuple


class Finder:
    """One index and one set of options; turns chunks into pieces of output."""

    def __init__(self, index, options: MemOptions, writer, matcher=None):
        self.options, self.writer = options, writer
        self.task_size = TASK if matcher is None else LARGE_TASK
        make = ALGORITHMS[options.algorithm]
        self.matcher: Any = matcher or join(index, [make(part, options.least) for part in index.parts])
        self.queries: list = [make_query(part) for part in index.parts] if options.unique else []

    def matches_of(self, strands):
        """Yield the Matches of strands, those that are unique in the reference if that is asked for."""
        found = slices(self.matcher, strands)
        if self.options.unique:
            return (in_reference(self.queries, strands, matches) for matches in found)
        return found

    def lines(self, emit, batch, strands, found, rows):
        """Emit the lines of Matches, with the header lines of a span of rows; the number of matches."""
        (row, last_row), n_matches = rows, 0
        for matches in found:
            n = matches.length.size
            stop = max(row, int(strands.row[matches.strand[-1]]) + 1) if n else row
            emit(self.writer.format(batch, strands, matches, (row, stop)))
            row, n_matches = stop, n_matches + n
        emit(self.writer.format(batch, strands, empty_matches(0), (row, last_row)))
        return n_matches

    def shares(self, chunk):
        """Yield the Shares of a chunk, each of which gives (queries, bases, matches)."""
        if chunk.data.size < 2 * self.task_size:
            yield Share(Finder._whole, (chunk,))
            return
        batch, strands, counts = self._parse(chunk)
        row, n_rows, kept = 0, 2 * batch.length.size, []
        for first, share in cut(strands, self.task_size):
            if self.options.unique == IN_BOTH:
                kept.append(Future())
                yield Share(Finder._keep, (share, first, kept[-1]))
            else:
                stop = int(share.row[-1]) + 1  # a row's header goes with its first start
                yield Share(Finder._share, (counts, batch, share, (row, stop)))
                counts, row = (0, 0), stop
        yield Share(Finder._rest, (counts, batch, strands, kept, (row, n_rows)))

    def _parse(self, chunk):
        """(ReadBatch, Strands, (queries, bases)) of a chunk."""
        batch = reads.parse(chunk)
        if self.writer.is_sam:
            reads.check_sam(chunk, batch)
        counts = batch.length.size, int(batch.length.sum())
        return batch, make_strands(batch, self.options.strands), counts

    def _whole(self, emit, chunk):
        batch, strands, counts = self._parse(chunk)
        return self._share(emit, counts, batch, strands, (0, 2 * batch.length.size))

    def _share(self, emit, counts, batch, strands, rows):
        found = self.matches_of(strands)
        if self.options.unique == IN_BOTH:
            found = [in_query(strands, join_matches(found))]
        return (*counts, self.lines(emit, batch, strands, found, rows))

    def _keep(self, emit, strands, first, kept):
        """Put what is found in strands ``first`` and on into the Future ``kept``, for ``_rest``."""
        found = empty_matches(0)
        try:
            found = join_matches(self.matches_of(strands))
        finally:
            kept.set_result(found._replace(strand=found.strand + first))
        return 0, 0, 0

    def _rest(self, emit, counts, batch, strands, kept, rows):
        """Write what was kept, once it is there, and the header lines that are left."""
        found = [in_query(strands, join_matches([found.result() for found in kept]))] if kept else ()
        return (*counts, self.lines(emit, batch, strands, found, rows))


def compile_all(finders) -> None:
    """Do everything with no match: what is not compiled yet is, by one thread, before the clock starts."""
    (chunk,) = spans.read_chunks([b">q\nACGT\n"])
    batch = reads.parse(chunk)
    for finder in finders:
        strands, nothing = make_strands(batch, finder.options.strands), empty_matches(0)
        for _ in slices(finder.matcher, strands):
            pass
        if finder.options.unique:
            in_reference(finder.queries, strands, nothing)
        finder.writer.format(batch, strands, nothing, (0, 2))


def find(finders, source, sink, progress=None) -> Summary:
    """Find the matches of spans of queries, in order, and write their lines to ``sink`` (a binary file).

    ``finders``: one for each place where matches are sought, used by as many threads as its options say.
    """
    progress, summary, start = progress or Progress(quiet=True), Summary(), time.monotonic()

    def write(lines):
        sink.write(lines)
        finders[0].writer.written(lines)

    def work(finder, emit, item):
        if isinstance(item, Share):
            return item.how(finder, emit, *item.what)
        return Shares(finder.shares(item.read()))

    workers = [partial(work, finder) for finder in finders for _ in range(finder.options.n_threads)]
    for queries, bases, matches in travel(source, workers, write):
        summary.queries += queries
        summary.bases += bases
        summary.matches += matches
        rate = summary.bases / max(time.monotonic() - start, 1e-9)
        progress.show(f"{summary.queries:,} queries, {rate:,.0f} bases/s, {summary.matches:,} matches")
    return summary
