"""The paper's table 5: 19,900 pairs at 97 %, filtered by one kernel or another, then traced on the CPU."""

import time
from dataclasses import replace

import numpy as np

from ...align.cuda.worker import Scorer
from ...align.jobs import Job
from ...align.sequences import read_sequences
from ...align.worker import Worker, plan, select
from ...compiler.cuda import cuda, kernel
from ...machines import gpu
from ...machines.gpu_session import GpuSession
from .matrices import Columns, Matrices

_AT_ONCE = 2048  # pairs whose matrices are there at a time


def _dscan(job, pairs):
    """H of pairs from whole matrices, which stay on the GPU."""
    h = np.empty(pairs.query.size, np.int64)
    for first in range(0, h.size, _AT_ONCE):
        some = (column[first : first + _AT_ONCE] for column in (pairs.query, pairs.target))
        m = Matrices(job.queries, job.targets, *some, job.scoring.gains)
        m.run("dscan")
        out = gpu.empty(m.n, np.int32)
        _corners_kernel[-(-m.n // 128), 128](m.matrix, m.starts, out)
        h[first : first + m.n] = gpu.to_host(out)
    return h


@kernel
def _corners_kernel(matrix, starts, out):
    """A thread a pair: the last value of its matrix (as in Matrices) into out int32[n]."""
    pair = cuda.grid(1)
    if pair < out.size:
        out[pair] = matrix[starts[pair + 1] - 1]


def _lazy(job, pairs):
    """H of pairs."""
    columns = Columns(job.queries, job.targets, pairs.query, pairs.target, job.scoring.gains)
    columns.run(128, 18)
    return gpu.to_host(columns.out).astype(np.int64)


def _all(job, pairs):
    """Every pair traced from its score on, those below the identity then dropped."""
    worker = Worker(replace(job, identity=0.0))
    least, _ = plan(worker.job, pairs)
    records = worker.align(pairs, least, worker.score(pairs))
    keep = records.identity >= job.identity
    n_runs = np.diff(records.first_run)
    first_run = np.append(0, np.cumsum(n_runs[keep]))
    kept = {"query": records.query[keep], "target": records.target[keep], "first_run": first_run}
    return records._replace(**kept, runs=records.runs[np.repeat(keep, n_runs)])


def table_5(fasta, device=0) -> list:
    """A row for each way: seconds to filter and to trace, and pairs traced.  Raises if they do not agree."""
    _, sequences = read_sequences(fasta)
    job = Job(sequences, sequences, half=True, identity=0.97, prefilter=False)
    worker, pairs = Worker(job), select(job, (0, sequences.n))
    scorer = Scorer(job, session := GpuSession(device))
    flight = session.flight()

    def packed():
        scorer.start(flight, pairs)
        return scorer.finish(flight)

    ways = {
        "CPU, every pair traced": None, "CPU lanes": lambda: worker.score(pairs),
        "DScan": lambda: _dscan(job, pairs), "LazyRScan": lambda: _lazy(job, pairs),
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
        row = {"part": "table 5", "name": name, "filter_seconds": filtered if score else 0.0}
        row |= {"seconds": total, "pairs_per_s": pairs.query.size / total}
        rows.append(row | {"traced": traced, "kept": records.query.size})
    if len(found) != 1:
        raise AssertionError("the ways do not agree")
    return rows
