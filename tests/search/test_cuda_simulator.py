"""The GPU's engines and fmx search --engine cuda in the CUDA simulator, each in a process of its own."""

import os
import subprocess
import sys

import journeys
import pytest
from conftest import ROOT

from fmx import workflow
from fmx.index import layouts

pytest.importorskip("numba_cuda", reason="pip install 'fmx-mapper[cuda]'")
SIMULATOR = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
FAMILIES = sorted({f"{name.family}-k{name.k}" for name in layouts.all_names() if name.family != "cofi"})


@pytest.mark.parametrize("part", [*FAMILIES, "cofi", "verify"])
def test_every_engine_gives_the_intervals_of_plain_comparison(part):
    """The protocol's command itself, so that what passes here is what runs on a device."""
    command = [sys.executable, "tests/cuda/protocol.py", "--simulator", part]
    done = subprocess.run(command, cwd=ROOT, env=SIMULATOR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 differ" in done.stdout


def test_a_gpu_that_fails_ends_the_search_with_a_sentence():
    command = [sys.executable, "tests/cuda/failures.py", "--simulator"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_array_is_built_as_by_the_cpu():
    command = [sys.executable, "tests/cuda/build_protocol.py", "--simulator"]
    done = subprocess.run(command, cwd=ROOT, env=SIMULATOR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passes" in done.stdout
    assert "0 arrays differ" in done.stdout


def run(*arguments, simulated=False):
    """An fmx command."""
    environment = SIMULATOR if simulated else os.environ
    program = "import sys; sys.setswitchinterval(1e-5); from fmx.cli.main import main; main()"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)


@pytest.mark.parametrize(
    "options",
    [("--layout", "bvsfm,cofi-k3"), ("--layout", "alternate", "--sa-rate", "3"), ("--gpu-memory", "10K")],
    ids=" ".join,
)
def test_a_gpu_writes_the_index_of_the_cpu(options, tmp_path):
    import journeys
    from texts import numbered, random_letters

    unit = random_letters(200, "gpu index")
    (tmp_path / "r.fa").write_bytes(journeys.fasta(numbered([unit, "TT" + unit[20:140] + "NN" + unit[:20]])))
    on_cpu = () if options[0] == "--gpu-memory" else options
    run("index", tmp_path / "r.fa", "-o", tmp_path / "cpu.fmx", *on_cpu)
    done = run(
        "index", tmp_path / "r.fa", "-o", tmp_path / "gpu.fmx", "--engine", "cuda", *options, simulated=True
    )
    assert done.returncode == 0, done.stderr
    assert b"building on GPU 0" in done.stderr
    written = {path.name: path.read_bytes() for path in (tmp_path / "gpu.fmx").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "cpu.fmx").iterdir()}


def test_layouts_added_by_a_gpu_are_those_of_the_cpu(tmp_path, index_of):
    import shutil

    from texts import numbered, random_letters

    path = index_of(numbered([random_letters(150, "add")]))
    for name, simulated in (("cpu", False), ("cuda", True)):
        shutil.copytree(path, tmp_path / name)
        added = ["index", "--add", "--layout", "kstep-k2-d64", "--engine", name, tmp_path / name]
        done = run(*added, simulated=simulated)
        assert done.returncode == 0, done.stderr
    for file in (tmp_path / "cpu").iterdir():
        assert (tmp_path / "cuda" / file.name).read_bytes() == file.read_bytes(), file.name


def test_memory_that_is_too_small_for_a_build_is_an_error(tmp_path):
    (tmp_path / "r.fa").write_text(">a\n" + "ACGGT" * 200 + "\n")
    build = ["index", tmp_path / "r.fa", "--gpu-memory", "10K", "--engine"]
    done = run(*build, "cuda", simulated=True)
    assert done.returncode == 1
    assert b"raise --gpu-memory" in done.stderr
    assert not (tmp_path / "r.fmx").exists()
    done = run(*build, "auto", simulated=True)
    assert done.returncode == 0
    assert b"building on the CPU: the suffix array of 1001 symbols needs" in done.stderr


def search(*arguments, simulated=False, name="search"):
    """Standard output (less @PG) and error of fmx search, or locate."""
    done = run(name, *arguments, simulated=simulated)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(b"@PG")]
    return done.returncode, lines, done.stderr.decode()


@pytest.fixture(scope="module")
def reads(tmp_path_factory):
    """A file of reads of the index below: found, reverse, twice, absent, with N, empty, short, long."""
    import naive
    from texts import random_letters

    unit = random_letters(300, "gpu")
    sequences = [
        unit[:40],
        naive.reverse_complement(unit[50:90]),
        unit[100:130],
        "ACGTN",
        "",
        "A",
        unit,
        2 * unit,
    ]
    path = tmp_path_factory.mktemp("reads") / "reads.fa"
    path.write_text("".join(f">r{i}\n{sequence}\n" for i, sequence in enumerate(sequences)))
    return path


LAYOUTS = ["bvsfm-k2-d224", "sampled-k1-d64"]


@pytest.fixture(scope="module")
def contigs():
    from texts import numbered, random_letters

    unit = random_letters(300, "gpu")
    return numbered([unit, "TT" + unit[90:140] + "NN" + unit[:20]])


@pytest.fixture(scope="module")
def indexed(contigs, index_of):
    return index_of(contigs, LAYOUTS)


@pytest.fixture(scope="module")
def in_parts(contigs, tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "ref.fmx"
    workflow.build_index(journeys.fasta(contigs), path, workflow.IndexOptions(LAYOUTS, part_size=301))
    return path


@pytest.mark.parametrize(
    "options",
    [(), ("-a",), ("-k", 2, "--seed", 3), ("-m", 1), ("--layout", "bvsfm"), ("--layout", "sampled", "-a")],
    ids=lambda options: " ".join(map(str, options)) or "default",
)
def test_the_output_is_that_of_the_cpu(options, reads, indexed):
    expected = search(reads, "-x", indexed, "-q", "-t", 1, *options)
    found = search(reads, "-x", indexed, "-q", "-t", 1, "--engine", "cuda", *options, simulated=True)
    assert expected[0] == 0
    assert found[:2] == expected[:2], found[2]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--format", "sam", "--reverse-only"),
        ("--format", "bed", "--layout", "sampled", "--gpu-memory", "1G"),
    ],
    ids=lambda options: " ".join(options) or "default",
)
def test_located_occurrences_are_those_of_the_cpu(options, reads, indexed):
    expected = search(reads, "-x", indexed, "-q", "-t", 1, *options, name="locate")
    on_gpu = ("-x", indexed, "-t", 1, "--engine", "cuda", *options)
    found = search(reads, *on_gpu, simulated=True, name="locate")
    assert expected[0] == 0
    assert len(expected[1]) > 3
    assert found[:2] == expected[:2], found[2]
    assert "searching on GPU 0, CUDA simulator" in found[2]


@pytest.mark.parametrize("options", [("-a",), ("--layout", "sampled")], ids=" ".join)
def test_an_index_in_parts_gives_the_same(options, reads, indexed, in_parts):
    expected = search(reads, "-x", indexed, "-q", "-t", 1, *options)
    found = search(reads, "-x", in_parts, "-q", "-t", 1, "--engine", "cuda", *options, simulated=True)
    assert expected[0] == 0
    assert found[:2] == expected[:2], found[2]


def test_an_index_that_does_not_fit_is_an_error_that_says_so(reads, indexed):
    found = search(reads, "-x", indexed, "--engine", "cuda", "--gpu-memory", "1M", simulated=True)
    assert found[0] == 1
    assert "raise --gpu-memory" in found[2]


@pytest.mark.parametrize(
    ("engine", "code", "said"), [("cuda_memory", 1, "take cuda_task"), ("nonsense", 2, "'cuda_task-naive'")]
)
def test_engines_that_make_no_sense_are_refused(engine, code, said, reads, indexed):
    found = search(reads, "-x", indexed, "--engine", engine, simulated=True)
    assert found[0] == code
    assert said in found[2]


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")
def test_no_gpu_is_an_error_with_cuda_and_the_cpu_with_auto(reads, indexed):
    expected = search(reads, "-x", indexed, "-q")
    code, _, message = search(reads, "-x", indexed, "--engine", "cuda")
    assert code == 1
    assert "--engine cpu" in message
    found = search(reads, "-x", indexed, "--engine", "auto")
    assert found[:2] == expected[:2]
    assert "searching on the CPU" in found[2]


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")
def test_an_index_without_a_gpu_is_an_error_with_cuda_and_of_the_cpu_with_auto(tmp_path):
    (tmp_path / "r.fa").write_text(">a\nACGGT\n")
    done = run("index", tmp_path / "r.fa", "--engine", "cuda")
    assert done.returncode == 1
    assert b"--engine cpu" in done.stderr
    assert not (tmp_path / "r.fmx").exists()
    done = run("index", tmp_path / "r.fa", "--engine", "auto")
    assert done.returncode == 0
    assert b"building on the CPU" in done.stderr
