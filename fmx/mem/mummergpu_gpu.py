"""The algorithm of MUMmerGPU++ as a matcher on a GPU: matching there, post-processing by threads of the CPU.

copy in     the suffix array, its rank and LCP array: once, or a segment at a time; the queries of a round
match       one thread a query, up to rank_walk.N_SUBQUERIES subqueries of it
copy out    row and length of each subquery

Segments are in pinned memory, and the last one of some queries is the first one of the next.  Where the whole
is one segment, several threads of the host have rounds under way (gpu_session.py).
"""

import threading
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ..compiler.warp import kernel, thread_index
from ..input.dna import WORD
from ..machines import gpu
from ..machines.gpu_session import Desks
from ..search import gpu_search
from .contracts import ROWS_AT_ONCE, Strands, collect, rows_at_once, seek
from .mummergpu import collect_together, empty_found, subqueries
from .rank_walk import Found, Jobs, Segment, make_jobs, match_job
from .segments import cut_segments, divide, merge, rounds, words_of

N_FLIGHTS = 2  # at most
N_THREADS = 128


@kernel
def match_kernel(segment, strands, jobs, least, found):
    job = thread_index()
    if job < jobs.strand.size:
        match_job(segment, strands, jobs, least, job, found)


class GpuMummer:
    """A matcher on a GPU, within the memory of a GpuSession.

    ``host`` is its MummerGpu; ``n_threads`` of the CPU share the post-processing of some queries.  Raises
    DeviceError.
    """

    def __init__(self, host, session, n_threads=1):
        self.host, self.least, self.n_threads = host, host.least, n_threads
        self.number, self.clock = session.number, session.clock
        self._one_at_a_time = threading.Lock()
        whole, n_flights = host.segment, min(n_threads, N_FLIGHTS)
        with gpu.errors():
            shared = gpu_search.n_bytes((whole.words, whole.blocks))
            self.division = divide(whole.sa.size, shared, session.memory, n_flights)
            if self.division.is_tight(whole.sa.size):
                n_flights, self.division = 1, divide(whole.sa.size, shared, session.memory)
            self.flights, self.desks = session.flights(n_flights), Desks()
            self.segments = cut_segments(whole, self.division.n_suffixes, gpu.pinned, n_threads)
            n = self.segments[0].sa.size
            self._room = [gpu.empty(n, kind) for kind in (np.uint32, np.uint32, np.uint8)]
            self._text = gpu_search.upload(whole.words), gpu_search.upload(whole.blocks)
            self._held: Any = None, None
            self._bring(self.segments[0])
        one = np.ones(1, np.int64)  # kernels must not be compiled by several threads at once
        word = np.zeros(host.least // WORD + 2, np.uint64)
        query = Strands(word, 0 * one, host.least * one, 0 * one, one, 0 * one, 0 * one)
        jobs = make_jobs(query, host.least)
        self.search(query, jobs, empty_found(jobs))

    def search(self, strands, jobs, found):
        """Find a longest match of each subquery in the whole suffix array; ``found`` in pinned memory."""
        cuts = rounds(strands, jobs, self.division)
        if len(self.segments) == 1:
            self._match(self.segments[0], strands, jobs, cuts, found)
        elif cuts:
            found.length[:] = 0
            with self._one_at_a_time:
                last_first = self._held[0] is self.segments[-1]
                for segment in reversed(self.segments) if last_first else self.segments:
                    self._match(segment, strands, jobs, cuts, found)

    def _match(self, segment, strands, jobs, cuts, found):
        there = self._bring(segment)
        for start, stop in cuts:
            self.flights.run(self._round, segment, there, strands, jobs, start, stop, found)

    def _round(self, flight, segment, on_device, strands, jobs, start, stop, found):
        """Match the subqueries of jobs start to stop in a segment."""
        its_strands, its_jobs = _slice(strands, jobs, start, stop)
        slot, n = int(jobs.slot[start]), int(its_jobs.slot[-1])
        words = flight.send("words", flight.pack("words", its_strands[:1]))
        arrays = [*its_strands[1:3], *its_jobs]
        columns = flight.pack("columns", arrays)
        flight.begin("copy in")  # the words are on their way meanwhile
        columns = flight.send("columns", columns)
        ends = accumulate((array.size for array in arrays), initial=0)
        first, length, *its_jobs = (columns[a:b] for a, b in pairwise(ends))
        queries, there = Strands(words, first, length, *[first[:0]] * 4), Jobs(*its_jobs)
        results = Found(*(flight.there(name, n, np.uint32) for name in Found._fields))
        host = Found(*(column[slot : slot + n] for column in found))
        if len(self.segments) > 1:
            host = Found(*(flight.here(name, n, np.uint32)[:n] for name in Found._fields))
        flight.begin("match")
        flight.launch(
            match_kernel, stop - start, gpu.block_size(N_THREADS),
            on_device, queries, there, np.int64(self.least), results,
        )  # fmt: skip
        flight.receive(results, host)
        flight.wait()
        if len(self.segments) > 1:
            merge(segment, self.host.segment.rank, host, slot, found, self.n_threads)

    def _bring(self, segment):
        """A segment on the device, where there is room for one."""
        if self._held[0] is not segment:
            with self.clock.timed("copy in"):
                arrays = [
                    gpu.copy(source, room)[: source.size]
                    for source, room in zip(segment[:3], self._room, strict=True)
                ]
            self._held = segment, Segment(*arrays, *self._text, segment.first)
        return self._held[1]


def _slice(strands, jobs, start, stop):
    """(Strands, Jobs) of a round by themselves."""
    first, last = int(jobs.strand[start]), int(jobs.strand[stop - 1]) + 1
    piece = Strands(strands.words, *(column[first:last] for column in strands[1:]))
    base, words = words_of(piece)
    its_jobs = Jobs(
        jobs.strand[start:stop] - first,
        jobs.begin[start:stop],
        jobs.slot[start : stop + 1] - jobs.slot[start],
    )
    return piece._replace(words=words, first=piece.first - base), its_jobs


@seek.register(GpuMummer)
def seek_on_device(matcher, strands):
    jobs, rooms = make_jobs(strands, matcher.least), matcher.desks.take()
    n = int(jobs.slot[-1])
    gpu.use(matcher.number)
    with gpu.errors():
        found = Found(*(rooms(name, n, np.uint32)[:n] for name in Found._fields))
        matcher.search(strands, jobs, found)
    anchors = subqueries(matcher.host.lcp, matcher.least, jobs, found, matcher.n_threads)
    matcher.desks.give_back(rooms)
    return anchors


@collect.register(GpuMummer)
def collect_of_device(matcher, strands, anchors, start, stop, matches) -> int:
    return collect_together(matcher.host, strands, anchors, start, stop, matches, matcher.n_threads)


@rows_at_once.register(GpuMummer)
def _rows_at_once(matcher):
    return ROWS_AT_ONCE * matcher.n_threads
