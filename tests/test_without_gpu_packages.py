"""fmx where the packages for GPUs and figures are missing or broken: all that needs none works, the rest says
in one line what to install."""

import contextlib
import gzip
import itertools
import os
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import fake_cuda
import pytest
from conftest import ROOT
from cover import covered, nightly
from forks import Forks

from fmx import workflow
from fmx.errors import DeviceError

REMEDY = "pip install '.[cuda]'"
# Where there is a GPU, searches that are too small for one do not ask whether it works.
# In a folder of PYTHONPATH, Python runs this at its start.
BLOCK = """
import os, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba_cuda", "cuda", "matplotlib"):
            if os.environ["FMX_TEST_PACKAGES"] == "broken":
                raise RuntimeError(f"{name}: libcudart is of another version\\nand more")
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
"""
README = re.findall(r"^    (fmx .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
EVERY_HELP = """
import sys, click
from fmx.cli import main as cli
def walk(command, words):
    assert cli.run([*words, "--help"]) == 0, words
    if isinstance(command, click.Group):
        for name in command.list_commands(None):
            walk(command.get_command(None, name), [*words, name])
walk(cli.fmx, [])
slow = {"numba.cuda", "numba_cuda", "matplotlib"} & set(sys.modules)
assert not slow, slow
"""


def fill(folder):
    """Put the files into a folder that the README's commands read; the folder."""
    shutil.copy(ROOT / "fmx/data/lambda.fa.gz", folder / "ref.fa.gz")
    shutil.copy(ROOT / "fmx/data/lambda_reads.fq.gz", folder / "reads.fq.gz")
    letters = "ACGTTGCAAC" * 30
    (folder / "genome.fa").write_text(f">g\n{letters}\n")
    workflow.build_index(folder / "genome.fa", folder / "host.fmx")
    (folder / "genes.fa").write_text(f">a\n{letters}\n>b\n{letters}A\n")
    guides = ["ACGTACGTTAGCATTACGCA", "TTGACCAGATTACAGGCATC", "GGATCCATTGCAACTGATTC"]
    lines = [f"g{i},{guide},GENE{i}" for i, guide in enumerate(guides)]
    (folder / "guides.csv").write_text("\n".join(["id,sequence,gene", *lines, ""]))
    reads = "".join(f"@r{i}\nCACCG{guide}GTTTT\n+\n{'I' * 30}\n" for i, guide in enumerate(guides * 40))
    for day in ("day0", "day14"):
        (folder / f"{day}.fq.gz").write_bytes(gzip.compress(reads.encode()))
    return folder


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """Such a folder, with a command ``fmx``."""
    folder = fill(tmp_path_factory.mktemp("plain"))
    (folder / "sitecustomize.py").write_text(BLOCK)
    (folder / "fmx").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fmx "$@"\n')
    (folder / "fmx").chmod(0o755)
    return folder


def environment_of(work, packages) -> dict:
    """Of processes to which the packages are "missing" or "broken"."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(work), str(ROOT)]), "FMX_TEST_PACKAGES": packages,
        "PATH": f"{work}:{os.environ['PATH']}", "FMX_INDEX": "lcp.fmx",
    }  # fmt: skip


@pytest.fixture(scope="session")
def forks(work):
    """{how the packages are away: commands of fmx by forks of one process}."""
    made = {way: Forks(cwd=work, env=environment_of(work, way)) for way in ("missing", "broken")}
    yield made
    for each in made.values():
        each.close()


@pytest.fixture(params=["missing", "broken"])
def fmx(request, work, forks):
    """A function: a shell command in the folder, run without the packages -> CompletedProcess.

    ``fmx.fork`` takes words of a command of fmx alone.
    """
    environment = environment_of(work, request.param)

    def fmx(line):
        return subprocess.run(
            ["bash", "-c", line], cwd=work, env=environment, capture_output=True, text=True, check=False
        )

    if not (work / "ref.fmx").exists():
        done = fmx("fmx index -q ref.fa.gz; fmx index --with-lcp -o lcp.fmx ref.fa.gz")
        assert done.returncode == 0, done.stderr
    fmx.fork = forks[request.param]
    return fmx


only_missing = pytest.mark.parametrize("fmx", ["missing", nightly("broken")], indirect=True)


def test_the_packages_are_away(fmx):
    for package in ("numba_cuda", "cuda", "matplotlib"):
        assert fmx(f"{sys.executable} -c 'import {package}'").returncode == 1


@only_missing
@pytest.mark.parametrize("line", README, ids=lambda line: " ".join(line.split()[:2]))
def test_the_readme_works(line, fmx):
    done = fmx(line)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@only_missing
def test_every_help_is_there(fmx, work):
    (work / "every_help.py").write_text(EVERY_HELP)
    done = fmx(f"{sys.executable} every_help.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage:") > 9


AUTO = [
    "fmx index ref.fa.gz -o {name}.fmx",
    "fmx index ref.fa.gz -o {name}.fmx --layout cofi-k3",
    "fmx search reads.fq.gz -a -o {name}.sam",
    "fmx mem -l 20 genome.fa -o {name}.mem",
    "fmx mem -l 20 --algorithm mummergpu genome.fa -o {name}.mem",
]


@only_missing
@pytest.mark.parametrize("line", AUTO)
def test_auto_takes_the_cpu_and_says_why(line, fmx, work):
    done = fmx.fork(*line.format(name="auto").split()[1:], "--engine", "auto")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(REMEDY if "index" in line else "searching on the CPU") == 1
    assert fmx.fork(*line.format(name="cpu").split()[1:], "--engine", "cpu").returncode == 0
    name = line.split("{name}")[1].split()[0]
    if name != ".fmx":
        ours, theirs = ((work / f"{way}{name}").read_bytes() for way in ("auto", "cpu"))
        assert without_command(ours) == without_command(theirs)


def without_command(text) -> list:
    return [line for line in text.splitlines() if not line.startswith(b"@PG")]


@pytest.mark.parametrize(
    "line",
    [
        "fmx index ref.fa.gz -o gpu.fmx --engine cuda",
        "fmx index --add --layout cofi-k3 lcp.fmx --engine cuda",
        "fmx search reads.fq.gz --engine cuda",
        "fmx search reads.fq.gz --engine cuda_full",
        "fmx mem --algorithm mummergpu genome.fa --engine cuda",
        "fmx pairwise genes.fa --engine cuda",
        "fmx pairwise genes.fa --engine both",
    ],
)
def test_a_gpu_that_is_asked_for_is_one_line(line, fmx, work):
    done = fmx.fork(*line.split()[1:])
    assert done.returncode == 1
    assert done.stderr.startswith("fmx: error: ")
    assert done.stderr.count("\n") == 1
    assert REMEDY in done.stderr
    assert not (work / "gpu.fmx").exists()


@pytest.mark.parametrize(("engine", "said"), [("cuda", "DeviceError"), ("auto", "48,502 bases")])
def test_the_library(engine, said, fmx):
    program = f"import fmx; print(fmx.build('ref.fa.gz', 'library.fmx', engine='{engine}'))"
    done = fmx(f'{sys.executable} -c "{program}"')
    assert said in done.stdout + done.stderr
    assert "DeviceError" not in done.stderr or REMEDY in done.stderr.splitlines()[-1]


FOR_A_DRIVER = [
    "index ref.fa.gz -o gpu.fmx --engine", "search -x ref.fmx reads.fq.gz --engine",
    "pairwise genes.fa --engine",
]  # fmt: skip


@pytest.fixture(scope="session")
def work_with_packages(tmp_path_factory):
    """Those files and ref.fmx."""
    folder = fill(tmp_path_factory.mktemp("packages"))
    workflow.build_index(folder / "ref.fa.gz", folder / "ref.fmx")
    return folder


@pytest.mark.parametrize(
    ("line", "driver"), covered(itertools.product(FOR_A_DRIVER, ["none", "no library"]), set)
)
def test_a_driver_is_no_condition_either(line, driver, work_with_packages):
    """The packages are there; of the driver there is nothing, or a file that is no library."""
    pytest.importorskip("numba_cuda", reason=REMEDY)
    work = work_with_packages
    (work / "libcuda.so").write_text("no library\n")
    path = {"none": work / "nothing.so", "no library": work / "libcuda.so"}[driver]
    command = [sys.executable, "-m", "fmx", *line.split()]
    environment = os.environ | {"NUMBA_CUDA_DRIVER": str(path), "PYTHONPATH": str(ROOT)}

    def run(engine):
        return subprocess.run(
            [*command, engine], cwd=work, env=environment, capture_output=True, text=True, check=False
        )

    done = run("cuda")
    assert done.returncode == 1
    assert re.fullmatch(r"fmx: error: no GPU that CUDA can use was found: .*\n", done.stderr), done.stderr
    if line.endswith("--engine"):
        done = run("auto")
        assert done.returncode == 0, done.stderr
        is_search = line.startswith("search")
        assert done.stderr.count("on the CPU" if is_search else "no GPU that CUDA can use was found") == 1


def test_numba_cuda_that_breaks_only_at_its_first_kernel(code_in, monkeypatch, tmp_path):
    """As it does where NumPy is newer than it knows: found out when the GPU is opened, not amid the work."""
    pytest.importorskip("numba_cuda", reason=REMEDY)
    from fmx.compiler import numba_cuda
    from fmx.index.building.build import choose_backend
    from fmx.machines import gpu
    from fmx.machines.jobs import Cores
    from fmx.machines.places import Device

    def refresh():
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    fake_cuda.install(monkeypatch)
    code_in(tmp_path / "code")
    target = SimpleNamespace(target_context=SimpleNamespace(refresh=refresh))
    monkeypatch.setattr(numba_cuda, "cuda_target", target)
    for opens in (gpu.open_device, lambda: choose_backend(Device("cuda"), 1)):
        with pytest.raises(DeviceError, match=r"^numba-cuda .*row_stack.*'.\[cuda\]'"):
            opens()
    assert isinstance(choose_backend(Device("auto"), 1, 1000), Cores)


@pytest.fixture
def gpu_without_sort(monkeypatch):
    """A GPU that answers, and no cuda-cccl."""
    pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
    from fmx.compiler import kernels
    from fmx.machines import gpu_session

    device = SimpleNamespace(
        open_device=lambda number: "GPU", free_bytes=lambda: 10**9, errors=contextlib.nullcontext
    )
    monkeypatch.setattr(gpu_session, "gpu", device)
    monkeypatch.setattr(kernels, "SIMULATED", False)
    monkeypatch.setitem(sys.modules, "cuda", None)


def test_a_gpu_without_a_sort_is_noticed_before_the_work(gpu_without_sort):
    from fmx.index.building.build import choose_backend
    from fmx.machines.jobs import Cores
    from fmx.machines.places import Device

    with pytest.raises(DeviceError, match=r"cuda-cccl.*'.\[cuda\]'"):
        choose_backend(Device("cuda"), 1, 1000)
    told: list = []
    assert isinstance(choose_backend(Device("auto"), 1, 1000, told.append), Cores)
    assert len(told) == 1
    assert "cuda-cccl" in told[0]
