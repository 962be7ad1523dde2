"""fmx bench sparse: a row for each method, and both find the same."""

import numpy as np

from fmx.bench import sparse
from fmx.bench.patterns import DrawnPatterns
from fmx.index.layouts import SparseName
from fmx.machines import gpu
from fmx.machines.gpu_jobs import Gpu
from fmx.machines.gpu_session import GpuSession
from fmx.measure.texts import Repeat, make_codes
from fmx.search.hits import Intervals


def test_both_methods_are_timed_and_agree():
    backend = Gpu(GpuSession(0))
    drawn = DrawnPatterns(backend, make_codes(backend, Repeat, 700), 40, 12)
    rows = sparse.measure(backend, drawn, SparseName(5, 4), "repeats", 1)
    assert [(row["method"].split()[0], row["differing"]) for row in rows] == [
        ("sparse-k5-w4", 0),
        ("seed", 0),
    ]
    assert all(row["G reads/s"] > 0 and row["GB"] > 0 for row in rows)


def test_a_difference_is_noticed():
    backend = Gpu(GpuSession(0))
    lo, hi = (gpu.take(np.array(x, np.uint32)) for x in ([1, 2, 3], [4, 5, 6]))
    other = gpu.take(np.array([4, 6, 6], np.uint32))
    differing = sparse.Differing(Intervals(lo, hi), Intervals(lo, other))
    assert int(backend.count(differing, 3)[-1]) == 1
