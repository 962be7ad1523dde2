"""Sdist and wheel: what is in them, that they install on each Python, and the extras for GPUs."""

import os
import subprocess
import tarfile
import zipfile

import numpy as np
import pytest
import pythons
from conftest import ROOT

import fmx
from fmx.cli import main

COMPILES = """
from fmx.compiler import ahead, cuda_driver, numba_cuda
kernel, kinds, _ = ahead.function_of(ahead.kernels_for("sm_90")[0])
code = numba_cuda.machine_code(kernel.function, None, kinds, (9, 0))
assert code.body[:4] == b"\\x7fELF"
from cuda import compute
print(cuda_driver.toolkit())
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Paths of the sdist and of the wheel made from it."""
    return pythons.built(tmp_path_factory.mktemp("built"))


def test_the_sdist_holds_the_project_and_the_wheel_what_runs(built):
    sdist, wheel = built
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    for name in ("pyproject.toml", "fmx", "tests", "docs", "Makefile", "README.md", "LICENSE"):
        assert name in tops
    names = zipfile.ZipFile(wheel).namelist()
    own = f"fmx_mapper-{fmx.__version__}"
    assert {name.split("/")[0] for name in names} == {"fmx", f"{own}.dist-info", f"{own}.data"}
    assert {"fmx/data/lambda.fa.gz", f"{own}.dist-info/licenses/LICENSE"} <= set(names)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not any(name.startswith("fmx/code/") for name in names)


def test_a_wheel_is_built_where_the_compiler_cannot_be_installed(tmp_path):
    nothing = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": str(tmp_path)}
    pythons.run([*pythons.UV, "build", "--wheel", "--out-dir", tmp_path, ROOT], **nothing)
    assert [path.name.partition("-py3")[2] for path in tmp_path.glob("*.whl")] == ["-none-any.whl"]


def test_the_wheel_has_a_man_page_for_each_command(built, tmp_path):
    with zipfile.ZipFile(built[1]) as archive:
        archive.extractall(tmp_path)
    pages = {path.name: path for path in tmp_path.glob("*.data/data/share/man/man1/*")}
    assert set(pages) == {"fmx.1", *(f"fmx-{name}.1" for name in main.fmx.list_commands(None))}
    for path in pages.values():
        shown = subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True, check=False)
        assert (shown.returncode, shown.stderr) == (0, ""), path.name
        assert "-h, --help" in shown.stdout


@pytest.mark.parametrize(
    ("version", "form"), [("3.12", "sdist"), ("3.13", "wheel"), ("3.14", "wheel"), ("3.15", "wheel")]
)
def test_it_installs_on_another_python_and_builds_the_same_index(version, form, built, tmp_path):
    python = pythons.find(version)
    if not python:
        pytest.skip(f"no Python {version} on this machine")
    made = pythons.environment(tmp_path / "venv", python, built[form == "wheel"])
    command = made.with_name("fmx")
    assert pythons.run([command, "-V"]) == f"fmx {fmx.__version__}\n"
    if form == "sdist":  # all that is installed is there; the compiler is tried once
        pythons.run([made, "-c", "import fmx; print(fmx.Index, fmx.HIT)"])
        return
    pythons.run([command, "index", "-q", ROOT / "fmx/data/lambda.fa.gz", "-o", tmp_path / "there.fmx"])
    here = fmx.build(ROOT / "fmx/data/lambda.fa.gz", tmp_path / "here.fmx")
    assert here
    arrays = sorted((tmp_path / "here.fmx").glob("*.npy"))
    assert len(arrays) > 3
    for path in arrays:
        assert np.array_equal(np.load(path), np.load(tmp_path / "there.fmx" / path.name)), path.name


@pytest.mark.parametrize("cuda", [12, 13])
def test_the_packages_of_each_cuda_compile_a_kernel_without_a_gpu(cuda, built, tmp_path):
    made = pythons.environment(tmp_path / "venv", pythons.sys.executable, f"{built[1]}[cuda{cuda}]")
    assert pythons.run([made, "-W", "ignore", "-c", COMPILES]).strip() == str(cuda)
