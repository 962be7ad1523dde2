"""fmx, installed by pip in a virtual environment of its own, no extras: the README's commands run at once."""

import subprocess
import sys
import venv

import pytest
import pythons
from conftest import ROOT
from test_without_gpu_packages import README, fill

pytestmark = pytest.mark.xdist_group("plain install")  # one environment, made once


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A function: a shell command, run beside the README's files with that fmx alone -> CompletedProcess."""
    place, folder = tmp_path_factory.mktemp("venv"), fill(tmp_path_factory.mktemp("work"))
    venv.create(place, with_pip=True)
    pythons.run([place / "bin" / "python", "-m", "pip", "install", "--quiet", ROOT])
    environment = pythons.clean() | {"FMX_CACHE": str(place)}
    environment["PATH"] = f"{place / 'bin'}:{environment['PATH']}"

    def plain(line):
        how = {"cwd": folder, "env": environment, "capture_output": True, "text": True, "check": False}
        return subprocess.run(["bash", "-c", line], **how)

    return plain


def test_it_is_that_fmx_and_without_extras(plain):
    found = plain("python -c 'import fmx; print(fmx.__file__)'").stdout
    assert "site-packages" in found
    assert str(ROOT / "fmx") not in found
    assert sys.prefix not in plain("which fmx").stdout
    for package in ("numba_cuda", "cuda", "matplotlib"):
        assert "ModuleNotFoundError" in plain(f"python -c 'import {package}'").stderr


def test_the_readme_works_and_nothing_is_compiled(plain):
    for line in README:
        done = plain(line)
        assert done.returncode == 0, (line, done.stderr)
        assert "compiling" not in done.stderr, line
