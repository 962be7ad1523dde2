"""GPU parts of fmx bench pairwise: the paper's figures 8 to 11 and table 4 on this GPU."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..align.gpu import Doubles, Scorer, gain_words, packed_kernel, pair_up, shared_bytes
from ..align.jobs import AlignmentJob, PairList, Worker, plan, select
from ..align.pipeline import PairOptions, records
from ..align.records import Records
from ..align.sequences import Sequences, read_sequences
from ..compiler.cuda import add_max_u16x2, cuda, device_function, kernel, max_u16x2, permute_bytes
from ..machines import gpu
from ..machines.gpu_session import GpuSession
from ..machines.places import Device
from ..machines.progress import Progress
from ..measure.gpu_timing import seconds
from .files import LENGTH, random_sequences
from .options import pair_row, steps_of_gpus
from .paper_kernels import GAINS, ColumnBatch, MatrixBatch

MATRIX_BYTES = 24 << 30  # most bytes of matrices in a batch
N_SEQUENCES = 4096  # distinct sequences of a large batch
LENGTHS = (256, 512, 1024, 1536, 2048)
SIZES = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)  # of batches
MATRIX_KERNELS = (  # name, threads of a block, k
    ("tiled", 0, 32), ("tiled", 0, 64), ("dscan", 128, 0), ("dscan", 256, 0), ("dscan", 512, 0),
    ("rscan", 32, 32), ("rscan", 64, 32),
)  # fmt: skip
PACKED = (  # k, most registers, threads of a block
    (8, None, 128), (16, 64, 128), (16, None, 128), (24, None, 128), (24, 96, 128), (32, None, 128),
    (32, 112, 128), (32, 128, 128), (32, 112, 64), (32, 112, 256), (40, 128, 128), (48, 168, 128),
    (48, 168, 384), (64, 224, 256),
)  # fmt: skip


def _matrices(n_pairs: int, length: int) -> MatrixBatch:
    queries, targets = random_sequences(n_pairs, length), random_sequences(n_pairs, length, 2)
    return MatrixBatch(queries, targets, np.arange(n_pairs), np.arange(n_pairs))


def _lazy(part: str, n_pairs: int, length: int, block: int, k: int) -> dict:
    """Return a row of LazyRScan."""
    queries, targets = (random_sequences(N_SEQUENCES, length, seed) for seed in (1, 2))
    index = np.arange(n_pairs) % N_SEQUENCES
    columns = ColumnBatch(queries, targets, index, np.roll(index, 1))
    spent = seconds(lambda: columns.run(block, k), 1)
    return pair_row(part, "lazy", spent, n_pairs, length, block=block, k=k)


def _packed(part: str, length: int, k: int, registers: int | None, block: int, n_runs: int = 2) -> dict:
    """Return a row of the packed kernel at full occupancy, in two waves."""
    score, n = packed_kernel(k, registers), N_SEQUENCES // 2
    queries, targets = random_sequences(n, length), random_sequences(n, length, 2)
    tiny = random_sequences(1, 8)

    def arguments(
        s: Sequences, t: Sequences, query: np.ndarray, target: np.ndarray, n_threads: int, n_rows: int
    ) -> tuple:
        query, first, second, _ = pair_up(query, target)
        words = np.append(gain_words(s.codes, GAINS), np.uint32(0))
        arrays = (words, s.starts, np.append(t.codes, np.uint8(0)), t.starts, query, first, second)
        column = gpu.empty((n_rows + 1) * n_threads, np.uint32)
        out = gpu.empty(query.size, np.uint32)
        return Doubles(*map(gpu.take, arrays)), np.uint32(GAINS[1]), column, out, query.size

    zeros = np.zeros(2, np.int64)
    score[1, block](*arguments(tiny, tiny, zeros, zeros, block, 8))
    used = score.attribute("NUM_REGS")
    blocks = gpu.n_multiprocessors() * min(2048 // block, 65536 // (-(-used // 8) * 8 * block))
    pairs = np.arange(4 * blocks * block)
    call = arguments(queries, targets, np.sort(pairs // 2 % n), pairs * 7 % n, blocks * block, length)
    spent = seconds(lambda: score[blocks, block](*call), n_runs)
    more = {"registers": used, "threads": blocks * block}
    return pair_row(part, "packed", spent, pairs.size, length, block=block, k=k, **more)


def peak() -> list:
    """Return instructions per second (lanes counted) of the packed kernel's three, each alone."""

    def make(step: Any) -> Any:
        def run(out, n):
            x = cuda.grid(1)
            a, b = np.uint32(x), np.uint32(x * 3)
            c, d = np.uint32(x * 5), np.uint32(x * 7)
            for _ in range(n):
                for _ in range(8):
                    a, b, c, d = step(a, b), step(b, c), step(c, d), step(d, a)
            out[x] = max_u16x2(max_u16x2(a, b), max_u16x2(c, d))

        return kernel(run)

    steps = {
        "VIMNMX.U16x2": device_function(lambda x, y: max_u16x2(x, y)),
        "VIADDMNMX.U16x2": device_function(lambda x, y: add_max_u16x2(x, y, y)),
        "PRMT": device_function(lambda x, y: permute_bytes(x, y, y)),
    }
    rows = []
    blocks, block, n = gpu.n_multiprocessors() * 8, 256, 2000
    out = gpu.empty(blocks * block, np.uint32)
    for name, step in steps.items():
        run = make(step)
        spent = seconds(partial(run[blocks, block], out, n))
        rows.append({"part": "peak", "name": name, "gops_per_s": blocks * block * n * 32 / spent / 1e9})
    return rows


def kernels() -> list:
    """Figures 8 and 9: kernels with sequences of several lengths, in batches as large as memory allows."""
    rows = []
    for length in LENGTHS:
        n = min(MATRIX_BYTES // (4 * length * length), 16384)
        m = _matrices(n, length)
        for name, block, k in MATRIX_KERNELS:
            spent = seconds(partial(m.run, name, block, k), 1)
            rows.append(pair_row("kernels", name, spent, n, length, block=block, k=k))
        rows.append(_lazy("kernels", 132 * 1024, length, 128, 18))
        rows.append(_packed("kernels", length, 48, 168, 384, n_runs=3))
    return rows


def batches(sizes: Sequence[int] = SIZES, length: int = LENGTH) -> list:
    """Figures 8 and 10b: throughput by number of pairs in a batch."""
    rows = []
    for n in sizes:
        m = _matrices(n, length)
        for name in ("tiled", "dscan", "rscan"):
            rows.append(pair_row("batches", name, seconds(partial(m.run, name), 1), n, length))
    return rows


def copies(n: int = 128, n_batches: int = 6, length: int = LENGTH) -> list:
    """Figure 10a: DScan with its matrices copied out: pageable, pinned, pinned and double-buffered."""
    m, halves = _matrices(n, length), [_matrices(n // 2, length) for _ in range(2)]
    pinned = gpu.pinned(m.matrix.size, np.int32)
    streams = [gpu.stream(), gpu.stream()]
    parts = [pinned[: halves[0].matrix.size], pinned[m.matrix.size - halves[1].matrix.size :]]

    def single(host: Any) -> None:
        for _ in range(n_batches // 2):
            m.run("dscan")
            gpu.to_host(m.matrix, host)

    def double(_: Any) -> None:
        for i in range(n_batches):
            halves[i % 2].run("dscan", stream=streams[i % 2])
            gpu.to_host(halves[i % 2].matrix, parts[i % 2], streams[i % 2])

    ways = {
        "pageable": (single, np.empty(m.matrix.size, np.int32)), "pinned": (single, pinned),
        "double-buffered": (double, pinned),
    }  # fmt: skip
    return [
        pair_row("copies", name, seconds(partial(run, host), 1), n * (n_batches // 2), length)
        for name, (run, host) in ways.items()
    ]


def slices() -> list:
    """Table 4 and figure 11: block and slice size of LazyRScan; k and registers of the packed kernel."""
    rows = []
    for block in (32, 64, 128, 256, 512):
        for k in (4, 8, 12, 18, 37, 75):
            if shared_bytes(k, block) <= 48 << 10:
                rows.append(_lazy("slices", 132 * 512, LENGTH, block, k))
    return rows + [_packed("slices", LENGTH, *way) for way in PACKED]


PARTS = {"peak": peak, "slices": slices, "kernels": kernels, "batches": batches, "copies": copies}


# The paper's table 5: 19,900 pairs at 97 %, filtered by different kernels, then traced on the CPU.

_AT_ONCE = 2048  # pairs whose matrices are in memory at a time


def _dscan(job: AlignmentJob, pairs: PairList) -> np.ndarray:
    """Return H of pairs from whole matrices, which stay on the GPU."""
    h = np.empty(pairs.query.size, np.int64)
    for first in range(0, h.size, _AT_ONCE):
        query, target = (column[first : first + _AT_ONCE] for column in (pairs.query, pairs.target))
        m = MatrixBatch(job.queries, job.targets, query, target, job.scoring.gains)
        m.run("dscan")
        out = gpu.empty(m.n, np.int32)
        _corners_kernel[-(-m.n // 128), 128](m.matrix, m.starts, out)
        h[first : first + m.n] = gpu.to_host(out)
    return h


@kernel
def _corners_kernel(matrix, starts, out):
    """Copy the last value of each pair's matrix (MatrixBatch) to out int32[n], one thread per pair."""
    pair = cuda.grid(1)
    if pair < out.size:
        out[pair] = matrix[starts[pair + 1] - 1]


def _lazy_filter(job: AlignmentJob, pairs: PairList) -> np.ndarray:
    """Return H of pairs by LazyRScan."""
    columns = ColumnBatch(job.queries, job.targets, pairs.query, pairs.target, job.scoring.gains)
    columns.run(128, 18)
    return gpu.to_host(columns.out).astype(np.int64)


def _all(job: AlignmentJob, pairs: PairList) -> Records:
    """Trace every pair from its score, then drop those below the identity."""
    worker = Worker(replace(job, identity=0.0))
    least, _ = plan(worker.job, pairs)
    records = worker.align(pairs, least, worker.score(pairs))
    keep = records.identity >= job.identity
    n_runs = np.diff(records.first_run)
    first_run = np.append(0, np.cumsum(n_runs[keep]))
    kept = {"query": records.query[keep], "target": records.target[keep], "first_run": first_run}
    return records._replace(**kept, runs=records.runs[np.repeat(keep, n_runs)])


def table_5(fasta: Path, device: int = 0) -> list:
    """Return a row for each way: seconds to filter and to trace, and pairs traced.

    Raises AssertionError if they differ.
    """
    _, sequences = read_sequences(str(fasta))
    job = AlignmentJob(sequences, sequences, half=True, identity=0.97, prefilter=False)
    worker, pairs = Worker(job), select(job, (0, sequences.n))
    scorer = Scorer(job, session := GpuSession(device))
    stream = session.stream()

    def packed() -> np.ndarray:
        scorer.start(stream, pairs)
        return scorer.finish(stream)

    ways = {
        "CPU, every pair traced": None, "CPU lanes": lambda: worker.score(pairs),
        "DScan": lambda: _dscan(job, pairs), "LazyRScan": lambda: _lazy_filter(job, pairs),
        "LazyRScan packed": packed,
    }  # fmt: skip
    rows, found = [], set()
    for name, score in ways.items():
        for _ in range(2):  # the first compiles
            start = time.perf_counter()
            least, _ = plan(job, pairs)
            h = score() if score else None
            filtered = time.perf_counter() - start
            records = worker.align(pairs, least, h) if score else _all(job, pairs)
            total = time.perf_counter() - start
        traced = pairs.query.size if h is None else int((job.totals(pairs, h) >= least).sum())
        found.add((records.query.tobytes(), records.target.tobytes(), records.runs.tobytes()))
        pair_row = {"part": "table 5", "name": name, "filter_seconds": filtered if score else 0.0}
        pair_row |= {"seconds": total, "pairs_per_s": pairs.query.size / total}
        rows.append(pair_row | {"traced": traced, "kept": records.query.size})
    if len(found) != 1:
        raise AssertionError("the ways find different alignments")
    return rows


# Part "gpus" of fmx bench pairwise: all pairs of genes on one GPU and on several.

IDENTITY = 0.97


def gpus(genes: str, first: int, asked: int | None, n_threads: int, n_runs: int) -> list:
    """Return a row for each number of GPUs, from GPU ``first`` on: the fastest run, with GPUs already open.

    Every pair is scored. Raises AssertionError if they find different alignments.
    """
    options = PairOptions(identity=IDENTITY, prefilter=False, n_threads=n_threads)
    rows, found, one = [], set(), 0.0
    for n in steps_of_gpus(first, asked):
        times = []
        for _ in range(n_runs + 1):  # the first compiles
            _, job, pieces = records([genes], options, Progress(quiet=True), Device("cuda", first, n_gpus=n))
            start = time.perf_counter()
            with closing(pieces):
                kept = [record for piece in pieces for record in zip(piece.query, piece.target, strict=True)]
            times.append(time.perf_counter() - start)
        found.add(tuple(kept))
        seconds, n_pairs = min(times[1:]), job.queries.n * (job.queries.n - 1) // 2
        one = one or seconds
        more: dict = {"GPUs": n, "threads": n_threads, "times one": one / seconds, "kept": len(kept)}
        rows.append(pair_row("gpus", "fmx", seconds, n_pairs, **more))
    if len(found) != 1:
        raise AssertionError("one GPU and several find different alignments")
    return rows
