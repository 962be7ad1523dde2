"""A GPU as a worker (machines/pipeline.py): pulls chunks, scores their pairs, leaves the paths to the CPU.

Two flights alternate (pinned memory, a stream each): while one computes, the other's pairs are copied in and
its scores out. A flight gathers chunks until it can fill the GPU.
"""

from collections import deque

import numpy as np

from ...compiler.cuda import SIMULATED, cuda, multiprocessors
from ...errors import UnsupportedError
from ..jobs import Pairs, Worker, plan, select
from .lazy import run_lazy
from .packed import BLOCK, Doubles, fits, gain_words, packed_kernel, pair_up

RESIDENT = 1  # blocks of packed.BLOCK threads on a multiprocessor
PAIRS = 1 << 19  # in a flight, as long as chunks are there


class Scorer:
    """The sequences of a job on one GPU, and H of lists of pairs of them."""

    def __init__(self, job, device=0):
        self.job, self.packed = job, fits(job.queries, job.targets, job.scoring.gains)
        longest = [int(s.lengths().max(initial=0)) for s in (job.queries, job.targets)]
        if not self.packed and max(job.scoring.gains) * min(longest) > 2**31 - 1:
            raise UnsupportedError("scores of these sequences need more than 32 bits: take --engine cpu")
        self.n_threads = multiprocessors(device) * RESIDENT * BLOCK if not SIMULATED else 4
        self.longest = longest[0]
        queries, targets = job.queries, job.targets
        if self.packed:
            words = gain_words(queries.codes, job.scoring.gains)
            self._words = cuda.to_device(np.append(words, np.uint32(0)))
        self._codes = cuda.to_device(np.append(queries.codes, np.uint8(0)))
        self._query_starts = cuda.to_device(queries.starts)
        self._target = cuda.to_device(np.append(targets.codes, np.uint8(0)))
        self._target_starts = cuda.to_device(targets.starts)
        self._gains = cuda.to_device(np.array(job.scoring.gains, np.int32))
        self._place = np.argsort(np.argsort(targets.lengths()))  # of each target by length

    def order(self, pairs):
        """The order of pairs by query, then by length of the target, so that neighbours take as long."""
        return np.argsort(pairs.query * self._place.size + self._place[pairs.target])

    def flight(self):
        """Scratch for one list of pairs at a time."""
        return Flight(self)


class Flight:
    """One stream, its pinned buffers and its device memory."""

    def __init__(self, scorer):
        self._scorer, self._stream = scorer, cuda.stream()
        self._n = self._n_work = self._slot = self._columns = 0
        self._pinned = self._out = self._column = self._lists = None

    def _room(self, n_work):
        """Buffers for n_work threads' worth of pairs."""
        if self._pinned is None or self._pinned.shape[1] < n_work:
            size = max(n_work, 1024)
            self._pinned = cuda.pinned_array((3, size), np.int32)
            self._lists = [cuda.device_array(size, np.int32) for _ in range(3)]
            self._out = cuda.pinned_array(size, np.uint32)
            self._device_out = cuda.device_array(size, np.uint32)

    def _column_room(self, n, dtype):
        if self._columns < n:
            self._column, self._columns = cuda.device_array(n, dtype), n
        return self._column

    def start(self, pairs):
        """Send the pairs and begin; returns at once."""
        s, stream = self._scorer, self._stream
        order = s.order(pairs)
        if s.packed:
            query, first, second, slot = pair_up(pairs.query[order], pairs.target[order])
        else:
            query, first = pairs.query[order], pairs.target[order]
            second, slot = first, np.arange(query.size)
        self._n, self._n_work = pairs.query.size, query.size
        self._slot = np.empty(self._n, np.int64)
        self._slot[order] = slot
        if not self._n:
            return
        self._room(query.size)
        for row, values in enumerate((query, first, second)):
            self._pinned[row, : query.size] = values
            self._lists[row].copy_to_device(self._pinned[row], stream)
        if s.packed:
            self._run_packed(stream)
        else:
            self._run_wide(stream)
        self._device_out.copy_to_host(self._out, stream)

    def _run_packed(self, stream):
        s = self._scorer
        block = 2 if SIMULATED else BLOCK
        blocks = max(1, min(-(-self._n_work // block), s.n_threads // block))
        column = self._column_room((s.longest + 1) * blocks * block, np.uint32)
        doubles = Doubles(s._words, s._query_starts, s._target, s._target_starts, *self._lists)
        mismatch = np.uint32(s.job.scoring.gains[1])
        packed_kernel()[blocks, block, stream](doubles, mismatch, column, self._device_out, self._n_work)

    def _run_wide(self, stream):
        from .batch import Batch

        s = self._scorer
        n = self._n_work
        column = self._column_room(s.longest * n, np.int32)
        batch = Batch(
            s._codes, s._query_starts, s._target, s._target_starts, self._lists[0], self._lists[1], s._gains
        )
        run_lazy(batch, column, self._device_out.view(np.int32), n, stream=stream)

    def finish(self):
        """H of the pairs, int64, in their order."""
        if not self._n:
            return np.empty(0, np.int64)
        self._stream.synchronize()
        out = self._out[: self._n_work]
        halves = out.view("<u2") if self._scorer.packed else out
        return np.asarray(halves)[self._slot].astype(np.int64)


def _gpu_loop(road, job, shared, pack, device):
    """Pull groups of chunks, keep two in flight, hand scores on."""
    cuda.select_device(device)
    scorer, tools = Scorer(job, device), Worker(job, shared)
    idle: deque = deque([scorer.flight(), scorer.flight()])
    flying: deque = deque()
    while True:
        group = _pull(road, job, shared, wait=not flying) if idle else []
        if group:
            flight = idle.popleft()
            flight.start(Pairs(*(np.concatenate(both) for both in zip(*(g[1] for g in group), strict=True))))
            flying.append((flight, group))
        if not flying:
            return
        if not idle or not group:
            flight, group = flying.popleft()
            _hand_on(road, job, pack, tools, group, flight.finish())
            idle.append(flight)


def _pull(road, job, shared, wait):
    """Some chunks and their pairs: [(ticket, Pairs)]."""
    group, n = [], 0
    while n < PAIRS:
        taken = road.take(follow_ups=False, wait=wait and not group)
        if taken is None:
            break
        ticket, chunk = taken
        group.append((ticket, select(job, shared, chunk)))
        n += group[-1][1].query.size
    return group


def _hand_on(road, job, pack, tools, group, h):
    at = 0
    for ticket, pairs in group:
        values = h[at : at + pairs.query.size]
        at += pairs.query.size
        if not job.paths:
            road.finish(ticket, pack(tools.totals(pairs, values)))
            continue
        road.follow_up(ticket, _tracer(pairs, values))


def _tracer(pairs, h):
    def trace(worker):
        least, _ = plan(worker.job, pairs)
        keep = worker.totals(pairs, h) >= least
        return worker.align(Pairs(pairs.query[keep], pairs.target[keep]), least[keep], h[keep])

    return trace


def cuda_loops(road, job, shared, pack, numbers) -> list:
    """One loop for each GPU of ``numbers``."""

    def loop(device):
        return lambda: _gpu_loop(road, job, shared, pack, device)

    return [loop(device) for device in numbers]
