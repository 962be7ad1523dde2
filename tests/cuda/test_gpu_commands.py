"""Commands with --engine cuda: what they write, and how they fail."""

import contextlib
import os
import shutil
import sys

import cases
import naive
import pytest
from bad_reads import complaint
from output_of import without_program
from texts import numbered, random_letters

from fmx.search.gpu import engines

LAYOUTS = ["bvsfm-k2-d224", "sampled-k1-d64"]


def contents(folder) -> dict:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "options",
    [("--layout", "bvsfm,cofi-k3"), ("--layout", "alternate", "--sa-rate", "3"), ("--gpu-memory", "10K")],
    ids=" ".join,
)
def test_a_gpu_writes_the_index_of_the_cpu(options, folder, command):
    unit = random_letters(200, "gpu index")
    (folder / "r.fa").write_bytes(cases.fasta(numbered([unit, "TT" + unit[20:140] + "NN" + unit[:20]])))
    on_cpu = () if options[0] == "--gpu-memory" else options
    assert command("index", "r.fa", "-o", "cpu.fmx", *on_cpu).code == 0
    done = command("index", "r.fa", "-o", "gpu.fmx", "--engine", "cuda", *options)
    assert (done.code, "building on GPU 0" in done.err) == (0, True), done.err
    assert contents(folder / "gpu.fmx") == contents(folder / "cpu.fmx")


def test_layouts_added_by_a_gpu_are_those_of_the_cpu(folder, command):
    (folder / "r.fa").write_bytes(cases.fasta(numbered([random_letters(150, "add")])))
    command("index", "r.fa")
    for name in ("cpu", "cuda"):
        shutil.copytree("r.fmx", name)
        done = command("index", "--add", "--layout", "kstep-k2-d64", "--engine", name, name)
        assert done.code == 0, done.err
    assert contents(folder / "cuda") == contents(folder / "cpu")


def test_memory_that_is_too_small_for_a_build_is_an_error(folder, command):
    (folder / "r.fa").write_text(">a\n" + "ACGGT" * 200 + "\n")
    build = ["index", "r.fa", "--gpu-memory", "10K", "--engine"]
    assert "raise --gpu-memory" in complaint(command(*build, "cuda", "-q"))
    assert not (folder / "r.fmx").exists()
    done = command(*build, "auto")
    assert done.code == 0
    assert "building on the CPU: the suffix array of 1001 symbols needs" in done.err


UNIT = random_letters(300, "gpu")
CONTIGS = numbered([UNIT, "TT" + UNIT[90:140] + "NN" + UNIT[:20]])


@pytest.fixture
def search(folder, index_of, command):
    """A function: search, or locate, reads that are found, reverse, twice, absent, with N, empty, long."""
    sequences = [UNIT[:40], naive.reverse_complement(UNIT[50:90]), UNIT[100:130]]
    sequences += ["ACGTN", "", "A", UNIT, 2 * UNIT]
    (folder / "reads.fa").write_bytes(cases.fasta((f"r{i}", x) for i, x in enumerate(sequences)))
    return lambda name, *more: command(name, "reads.fa", "-x", index_of(CONTIGS, LAYOUTS), *more)


@pytest.mark.parametrize(
    "words",
    [("search",), ("search", "--layout", "sampled", "-k", 99),
     ("locate", "--format", "bed", "--layout", "sampled")],
    ids=str,
)  # fmt: skip
def test_the_output_is_that_of_the_cpu(words, search):
    expected = search(*words, "-q", "-t", 1)
    found = search(*words, "-t", 1, "--engine", "cuda", "--gpu-memory", "1G")
    assert (expected.code, found.code) == (0, 0), found.err
    assert expected.out.count(b"\n") > 3
    assert without_program(found.out) == without_program(expected.out)
    assert "searching on GPU 0" in found.err


@pytest.mark.parametrize(
    ("engine", "code", "said"),
    [
        ("cuda --gpu-memory 1M", 1, "raise --gpu-memory"), ("cuda_memory", 1, "use cuda_task"),
        ("nonsense", 2, "'nonsense' is not one of"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_so_is_refused(engine, code, said, search):
    found = search("search", "--engine", *engine.split())
    assert (found.code, said in found.err) == (code, True), found.err


class CudaAPIError(Exception):
    """As the driver's."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("[2] Call to cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY", "the GPU's memory is full: "),
        ("[719] cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED", "the GPU does not answer ([719] cu"),
    ],
)
def test_an_error_of_the_driver_is_a_sentence(error, said, search, folder, monkeypatch, capfdbinary):
    def fail(*_):
        raise CudaAPIError(error)

    monkeypatch.setattr(engines.Launch, "__call__", fail)
    monkeypatch.setattr(os, "_exit", sys.exit)  # at once, where a device is lost
    with contextlib.suppress(SystemExit):
        assert said in complaint(search("search", "-q", "--engine", "cuda", "-o", "hits.sam"))
    assert said.encode() in capfdbinary.readouterr().err or "answer" not in said
    assert [path.name for path in folder.iterdir()] == ["reads.fa"]
