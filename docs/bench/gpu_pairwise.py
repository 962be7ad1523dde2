"""Figures 8, 9, 10b and 11 and table 4 of Truong et al. 2014 on a GPU."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click
import numpy as np
import runner
from inputs import LENGTH, random_sequences
from paper_kernels import ColumnBatch, MatrixBatch, run_dscan, run_rscan, run_tiled
from runner import gpu_seconds

from fmx.align.gpu import shared_bytes

MATRIX_BYTES = 24 << 30  # most bytes of matrices in a batch
N_SEQUENCES = 4096  # distinct sequences of a large batch
LENGTHS = (256, 512, 1024, 1536, 2048)
SIZES = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)  # of batches
RUN: dict[str, Callable[..., None]] = {"tiled": run_tiled, "dscan": run_dscan, "rscan": run_rscan}
MATRIX_KERNELS: list[tuple[str, dict[str, int]]] = [  # name, and the threads of a block or k, or both
    *(("tiled", {"k": k}) for k in (32, 64)),
    *(("dscan", {"block": block}) for block in (128, 256, 512)),
    *(("rscan", {"block": block, "k": 32}) for block in (32, 64)),
]


def pair_row(part: str, name: str, seconds: float, pairs: int, length: int, **more: Any) -> dict:
    """Return a row for one measurement of pairs of sequences of one length."""
    row = {"part": part, "name": name, **more, "pairs": pairs, "length": length, "seconds": seconds}
    return row | {"pairs_per_s": pairs / seconds, "gcells_per_s": pairs * length * length / seconds / 1e9}


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


def kernels() -> list:
    """Figures 8 and 9: kernels with sequences of several lengths, in batches as large as memory allows."""
    rows = []
    for length in LENGTHS:
        n = min(MATRIX_BYTES // (4 * length * length), 16384)
        m = _matrices(n, length)
        for name, sizes in MATRIX_KERNELS:
            spent = gpu_seconds(partial(RUN[name], m, **sizes), 1)
            rows.append(pair_row("kernels", name, spent, n, length, **sizes))
        rows.append(_lazy("kernels", 132 * 1024, length, 128, 18))
    return rows


def batches(sizes: Sequence[int] = SIZES, length: int = LENGTH) -> list:
    """Figures 8 and 10b: throughput by number of pairs in a batch."""
    rows = []
    for n in sizes:
        m = _matrices(n, length)
        for name, launch in RUN.items():
            rows.append(pair_row("batches", name, gpu_seconds(partial(launch, m), 1), n, length))
    return rows


def slices() -> list:
    """Table 4 and figure 11: block and slice size of LazyRScan."""
    rows = []
    for block in (32, 64, 128, 256, 512):
        for k in (4, 8, 12, 18, 37, 75):
            if shared_bytes(k, block) <= 48 << 10:
                rows.append(_lazy("slices", 132 * 512, LENGTH, block, k))
    return rows


PARTS = {"slices": slices, "kernels": kernels, "batches": batches}


@click.command("kernels")
@click.option("--part", "parts", type=click.Choice(list(PARTS)), multiple=True, help="Only these.")
@runner.common
def kernels_command(output: str, parts: tuple[str, ...], **_: Any) -> None:
    """Time the kernels of Truong et al. 2014 on a GPU."""
    device = runner.open_gpu()
    rows = [row for part in parts or PARTS for row in PARTS[part]()]
    runner.keep(output, "pairwise", device, rows)
