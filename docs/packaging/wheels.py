"""Platform wheels: the plain wheel and, in it, machine code for x86-64 with AVX2, or for 64-bit ARM.

python docs/packaging/wheels.py dist python3.11 python3.13: two for each Python, in the folder dist.  Each
Python compiles in an environment of its own, with the newest packages that fmx allows there.

With --kernels sm_80,sm_90 before them, wheels of kernels for these GPUs alone: fmx-mapper-kernels, to be
installed beside fmx.  No GPU is needed.
"""

import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# The tags of each level of processors: the code calls libc for copying and comparing alone.
PLATFORMS = {
    "x86-64-v3": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64": "manylinux_2_17_aarch64.manylinux2014_aarch64",
}
X86 = PLATFORMS["x86-64-v3"]
UV = [sys.executable, "-m", "uv"]
KERNELS = "fmx_mapper_kernels"
ABOUT = """Metadata-Version: 2.4
Name: fmx-mapper-kernels
Version: {version}
Summary: Kernels of fmx as machine code of NVIDIA GPUs, for CUDA 13
License-Expression: MIT
License-File: LICENSE
Requires-Python: =={python}.*
Requires-Dist: fmx-mapper[cuda13]=={version}

Kernels may hold parts of libdevice, which are under the End User License Agreement of NVIDIA's CUDA Toolkit.
"""
TOLD = """
import sys
from fmx.compiler import object_cache
print(f"cp{sys.version_info[0]}{sys.version_info[1]}", object_cache.SHARED)
"""


def main(folder: str, *rest: str) -> None:
    """Write the wheels of each of the Pythons."""
    gpus, pythons = (rest[1], rest[2:]) if rest[0] == "--kernels" else ("", rest)
    for python in pythons:
        with tempfile.TemporaryDirectory() as name:
            for path in make(Path(folder), python, Path(name), gpus):
                print(path)


def make(folder: Path, python: str, scratch: Path, gpus: str = "") -> Iterator[Path]:
    """Yield the platform wheels for a Python, or that of kernels for ``gpus``, as they are written."""
    run([*UV, "build", "--quiet", "--wheel", "--out-dir", scratch, ROOT])
    (plain,) = scratch.glob("*-py3-none-any.whl")
    run([*UV, "venv", "--quiet", "--python", python, scratch / "venv"])
    here = scratch / "venv" / "bin" / "python"
    needed = f"fmx-mapper{'[cuda13]' if gpus else ''} @ {plain.as_uri()}"
    run([*UV, "pip", "install", "--quiet", "--python", here, needed])
    tag, code = run([here, "-c", TOLD]).split()
    with zipfile.ZipFile(plain) as source:
        files = {name: source.read(name) for name in source.namelist()}
    folder.mkdir(parents=True, exist_ok=True)
    for target, platform in [(gpus, X86)] if gpus else PLATFORMS.items():
        run([here, "-m", "fmx", "compile", "--shared", "--for", target])
        name, own = plain.name.replace("py3-none-any", f"{tag}-none-{platform}"), dict(files)
        if gpus:
            own, name = of_kernels(files, tag), name.replace("fmx_mapper-", f"{KERNELS}-")
        for path in sorted(Path(code).glob("*/fmx.*.o")):
            own[f"fmx/code/{path.parent.name}/{path.name}"] = path.read_bytes()
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
            write(wheel, own, f"{tag}-none-", platform)
        shutil.rmtree(code)
        yield folder / name


def of_kernels(files: dict, tag: str) -> dict:
    """Of the files of fmx's wheel, those about the wheel, as the one of kernels has them."""
    made = {}
    for name, data in files.items():
        folder, _, file = name.partition("/")
        if not folder.endswith(".dist-info") or file == "entry_points.txt":
            continue
        if file == "METADATA":
            version = folder.removesuffix(".dist-info").partition("-")[2]
            data = ABOUT.format(version=version, python=f"{tag[2]}.{tag[3:]}").encode()
        made[f"{folder.replace('fmx_mapper-', f'{KERNELS}-')}/{file}"] = data
    return made


def write(wheel: zipfile.ZipFile, files: dict, tag: str, platforms: str) -> None:
    """Write the files of a wheel, whose tags and list of files become its own."""
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    (about,) = (name for name in files if name.endswith(".dist-info/WHEEL"))
    tags = "".join(f"Tag: {tag}{platform}\n" for platform in platforms.split("."))
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
