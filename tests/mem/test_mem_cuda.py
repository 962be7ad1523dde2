"""fmx mem's kernels as machine code for two GPUs, and the command where there is no GPU."""

import os

import numpy as np
import pytest
from ptx import check_lean, code_of, instructions

from fmx.index.reference import make_blocks
from fmx.index.seed_table import SeedTable
from fmx.mem.seeds import Seeds

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
WORDS, NUMBERS, ROWS = np.zeros(2, np.uint64), np.zeros(2, np.int64), np.zeros(2, np.uint32)


def arguments() -> dict:
    """What each kernel is given, with empty arrays."""
    block = np.zeros(1, np.int64)
    blocks = make_blocks(block, block, block, np.array([9], np.int64))
    from fmx.mem.matches import KeyValues
    from fmx.mem.seeds_gpu import BlockTable, Queries

    matcher = Seeds(SeedTable(ROWS, 5), ROWS, WORDS, blocks, 20, 5)
    queries, table, pairs = Queries(WORDS, ROWS, 1), BlockTable(NUMBERS, 1, 1), KeyValues(NUMBERS, NUMBERS)
    return {
        "seek_kernel": (matcher, queries, 0, 1, table),
        "compare_kernel": (matcher, queries, table, pairs),
        "gather_kernel": (table, pairs, pairs),
    }


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=str)
@pytest.mark.parametrize("name", arguments())
def test_code_of_the_kernels(name, capability):
    from fmx.mem import seeds_gpu

    ptx = code_of(getattr(seeds_gpu, name), arguments()[name], capability)
    check_lean(ptx)
    assert ("atom" in instructions(ptx)) == (name in ("seek_kernel", "gather_kernel"))


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")
def test_no_gpu_is_an_error_with_cuda_and_the_cpu_with_auto(tmp_path, index_of, command):
    from texts import random_letters

    unit = random_letters(300, "gpu")
    (tmp_path / "q.fa").write_text(f">q\n{unit[50:150]}\n")
    arguments = ["mem", "-x", index_of([("c", unit)]), tmp_path / "q.fa"]
    expected = command(*arguments)
    assert b"     100" in expected.out
    refused = command(*arguments, "--engine", "cuda")
    assert (refused.code, refused.out) == (1, b"")
    assert "--engine cpu" in refused.err
    found = command(*arguments, "--engine", "auto")
    assert (found.code, found.out) == (0, expected.out)
    assert "searched on the CPU" in found.err
