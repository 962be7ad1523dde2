"""Two GPUs of one machine: fmx pairwise on both, all commands on the second alone, write the CPU's bytes.

    pytest tests/cuda/test_two_gpus.py

skips where there are fewer than two.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
from align.families import family

from fmx.compiler import SIMULATED
from fmx.machines import gpu

ROOT = Path(__file__).parent.parent.parent
N_GPUS = 0 if SIMULATED else gpu.n_devices()
pytestmark = pytest.mark.skipif(N_GPUS < 2, reason=f"needs two GPUs, there are {N_GPUS}")


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    """600 related sequences, most of some 300 bases, one of 1,500."""
    path = tmp_path_factory.mktemp("genes") / "genes.fa"
    sequences = [*family(5, 20, 30, 300, 0.2), "ACGTTGCA" * 190]
    path.write_text("".join(f">s{i}\n{sequence}\n" for i, sequence in enumerate(sequences)))
    return path


def fmx(*arguments) -> bytes:
    """What a command writes to standard output, without the line that holds the command."""
    done = subprocess.run(
        [sys.executable, "-m", "fmx", *map(str, arguments)], capture_output=True, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return b"".join(line for line in done.stdout.splitlines(True) if not line.startswith(b"@PG"))


@pytest.mark.parametrize(
    "options",
    [
        ["--cigar"], ["--id", 0.9, "--cigar"], ["--id", 0.97, "--no-prefilter"], ["--matrix", "score"],
        ["--match", 5000, "--mismatch", -3, "--gap", -7],  # by the kernel of 32 bits
    ],
    ids=str,
)  # fmt: skip
def test_pairwise_writes_the_bytes_of_the_cpu(genes, options):
    wanted = fmx("pairwise", "-q", genes, *options)
    assert len(wanted.splitlines()) > 100
    for where in (["cuda"], ["both"], ["auto"], ["cuda", "--device", 0], ["cuda", "--device", 1]):
        assert fmx("pairwise", "-q", genes, *options, "--engine", *where) == wanted, where


def test_commands_run_on_the_second_gpu(genes, tmp_path):
    index, reads = tmp_path / "ref.fmx", tmp_path / "reads.fa"
    letters = "".join(np.random.default_rng(2).choice(list("ACGT"), 200_000))
    (tmp_path / "ref.fa").write_text(f">c\n{letters}\n")
    reads.write_text("".join(f">r{i}\n{letters[i : i + 80]}\n" for i in range(0, 150_000, 50)))
    fmx("index", "-q", "--with-lcp", "-o", index, tmp_path / "ref.fa")
    second = ["--engine", "cuda", "--device", 1]
    fmx("index", "-q", "-o", tmp_path / "gpu.fmx", "--with-lcp", tmp_path / "ref.fa", *second)
    for array in sorted(index.rglob("*.npy")):
        assert (tmp_path / "gpu.fmx" / array.relative_to(index)).read_bytes() == array.read_bytes(), array
    for command in (["search", "-k", 99], ["locate"], ["mem", "-l", 20, "--algorithm", "mummergpu"]):
        command = [*command, "-q", "-x", index, *[reads] * 5]  # a span each
        assert fmx(*command, *second) == fmx(*command), command
