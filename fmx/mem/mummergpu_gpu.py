"""Segments of a suffix array that does not fit into a GPU's memory, and rounds of queries over them.

A segment is the suffixes that start in a range of the text, taken from the whole suffix array in its order,
so nothing is sorted again. The LCP of two of its rows is the least LCP value between them:

    row      0   1   2   3   4   5      text positions 0 to 2: rows 1, 2 and 5
    sa       5   1   0   4   3   2      sa     1   0   2
    lcp      0   3   4   2   5   1      lcp    0   4   1 = min(2, 5, 1)

A suffix is compared with the whole text, which takes a sixteenth of a suffix array, so segments need no
overlap. The longest match of a subquery in any segment is its longest match, and its text position gives its
row in the whole array: later steps do not depend on segments.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..compiler.warp import kernel, thread_index
from ..dna import WORD
from ..errors import DeviceError
from ..machines import gpu
from ..machines.gpu import Arrays, memory_beside
from ..machines.jobs import Pool, run_all, spans
from ..search.gpu import engines
from . import Matches, Strands, collected, some_strands, take, word_ends
from .mummergpu import Jobs, LongestMatches, Segment, Subqueries, make_jobs, match_job, subqueries

if TYPE_CHECKING:
    from ..machines.gpu import GpuSession, GpuStream
    from .mummergpu import MummerGpu

_SUFFIX_BYTES = 9  # of sa, rank and lcp
_JOB_BYTES, _STRAND_BYTES = 24, 56  # per strand: a word, six columns, as much for each further word
_QUERY_BYTES = 512 << 20  # of queries and results of a round, if there is room for more


@dataclass(frozen=True)
class Division:
    """Division of a GPU's memory among a segment and the queries of a round.

    ``n_suffixes`` of a segment; bytes for ``queries`` and for ``results`` of a round; number of streams.
    """

    n_suffixes: int
    queries: int
    results: int
    n_streams: int = 1


def divide(n_text: int, shared: int, room: int, n_streams: int = 1) -> Division:
    """Return the largest segments for ``room`` bytes, of which text and blocks take ``shared``.

    A quarter of the rest is for queries, at most _QUERY_BYTES per stream. There is one stream if more of them
    would leave less room for suffixes. Raises DeviceError.
    """
    rest = memory_beside(room, shared, 2 * _SUFFIX_BYTES, "the text")
    of_all = _QUERY_BYTES * n_streams
    if rest < max(4 * of_all, of_all + _SUFFIX_BYTES * n_text):
        n_streams = 1
    queries = min(_QUERY_BYTES * n_streams, rest // 4)
    n_suffixes = min((rest - queries) // _SUFFIX_BYTES, n_text)
    of_one = queries // n_streams
    return Division(n_suffixes, of_one // 4, of_one - of_one // 4, n_streams)


def cut_segments(
    whole: Segment, n_suffixes: int, make: Callable[..., Any] = np.empty, n_threads: int = 1
) -> list:
    """Return segments of up to ``n_suffixes`` each, in the order of the text, in arrays made by ``make``."""
    n = whole.sa.size
    if n_suffixes >= n:
        return [whole]
    segments = []
    for first in range(0, n, n_suffixes):
        size = min(n_suffixes, n - first)
        arrays = make(size, np.uint32), make(size, np.uint32), make(size, np.uint8)
        segments.append(Segment(*arrays, whole.words, whole.blocks, first))
    run_all(_fill, [(whole, segment) for segment in segments], n_threads)
    return segments


@compiled
def _fill(whole, segment):
    first, stop, n = segment.first, segment.first + segment.sa.size, 0
    shared = np.uint8(0)
    for row in range(whole.sa.size):
        shared = min(shared, whole.lcp[row])
        position = np.int64(whole.sa[row])
        if first <= position < stop:
            segment.sa[n] = position
            segment.lcp[n] = shared
            segment.rank[position - first] = n
            shared = np.uint8(255)
            n += 1


def rounds(strands: Strands, jobs: Jobs, division: Division) -> list:
    """Return runs (start, stop) of jobs whose queries and results fit.

    Raises DeviceError if a job does not.
    """
    index = _JOB_BYTES * np.arange(jobs.strand.size)
    ends = _STRAND_BYTES * word_ends(strands)[jobs.strand] + index + _JOB_BYTES
    begins = _STRAND_BYTES * strands.first[jobs.strand] + index
    cuts, start = [], 0
    while start < jobs.strand.size:
        stop = min(
            int(np.searchsorted(ends, begins[start] + division.queries, "right")),
            int(np.searchsorted(jobs.slot, jobs.slot[start] + division.results // 8, "right")) - 1,
        )
        if stop <= start:
            raise DeviceError(
                f"a query of {int(strands.length[jobs.strand[start]]):,} symbols does not fit in memory with "
                "a segment of the index: raise --gpu-memory, or use --engine cpu"
            )
        cuts.append((start, stop))
        start = stop
    return cuts


def merge(
    segment: Segment, rank: np.ndarray, longest: LongestMatches, whole: LongestMatches, n_threads: int = 1
) -> None:
    """Merge the matches ``longest`` in a segment into ``whole`` where they are longer (same subqueries)."""
    cuts = [slice(*span) for span in spans(longest.row.size, n_threads)]
    run_all(_merge, [(segment, rank, take(longest, cut), take(whole, cut)) for cut in cuts], n_threads)


@compiled
def _merge(segment, rank, longest, whole):
    for slot in range(longest.row.size):
        if longest.length[slot] > whole.length[slot]:
            whole.length[slot] = longest.length[slot]
            whole.row[slot] = rank[segment.sa[longest.row[slot]]]


# Matching on the GPU, post-processing by threads of the CPU:
#
# copy in     the suffix array, its rank and LCP array: once, or a segment at a time; the queries of a round
# match       one thread per job: up to N_SUBQUERIES subqueries of a query
# copy out    row and length of each subquery
#
# Segments are in pinned memory, and the last segment for some queries is the first one for the next. If there
# is only one segment, several threads of the host work on rounds at the same time (machines/gpu.py).

_N_STREAMS = 2  # at most
_N_THREADS = 128
_COMPILING = threading.Lock()  # several threads must not compile kernels at the same time


class _Round(NamedTuple):
    """Queries that are matched together, their jobs, and their part of the results, in pinned memory."""

    strands: Strands
    jobs: Jobs
    longest: LongestMatches


@kernel
def match_kernel(segment, strands, jobs, least, longest):
    """Find the longest match of each subquery in a Segment, one thread per job."""
    job = thread_index()
    if job < jobs.strand.size:
        match_job(segment, strands, jobs, least, job, longest)


class GpuMummer:
    """A matcher on a GPU, within the memory of a GpuSession.

    ``host``: its MummerGpu. ``n_threads`` of the CPU share the post-processing. Raises DeviceError.
    """

    def __init__(self, host: "MummerGpu", session: "GpuSession", n_threads: int = 1) -> None:
        self.host, self.least, self.n_threads = host, host.least, n_threads
        self.clock, self.run, self.pool = session.clock, session.run, Pool(lambda: Arrays(gpu.pinned))
        self._one_at_a_time, whole = threading.Lock(), host.segment
        with gpu.errors():
            shared = engines.n_bytes((whole.words, whole.blocks))
            self.division = divide(whole.sa.size, shared, session.memory, min(n_threads, _N_STREAMS))
            self.streams = session.streams(self.division.n_streams)
            self.segments = cut_segments(whole, self.division.n_suffixes, gpu.pinned, n_threads)
            n = self.segments[0].sa.size
            self._room = [gpu.empty(n, kind) for kind in (np.uint32, np.uint32, np.uint8)]
            self._text = engines.upload(whole.words), engines.upload(whole.blocks)
            self._resident: Any = None, None
            self._loaded(self.segments[0])
        one, word = np.ones(1, np.int64), np.zeros(host.least // WORD + 2, np.uint64)
        with _COMPILING:
            self.seek(Strands(word, 0 * one, host.least * one, 0 * one, one, 0 * one, 0 * one))

    def slices(self, strands: Strands) -> Iterator[Matches]:
        """Yield the Matches of strands in order (Matcher)."""
        return collected(self.host, strands, self.run(self.seek, strands), self.n_threads)

    def seek(self, strands: Strands) -> Subqueries:
        """Return the subqueries of strands that match, and their rows."""
        jobs, arrays = make_jobs(strands, self.least), self.pool.get()
        n = int(jobs.slot[-1])
        longest = _longest(arrays, n)
        self.search(strands, jobs, longest)
        anchors = subqueries(self.host.lcp, self.least, jobs, longest, self.n_threads)
        self.pool.put(arrays)
        return anchors

    def search(self, strands: Strands, jobs: Jobs, longest: LongestMatches) -> None:
        """Find a longest match of each subquery in the whole suffix array; ``longest`` is pinned."""
        work = []
        for start, stop in rounds(strands, jobs, self.division):
            strand, slots = int(jobs.strand[start]), jobs.slot[start : stop + 1]
            piece = some_strands(strands, strand, int(jobs.strand[stop - 1]) + 1)
            base, end = int(piece.first[0]), int(word_ends(piece)[-1]) + 1  # with a spare word
            some = Jobs(jobs.strand[start:stop] - strand, jobs.begin[start:stop], slots - slots[0])
            piece = piece._replace(words=strands.words[base:end], first=piece.first - base)
            work.append(_Round(piece, some, take(longest, slice(slots[0], slots[-1]))))
        if len(self.segments) == 1:
            self._match_all(self.segments[0], work)
        elif work:
            longest.length[:] = 0
            with self._one_at_a_time:
                last_first = self._resident[0] is self.segments[-1]
                for segment in reversed(self.segments) if last_first else self.segments:
                    self._match_all(segment, work)

    def _match_all(self, segment: Segment, work: Sequence[_Round]) -> None:
        on_gpu = self._loaded(segment)
        for queries in work:
            self.streams.run(self._match, segment, on_gpu, queries)

    def _match(self, stream: "GpuStream", segment: Segment, on_gpu: Segment, queries: _Round) -> None:
        """Match a _Round in a segment; ``on_gpu`` is its copy there."""
        words = stream.send("words", stream.pack("words", queries.strands[:1]))
        arrays = [*queries.strands[1:3], *queries.jobs]
        columns = stream.pack("columns", arrays)
        stream.begin("copy in")  # the words are copied meanwhile
        columns = stream.send("columns", columns)
        ends = accumulate((array.size for array in arrays), initial=0)
        first, length, *jobs = (columns[a:b] for a, b in pairwise(ends))
        strands = Strands(words, first, length, *[first[:0]] * 4)
        n, longest, in_parts = queries.longest.row.size, queries.longest, len(self.segments) > 1
        results = _longest(stream.device_array, n)
        if in_parts:
            longest = _longest(stream.pinned_array, n)
        stream.begin("match")
        stream.launch(
            match_kernel, queries.jobs.strand.size, gpu.block_size(_N_THREADS),
            on_gpu, strands, Jobs(*jobs), np.int64(self.least), results,
        )  # fmt: skip
        stream.receive(results, longest)
        stream.wait()
        if in_parts:
            merge(segment, self.host.segment.rank, longest, queries.longest, self.n_threads)

    def _loaded(self, segment: Segment) -> Segment:
        """Return a segment on the GPU, which has room for one."""
        if self._resident[0] is not segment:
            with self.clock.timed("copy in"):
                arrays = [
                    gpu.copy(source, room)[: source.size]
                    for source, room in zip(segment[:3], self._room, strict=True)
                ]
            self._resident = segment, Segment(*arrays, *self._text, segment.first)  # type: ignore[call-arg]
        return self._resident[1]


def _longest(make: Callable[..., Any], n: int) -> LongestMatches:
    return LongestMatches(*(make(name, n, np.uint32)[:n] for name in LongestMatches._fields))
