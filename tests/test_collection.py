"""Every process collects the same tests: pytest-xdist ends a run whose workers do not."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

COLLECT = """
import sys, time, pytest
now, time.time = time.time, lambda: now() + SECONDS
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


def collecting(arguments, environment, seed):
    """A process that writes the ids of tests, with a clock and hashes of its own."""
    program = COLLECT.replace("SECONDS", str(1e6 * seed))
    environment = {**os.environ, **environment, "PYTHONHASHSEED": str(seed), "PYTEST_ADDOPTS": ""}
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, env=environment, text=True,
        cwd=ROOT,
    )  # fmt: skip


@pytest.mark.nightly  # by day pytest-xdist compares what its workers collect
@pytest.mark.parametrize(
    ("arguments", "environment", "least"),
    [
        (["tests"], {}, 5000),
        (["tests/cuda"], {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}, 100),
    ],
    ids=["CPU", "simulator"],
)
def test_ids_are_the_same_whenever_and_whoever_collects(arguments, environment, least):
    with collecting(arguments, environment, 1) as one, collecting(arguments, environment, 2) as two:
        ids, others = (
            [line for line in process.communicate()[0].splitlines() if "::" in line] for process in (one, two)
        )
    assert (one.returncode, two.returncode) == (0, 0)
    assert len(ids) > least
    assert [both for both in zip(ids, others, strict=False) if both[0] != both[1]] == []
    assert len(ids) == len(others)
