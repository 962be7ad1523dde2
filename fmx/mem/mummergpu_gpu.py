"""The algorithm of MUMmerGPU++ as a matcher on a GPU: matching there, post-processing by threads of the CPU.

copy in     the suffix array, its rank and LCP array, once; the queries of a round
match       one thread per job: up to N_SUBQUERIES subqueries of a query
copy out    row and length of each subquery

Several threads of the host work on rounds at the same time (gpu_session.py).
"""

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..compiler.warp import kernel, thread_index
from ..machines import gpu
from ..machines.gpu import memory_beside
from ..machines.gpu_session import PinnedPool
from ..search.gpu import gpu_search
from .mummergpu import Jobs, LongestMatches, Subqueries, make_jobs, match_job, subqueries
from .strands import Matches, Strands, collected, cut, words_of

if TYPE_CHECKING:
    from ..machines.gpu_session import GpuSession, GpuStream
    from .mummergpu import MummerGpu

N_STREAMS = 2  # at most
N_THREADS = 128
ROUND = 1 << 25  # starts of matches that are searched together
_ROUND_BYTES = 8 * ROUND  # of their results


@kernel
def match_kernel(arrays, strands, jobs, least, found):
    """Find the longest match of each subquery in SuffixArrays, one thread per job."""
    job = thread_index()
    if job < jobs.strand.size:
        match_job(arrays, strands, jobs, least, job, found)


class GpuMummer:
    """The matcher ``host`` with its arrays on a GPU; ``n_threads`` of the CPU share the post-processing.

    Raises DeviceError.
    """

    def __init__(self, host: "MummerGpu", session: "GpuSession", n_threads: int = 1) -> None:
        self.host, self.least, self.n_threads = host, host.least, n_threads
        self.clock, self.run, self.desks = session.clock, session.run, PinnedPool()
        room = memory_beside(session.memory, gpu_search.n_bytes(host.arrays), _ROUND_BYTES)
        self.streams = session.streams(min(n_threads, N_STREAMS, room // _ROUND_BYTES))
        with gpu.errors(), self.clock.timed("copy in"):
            self.arrays = gpu_search.upload(host.arrays)

    def slices(self, strands: Strands) -> Iterator[Matches]:
        """Yield the Matches of strands in order (strands.Matcher)."""
        for first, some in cut(strands, ROUND):
            for matches in collected(self.host, some, self.seek(some), self.n_threads):
                yield matches._replace(strand=matches.strand + first)

    def seek(self, strands: Strands) -> Subqueries:
        """Return the subqueries of strands that match, and their rows."""
        jobs, arrays = make_jobs(strands, self.least), self.desks.take()
        n = int(jobs.slot[-1])
        found = LongestMatches(*(self.run(arrays, name, n, np.uint32)[:n] for name in LongestMatches._fields))
        if n:
            self.streams.run(self._match, strands, jobs, found)
        anchors = subqueries(self.host.lcp, self.least, jobs, found, self.n_threads)
        self.desks.give_back(arrays)
        return anchors

    def _match(self, stream: "GpuStream", strands: Strands, jobs: Jobs, found: LongestMatches) -> None:
        """Find a longest match of each subquery; ``found`` is in pinned memory."""
        base, words = words_of(strands)
        words = stream.send("words", stream.pack("words", [words]))
        arrays = [strands.first - base, strands.length, *jobs]
        columns = stream.pack("columns", arrays)
        stream.begin("copy in")  # the words are copied meanwhile
        columns = stream.send("columns", columns)
        ends = accumulate((array.size for array in arrays), initial=0)
        first, length, *of_jobs = (columns[a:b] for a, b in pairwise(ends))
        there = Strands(words, first, length, *[first[:0]] * 4)
        results = LongestMatches(*(stream.there(name, found.row.size, np.uint32) for name in found._fields))
        stream.begin("match")
        stream.launch(
            match_kernel, jobs.strand.size, gpu.block_size(N_THREADS),
            self.arrays, there, Jobs(*of_jobs), np.int64(self.least), results,
        )  # fmt: skip
        stream.receive(results, found)
        stream.wait()
