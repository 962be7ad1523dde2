"""Commands where there is no GPU: an error with --engine cuda, the CPU with auto."""

import os

import pytest
from texts import numbered, random_letters

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
pytestmark = pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")


def test_search(folder, index_of, command):
    unit = random_letters(300, "gpu")
    (folder / "r.fa").write_text(f">r\n{unit[50:150]}\n")
    arguments = ["search", "r.fa", "-x", index_of(numbered([unit]))]
    expected = command(*arguments, "-q")
    assert len(expected.records) == 1
    refused = command(*arguments, "--engine", "cuda")
    assert refused.code == 1
    assert "--engine cpu" in refused.err
    found = command(*arguments, "--engine", "auto")
    assert (found.code, found.records) == (0, expected.records)
    assert "searching on the CPU" in found.err


def test_mem(folder, index_of, command):
    (folder / "r.fa").write_text(">r\nACGGT\n")
    arguments = [
        "mem",
        "r.fa",
        "-x",
        index_of(numbered(["ACGGT"]), with_lcp=True),
        "--algorithm",
        "mummergpu",
    ]
    refused = command(*arguments, "--engine", "cuda")
    assert (refused.code, refused.out) == (1, b"")
    assert "--engine cpu" in refused.err


def test_index(folder, command):
    (folder / "r.fa").write_text(">a\nACGGT\n")
    refused = command("index", "r.fa", "--engine", "cuda")
    assert refused.code == 1
    assert "--engine cpu" in refused.err
    assert not (folder / "r.fmx").exists()
    done = command("index", "r.fa", "--engine", "auto")
    assert done.code == 0
    assert "building on the CPU" in done.err
