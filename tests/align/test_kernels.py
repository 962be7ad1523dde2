"""Kernels without a GPU: all of device_kernels.py in the simulator, the command too, and PTX of each."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def simulated(*command):
    """Run Python with the simulator in place of a GPU."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, cwd=HERE.parents[1], check=False
    )


def test_kernels_compute_what_the_definition_says():
    done = simulated("-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "device_kernels.py"))
    output = done.stdout.decode()
    assert done.returncode == 0, output
    assert "skipped" not in output
    assert "passed" in output


@pytest.mark.parametrize(
    "options", [["--id", "0.8"], ["--id", "0.8", "--no-prefilter"], ["--matrix", "score"]]
)
def test_devices_write_the_same_bytes(tmp_path, options):
    fasta = tmp_path / "s.fa"
    fasta.write_text(
        ">a\nACGTACGTACGTAAGT\n>b\nACGTACGTACGTAGT\n>c\nTTTTACGACG\n>d\n\n>e\nACGTACNTACGTAAGT\n"
    )
    outputs = [
        simulated("-m", "fmx", "pairwise", str(fasta), *options, "--engine", *engine.split())
        for engine in ("cpu", "cuda", "both", "auto --device 0")
    ]
    assert all(output.returncode == 0 for output in outputs), outputs
    assert len({output.stdout for output in outputs}) == 1
    assert len(outputs[0].stdout.splitlines()) > 3


def signatures():
    """(name, kernel, signature) of every kernel."""
    from numba import types

    from fmx.align.cuda import lazy, packed
    from fmx.align.cuda.batch import Batch
    from fmx.bench.kit import dscan, rscan, tiled

    byte, word, number, index = (t[::1] for t in (types.uint8, types.uint32, types.int32, types.int64))
    batch = types.NamedTuple((byte, index, byte, index, number, number, number), Batch)
    doubles = types.NamedTuple((word, index, byte, index, number, number, number), packed.Doubles)
    n = types.int64
    return {
        "tiled": (tiled.tiled_kernel, (batch, index, number, n, n, n, n)),
        "dscan": (dscan.dscan_kernel, (batch, index, number, n)),
        "rscan": (rscan.rscan_kernel, (batch, index, number, n, n)),
        "lazy": (lazy.lazy_kernel, (batch, number, number, n, n)),
        "packed": (packed.packed_kernel(), (doubles, types.uint32, word, word, n)),
    }


@pytest.mark.parametrize("name", ["tiled", "dscan", "rscan", "lazy", "packed"])
def test_kernels_compile_to_ptx(name):
    from fmx.compiler.cuda import compile_to_ptx

    ptx = compile_to_ptx(*signatures()[name])
    assert ".visible .entry" in ptx
    assert ".f64" not in ptx
    assert ".local" not in ptx  # rows and selectors stay in registers
    if name == "packed":
        assert ptx.count("prmt.b32") == ptx.count("add.u16x2") == 48
        assert ptx.count("max.u16x2") == 96
