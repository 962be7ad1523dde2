"""A GPU as a worker (machines/pipeline.py): pulls chunks, scores their pairs, leaves the paths to the CPU.

Flights alternate (machines/gpu_session.py): while one computes, the other's pairs are copied in and
its scores out. A flight gathers chunks until it can fill the GPU.
"""

from collections import deque

import numpy as np

from ...compiler.cuda import SIMULATED
from ...errors import UnsupportedError
from ...machines import gpu
from ...machines.gpu_memory import room_beside
from ..jobs import Pairs, Worker, plan, select
from .batch import Batch
from .lazy import run_lazy
from .packed import BLOCK, Doubles, fits, gain_words, packed_kernel, pair_up

RESIDENT = 1  # blocks of packed.BLOCK threads on a multiprocessor
N_FLIGHTS = 2
PAIRS = 1 << 19  # in a flight, as long as chunks are there


class Scorer:
    """The sequences of a job on a GPU, and H of lists of pairs of them, one list a flight."""

    def __init__(self, job, session):
        self.job, self.packed = job, fits(job.queries, job.targets, job.scoring.gains)
        longest = [int(s.lengths().max(initial=0)) for s in (job.queries, job.targets)]
        if not self.packed and max(job.scoring.gains) * min(longest) > 2**31 - 1:
            raise UnsupportedError("scores of these sequences need more than 32 bits: take --engine cpu")
        self.session, self.longest, queries, targets = session, longest[0], job.queries, job.targets
        codes = gain_words(queries.codes, job.scoring.gains) if self.packed else queries.codes
        arrays = [
            np.append(codes, codes.dtype.type(0)), queries.starts,
            np.append(targets.codes, np.uint8(0)), targets.starts, np.array(job.scoring.gains, np.int32),
        ]  # fmt: skip
        self.n_threads = 4 if SIMULATED else gpu.n_multiprocessors() * RESIDENT * BLOCK
        column = 4 * (self.longest + 1) * (self.n_threads if self.packed else 1)
        resident = sum(array.nbytes for array in arrays)
        room_beside(session.memory, resident, N_FLIGHTS * (column + 16 * PAIRS), "the set of sequences")
        *self._sequences, self._gains = map(gpu.to_device, arrays)
        self._place = np.argsort(np.argsort(targets.lengths()))  # of each target by length

    def order(self, pairs):
        """The order of pairs by query, then by length of the target, so that neighbours take as long."""
        return np.argsort(pairs.query * self._place.size + self._place[pairs.target])

    def start(self, flight, pairs):
        """Send the pairs and begin; returns at once."""
        order = self.order(pairs)
        if self.packed:
            *lists, slots = pair_up(pairs.query[order], pairs.target[order])
        else:
            lists = [pairs.query[order].astype(np.int32), pairs.target[order].astype(np.int32)]
            slots = np.arange(order.size)
        n, slot = lists[0].size, np.empty(order.size, np.int64)
        slot[order] = slots
        kind = np.uint32 if self.packed else np.int32
        out = flight.here("out", n, kind)[:n]
        flight.holds = out, slot
        if not n:
            return
        packed = [(str(i), flight.pack(str(i), [values])) for i, values in enumerate(lists)]
        flight.begin("copy in")
        there, lists = flight.there("out", n, kind), [flight.send(*item) for item in packed]
        flight.begin("score")
        (self._run_packed if self.packed else self._run_wide)(flight, lists, there, n)
        flight.receive([there], [out])

    def _run_packed(self, flight, lists, out, n):
        block = 2 if SIMULATED else BLOCK
        blocks = max(1, min(-(-n // block), self.n_threads // block))
        column = flight.there("column", (self.longest + 1) * blocks * block, np.uint32)
        doubles, mismatch = Doubles(*self._sequences, *lists), np.uint32(self.job.scoring.gains[1])
        packed_kernel()[blocks, block, flight.stream](doubles, mismatch, column, out, n)

    def _run_wide(self, flight, lists, out, n):
        column = flight.there("column", self.longest * n, np.int32)
        run_lazy(Batch(*self._sequences, *lists, self._gains), column, out, n, stream=flight.stream)

    def finish(self, flight):
        """H of the pairs that the flight was started with, int64, in their order."""
        flight.wait()
        out, slot = flight.holds
        return (out.view("<u2") if self.packed else out)[slot].astype(np.int64)


def _gpu_loop(road, job, shared, pack, session):
    """Pull groups of chunks, keep some in flight, hand scores on."""
    scorer, tools = Scorer(job, session), Worker(job, shared)
    idle = deque(session.flight() for _ in range(N_FLIGHTS))
    flying: deque = deque()
    while True:
        group = _pull(road, job, shared, wait=not flying) if idle else []
        if group:
            flight = idle.popleft()
            columns = zip(*(pairs for _, pairs in group), strict=True)
            scorer.start(flight, Pairs(*map(np.concatenate, columns)))
            flying.append((flight, group))
        if not flying:
            return
        if not idle or not group:
            flight, group = flying.popleft()
            _hand_on(road, job, pack, tools, group, scorer.finish(flight))
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


def cuda_loops(road, job, shared, pack, sessions) -> list:
    """One loop for each GpuSession."""

    def loop(session):
        return lambda: session.run(_gpu_loop, road, job, shared, pack, session)

    return [loop(session) for session in sessions]
