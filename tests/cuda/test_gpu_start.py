"""How a command starts on a GPU: with kernels that are kept, and where they cannot be."""

import subprocess
import sys

import cases
import numpy as np
import pytest
from conftest import ON_CPU, ON_GPU, SIMULATED
from texts import numbered, random_letters

from fmx.machines import gpu

pytestmark = pytest.mark.skipif(SIMULATED, reason="the simulator has no machine code")
MAIN = "from fmx.cli.main import main; main()"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A function: a program, more options of Python -> a search with a cache of its own, CompletedProcess."""
    folder, letters = tmp_path_factory.mktemp("start"), random_letters(4000, "start")
    (folder / "ref.fa").write_bytes(cases.fasta(numbered([letters])))
    (folder / "reads.fa").write_bytes(cases.fasta((i, letters[i : i + 40]) for i in range(0, 3000, 50)))
    index = [sys.executable, "-m", "fmx", "index", "-q", folder / "ref.fa"]
    subprocess.run(index, env=ON_CPU, check=True)

    def run(program, *more, engine="cuda"):
        given = ["search", "-x", folder / "ref.fmx", folder / "reads.fa", "--engine", engine]
        done = subprocess.run(
            [sys.executable, *more, "-c", program, *given], capture_output=True, text=True, check=False,
            env=ON_GPU | {"FMX_CACHE": str(folder / "cache")},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    run.kernels = lambda: [path for path in folder.glob("cache/fmx/*/*") if "kernel-" in path.name]
    return run


def records(done) -> list:
    return [line for line in done.stdout.splitlines() if not line.startswith("@PG")]


@pytest.mark.alone
def test_the_second_start_imports_no_compiler(run):
    wanted = records(run(MAIN, engine="cpu"))
    assert records(run(MAIN)) == wanted
    assert run.kernels() != []
    second = run(MAIN, "-X", "importtime")
    assert records(second) == wanted
    assert "compiling" not in second.stderr
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in second.stderr.splitlines()}
    assert "cuda" in imported
    assert not {"numba", "numba_cuda"} & imported


def test_large_arrays_arrive_whole(tmp_path):
    """From memory and mapped from a file, more than all threads' buffers hold, not a multiple of them."""
    array = np.random.default_rng(1).integers(0, 2**63, 50_000_011)
    array.tofile(tmp_path / "array")
    for here in (array, np.memmap(tmp_path / "array", np.int64, "r").view(np.ndarray)):
        assert np.array_equal(gpu.to_host(gpu.to_device(here)), array)
