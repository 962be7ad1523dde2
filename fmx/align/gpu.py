"""Scores on a GPU: the fastest kernel of Truong et al. 2014, its packed successor, and a GPU as a worker.

Both kernels compute H (sequences.py) of a batch of pairs cell by cell and keep only last columns.
LazyRScan-mNW has one thread per pair and keeps a row in shared memory. The packed kernel has one thread per
two pairs of 16 bits and keeps the row in registers. docs/bench/paper_kernels.py has the paper's other three,
which write whole matrices.
"""

from collections import deque
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ..compiler import SIMULATED
from ..compiler.warp import (
    INT32,
    UINT8,
    add_max_u16x2,
    cuda,
    device_function,
    kernel,
    max_u16x2,
    permute_bytes,
)
from ..errors import UnsupportedError
from ..machines import gpu
from ..machines.gpu import GpuSession, GpuStream, memory_beside
from ..machines.pipeline import OrderedQueue
from .jobs import AlignmentJob, PairList, Records, Worker, plan, select
from .sequences import Sequences

if TYPE_CHECKING:
    from ..machines.gpu import DeviceArray


class Batch(NamedTuple):
    """A batch of pairs.

    ``query``, ``target`` uint8: codes; their ``*_starts`` int64[n + 1]. ``pair_query``, ``pair_target``
    int32[batch]. ``gains`` int32[2]: what a match and a mismatch add.
    """

    query: np.ndarray
    query_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray
    pair_query: np.ndarray
    pair_target: np.ndarray
    gains: np.ndarray


@device_function
def extent(batch, pair):
    """Return (first code of the query, its length m, first code of the target, its length n)."""
    query, target = batch.pair_query[pair], batch.pair_target[pair]
    a, b = batch.query_starts[query], batch.target_starts[target]
    m, n = batch.query_starts[query + 1] - a, batch.target_starts[target + 1] - b
    return a, np.int32(m), b, np.int32(n)


@device_function
def query_code(batch, i):
    """Return the query's code at i; a letter that equals nothing gets a code that no target has."""
    code = batch.query[i]
    return code if code < 4 else np.uint8(8)


@device_function
def cell(a, b, match, mismatch, diagonal, up, left):
    """Return a cell of H, for code a of the query (from ``query_code``) and code b of the target."""
    gain = match if a == b else mismatch
    return max(diagonal + gain, max(up, left))


# LazyRScan-mNW: one thread per pair, in slices of k columns, of which only the last column is kept.
#
#     slice 0       slice 1             hybrid row   h[0..c-1] already of this row, h[c..k-1] of the row above
#     . . . .#|     . . . .#|           diagonal     in a register: what h[c - 1] held before
#     . . . .#|     . . . .#|           column       #: int32 [row][thread], so a warp's accesses are one line
#                                       codes        of the slice, in shared memory
#
# Global memory: threads x l ints. Shared memory: (k ints, k codes) x block. Only scores are copied back.


@kernel
def lazy_kernel(batch, column, out, k, n_pairs):
    """Compute H of each pair of a Batch (Truong et al. 2014: LazyRScan-mNW), ``k`` columns at a time.

    A thread computes one pair after another. ``column`` int32[longest m x threads]; ``out`` int32[n_pairs].
    Shared memory: ``shared_bytes``.
    """
    block, t = cuda.blockDim.x, cuda.threadIdx.x
    thread, stride = cuda.blockIdx.x * block + t, np.int64(cuda.gridDim.x) * block
    shared = cuda.shared.array(0, INT32)
    codes = cuda.shared.array(0, UINT8)
    y = 4 * k * block
    match, mismatch = batch.gains[0], batch.gains[1]
    zero = match * 0
    # unsigned indices: no test for negative ones in the inner loop
    first_place, first_code, step = np.uint64(t), np.uint64(y + t), np.uint64(block)
    for pair in range(thread, n_pairs, stride):
        a, m, b, n = extent(batch, pair)
        left = zero
        for column0 in range(0, n, k):
            width = min(k, n - column0)
            for c in range(width):
                codes[y + c * block + t] = batch.target[b + column0 + c]
                shared[c * block + t] = zero
            diagonal = left = zero
            for row in range(m):
                letter, place, code = query_code(batch, a + row), first_place, first_code
                left = column[row * stride + thread] if column0 > 0 else zero
                next_diagonal = left
                for _ in range(width):
                    up = shared[place]
                    left = cell(letter, codes[code], match, mismatch, diagonal, up, left)
                    shared[place] = left
                    diagonal = up
                    place, code = place + step, code + step
                column[row * stride + thread] = left
                diagonal = next_diagonal
        out[pair] = left


def shared_bytes(k: int, block: int) -> int:
    """Return the shared memory of a block (the paper's Table 1): k values of int32 and k codes per thread."""
    return 5 * k * block


def run_lazy(
    batch: Batch, column: "DeviceArray", out: "DeviceArray", n_pairs: int,
    grid: tuple[int, int], k: int = 16, stream: Any = 0,
) -> None:  # fmt: skip
    """Launch ``lazy_kernel`` for all pairs of a Batch.  ``grid``: blocks, and threads per block."""
    lazy_kernel[*grid, stream, shared_bytes(k, grid[1])](batch, column, out, k, n_pairs)


# LazyRScan with two pairs per thread in 16-bit halves: three instructions for two cells.
#
#     gain      one byte permutation: the query's letter gives a word of four bytes (what it gains against A,
#               C, G, T), the target's two letters give the selector   0x5050 | first | second << 8
#               (digit 4: the mismatch byte, for letters that equal nothing; digit 5: a zero byte)
#     best      max(diagonal + gain, above), one fused instruction on sm_90
#     value     max(best, left)
#
# The slice's row and selectors are in registers (k of each). Both halves have the same query. H never exceeds
# larger gain x shorter length, so 16 bits are exact up to 65,535 / gain bases (8,191 with the default
# scores). Columns beyond a target's end may wrap, but they do not affect the columns to their left.

_LIMIT = 65535
SLICE, _BLOCK, _REGISTERS = 48, 384, 168  # the fastest of those measured
_LAZY_BLOCK = 64  # threads


class Doubles(NamedTuple):
    """A batch of threads, each with one query and two targets.

    ``words`` uint32: gains of every base of the queries against A, C, G, T (lowest byte first), and one
    more: they are loaded ahead. ``target`` uint8: codes. ``*_starts`` int64. Others int32: per thread.
    """

    words: np.ndarray
    query_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray
    query: np.ndarray
    first: np.ndarray
    second: np.ndarray


def fits(queries: Sequences, targets: Sequences, gains: tuple[int, int]) -> bool:
    """Return whether 16 bits are exact for every pair of these sets."""
    longest = min(int(queries.lengths().max(initial=0)), int(targets.lengths().max(initial=0)))
    return max(gains) <= 255 and max(gains) * longest <= _LIMIT


def _gain_words(codes: np.ndarray, gains: tuple[int, int]) -> np.ndarray:
    """Return a uint32 per base of a query: one byte per base of a target."""
    match, mismatch = gains
    rows = np.full((5, 4), mismatch, np.uint8)
    rows[:4][np.eye(4, dtype=bool)] = match
    return rows.view("<u4").reshape(-1)[codes]


@cache
def packed_kernel(k: int = SLICE, registers: int | None = _REGISTERS) -> Any:
    """Return the kernel for slices of k columns; ``registers`` per thread at most (None: no limit)."""

    def run(doubles, mismatch, column, out, n_work):
        """Compute both H of each work item of Doubles; threads take items in turn.

        ``mismatch`` uint32: its gain. ``column`` uint32[(longest m + 1) x threads]. ``out`` uint32[n_work].
        """
        thread, stride = cuda.grid(1), cuda.gridsize(1)
        row = cuda.local.array(k, np.uint32)
        selector = cuda.local.array(k, np.uint32)
        zero, step = np.uint32(0), np.uint64(stride)
        for work in range(thread, n_work, stride):
            query, first, second = doubles.query[work], doubles.first[work], doubles.second[work]
            a = doubles.query_starts[query]
            m = np.int32(doubles.query_starts[query + 1] - a)
            b = doubles.target_starts[first]
            n = doubles.target_starts[first + 1] - b
            b2 = doubles.target_starts[second]
            n2 = doubles.target_starts[second + 1] - b2
            result = zero
            for column0 in range(0, max(n, n2), k):
                for c in range(k):
                    low = np.uint32(doubles.target[b + column0 + c]) if column0 + c < n else np.uint32(4)
                    high = np.uint32(doubles.target[b2 + column0 + c]) if column0 + c < n2 else np.uint32(4)
                    selector[c] = np.uint32(0x5050) | low | np.uint32(high << np.uint32(8))
                    row[c] = zero
                seen = np.uint32(0xFFFFFFFF) if column0 > 0 else zero
                diagonal, letter, place = zero, np.uint64(a), np.uint64(thread)
                word, before = doubles.words[letter], column[place]
                for _ in range(m):  # loads run a row ahead; indices are unsigned: no test for negative ones
                    now, left = word, before & seen
                    letter += np.uint64(1)
                    word, before = doubles.words[letter], column[place + step]
                    next_diagonal = left
                    for c in range(k):
                        above = row[c]
                        gain = permute_bytes(now, mismatch, selector[c])
                        left = max_u16x2(add_max_u16x2(diagonal, gain, above), left)
                        row[c] = left
                        diagonal = above
                    column[place] = left
                    place += step
                    diagonal = next_diagonal
                for c in range(k):
                    if column0 + c == n - 1:
                        result |= row[c] & np.uint32(0xFFFF)
                    if column0 + c == n2 - 1:
                        result |= row[c] & np.uint32(0xFFFF0000)
            out[work] = result

    return kernel(run, registers)


def _pair_up(pair_query: np.ndarray, pair_target: np.ndarray) -> tuple[np.ndarray, ...]:
    """Assign two pairs of one query to each thread; pairs must be sorted by query.

    Return (query, first, second) int32[threads] and ``slot`` int64[pairs]: 2 * thread + half.
    """
    n = pair_query.size
    new = np.ones(n, bool)
    new[1:] = pair_query[1:] != pair_query[:-1]
    begin = np.maximum.accumulate(np.where(new, np.arange(n), 0))
    half = (np.arange(n) - begin) & 1
    thread = np.cumsum(half == 0) - 1
    query = pair_query[half == 0].astype(np.int32)
    first = pair_target[half == 0].astype(np.int32)
    second = first.copy()
    second[thread[half == 1]] = pair_target[half == 1]
    return query, first, second, 2 * thread + half


# A GPU as a worker (machines/pipeline.py): takes chunks, scores their pairs, and leaves the paths to the CPU.
#
# GpuStreams alternate (machines/gpu.py): while one computes, the other copies pairs in and scores
# out. A stream collects chunks until it can fill the GPU.

_N_STREAMS = 2
PAIRS = 1 << 19  # per stream, as long as there are chunks


class Scorer:
    """The sequences of a job on a GPU, and H of lists of their pairs, one list per stream.

    As many threads as a GPU runs at a time, or as have room for a column; packed if 16 bits are enough.
    """

    def __init__(self, job: AlignmentJob, session: GpuSession) -> None:
        """Copy the sequences to the GPU. Raises DeviceError, UnsupportedError if they do not fit."""
        self.job, self.session, queries, targets = job, session, job.queries, job.targets
        gains, self.packed = job.scoring.gains, fits(queries, targets, job.scoring.gains)
        if not self.packed and max(gains) * min(queries.longest, targets.longest) > 2**31 - 1:
            raise UnsupportedError("scores of these sequences need more than 32 bits: use --engine cpu")
        codes = _gain_words(queries.codes, gains) if self.packed else queries.codes
        arrays = [
            np.append(codes, codes.dtype.type(0)), queries.starts,
            np.append(targets.codes, np.uint8(0)), targets.starts, np.array(gains, np.int32),
        ]  # fmt: skip
        if SIMULATED:
            self._block, most = 2, 2
        elif self.packed:
            self._block, most = _BLOCK, gpu.n_multiprocessors()
        else:
            self._block, most = _LAZY_BLOCK, gpu.n_multiprocessors() * 2048 // _LAZY_BLOCK
        columns = 4 * (queries.longest + 1) * self._block  # bytes of a block
        resident, lists = sum(array.nbytes for array in arrays), 16 * PAIRS
        least = _N_STREAMS * (columns + lists)
        room = memory_beside(session.memory, resident, least, "the set of sequences")
        self.n_blocks = min(most, (room // _N_STREAMS - lists) // columns)
        self._sequences: list = [gpu.to_device(array) for array in arrays[:4]]
        self._gains = gpu.to_device(arrays[4])

    def start(self, stream: GpuStream, pairs: PairList) -> None:
        """Send the pairs and launch the kernel; do not wait."""
        order = self.job.order(pairs)
        query, target = pairs.query[order], pairs.target[order]
        if self.packed:
            *lists, slots = _pair_up(query, target)
        else:
            lists, slots = [query.astype(np.int32), target.astype(np.int32)], np.arange(order.size)
        n, slot = lists[0].size, np.empty(order.size, np.int64)
        slot[order] = slots
        kind = np.uint32 if self.packed else np.int32
        out = stream.pinned_array("out", n, kind)[:n]
        stream.holds = out, slot
        if not n:
            return
        packed = [(str(i), stream.pack(str(i), [values])) for i, values in enumerate(lists)]
        stream.begin("copy in")
        scores, lists = stream.device_array("out", n, kind), [stream.send(*item) for item in packed]
        stream.begin("score")
        block, blocks = self._block, min(-(-n // self._block), self.n_blocks)
        column = stream.device_array("column", (self.job.queries.longest + 1) * blocks * block, kind)
        if self.packed:
            doubles, mismatch = Doubles(*self._sequences, *lists), np.uint32(self.job.scoring.gains[1])
            packed_kernel()[blocks, block, stream.handle](doubles, mismatch, column, scores, n)
        else:
            batch = Batch._make([*self._sequences, *lists, self._gains])
            run_lazy(batch, column, scores, n, (blocks, block), stream=stream.handle)
        stream.receive([scores], [out])

    def finish(self, stream: GpuStream) -> np.ndarray:
        """Return H of the pairs that the stream was started with, int64, in their order."""
        stream.wait()
        out, slot = cast(tuple[np.ndarray, np.ndarray], stream.holds)
        return (out.view("<u2") if self.packed else out)[slot].astype(np.int64)


def score_chunks(
    job: AlignmentJob, session: GpuSession, queue: OrderedQueue, pack: Callable[[Any], Any]
) -> None:
    """Score the chunks of a queue on a GPU, some groups of them at a time.

    Finishes chunks that need only scores, and queues the paths of others for threads of the CPU.
    """
    scorer = Scorer(job, session)
    idle = deque(GpuStream(session.clock) for _ in range(_N_STREAMS))
    running: deque = deque()
    while True:
        group: list = []
        n = 0 if idle else PAIRS
        while (
            n < PAIRS
            and (taken := queue.get(continuations=False, wait=not running and not group)) is not None
        ):
            group.append((taken[0], select(job, taken[1])))
            n += group[-1][1].query.size
        if group:
            stream = idle.popleft()
            columns = zip(*(pairs for _, pairs in group), strict=True)
            scorer.start(stream, PairList(*map(np.concatenate, columns)))
            running.append((stream, group))
        elif running:
            stream, group = running.popleft()
            h = scorer.finish(stream)
            for slot, pairs in group:
                values, h = h[: pairs.query.size], h[pairs.query.size :]
                if job.paths:
                    queue.continue_later(slot, partial(_trace, pairs, values))
                else:
                    queue.finish(slot, pack(job.totals(pairs, values)))
            idle.append(stream)
        else:
            return


def _trace(pairs: PairList, h: np.ndarray, worker: Worker) -> Records:
    return worker.align(pairs, plan(worker.job, pairs)[0], h)
