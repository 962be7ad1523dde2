"""Commands with --engine cuda: what they write, and how they fail, each in a process of its own."""

import shutil
import subprocess
import sys

import cases
import naive
import pytest
from conftest import ON_CPU, ON_GPU, ROOT
from texts import numbered, random_letters

LAYOUTS = ["bvsfm-k2-d224", "sampled-k1-d64"]
PROGRAM = "import sys; sys.setswitchinterval(1e-5); from fmx.cli.main import main; main()"


def run(*arguments):
    """An fmx command; with --engine, where there is a GPU or the simulator."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    where = ON_GPU if "--engine" in arguments else ON_CPU
    return subprocess.run(command, cwd=ROOT, env=where, capture_output=True, check=False)


@pytest.mark.parametrize(
    "options",
    [("--layout", "bvsfm,cofi-k3"), ("--layout", "alternate", "--sa-rate", "3"), ("--gpu-memory", "10K")],
    ids=" ".join,
)
def test_a_gpu_writes_the_index_of_the_cpu(options, tmp_path):
    unit = random_letters(200, "gpu index")
    (tmp_path / "r.fa").write_bytes(cases.fasta(numbered([unit, "TT" + unit[20:140] + "NN" + unit[:20]])))
    on_cpu = () if options[0] == "--gpu-memory" else options
    run("index", tmp_path / "r.fa", "-o", tmp_path / "cpu.fmx", *on_cpu)
    done = run("index", tmp_path / "r.fa", "-o", tmp_path / "gpu.fmx", "--engine", "cuda", *options)
    assert done.returncode == 0, done.stderr
    assert b"building on GPU 0" in done.stderr
    written = {path.name: path.read_bytes() for path in (tmp_path / "gpu.fmx").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "cpu.fmx").iterdir()}


def test_layouts_added_by_a_gpu_are_those_of_the_cpu(tmp_path):
    (tmp_path / "r.fa").write_bytes(cases.fasta(numbered([random_letters(150, "add")])))
    run("index", tmp_path / "r.fa")
    for name in ("cpu", "cuda"):
        shutil.copytree(tmp_path / "r.fmx", tmp_path / name)
        done = run("index", "--add", "--layout", "kstep-k2-d64", "--engine", name, tmp_path / name)
        assert done.returncode == 0, done.stderr
    for file in (tmp_path / "cpu").iterdir():
        assert (tmp_path / "cuda" / file.name).read_bytes() == file.read_bytes(), file.name


def test_memory_that_is_too_small_for_a_build_is_an_error(tmp_path):
    (tmp_path / "r.fa").write_text(">a\n" + "ACGGT" * 200 + "\n")
    build = ["index", tmp_path / "r.fa", "--gpu-memory", "10K", "--engine"]
    done = run(*build, "cuda")
    assert done.returncode == 1
    assert b"raise --gpu-memory" in done.stderr
    assert not (tmp_path / "r.fmx").exists()
    done = run(*build, "auto")
    assert done.returncode == 0
    assert b"building on the CPU: the suffix array of 1001 symbols needs" in done.stderr


def search(*arguments, name="search"):
    """Standard output (less @PG) and error of fmx search, or locate."""
    done = run(name, *arguments)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(b"@PG")]
    return done.returncode, lines, done.stderr.decode()


UNIT = random_letters(300, "gpu")
CONTIGS = numbered([UNIT, "TT" + UNIT[90:140] + "NN" + UNIT[:20]])


@pytest.fixture(scope="module")
def reads(tmp_path_factory):
    """A file of reads of the index below: found, reverse, twice, absent, with N, empty, short, long."""
    sequences = [UNIT[:40], naive.reverse_complement(UNIT[50:90]), UNIT[100:130]]
    sequences += ["ACGTN", "", "A", UNIT, 2 * UNIT]
    path = tmp_path_factory.mktemp("reads") / "reads.fa"
    path.write_text("".join(f">r{i}\n{sequence}\n" for i, sequence in enumerate(sequences)))
    return path


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """The index, made by a process of its own: the simulator is slow."""
    folder = tmp_path_factory.mktemp("indexes")
    (folder / "ref.fa").write_bytes(cases.fasta(CONTIGS))
    done = run("index", "-q", folder / "ref.fa", "--layout", ",".join(LAYOUTS))
    assert done.returncode == 0, done.stderr
    return folder / "ref.fmx"


@pytest.mark.parametrize(
    "options",
    [(), ("search", "--layout", "sampled", "-k", 99), ("locate", "--format", "bed", "--layout", "sampled")],
    ids=lambda options: " ".join(map(str, options)) or "default",
)
def test_the_output_is_that_of_the_cpu(options, reads, indexed):
    name, *more = options or ("search",)
    expected = search(reads, "-x", indexed, "-q", "-t", 1, *more, name=name)
    found = search(reads, "-x", indexed, "-t", 1, "--engine", "cuda", "--gpu-memory", "1G", *more, name=name)
    assert expected[0] == 0
    assert len(expected[1]) > 3
    assert found[:2] == expected[:2], found[2]
    assert "searching on GPU 0" in found[2]


def test_an_index_that_does_not_fit_is_an_error_that_says_so(reads, indexed):
    found = search(reads, "-x", indexed, "--engine", "cuda", "--gpu-memory", "1M")
    assert found[0] == 1
    assert "raise --gpu-memory" in found[2]


@pytest.mark.parametrize(
    ("engine", "code", "said"),
    [("cuda_memory", 1, "use cuda_task"), ("nonsense", 2, "or a GPU engine such as cuda_full")],
)
def test_engines_that_make_no_sense_are_refused(engine, code, said, reads, indexed):
    found = search(reads, "-x", indexed, "--engine", engine)
    assert found[0] == code
    assert said in found[2]
