"""Figures 8, 9, 10b and 11 and table 4 of Truong et al. 2014 on a GPU, and scores on the CPU."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import click
import numpy as np
import runner
from inputs import LENGTH, random_sequences
from paper_kernels import GAINS, ColumnBatch, MatrixBatch
from runner import gpu_seconds

from fmx.align.gpu import Doubles, gain_words, packed_kernel, pair_up, shared_bytes
from fmx.align.jobs import AlignmentJob, cut
from fmx.align.pipeline import compute
from fmx.align.sequences import Scoring, Sequences
from fmx.machines import gpu

MATRIX_BYTES = 24 << 30  # most bytes of matrices in a batch
N_SEQUENCES = 4096  # distinct sequences of a large batch
LENGTHS = (256, 512, 1024, 1536, 2048)
SIZES = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)  # of batches
MATRIX_KERNELS = (  # name, threads of a block, k
    ("tiled", 0, 32), ("tiled", 0, 64), ("dscan", 128, 0), ("dscan", 256, 0), ("dscan", 512, 0),
    ("rscan", 32, 32), ("rscan", 64, 32),
)  # fmt: skip
PACKED = ((16, None, 128), (32, 128, 128), (48, 168, 128), (48, 168, 384))  # k, most registers, threads


def pair_row(
    part: str, name: str, seconds: float, pairs: int, length: int | None = None, **more: Any
) -> dict:
    """Return a row for one measurement; with ``length``, also the cells of sequences of this length."""
    row = {"part": part, "name": name, **more, "pairs": pairs, "length": length, "seconds": seconds}
    row["pairs_per_s"] = pairs / seconds
    return row | ({"gcells_per_s": pairs * length * length / seconds / 1e9} if length else {})


def scores(threads: int, n_runs: int, n: int = 120) -> list:
    """Time scores of all pairs of n random sequences on the CPU: fmx with bytes or int32, parasail."""
    sequences, rows = random_sequences(n, LENGTH), []
    for name, scoring in (("bytes", Scoring()), ("int32", Scoring(400, -500, -1001))):
        job = AlignmentJob(sequences, sequences, half=True, scoring=scoring, paths=False)
        work = partial(_compute_all, job, threads)
        work()  # compiles
        seconds = runner.best(work, n_runs)
        rows.append(pair_row("scores", f"fmx {name}", seconds, n * (n - 1) // 2, LENGTH, threads=threads))
    return rows


def _compute_all(job: AlignmentJob, threads: int) -> None:
    for _ in compute(job, cut(job), threads):
        pass


def _matrices(n_pairs: int, length: int) -> MatrixBatch:
    queries, targets = random_sequences(n_pairs, length), random_sequences(n_pairs, length, 2)
    return MatrixBatch(queries, targets, np.arange(n_pairs), np.arange(n_pairs))


def _lazy(part: str, n_pairs: int, length: int, block: int, k: int) -> dict:
    """Return a row of LazyRScan."""
    queries, targets = (random_sequences(N_SEQUENCES, length, seed) for seed in (1, 2))
    index = np.arange(n_pairs) % N_SEQUENCES
    columns = ColumnBatch(queries, targets, index, np.roll(index, 1))
    spent = gpu_seconds(lambda: columns.run(block, k), 1)
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
    spent = gpu_seconds(lambda: score[blocks, block](*call), n_runs)
    more = {"registers": used, "threads": blocks * block}
    return pair_row(part, "packed", spent, pairs.size, length, block=block, k=k, **more)


def kernels() -> list:
    """Figures 8 and 9: kernels with sequences of several lengths, in batches as large as memory allows."""
    rows = []
    for length in LENGTHS:
        n = min(MATRIX_BYTES // (4 * length * length), 16384)
        m = _matrices(n, length)
        for name, block, k in MATRIX_KERNELS:
            spent = gpu_seconds(partial(m.run, name, block, k), 1)
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
            rows.append(pair_row("batches", name, gpu_seconds(partial(m.run, name), 1), n, length))
    return rows


def slices() -> list:
    """Table 4 and figure 11: block and slice size of LazyRScan; k and registers of the packed kernel."""
    rows = []
    for block in (32, 64, 128, 256, 512):
        for k in (4, 8, 12, 18, 37, 75):
            if shared_bytes(k, block) <= 48 << 10:
                rows.append(_lazy("slices", 132 * 512, LENGTH, block, k))
    return rows + [_packed("slices", LENGTH, *way) for way in PACKED]


PARTS = {"slices": slices, "kernels": kernels, "batches": batches}


@click.command("scores")
@click.option("--gpu", "with_gpu", is_flag=True, help="Also time the kernels on a GPU.")
@click.option("--part", "parts", type=click.Choice(["scores", *PARTS]), multiple=True, help="Only these.")
@runner.common
def scores_command(**given: Any) -> None:
    """Time scores of pairs of sequences on the CPU, and the paper's kernels on a GPU."""
    parts, rows = given["parts"] or ("scores", *PARTS), []
    device = f"{runner.open_gpu()}; {runner.machine()}" if given["with_gpu"] else runner.machine()
    if "scores" in parts:
        rows += scores(given["threads"], given["n_runs"])
    for part, measure in PARTS.items() if given["with_gpu"] else ():
        if part in parts:
            rows += measure()
    runner.keep(given["output"], "pairwise", device, rows)
