"""fmx bench gpu and fmx bench index: a row for each combination, and every interval is right."""

import pytest

from fmx.bench import designs, gpu_index
from fmx.bench.patterns import DrawnPatterns
from fmx.machines.gpu_jobs import Gpu
from fmx.machines.gpu_session import GpuSession
from fmx.measure.texts import Repeat, make_codes

ONE_THREAD = "cuda_task-naive16"


def ceiling(*asked):
    return 1e9


@pytest.fixture(scope="module")
def drawn():
    backend = Gpu(GpuSession(0))
    return DrawnPatterns(backend, make_codes(backend, Repeat, 700), 40, 12, 4)


def test_designs_are_timed_counted_and_checked(drawn):
    names = ("sampled-k1-d64", "alternate-k2-d64", "cofi-k2", "verify")
    rows = designs.designs(drawn, names, (ONE_THREAD, "cuda_full"), ceiling, False)
    both = [(name, engine) for name in names[:2] for engine in (ONE_THREAD, "cuda_full")]
    alone = [(name, ONE_THREAD) for name in names[2:]]
    assert [(row["layout"], row["engine"]) for row in rows] == both + alone
    for row in rows:
        assert row["wrong"] == 0
        assert row["G entries/s"] > 0
        assert (row["G LF/s"] is None) == (row["layout"] == "verify")
    assert [row["entry B"] for row in rows] == [32, 32, 64, 64, 32, 32]


def test_blocks_of_all_sizes_find_the_same(drawn):
    (row,) = designs.by_block(drawn, ("sampled-k1-d64",), (ONE_THREAD,))
    assert row["wrong"] == 0
    assert all(row[str(n_threads)] > 0 for n_threads in designs.BLOCKS)


def test_speed_is_measured_by_number_of_threads(drawn):
    many = DrawnPatterns(drawn.backend, drawn.codes, 600, 12, 4)
    rows = designs.by_threads(many, ("sampled-k1-d64",), (ONE_THREAD,), ceiling)
    assert [(row["threads"], row["G LF/s"] > 0) for row in rows] == [(512, True)]


def test_speed_is_measured_by_size_of_the_reference(drawn):
    rows = designs.by_size(lambda n: drawn, (400, 700), ("sampled-k1-d64",), ONE_THREAD, ceiling)
    assert [row["reference Mb"] for row in rows] == [0.0004, 0.0007]
    assert all(row["Gbases/s"] > 0 for row in rows)


def test_building_and_searching_are_timed_and_checked(drawn):
    codes = make_codes(drawn.backend, Repeat, 300)
    names = ("bvsfm-k2-d96", "cofi-k2")
    built = gpu_index.build(drawn.backend, codes, names, 1)
    assert [(row["symbols"], row["layout"]) for row in built] == [(300, name) for name in names]
    for row in built:
        assert row["suffix array and layout s"] == row["suffix array s"] + row["layout s"] > 0
    searched = gpu_index.search(drawn, ("verify", *names))
    assert [(row["way"], row["wrong"]) for row in searched] == [("verify", 0), (names[0], 0), (names[1], 0)]
