"""fmx where the packages for GPUs and figures are missing or broken: what needs one says so in one line."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import fake_cuda
import pytest
from conftest import ROOT
from cover import nightly
from fuzz.runner import Runner

from fmx.errors import DeviceError
from fmx.machines.places import Device

REMEDY = "pip install '.[cuda]'"
# Python runs this at its start if it is in a folder of PYTHONPATH.
BLOCK = """
import os, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba_cuda", "cuda", "matplotlib"):
            if os.environ["FMX_TEST_PACKAGES"] == "broken":
                raise RuntimeError(f"{name}: libcudart is of another version\\nand more")
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
if "FMX_TEST_PACKAGES" in os.environ:
    sys.meta_path.insert(0, Blocker())
"""
README = re.findall(r"^    (fmx .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)


def fill(folder):
    """Write the files that the commands of the README and of docs/pipelines.md read; return the folder."""
    shutil.copy(ROOT / "fmx/data/lambda.fa.gz", folder / "ref.fa.gz")
    shutil.copy(ROOT / "fmx/data/lambda_reads.fq.gz", folder / "reads.fq.gz")
    letters = "ACGTTGCAAC" * 30
    (folder / "genome.fa").write_text(f">g\n{letters}\n")
    (folder / "genes.fa").write_text(f">a\n{letters}\n>b\n{letters}A\n")
    guides = ["ACGTACGTTAGCATTACGCA", "TTGACCAGATTACAGGCATC", "GGATCCATTGCAACTGATTC"]
    lines = [f"g{i},{guide},GENE{i}" for i, guide in enumerate(guides)]
    (folder / "guides.csv").write_text("\n".join(["id,sequence,gene", *lines, ""]))
    reads = "".join(f"@r{i}\nCACCG{guide}GTTTT\n+\n{'I' * 30}\n" for i, guide in enumerate(guides * 40))
    for day in ("day0", "day14"):
        (folder / f"{day}.fq.gz").write_bytes(gzip.compress(reads.encode()))
    return folder


def write_command(folder):
    """Write a command ``fmx`` for this Python."""
    (folder / "fmx").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fmx "$@"\n')
    (folder / "fmx").chmod(0o755)


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """A folder with a command ``fmx``, the files that the README's commands read, and two indexes."""
    folder = fill(tmp_path_factory.mktemp("plain"))
    (folder / "sitecustomize.py").write_text(BLOCK)
    write_command(folder)
    indexes = "index ref.fa.gz", "index genome.fa -o host.fmx", "index --with-lcp -o lcp.fmx ref.fa.gz"
    done = shell(folder, "missing", "; ".join(f"fmx {words} -q" for words in indexes))
    assert done.returncode == 0, done.stderr
    return folder


def environment_of(work, packages) -> dict:
    """Of processes to which the packages are "missing" or "broken"."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(work), str(ROOT)]), "FMX_TEST_PACKAGES": packages,
        "PATH": f"{work}:{os.environ['PATH']}", "FMX_INDEX": "lcp.fmx",
    }  # fmt: skip


def shell(work, packages, line):
    """Run a command line without the packages."""
    how = {"cwd": work, "env": environment_of(work, packages), "capture_output": True, "text": True}
    return subprocess.run(["bash", "-c", line], **how, check=False)


@pytest.fixture(scope="session", params=["missing", "broken"])
def fork(request, work):
    """A function: the words of a command of fmx, run in one process without the packages."""
    with Runner(work / "standard", **environment_of(work, request.param)) as runner:
        yield lambda *words: runner.run(work, words)


packages = pytest.mark.parametrize("packages", ["missing", "broken"])
by_package = pytest.mark.parametrize("packages", ["missing", nightly("broken")])


@packages
def test_the_packages_are_away(packages, work):
    for package in ("numba_cuda", "cuda", "matplotlib"):
        assert shell(work, packages, f"{sys.executable} -c 'import {package}'").returncode == 1


@by_package
@pytest.mark.parametrize("line", README, ids=lambda line: " ".join(line.split()[:2]))
def test_the_readme_works(line, packages, work):
    done = shell(work, packages, line)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("fork", ["missing", nightly("broken")], indirect=True)
@pytest.mark.parametrize(
    "line",
    [
        "index ref.fa.gz -o {}.fmx", "index ref.fa.gz -o {}.fmx --layout cofi-k3",
        "search reads.fq.gz -a -o {}.sam", "mem -l 20 genome.fa -o {}.mem",
        "mem -l 20 --algorithm mummergpu genome.fa -o {}.mem",
    ],
)  # fmt: skip
def test_auto_takes_the_cpu_and_says_why(line, fork, work):
    done = fork(*line.format("auto").split(), "--engine", "auto")
    assert done.code == 0, done.message
    assert done.message.count(REMEDY if "index" in line else "searching on the CPU") == 1
    assert fork(*line.format("cpu").split(), "--engine", "cpu").code == 0
    suffix = line.split("{}")[1].split()[0]
    if suffix != ".fmx":
        texts = [(work / f"{name}{suffix}").read_bytes().splitlines() for name in ("auto", "cpu")]
        assert len({tuple(line for line in text if not line.startswith(b"@PG")) for text in texts}) == 1


@pytest.mark.parametrize(
    "line",
    [
        "index ref.fa.gz -o no.fmx --engine cuda", "index --add --layout cofi-k3 lcp.fmx --engine cuda",
        "search reads.fq.gz --engine cuda", "search reads.fq.gz --engine cuda_full",
        "mem --algorithm mummergpu genome.fa --engine cuda", "pairwise genes.fa --engine cuda",
        "pairwise genes.fa --engine both",
    ],
)  # fmt: skip
def test_a_gpu_that_is_named_is_one_line(line, fork, work):
    done = fork(*line.split())
    assert done.code == 1
    assert done.message.startswith("fmx: error: ")
    assert done.message.count("\n") == 1
    assert REMEDY in done.message
    assert not (work / "no.fmx").exists()


@packages
@pytest.mark.parametrize(("engine", "message"), [("cuda", "DeviceError"), ("auto", "48,502 bases")])
def test_the_library(engine, message, packages, work):
    program = f"import fmx; print(fmx.build('ref.fa.gz', 'library.fmx', engine='{engine}'))"
    done = shell(work, packages, f'{sys.executable} -c "{program}"')
    assert message in done.stdout + done.stderr
    assert "DeviceError" not in done.stderr or REMEDY in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("line", "driver", "message"),
    [
        ("index ref.fa.gz -o gpu.fmx", "nothing.so", "no GPU that CUDA can use was found"),
        ("search -x ref.fmx reads.fq.gz", "genome.fa", "on the CPU"),
        ("pairwise genes.fa", "genome.fa", "no GPU that CUDA can use was found"),
    ],
)
def test_a_driver_is_no_condition_either(line, driver, message, work):
    """The packages are there; of the driver there is nothing, or a file that is no library."""
    pytest.importorskip("numba_cuda", reason=REMEDY)
    command = [sys.executable, "-m", "fmx", *line.split(), "--engine"]
    environment = os.environ | {"NUMBA_CUDA_DRIVER": str(work / driver), "PYTHONPATH": str(ROOT)}
    how = {"cwd": work, "env": environment, "capture_output": True, "text": True, "check": False}
    done = [subprocess.run([*command, engine], **how) for engine in ("cuda", "auto")]
    assert [each.returncode for each in done] == [1, 0]
    assert re.fullmatch(r"fmx: error: no GPU that CUDA can use was found: .*\n", done[0].stderr)
    assert done[1].stderr.count(message) == 1


def test_numba_cuda_that_breaks_only_at_its_first_kernel(code_in, monkeypatch, tmp_path):
    """As it does where NumPy is newer than it knows: found out when the GPU is opened, not amid the work."""
    pytest.importorskip("numba_cuda", reason=REMEDY)
    from fmx.compiler import numba_cuda
    from fmx.index.build import choose_backend
    from fmx.machines import gpu
    from fmx.machines.jobs import Cores

    def refresh():
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    fake_cuda.install(monkeypatch)
    code_in(tmp_path / "code")
    target = SimpleNamespace(target_context=SimpleNamespace(refresh=refresh))
    monkeypatch.setattr(numba_cuda, "cuda_target", target)
    for opens in (gpu.open_device, lambda: choose_backend(Device("cuda"), 1, 1000)):
        with pytest.raises(DeviceError, match=r"^numba-cuda .*row_stack.*'.\[cuda\]'"):
            opens()
    assert isinstance(choose_backend(Device("auto"), 1, 1000), Cores)


def test_a_gpu_without_a_sort_is_noticed_before_the_work(monkeypatch):
    """A GPU answers, and there is no cuda-cccl."""
    pytest.importorskip("numba_cuda", reason=REMEDY)
    from fmx.compiler import kernels
    from fmx.index.build import choose_backend
    from fmx.machines import gpu
    from fmx.machines.jobs import Cores

    monkeypatch.setattr(gpu, "open_device", lambda number: "GPU")
    monkeypatch.setattr(gpu, "free_bytes", lambda: 10**9)
    monkeypatch.setattr(kernels, "SIMULATED", False)
    monkeypatch.setitem(sys.modules, "cuda", None)
    with pytest.raises(DeviceError, match=r"cuda-cccl.*'.\[cuda\]'"):
        choose_backend(Device("cuda"), 1, 1000)
    messages: list = []
    assert isinstance(choose_backend(Device("auto"), 1, 1000, messages.append), Cores)
    assert len(messages) == 1
    assert "cuda-cccl" in messages[0]
