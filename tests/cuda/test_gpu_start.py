"""How a command starts on a GPU: with kernels that are kept, and where they cannot be."""

import os
import subprocess
import sys

import journeys
import pytest
from conftest import ON_CPU, ON_GPU, SIMULATED
from texts import numbered, random_letters

pytestmark = pytest.mark.skipif(SIMULATED, reason="the simulator has no machine code")
MAIN = "from fmx.cli.main import main; main()"
UNTRUSTED = "from fmx.compiler import kernels; kernels.is_callable = lambda capability: False;" + MAIN
PROBE = """
from fmx.compiler import cuda_driver, cuda_probe, kernels
assert cuda_probe.holds(kernels.compiler(), cuda_driver.capability())
right = cuda_probe.expected()
cuda_probe.expected = lambda: right + 1
assert not cuda_probe.holds(kernels.compiler(), cuda_driver.capability())
"""


@pytest.fixture
def run(tmp_path):
    """A function: a program, more options of Python -> a search with a cache of its own, CompletedProcess."""
    letters = random_letters(4000, "start")
    (tmp_path / "ref.fa").write_bytes(journeys.fasta(numbered([letters])))
    (tmp_path / "reads.fa").write_bytes(journeys.fasta((i, letters[i : i + 40]) for i in range(0, 3000, 50)))
    index = [sys.executable, "-m", "fmx", "index", "-q", tmp_path / "ref.fa"]
    subprocess.run(index, env=ON_CPU, check=True)

    def run(program, *more, engine="cuda"):
        given = ["search", "-x", tmp_path / "ref.fmx", tmp_path / "reads.fa", "--engine", engine]
        done = subprocess.run(
            [sys.executable, *more, "-c", program, *given], capture_output=True, text=True, check=False,
            env=ON_GPU | {"FMX_CACHE": str(tmp_path / "cache")},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    return run


def records(done) -> list:
    return [line for line in done.stdout.splitlines() if not line.startswith("@PG")]


def kernels_in(folder) -> list:
    """Files of kernels that are kept."""
    return [name for _, _, names in os.walk(folder) for name in names if "kernel-" in name]


@pytest.mark.alone
def test_the_second_start_imports_no_compiler(run, tmp_path):
    wanted = records(run(MAIN, engine="cpu"))
    assert "compiling" in (first := run(MAIN)).stderr
    second = run(MAIN, "-X", "importtime")
    assert records(first) == records(second) == wanted
    assert "compiling" not in second.stderr
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in second.stderr.splitlines()}
    assert "cuda" in imported
    assert not {"numba", "numba_cuda"} & imported
    assert kernels_in(tmp_path)


@pytest.mark.alone
def test_numba_launches_where_its_convention_is_unknown(run, tmp_path):
    wanted = records(run(MAIN, engine="cpu"))
    done = run(UNTRUSTED)
    assert records(done) == wanted
    assert not kernels_in(tmp_path)


@pytest.mark.alone
def test_the_convention_is_that_of_numba():
    subprocess.run([sys.executable, "-c", PROBE], env=ON_GPU, check=True)
