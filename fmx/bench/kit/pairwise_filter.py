"""The paper's table 5: 19,900 pairs at 97 %, filtered by one kernel or another, then traced on the CPU."""

import time
from dataclasses import replace

import numpy as np

from ...align.cuda.lazy import run_lazy
from ...align.cuda.worker import Scorer
from ...align.jobs import Job
from ...align.sequences import read_sequences
from ...align.worker import Worker, plan, select
from ...compiler.cuda import cuda, kernel
from ...machines.gpu_session import GpuSession
from .dscan import run_dscan
from .pairwise_batch import make_batch, matrix_starts


def _dscan(job, pairs, n_batch=2048):
    """H of pairs from whole matrices, which stay on the device."""
    h = np.empty(pairs.query.size, np.int64)
    lengths = job.queries.lengths()
    for first in range(0, h.size, n_batch):
        query, target = pairs.query[first : first + n_batch], pairs.target[first : first + n_batch]
        batch = make_batch(job.queries, job.targets, query, target, job.scoring.gains)
        starts = matrix_starts(job.queries, job.targets, query, target)
        matrix = cuda.device_array(int(starts[-1]) + 1, np.int32)
        run_dscan(batch, cuda.to_device(starts), matrix, (int(lengths.max()),) * 2, query.size)
        out = cuda.device_array(query.size, np.int32)
        _corners_kernel[-(-query.size // 128), 128](matrix, cuda.to_device(starts), out)
        h[first : first + n_batch] = out.copy_to_host()
    return h


@kernel
def _corners_kernel(matrix, starts, out):
    """The last value of each matrix."""
    pair = cuda.grid(1)
    if pair < out.size:
        out[pair] = matrix[starts[pair + 1] - 1]


def _lazy(job, pairs):
    n = pairs.query.size
    batch = make_batch(job.queries, job.targets, pairs.query, pairs.target, job.scoring.gains)
    column = cuda.device_array(n * int(job.queries.lengths().max()), np.int32)
    out = cuda.device_array(n, np.int32)
    run_lazy(batch, column, out, n, 128, 18)
    return out.copy_to_host().astype(np.int64)


def _all(job, pairs):
    """Every pair traced from its score on, those below the identity then dropped."""
    worker = Worker(replace(job, identity=0.0))
    least, _ = plan(worker.job, pairs)
    records = worker.align(pairs, least, worker.score(pairs))
    keep = records.identity >= job.identity
    n_runs = np.diff(records.first_run)
    runs = records.runs[np.repeat(keep, n_runs)]
    first_run = np.concatenate([[0], np.cumsum(n_runs[keep])])
    return records._replace(
        query=records.query[keep], target=records.target[keep], first_run=first_run, runs=runs
    )


def table_5(fasta):
    """Seconds to filter and to trace, and pairs traced, for each way."""
    _, sequences = read_sequences(fasta)
    job = Job(sequences, sequences, half=True, identity=0.97, prefilter=False)
    worker, pairs = Worker(job), select(job, (0, sequences.n))
    scorer = Scorer(job, session := GpuSession())
    flight = session.flight()

    def packed():
        scorer.start(flight, pairs)
        return scorer.finish(flight)

    ways = {
        "CPU, every pair traced": None,
        "CPU lanes": lambda: worker.score(pairs),
        "DScan": lambda: _dscan(job, pairs),
        "LazyRScan": lambda: _lazy(job, pairs),
        "LazyRScan packed": packed,
    }
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
        rows.append(
            {
                "part": "table 5",
                "name": name,
                "filter_seconds": filtered if score else 0.0,
                "seconds": total,
                "pairs_per_s": pairs.query.size / total,
                "traced": traced,
                "kept": records.query.size,
            }
        )
    if len(found) != 1:
        raise AssertionError("the ways do not agree")
    return rows
