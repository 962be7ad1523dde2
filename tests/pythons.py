"""Environments of their own for the tests: the Pythons of this machine, and what uv installs into them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

UV = [sys.executable, "-m", "uv", "--quiet", "--no-config"]


def find(version) -> str:
    """A Python of a version, such as 3.12: on PATH, or one of pyenv's; nothing where there is none."""
    ours = "{}.{}".format(*sys.version_info)
    candidates = [sys.executable] if version == ours else []
    candidates += filter(None, [shutil.which(f"python{version}")])
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))
    for candidate in candidates:
        ask = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() == version:
            return candidate
    return ""


def clean() -> dict:
    """The variables of this process, less those by which Python or fmx would find what is not installed."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "FMX_I"))}


def environment(folder, python, *packages) -> Path:
    """Make a virtual environment with packages, as pip names them; its Python."""
    made = folder / "bin" / "python"
    run([*UV, "venv", "--python", python, folder])
    run([*UV, "pip", "install", "--python", made, *packages])
    return made


def run(command, **variables) -> str:
    """What a command prints, with some variables; an AssertionError with what it said where it fails."""
    words, environment = [str(word) for word in command], clean() | variables
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def built(folder) -> tuple[Path, Path]:
    """The sdist of this tree, and the wheel that is made from it and nothing else, without machine code."""
    run([*UV, "build", "--out-dir", folder, ROOT], FMX_NO_COMPILE="1")
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel
