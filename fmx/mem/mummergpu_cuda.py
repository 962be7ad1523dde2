"""The algorithm of MUMmerGPU++ as a matcher on a GPU: matching there, post-processing on the CPU.

copy in     the suffix array, its rank and LCP array: once, or a segment at a time; the queries of a round
match       one thread a query, up to rank_walk.N_SUBQUERIES subqueries of it
copy out    row and length of each subquery
"""

import threading

import numpy as np

from .. import device, jit_device
from ..jit_warp import kernel, thread_index
from .contracts import Strands, collect, seek
from .mummergpu import collect_on_cpu, empty_found, subqueries
from .rank_walk import Found, Jobs, make_jobs, match_job
from .segments import cut_segments, divide, merge, rounds, words_of
from .stages import Stages

N_THREADS = 128
_RESERVE = 200 << 20  # memory of the device for its own purposes


@kernel
def match_kernel(segment, strands, jobs, least, found):
    job = thread_index()
    if job < jobs.strand.size:
        match_job(segment, strands, jobs, least, job, found)


class DeviceMummerGpu:
    """A matcher on GPU ``number`` that takes at most ``gpu_memory`` bytes of it (None: all that is free).

    ``host`` is its MummerGpu.  Raises DeviceError.
    """

    def __init__(self, host, number=0, gpu_memory=None):
        self.host, self.least, self.number, self.stages = host, host.least, number, Stages()
        self.name = jit_device.open_device(number)
        self._one_at_a_time = threading.Lock()
        whole = host.segment
        with jit_device.errors():
            room = min(jit_device.free_bytes() - _RESERVE, gpu_memory or 2**63)
            self.division = divide(whole.sa.size, device.n_bytes((whole.words, whole.blocks)), room)
            self.segments = cut_segments(whole, self.division.n_suffixes)
            self._words, self._blocks = device.upload(whole.words), device.upload(whole.blocks)
            self._resident = self._bring(whole) if len(self.segments) == 1 else None
            self._results = [Found(*(make(1, np.uint32) for _ in Found._fields)) for make in _MAKERS]

    def search(self, strands):
        """(Jobs, Found) of all subqueries, in the whole suffix array."""
        jobs = make_jobs(strands, self.least)
        found = empty_found(jobs)
        found.length[:] = 0
        cuts = rounds(strands, jobs, self.division)
        jit_device.use(self.number)
        with self._one_at_a_time, jit_device.errors():
            for segment in self.segments if cuts else ():
                there = self._resident or self._bring(segment)
                for start, stop in cuts:
                    self._round(segment, there, strands, jobs, start, stop, found)
        return jobs, found

    def _round(self, segment, there, strands, jobs, start, stop, found):
        """Match the subqueries of jobs start to stop in a segment that is ``there`` on the device."""
        piece, its_jobs = _slice(strands, jobs, start, stop)
        first, n = int(jobs.slot[start]), int(its_jobs.slot[-1])
        with self.stages.timed("copy in"):
            queries = device.upload(piece), device.upload(its_jobs)
        host, results = self._room_for(n)
        with self.stages.timed("match"):
            self._launch(there, *queries, results)
        with self.stages.timed("copy out"):
            _copy_all(results, host)
        if segment is self.host.segment:
            for ours, all_of_them in zip(host, found, strict=True):
                all_of_them[first : first + n] = ours
        else:
            merge(segment, self.host.segment.rank, host, first, found)

    def _launch(self, there, strands, jobs, results):
        n_threads = jit_device.block_size(N_THREADS)
        n_blocks = -(-jobs.strand.size // n_threads)
        match_kernel[n_blocks, n_threads](there, strands, jobs, np.int64(self.least), results)

    def _bring(self, segment):
        with self.stages.timed("copy in"):
            arrays = (device.upload(array) for array in (segment.sa, segment.rank, segment.lcp))
            return type(segment)(*arrays, self._words, self._blocks, segment.first)

    def _room_for(self, n):
        """n results in pinned memory, and n on the device."""
        if self._results[0].row.size < n:
            self._results = [Found(*(make(n, np.uint32) for _ in Found._fields)) for make in _MAKERS]
        return [Found(*(array[:n] for array in where)) for where in self._results]


_MAKERS = jit_device.pinned, jit_device.empty


def _copy_all(source, target):
    for there, here in zip(source, target, strict=True):
        jit_device.copy(there, here)


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


@seek.register(DeviceMummerGpu)
def seek_on_device(matcher, strands):
    return subqueries(matcher.host.lcp, matcher.least, *matcher.search(strands))


@collect.register(DeviceMummerGpu)
def collect_of_device(matcher, strands, anchors, start, stop, matches) -> int:
    return collect_on_cpu(matcher.host, strands, anchors, start, stop, matches)
