"""Part "gpus" of fmx bench pairwise: all pairs of genes on one GPU and on several."""

import time
from contextlib import closing

from ...align.journey import PairOptions, records
from ...machines.places import Device
from ...machines.progress import Progress
from .gpu_counts import counts_of
from .pairs import row

IDENTITY = 0.97


def gpus(genes, first, asked, n_threads, n_runs) -> list:
    """A row for each number of GPUs, from number ``first`` on: the fastest run, GPUs opened before.

    Every pair is scored.  Raises AssertionError where they find other alignments.
    """
    options = PairOptions(identity=IDENTITY, prefilter=False, n_threads=n_threads)
    rows, found, one = [], set(), 0.0
    for n in counts_of(first, asked):
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
        more = {"GPUs": n, "threads": n_threads, "times one": one / seconds, "kept": len(kept)}
        rows.append(row("gpus", "fmx", seconds, n_pairs, **more))
    if len(found) != 1:
        raise AssertionError("one GPU and several do not agree")
    return rows
