"""A GPU as a worker (machines/pipeline.py): pulls chunks, scores their pairs, leaves the paths to the CPU.

GpuStreams alternate (machines/gpu_session.py): while one computes, the other's pairs are copied in and
its scores out. A stream gathers chunks until it can fill the GPU.
"""

from collections import deque
from functools import partial

import numpy as np

from ...compiler.cuda import SIMULATED
from ...errors import UnsupportedError
from ...machines import gpu
from ...machines.gpu import memory_beside
from ..jobs import Pairs
from ..worker import plan, select
from .kernels import BLOCK, Batch, Doubles, fits, gain_words, packed_kernel, pair_up, run_lazy

N_STREAMS = 2
PAIRS = 1 << 19  # in a stream, as long as chunks are there


class Scorer:
    """The sequences of a job on a GPU, and H of lists of pairs of them, one list a stream.

    A block of BLOCK threads on each multiprocessor; packed where 16 bits are enough (kernels.py).
    """

    def __init__(self, job, session):
        """Raises DeviceError, UnsupportedError where they do not fit."""
        self.job, self.session, queries, targets = job, session, job.queries, job.targets
        gains, self.packed = job.scoring.gains, fits(queries, targets, job.scoring.gains)
        if not self.packed and max(gains) * min(queries.longest, targets.longest) > 2**31 - 1:
            raise UnsupportedError("scores of these sequences need more than 32 bits: take --engine cpu")
        codes = gain_words(queries.codes, gains) if self.packed else queries.codes
        arrays = [
            np.append(codes, codes.dtype.type(0)), queries.starts,
            np.append(targets.codes, np.uint8(0)), targets.starts, np.array(gains, np.int32),
        ]  # fmt: skip
        self.n_threads = 4 if SIMULATED else gpu.n_multiprocessors() * BLOCK
        column = 4 * (queries.longest + 1) * (self.n_threads if self.packed else 1)
        resident = sum(array.nbytes for array in arrays)
        memory_beside(session.memory, resident, N_STREAMS * (column + 16 * PAIRS), "the set of sequences")
        *self._sequences, self._gains = map(gpu.to_device, arrays)

    def start(self, stream, pairs):
        """Send the pairs and begin; returns at once."""
        order = self.job.order(pairs)
        query, target = pairs.query[order], pairs.target[order]
        if self.packed:
            *lists, slots = pair_up(query, target)
        else:
            lists, slots = [query.astype(np.int32), target.astype(np.int32)], np.arange(order.size)
        n, slot = lists[0].size, np.empty(order.size, np.int64)
        slot[order] = slots
        kind = np.uint32 if self.packed else np.int32
        out = stream.here("out", n, kind)[:n]
        stream.holds = out, slot
        if not n:
            return
        packed = [(str(i), stream.pack(str(i), [values])) for i, values in enumerate(lists)]
        stream.begin("copy in")
        there, lists = stream.there("out", n, kind), [stream.send(*item) for item in packed]
        stream.begin("score")
        (self._run_packed if self.packed else self._run_wide)(stream, lists, there, n)
        stream.receive([there], [out])

    def _run_packed(self, stream, lists, out, n):
        block = 2 if SIMULATED else BLOCK
        blocks = max(1, min(-(-n // block), self.n_threads // block))
        column = stream.there("column", (self.job.queries.longest + 1) * blocks * block, np.uint32)
        doubles, mismatch = Doubles(*self._sequences, *lists), np.uint32(self.job.scoring.gains[1])
        packed_kernel()[blocks, block, stream.handle](doubles, mismatch, column, out, n)

    def _run_wide(self, stream, lists, out, n):
        column = stream.there("column", self.job.queries.longest * n, np.int32)
        run_lazy(Batch(*self._sequences, *lists, self._gains), column, out, n, stream=stream.handle)

    def finish(self, stream):
        """H of the pairs that the stream was started with, int64, in their order."""
        stream.wait()
        out, slot = stream.holds
        return (out.view("<u2") if self.packed else out)[slot].astype(np.int64)


def cuda_loops(queue, job, pack, sessions) -> list:
    """One loop for each GpuSession: it takes chunks from the ``queue`` and packs results by ``pack``."""
    return [partial(session.run, _gpu_loop, queue, job, pack, session) for session in sessions]


def _gpu_loop(queue, job, pack, session):
    """Pull groups of chunks, keep some in flight, hand scores on."""
    scorer = Scorer(job, session)
    idle = deque(session.stream() for _ in range(N_STREAMS))
    flying: deque = deque()
    while True:
        group = _pull(queue, job, wait=not flying) if idle else []
        if group:
            stream = idle.popleft()
            columns = zip(*(pairs for _, pairs in group), strict=True)
            scorer.start(stream, Pairs(*map(np.concatenate, columns)))
            flying.append((stream, group))
        elif flying:
            stream, group = flying.popleft()
            _hand_on(queue, job, pack, group, scorer.finish(stream))
            idle.append(stream)
        else:
            return


def _pull(queue, job, wait):
    """Some chunks and their pairs: [(slot, Pairs)]."""
    group, n = [], 0
    while n < PAIRS and (taken := queue.take(continuations=False, wait=wait and not group)) is not None:
        slot, chunk = taken
        group.append((slot, select(job, chunk)))
        n += group[-1][1].query.size
    return group


def _hand_on(queue, job, pack, group, h):
    """Scores are results; paths are left to whoever takes them."""
    for slot, pairs in group:
        values, h = h[: pairs.query.size], h[pairs.query.size :]
        if job.paths:
            queue.continue_later(slot, partial(_trace, pairs, values))
        else:
            queue.finish(slot, pack(job.totals(pairs, values)))


def _trace(pairs, h, worker):
    return worker.align(pairs, plan(worker.job, pairs)[0], h)
