"""Mates, the two reads of a pair: records of the same number in two files, or successive ones in one file.

Each file is cut into spans (spans.py).  A PairSpan is the next span of both files.  The thread that takes it
reads both, receives from the previous one the records without mates so far, and passes on those that remain.
If one file has longer records, its spans are taken more often, so that few records wait:

    R1       | 1 2 3 4 | 5 6 7 8 |        |
    R2       | 1 2 3     | 4 5 6 | 7 8    |
    pairs    | 1 2 3     | 4 | 5 6 | 7 8  |     4 of R1 has waited, and then 7 and 8
"""

import shlex
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from ..compiler.functions import compiled, inlined
from ..errors import InputError, brief
from ..machines.jobs import future_of, pass_on, set_once
from .chunks import NOT_READ, Chunk
from .reads import ReadBatch, check_comments, check_sam, parse


class Mates(NamedTuple):
    """Pairs: read r of ``one`` and of ``two`` are mates; ``origins``: (path, number) of the first of each."""

    one: ReadBatch
    two: ReadBatch
    origins: tuple[tuple[str, int], ...]


class PairChunks(NamedTuple):
    """``n`` whole pairs that are not parsed, in ``runs``: a Chunk of mates 1 and one of mates 2; if a file
    has both mates of each pair ``in_turn``, one Chunk of both."""

    n: int
    runs: list[tuple[Chunk, ...]]
    in_turn: bool

    @property
    def chunks(self) -> list[Chunk]:
        """All Chunks: mates in turn, or all mates 1 first."""
        if self.in_turn:
            return [chunk for run in self.runs for chunk in run]
        return [run[i] for i in (0, 1) for run in self.runs]


class Balance:
    """Decides which of two files to read next, by the reads in spans and the number of planned spans."""

    def __init__(self) -> None:
        self._reads, self._read, self._planned = [0, 0], [0, 0], [0, 0]

    def note(self, i: int, n: int) -> None:
        """Record that a span of file i had n reads."""
        self._reads[i] += n
        self._read[i] += 1

    def next_files(self, is_over: Sequence[bool]) -> list[bool]:
        """Return whether the next item has a span of each file; true for at least one that is not over."""
        if any(is_over):  # read the rest of the other file, however far ahead it is
            return [not over for over in is_over]
        a_span = [reads / max(n, 1) for reads, n in zip(self._reads, self._read, strict=True)]
        ahead = [self._reads[i] + (self._planned[i] - self._read[i]) * a_span[i] for i in (0, 1)]
        files = [ahead[i] - ahead[1 - i] <= a_span[i] for i in (0, 1)]
        self._planned = [n + more for n, more in zip(self._planned, files, strict=True)]
        return files


class PairSpan:
    """Spans of one file of pairs, or of two (one may be None), and the pairs that they complete.

    ``is_over``: whether each of the files ``paths`` has no more spans; ``links``: Futures of the Chunks that
    wait for mates, (of mates 1, of mates 2), from the previous item and to the next.
    """

    def __init__(
        self, paths: Sequence[str], spans: Sequence[Any], is_over: Sequence[bool], balance: Balance,
        links: tuple[Future, Future],
    ) -> None:  # fmt: skip
        self._paths, self._spans, self._is_over, self._balance = paths, spans, is_over, balance
        self._before, self._behind = links
        self._step = 3 - len(paths)  # records from one mate to the next in a file
        self._pairs, self._waiting = PairChunks(0, [], False), cast("Any", ([], []))

    def read(self, is_sam: bool = True, comments: bool = False) -> list[Mates]:
        """Read the pairs as a list of Mates; ``is_sam``, ``comments``: what to check.  Raises InputError."""
        return self.parse(self.take(), is_sam, comments)

    def take(self, *hold: Callable[[Any], Any]) -> PairChunks:
        """Read the pairs that are complete; ``parse`` or ``check_ends`` must follow.  Raises InputError.

        ``hold``: as in Span.read, but other threads may read the bytes later.
        """
        chunks, errors = [], []  # type: tuple[list, list]
        for i, span in enumerate(self._spans):  # all of them, as later ones wait for each
            try:
                chunks.append(span and span.read(*hold))
                if chunks[-1]:
                    self._balance.note(i, chunks[-1].n_bound)
            except BaseException as error:
                errors = errors or [error]
        if errors:
            set_once(self._behind)
            raise errors.pop()
        self._waiting = pass_on(self._before, self._behind, partial(self._meet, chunks))
        if self._waiting is None:
            raise InputError(self._paths[0], "", NOT_READ)
        return self._pairs

    def _meet(self, chunks: Sequence[Chunk | None], before: tuple[list, list]) -> tuple[list, list]:
        """Set the complete pairs; return the records that still wait."""
        waiting, runs = ([*before[0]], [*before[1]]), []
        for side, chunk in zip(waiting, chunks, strict=False):
            side += [chunk] if chunk and chunk.n_bound else []
        sides = waiting[: len(chunks)]
        while all(sides) and (n := min(side[0].n_bound for side in sides) & -self._step):
            runs.append(tuple(_taken(side, n) for side in sides))
        n_records = sum(chunk.n_bound for run in runs for chunk in run)
        self._pairs = PairChunks(n_records // 2, runs, self._step == 2)
        return waiting

    def parse(self, pairs: PairChunks, is_sam: bool = True, comments: bool = False) -> list[Mates]:
        """Return the pairs that ``take`` has read as a list of Mates.  Raises InputError."""
        parsed = []
        for run in pairs.runs:
            batches, origins = [], [(chunk.path, chunk.number) for chunk in run]
            for chunk in run:
                batches.append(batch := parse(chunk))
                if is_sam:
                    check_sam(chunk, batch)
                if comments:
                    check_comments(chunk, batch)
            if len(run) == 1:
                origins.append((run[0].path, run[0].number + 1))
                columns = [[np.ascontiguousarray(x[i::2]) for x in batch[1:]] for i in (0, 1)]
                batches = [ReadBatch(batch.data, *each) for each in columns]
            parsed.append(Mates(batches[0], batches[1], tuple(origins)))
            _check_names(parsed[-1], self._step)
        self.check_ends()
        return parsed

    def check_ends(self) -> None:
        """Raise InputError if reads have no mates."""
        for i, path in enumerate(self._paths):
            alone = self._waiting[1 - i if self._step == 1 else 0]
            if not alone or not self._is_over[i]:
                continue
            parse(alone[0])  # its own errors come first
            n = alone[0].number
            if self._step == 2:
                what = "its mate is missing: the number of records is odd"
                raise InputError(path, f"record {n}", what)
            end = "this is the last record" if n > 1 else "no reads"
            what = f"{end}, but {self._paths[1 - i]} has more; both files must have the same number of reads"
            raise InputError(path, f"record {n - 1}" if n > 1 else "", what)


def _taken(side: list[Chunk], n: int) -> Chunk:
    """Remove the first n records, all of the first Chunk, from ``side``; return them."""
    first, rest = side[0].cut(n)
    side[:1] = [rest] if rest.n_bound else []
    return first


def pair_spans(
    paths: Sequence[str], sides: Sequence[Generator[Any, None, None]]
) -> Generator[PairSpan, None, None]:
    """Yield PairSpans of one file of pairs, or of two; ``sides``: the spans of each."""
    balance, is_over, link = Balance(), [False] * len(sides), future_of(([], []))
    with ExitStack() as stack:
        for side in sides:
            stack.enter_context(closing(side))
        while not all(is_over):
            is_next = balance.next_files(is_over) if len(sides) > 1 else [True]
            spans = [next(side, None) if read else None for side, read in zip(sides, is_next, strict=True)]
            is_over = [
                over or (read and span is None)
                for over, read, span in zip(is_over, is_next, spans, strict=True)
            ]
            links = link, (link := Future[Any]())
            yield PairSpan(paths, spans, is_over, balance, links)


def _check_names(mates: Mates, step: int) -> None:
    """Raise InputError unless mates have the same name, except for /1 and /2 (.1 and .2, _1 and _2).

    These are removed from the names.  ``step``: records from one mate to the next in a file.
    """
    r, names = _settle_names(mates.one, mates.two), []
    if r < mates.one.length.size:
        for batch in mates[:2]:
            start = batch.name_start[r]
            names.append(batch.data[start : start + batch.name_length[r]].tobytes())
        one, two = (brief(name.decode()) or "missing" for name in names)
        (other, _), (path, first) = mates.origins
        of_mate = f"that of its mate{f' in {other}' if step == 1 else ''}"
        what = f"its name is {two}, but {of_mate} is {one}: mates must have equal names"
        if step == 2 and path.endswith((".bam", ".cram")):
            collated = f"samtools collate -O {shlex.quote(path)} | fmx search --interleaved -"
            what += f"; if the file is sorted by position, map them with: {collated}"
        raise InputError(path, f"record {first + step * r}", what)


@compiled
def _settle_names(one, two):
    """Remove /1 and /2 from names; return the first pair whose names differ, or the number of pairs."""
    for r in range(one.length.size):
        same = common_name(one, two, r)
        if same < 0:
            return r
        one.name_length[r] = two.name_length[r] = same
    return one.length.size


@inlined
def common_name(one, two, r):
    """Return the length of the name that both mates of pair r have; -1 if names differ."""
    n, a, b = one.name_length[r], one.name_start[r], two.name_start[r]
    if two.name_length[r] != n:
        return -1
    for i in range(n - 1):
        if one.data[a + i] != two.data[b + i]:
            return -1
    if n == 0:
        return n
    x, y = one.data[a + n - 1], two.data[b + n - 1]
    if x == y:
        return n
    mark = one.data[a + max(n - 2, 0)]
    is_mark = mark == ord("/") or mark == ord(".") or mark == ord("_")
    is_numbered = n > 2 and x == ord("1") and y == ord("2") and is_mark
    return n - 2 if is_numbered else -1
