"""fmx bench verify: a row for each form of seed and verify."""

import numpy as np

from fmx.bench import designs, gpu_index
from fmx.bench.patterns import DrawnPatterns
from fmx.machines import gpu
from fmx.machines.gpu_jobs import Gpu
from fmx.machines.gpu_session import GpuSession
from fmx.measure.texts import Repeat, make_codes


def test_each_form_is_timed_counted_and_checked():
    backend = Gpu(GpuSession(0))
    drawn = DrawnPatterns(backend, make_codes(backend, Repeat, 700), 40, 12)
    rows = gpu_index.attempts(drawn, "repeats", (6,), (32,), lambda *asked: 1e9)
    assert [(row["seed"], row["wide"], row["wrong"]) for row in rows] == [
        (5, False, 0),
        (5, True, 0),
        (6, False, 0),
        (6, True, 0),
    ]
    for row in rows:
        assert row["slowest"] > row["places"] > 2
        assert row["% of ceiling"] > 0


def test_the_slowest_of_a_warp_is_the_one_that_reads_most():
    counts = np.ones(70, np.int64)
    counts[[3, 5, 69]] = 9, 4, 6
    assert designs.means(gpu.take(counts)) == (86 / 70, (9 + 1 + 6) / 3)
