"""Queries -> lines of matches, by several threads, in order, in bounded memory.

bytes -> Chunk -> ReadBatch -> Strands -> Anchors -> Matches -> lines
"""

import time
from collections import deque
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from ..input import chunks, reads
from ..machines.progress import Progress
from ..search.mapping import BOTH, in_order, make_query
from . import formats, mummergpu, seeds
from .contracts import collect, seek
from .slices import join, join_matches, parts_of, slices
from .strands import cut, make_strands
from .unique import in_query, in_reference

TASK = 1 << 20  # starts of matches in a piece of work: longer queries are shared out
LARGE_TASK = 1 << 24  # the same for a GPU
PIECES = 1 << 25  # bytes of lines that may wait for those of the task before

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


class Finder:
    """One index and one set of options; turns chunks into pieces of output."""

    def __init__(self, index, options: MemOptions, form, matcher=None):
        self.options, self.form = options, form
        self.task_size = TASK if matcher is None else LARGE_TASK
        self.spare: deque = deque()  # arrays of lines that have been written, for others
        make = ALGORITHMS[options.algorithm]
        self.matcher: Any = matcher or join(index, [make(part, options.least) for part in index.parts])
        self.queries: list = [make_query(part) for part in index.parts] if options.unique else []

    def matches_of(self, strands):
        """Yield the Matches of strands, those that are unique in the reference if that is asked for."""
        found = slices(self.matcher, strands)
        if self.options.unique:
            return (in_reference(self.queries, strands, matches) for matches in found)
        return found

    def lines(self, batch, strands, found, rows):
        """Yield (lines, number of matches) of the Matches in ``found``; with header lines of a row span."""
        row, last_row = rows
        for matches in found:
            n = matches.length.size
            stop = max(row, int(strands.row[matches.strand[-1]]) + 1) if n else row
            yield formats.write(self.form, batch, strands, matches, (row, stop), self.spare), n
            row = stop
        yield formats.write(self.form, batch, strands, join_matches([]), (row, last_row), self.spare), 0

    def tasks(self, chunk):
        """Yield the work of a chunk: functions that give (queries, bases, pieces)."""
        if chunk.data.size < 2 * self.task_size:
            yield partial(self._whole, chunk)
            return
        batch = self._parse(chunk)
        strands = make_strands(batch, self.options.strands)
        counts, row, n_rows = (batch.length.size, int(batch.length.sum())), 0, 2 * batch.length.size
        kept, kept_back = [], self.options.unique == IN_BOTH
        for first, part in cut(strands, self.task_size):
            stop = int(part.row[-1]) + 1  # a row's header goes with its first start
            if kept_back:
                yield partial(self._keep, part, first, kept)
            else:
                yield partial(self._part, counts, batch, part, (row, stop))
                counts, row = (0, 0), stop
        rest = _unique_in_query(strands, kept) if kept_back else ()
        yield partial(self._rest, counts, batch, strands, rest, (row, n_rows))

    def _parse(self, chunk):
        batch = reads.parse(chunk)
        if isinstance(self.form, formats.Sam):
            reads.check_sam(chunk, batch)
        return batch

    def _whole(self, chunk):
        batch = self._parse(chunk)
        strands = make_strands(batch, self.options.strands)
        counts = batch.length.size, int(batch.length.sum())
        return self._part(counts, batch, strands, (0, 2 * batch.length.size))

    def _part(self, counts, batch, strands, rows):
        """The pieces too, made here as far as they are not too large, the rest when they are asked for."""
        found = self.matches_of(strands)
        if self.options.unique == IN_BOTH:
            found = _unique_in_query(strands, found)
        pieces = self.lines(batch, strands, found, rows)
        made, size = [], 0
        for piece in pieces:
            made.append(piece)
            size += piece[0].size
            if size > PIECES:
                break
        return (*counts, chain(made, pieces))

    def _keep(self, strands, first, kept):
        """Add what is found in strands ``first`` and on to ``kept``, in order: when pieces are asked for."""
        found = join_matches(self.matches_of(strands))
        return 0, 0, _add(found._replace(strand=found.strand + first), kept)

    def _rest(self, counts, batch, strands, found, rows):
        return (*counts, self.lines(batch, strands, found, rows))


def _unique_in_query(strands, found):
    """Yield the Matches that are unique in their row, of all that are unique in the reference."""
    yield in_query(strands, join_matches(found))


def _add(found, kept):
    """No pieces."""
    kept.append(found)
    yield from ()


def compile_all(finder) -> None:
    """Do everything with no match, so that what is not compiled yet is compiled before the clock starts."""
    fasta = np.frombuffer(b">q\nACGT\n", np.uint8).copy()
    batch = reads.parse(chunks.Chunk("", fasta, False, 1, 1))
    strands, nothing = make_strands(batch, finder.options.strands), join_matches([])
    for matcher in parts_of(finder.matcher):
        collect(matcher, strands, seek(matcher, strands), 0, 0, nothing)
    if finder.options.unique:
        in_reference(finder.queries, strands, nothing)
    formats.write(finder.form, batch, strands, nothing, (0, 2), finder.spare)


def find(finder, paths, sink, progress=None) -> Summary:
    """Find the matches of files of queries, in order, and write their lines to ``sink`` (a binary file)."""
    progress, summary, start = progress or Progress(quiet=True), Summary(), time.monotonic()
    work = (task for chunk in chunks.read_chunks(paths, finder.task_size) for task in finder.tasks(chunk))
    for queries, bases, pieces in in_order(lambda task: task(), work, finder.options.n_threads):
        summary.queries += queries
        summary.bases += bases
        for lines, n in pieces:
            sink.write(lines)
            finder.spare.append(lines.base)
            summary.matches += n
        rate = summary.bases / max(time.monotonic() - start, 1e-9)
        progress.show(f"{summary.queries:,} queries, {rate:,.0f} bases/s, {summary.matches:,} matches")
    return summary
