"""Platform wheels: the plain wheel and, in it, machine code for processors with AVX2 (x86-64-v3).

python docs/packaging/wheels.py dist python3.11 python3.13: one for each Python, in the folder dist.  Each
compiles in an environment of its own, with the newest packages that fmx allows there.
"""

import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LEVEL = "x86-64-v3"
PLATFORM = "manylinux_2_17_x86_64.manylinux2014_x86_64"  # the code calls libc for copying and comparing alone
UV = [sys.executable, "-m", "uv"]
TOLD = """
import sys
from fmx.compiler import object_cache
print(f"cp{sys.version_info[0]}{sys.version_info[1]}", object_cache.SHARED)
"""


def main(folder: str, *pythons: str) -> None:
    """Write a wheel for each of the Pythons."""
    for python in pythons:
        with tempfile.TemporaryDirectory() as name:
            print(make(Path(folder), python, Path(name)))


def make(folder: Path, python: str, scratch: Path) -> Path:
    """The platform wheel for a Python."""
    run([*UV, "build", "--quiet", "--wheel", "--out-dir", scratch, ROOT])
    (plain,) = scratch.glob("*-py3-none-any.whl")
    run([*UV, "venv", "--quiet", "--python", python, scratch / "venv"])
    here = scratch / "venv" / "bin" / "python"
    run([*UV, "pip", "install", "--quiet", "--python", here, plain])
    tag, code = run([here, "-c", TOLD]).split()
    run([here, "-m", "fmx", "compile", "--shared", "--for", LEVEL])
    made = folder / plain.name.replace("py3-none-any", f"{tag}-none-{PLATFORM}")
    folder.mkdir(parents=True, exist_ok=True)
    with (
        zipfile.ZipFile(plain) as source,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel,
    ):
        files = {name: source.read(name) for name in source.namelist()}
        for path in sorted(Path(code).glob("*/fmx.*.o")):
            files[f"fmx/code/{path.parent.name}/{path.name}"] = path.read_bytes()
        write(wheel, files, f"{tag}-none-")
    return made


def write(wheel: zipfile.ZipFile, files: dict, tag: str) -> None:
    """Write the files of a wheel, whose tags and list of files become its own."""
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    (about,) = (name for name in files if name.endswith(".dist-info/WHEEL"))
    tags = "".join(f"Tag: {tag}{platform}\n" for platform in PLATFORM.split("."))
    text = files[about].decode().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    files[about] = re.sub(r"Tag: py3-none-any\n", tags, text).encode()
    files = {name: data for name, data in files.items() if name != record}
    rows = io.StringIO()
    lines = csv.writer(rows, lineterminator="\n")
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.writerow([name, f"sha256={digest}", len(data)])
    lines.writerow([record, "", ""])
    for name, data in {**files, record: rows.getvalue().encode()}.items():
        member = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        member.external_attr = 0o100644 << 16
        wheel.writestr(member, data, zipfile.ZIP_DEFLATED)


def run(command: list) -> str:
    """Standard output of a command that has to succeed, outside of this folder."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "PYTHON"))
    }
    done = subprocess.run(
        list(map(str, command)),
        env=environment,
        cwd="/",
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
