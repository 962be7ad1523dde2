"""``fmx mem``: from an index and queries to lines, by threads."""

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._version import __version__
from ..compiler import object_cache
from ..errors import UnsupportedError, n_of, size_in_words
from ..index.disk import part_span
from ..index.fm_index import FMIndex, JoinedIndex
from ..input import InputRange, InputShare, ReadPath, reads, spans
from ..machines.gpu import GpuSession
from ..machines.jobs import cuts
from ..machines.pipeline import Emit, Parts, add_up, run_ordered
from ..machines.places import Device
from ..machines.progress import Measurement, Progress, TimedFile, Writable
from ..output import module_of
from ..output.formats import sam
from ..output.run import Run
from ..report import JobOutput, command_line
from ..search.find import part_on_cpu
from ..search.mapping import BOTH
from ..search.summary import Sums, count_facts, histogram
from . import (
    Matcher,
    Matches,
    Strands,
    empty_matches,
    in_query,
    in_reference,
    join_matches,
    make_strands,
    mummergpu,
    seeds,
    some_strands,
    take,
)  # fmt: skip
from .mummergpu import make_mummergpu

if TYPE_CHECKING:
    from ..index.fm_index import AnyIndex
    from ..input.chunks import Chunk
    from ..input.reads import ReadBatch
    from ..machines.progress import Clock

_MANY, _LEAST = 10, 1_000_000  # limits for the warning: matches per base, and matches in total


# An index in parts is cut between contigs, so a match is in one part, and each part has its own matcher.
# Their slices are merged up to the first place (strand, position) at which one of them ends, because only
# later places follow:
#
#     part 0    | a a b c | c+ ...       places, ascending
#     part 1    | b d e | f ...
#     merged    | a a b b c | ...        at the same place, the parts in order


class JoinedMatchers(NamedTuple):
    """``matchers`` of the parts of a text, and where each part starts in the text."""

    matchers: list[Matcher]
    starts: list[int]

    def slices(self, strands: Strands) -> Iterator[Matches]:
        streams = [part.slices(strands) for part in self.matchers]
        waiting = [next(stream, None) for stream in streams]
        while any(matches is not None for matches in waiting):
            last = min(_places(matches)[-1] for matches in waiting if matches is not None)
            taken = []
            for part, matches in enumerate(waiting):
                if matches is not None:
                    n = int(np.searchsorted(_places(matches), last, "right"))
                    now = take(matches, slice(n))
                    taken.append(now._replace(text=now.text + self.starts[part]))
                    waiting[part] = take(matches, slice(n, None))
            merged = join_matches(taken)
            yield take(merged, np.argsort(_places(merged), kind="stable"))
            for part, matches in enumerate(waiting):
                if matches is not None and matches.length.size == 0:
                    waiting[part] = next(streams[part], None)


def join(index: FMIndex | JoinedIndex, matchers: list[Matcher]) -> Matcher:
    """Return one matcher of an opened index, from those of its parts."""
    if len(matchers) == 1:
        return matchers[0]
    return JoinedMatchers(matchers, [part_span(index.meta, number)[0] for number in range(len(matchers))])


def _places(matches: Matches) -> np.ndarray:
    return (matches.strand << 32) | matches.position


# bytes -> Chunk -> ReadBatch -> Strands -> Matches -> lines, by several threads, in order.

# name -> make(index, least): the matcher.
ALGORITHMS: dict = {"seeds": seeds.make_seeds, "mummergpu": mummergpu.make_mummergpu}


def _make_matcher(index: FMIndex, options: "MemOptions") -> Matcher:
    """Return the matcher of a part of an index by its options. Raises UnsupportedError."""
    if index.method == "sparse":
        from .sparse import make_sparse_seeds  # not needed by other methods

        return make_sparse_seeds(index, options.least)
    return ALGORITHMS[options.algorithm](index, options.least)


ALL, IN_REFERENCE, IN_BOTH = range(3)


# Bytes of a span; a task has at most twice as many places where matches start, so long queries are split.
_CPU_TASK, _GPU_TASK = 1 << 20, 1 << 24


@dataclass(frozen=True)
class MemOptions:
    """Options of matching: ``least`` symbols; strands as in reads.pack; ALL, IN_REFERENCE or IN_BOTH."""

    least: int = 20
    strands: int = BOTH
    unique: int = ALL
    n_threads: int = 1
    algorithm: str = "seeds"
    counts_lengths: bool = False  # whether to count lengths of queries and of matches


@dataclass
class MemSummary(Sums):
    """Counts of a run.

    ``lengths`` of queries and ``match_lengths``: numbers by length, int64[N_CLASSES] (search/summary.py), or
    None unless requested.
    """

    queries: int = 0
    bases: int = 0
    matches: int = 0
    lengths: np.ndarray | None = None
    match_lengths: np.ndarray | None = None
    strands: np.ndarray | None = None  # int64[2]: matches on + and -, if requested

    things, unit = "queries", "bases"

    def sentence(self) -> str:
        """Return one line that describes the run."""
        queries, matches = self.in_words()
        bases = n_of(self.bases, "base")
        return f"{queries} {f'of {bases}' if self.queries == 1 else f'({bases} in all)'}: {matches}"

    def in_words(self) -> tuple[str, str]:
        """Return the numbers of queries and of matches, in words."""
        return n_of(self.queries, "query", "queries"), n_of(self.matches, "match", "matches")


class Finder:
    """Turns chunks of queries into pieces of output, with one index and one set of options.

    ``writer``: an output.lines.MatchWriter, or library.results.MatchRows, with ``format``, ``written`` and
    ``is_sam``.  ``clock``: a Clock that measures the stages, or None.
    """

    def __init__(
        self, index: "AnyIndex", options: MemOptions, writer: Any, matcher: Matcher | None = None,
        clock: "Clock | None" = None,
    ) -> None:  # fmt: skip
        self.timed = clock.timed if clock else nullcontext
        self.options, self.writer = options, writer
        self.say: Callable[[str], object] | None = None  # for warnings of the command
        self.task_size = _CPU_TASK if matcher is None else _GPU_TASK
        self._n_warnings = itertools.count()
        parts = [_make_matcher(part, options) for part in index.parts] if matcher is None else []
        self.matcher: Matcher = matcher or join(index, parts)
        numbers = range(len(index.parts)) if options.unique else ()
        self.searchers = [part_on_cpu(index, number).search for number in numbers]

    def matches_of(self, strands: Strands) -> Iterator[Matches]:
        """Yield the Matches of strands; with ``unique``, only those that are unique in the reference."""
        slices = iter(self.matcher.slices(strands))
        while True:
            with self.timed("match"):
                matches = next(slices, None)
            if matches is None:
                return
            yield in_reference(self.searchers, strands, matches) if self.options.unique else matches

    def lines(
        self, counts: MemSummary, batch: "ReadBatch", strands: Strands, slices: Iterable[Any],
        rows: tuple[int, int], emit: Emit,
    ) -> MemSummary:  # fmt: skip
        """Emit the lines of Matches with the header lines of ``rows``; add them to ``counts``."""
        (row, last_row), n_matches, n_bytes = rows, 0, 0
        ends = np.cumsum(strands.stop - strands.start)  # starts of matches, up to the end of each strand
        for matches in slices:
            n = matches.length.size
            stop = max(row, int(strands.row[matches.strand[-1]]) + 1) if n else row
            piece = self._format(batch, strands, matches, (row, stop))
            if self.say and n:
                n_matches, n_bytes, last = n_matches + n, n_bytes + len(piece), int(matches.strand[-1])
                n_starts = int(ends[last] - strands.stop[last] + matches.position[-1]) + 1
                self._warn_of_many(n_matches, n_bytes, n_starts)
            emit(piece)
            row = stop
            counts.add(MemSummary(matches=n, match_lengths=self._lengths_of(matches)))
            if self.options.counts_lengths:
                counts.add(MemSummary(strands=np.bincount(strands.row[matches.strand] & 1, minlength=2)))
        emit(self._format(batch, strands, empty_matches(0), (row, last_row)))
        return counts

    def _warn_of_many(self, n_matches: int, n_bytes: int, n_starts: int) -> None:
        """Print one warning if a task has many matches, in ``n_bytes`` of lines, for ``n_starts`` starts."""
        if self.say and n_matches >= max(_LEAST, _MANY * n_starts + 1) and next(self._n_warnings) == 0:
            n_expected = (2 if self.options.strands == BOTH else 1) * n_bytes / n_starts * 1e6
            self.say(
                f"warning: {n_matches / n_starts:,.0f} matches per base of the queries: "
                f"expect about {size_in_words(n_expected)} of output per million bases; "
                f"for fewer matches, raise -l (now {self.options.least})"
            )

    def _format(self, *batch: Any) -> Any:
        with self.timed("format"):
            return self.writer.format(*batch)

    def _lengths_of(self, things: "ReadBatch | Matches") -> np.ndarray | None:
        return histogram(things.length) if self.options.counts_lengths else None

    def shares(self, chunk: "Chunk") -> Iterator[partial]:
        """Yield the parts of a chunk: any thread calls one with Emit, and it returns a MemSummary."""
        with self.timed("parse"):
            batch = reads.parse(chunk)
            if self.writer.is_sam:
                reads.check_sam(chunk, batch)
            counts = MemSummary(batch.length.size, int(batch.length.sum()), lengths=self._lengths_of(batch))
            strands = make_strands(batch, self.options.strands)
        row, n_rows = 0, 2 * batch.length.size
        futures: list[Future] = []
        for first, start, stops in cuts(strands.stop, 2 * self.task_size):
            share = some_strands(strands, first, first + start.size)._replace(start=start, stop=stops)
            if self.options.unique == IN_BOTH:
                futures.append(Future())
                yield partial(self._find, share, first, futures[-1])
            else:
                stop = int(share.row[-1]) + 1  # a row's header is written with its first start
                yield partial(self.lines, MemSummary(), batch, share, self.matches_of(share), (row, stop))
                row = stop
        yield partial(self._rest, counts, batch, strands, futures, (row, n_rows))

    def _find(self, strands: Strands, first: int, future: Future, emit: Emit) -> MemSummary:
        """Put the matches of strands from ``first`` on into a Future, for ``_rest``."""
        matches = empty_matches(0)
        try:
            matches = join_matches(self.matches_of(strands))
        finally:
            future.set_result(matches._replace(strand=matches.strand + first))
        return MemSummary()

    def _rest(
        self, counts: MemSummary, batch: "ReadBatch", strands: Strands, futures: list, rows: tuple, emit: Emit
    ) -> MemSummary:
        """Write the matches of Futures, after waiting for them, and the remaining header lines."""
        matches = [future.result() for future in futures]
        slices = [in_query(strands, join_matches(matches))] if futures else ()
        return self.lines(counts, batch, strands, slices, rows, emit)


@dataclass(frozen=True)
class MemOutput(JobOutput):
    """Output of matches: ``kind`` mummer, paf, bed, tsv or sam; the others as MUMmer's -c, -L and -F."""

    kind: str = "mummer"
    original: bool = False
    lengths: bool = False
    four_columns: bool = False


def prepare(
    fm_index: FMIndex | JoinedIndex,
    options: MemOptions,
    output: MemOutput,
    progress: Progress,
    device: Device,
) -> Callable[[Sequence[ReadPath], Progress, Run], MemSummary]:
    """Return find(paths, progress, run), which finds the matches of queries in order and writes them.

    ``paths``: FASTA, FASTQ, BAM or CRAM files, '-', or bytes.  Raises DeviceError, UnsupportedError.
    """
    session = _open_gpu(fm_index, options, device)
    object_cache.on_first_compile(progress)
    if device.engine != "cpu":
        progress.say(f"searching on {session or 'the CPU'}")
    sam_header = partial(sam.header, fm_index.reference, __version__, command_line(), "")
    open_matches = module_of(output.kind).open_matches
    writer, head = open_matches(fm_index.reference, output, options.strands, sam_header)
    measurement = Measurement(output.report) if output.report else None
    options = replace(options, counts_lengths=bool(measurement))
    matcher = None
    if session:
        from .mummergpu_gpu import GpuMummer

        host = make_mummergpu(fm_index.parts[0], options.least)
        matcher = session.run(GpuMummer, host, session, options.n_threads)
    finder = Finder(fm_index, options, writer, matcher, measurement.clock if measurement else None)
    # Run all steps without a match, so that all code is compiled by one thread before the clock starts.
    (chunk,) = spans.read_chunks([b">q\nACGT\n"])
    batch = reads.parse(chunk)
    strands, nothing = make_strands(batch, options.strands), empty_matches(0)
    for _ in finder.matcher.slices(strands):
        pass
    if options.unique:
        in_reference(finder.searchers, strands, nothing)
    writer.format(batch, strands, nothing, (0, 2))

    def find(paths: Sequence[ReadPath], progress: Progress, run: Run) -> MemSummary:
        wall = progress.wall
        if measurement:
            measurement.begin(wall, [session] if session else [])
        with run.opened(output, head) as outputs:
            share = InputShare(paths if run.is_whole else ())
            source = run.plan(InputRange(paths, finder.task_size, options.n_threads, share=share))
            progress.follow(share)
            with wall.spending("matching"):
                summary = find_all(finder, source, TimedFile(outputs, wall, measurement), progress)
            wall.turn_to("writing")

            def facts() -> dict:
                facts = count_facts(summary, "lengths", "match_lengths")
                return measurement.facts([str(session or "the CPU")], summary, facts) if measurement else {}

            outputs.finish(summary, facts=facts if measurement else None)
        return summary

    return find


def find_all(
    finder: Finder, source: Iterator, sink: Writable, progress: Progress | None = None
) -> MemSummary:
    """Find the matches of spans of queries, in order, and write their lines to ``sink`` (a binary file)."""
    progress = progress or Progress(quiet=True)
    finder.say = progress.say

    def write(lines: Any) -> None:
        sink.write(lines)
        finder.writer.written(lines)

    def say(summary: MemSummary, seconds: float) -> str:
        queries, matches = summary.in_words()
        return f"{queries}, {summary.bases / seconds:,.0f} bases/s, {matches}"

    return add_up(matched(finder, source, write), MemSummary(), progress, say)


def matched(
    finder: Finder, source: Iterable[Any], write: Callable[[Any], object]
) -> Generator[MemSummary, None, None]:
    """Yield the MemSummary of each span of queries, or of each part of one, in order.

    ``write`` is called first, with the lines of the span.
    """

    def work(emit: Emit, item: Any) -> MemSummary | Parts:
        if isinstance(item, partial):
            return item(emit)
        with finder.timed("read"):
            chunk = item.read()
        return Parts(finder.shares(chunk))

    return run_ordered(source, [work] * finder.options.n_threads, write)


def _open_gpu(fm_index: FMIndex | JoinedIndex, options: MemOptions, device: Device) -> GpuSession | None:
    """Return the session of a Device's GPU; None with engine cpu or auto.

    Raises UnsupportedError if only the CPU can do it, DeviceError.
    """
    if device.engine in ("cpu", "auto"):
        return None
    if options.algorithm != "mummergpu":
        raise UnsupportedError(
            "maximal matches are found by seeds on the CPU only: leave out --engine, or use --algorithm "
            "mummergpu"
        )
    if fm_index.parts[1:]:
        raise UnsupportedError("an index in parts is searched on the CPU only: leave out --engine")
    return GpuSession(device.first, device.memory)
