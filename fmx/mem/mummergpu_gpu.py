"""Matching by MUMmerGPU++ on a GPU, which holds the suffixes of the text; the CPU does the post-processing.

copy in     the suffix array, its rank and LCP array, once; the queries of a task
match       one thread per job: up to N_SUBQUERIES subqueries of a query
copy out    row and length of each subquery
"""

from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.warp import kernel, thread_index
from ..input.dna import WORD
from ..machines import gpu
from ..machines.gpu import Arrays
from ..machines.jobs import Pool
from ..search.gpu import engines
from . import Matches, Strands, collected
from .mummergpu import Jobs, LongestMatches, Subqueries, make_jobs, match_job, subqueries

if TYPE_CHECKING:
    from ..machines.gpu import GpuSession, GpuStream
    from .mummergpu import MummerGpu

N_STREAMS = 2  # at most
N_THREADS = 128
TASK = 1 << 24  # starts of matches per task
_PER_START = 16  # bytes of a stream, of queries and results


@kernel
def match_kernel(suffixes, strands, jobs, least, longest):
    """Find the longest match of each subquery in Suffixes, one thread per job."""
    job = thread_index()
    if job < jobs.strand.size:
        match_job(suffixes, strands, jobs, least, job, longest)


class GpuMummer:
    """A matcher on a GPU, within the memory of a GpuSession.

    ``host``: its MummerGpu. ``n_threads`` of the CPU share the post-processing. Raises DeviceError.
    """

    task_size = TASK

    def __init__(self, host: "MummerGpu", session: "GpuSession", n_threads: int = 1) -> None:
        self.host, self.n_threads, self.run = host, n_threads, session.run
        self.pool = Pool(lambda: Arrays(gpu.pinned))
        resident = engines.n_bytes(host.suffixes)
        self.streams = session.streams(min(n_threads, N_STREAMS), resident, _PER_START * TASK)
        with gpu.errors(), session.clock.timed("copy in"):
            self._suffixes = engines.upload(host.suffixes)
        one, word = np.ones(1, np.int64), np.zeros(host.least // WORD + 2, np.uint64)
        self.seek(Strands(word, 0 * one, host.least * one, 0 * one, one, 0 * one, 0 * one))  # compiles

    def slices(self, strands: Strands) -> Iterator[Matches]:
        """Yield the Matches of strands in order (Matcher)."""
        return collected(self.host, strands, self.run(self.seek, strands), self.n_threads)

    def seek(self, strands: Strands) -> Subqueries:
        """Return the subqueries of strands that match, and their rows."""
        jobs, arrays = make_jobs(strands, self.host.least), self.pool.get()
        longest = _longest(arrays, int(jobs.slot[-1]))
        if jobs.strand.size:
            self.streams.run(self._match, strands, jobs, longest)
        anchors = subqueries(self.host.lcp, self.host.least, jobs, longest, self.n_threads)
        self.pool.put(arrays)
        return anchors

    def _match(self, stream: "GpuStream", strands: Strands, jobs: Jobs, longest: LongestMatches) -> None:
        """Find a longest match of each subquery; ``longest`` is pinned."""
        base, end = int(strands.first[0]), int(strands.first[-1] + strands.length[-1] // WORD) + 2
        words = stream.send("words", stream.pack("words", [strands.words[base:end]]))
        arrays = [strands.first - base, strands.length, *jobs]
        columns = stream.pack("columns", arrays)
        stream.begin("copy in")  # the words are copied meanwhile
        columns = stream.send("columns", columns)
        ends = accumulate((array.size for array in arrays), initial=0)
        first, length, *columns_of_jobs = (columns[a:b] for a, b in pairwise(ends))
        on_gpu, results = (
            Strands(words, first, length, *[first[:0]] * 4),
            _longest(stream.device_array, longest.row.size),
        )
        stream.begin("match")
        stream.launch(
            match_kernel, jobs.strand.size, gpu.block_size(N_THREADS),
            self._suffixes, on_gpu, Jobs(*columns_of_jobs), np.int64(self.host.least), results,
        )  # fmt: skip
        stream.receive(results, longest)
        stream.wait()


def _longest(make: Callable[..., Any], n: int) -> LongestMatches:
    return LongestMatches(*(make(name, n, np.uint32)[:n] for name in LongestMatches._fields))
