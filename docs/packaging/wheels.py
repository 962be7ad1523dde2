"""Platform wheels: with all machine code for x86-64 with AVX2, or for 64-bit ARM.

python docs/packaging/wheels.py dist python3.11 python3.13: two for each Python, in the folder dist.  Each
Python compiles in an environment of its own, with the newest packages that fmx allows there (hook.py).

With --kernels sm_80,sm_90 before them, wheels of kernels for these GPUs alone: fmx-mapper-kernels, to be
installed beside fmx.  No GPU is needed.
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

from hook import HERE, PLATFORMS

ROOT = HERE.parent.parent
UV = [sys.executable, "-m", "uv"]
BUILD = [*UV, "build", "--quiet", "--wheel", "--out-dir"]
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
TAG = 'import sys; print("cp{}{}".format(*sys.version_info))'


def main(name: str, *rest: str) -> None:
    """Write the wheels of each of the Pythons to a folder."""
    folder = Path(name).absolute()
    gpus, pythons = (rest[1], rest[2:]) if rest[0] == "--kernels" else ("", rest)
    for python in pythons:
        for level in () if gpus else PLATFORMS:
            run([*BUILD, folder, "--python", python, ROOT], FMX_COMPILE_FOR=level)
        if gpus:
            with tempfile.TemporaryDirectory() as scratch:
                write_kernels(folder, python, Path(scratch), gpus)
    print(*sorted(folder.glob("*.whl")), sep="\n")


def write_kernels(folder: Path, python: str, scratch: Path, gpus: str) -> None:
    """Write the wheel of kernels for some GPUs and a Python."""
    run([*BUILD, scratch, ROOT], FMX_NO_COMPILE="1")
    (plain,) = scratch.glob("*-py3-none-any.whl")
    run([*UV, "venv", "--quiet", "--python", python, scratch / "venv"])
    here = scratch / "venv" / "bin" / "python"
    run([*UV, "pip", "install", "--quiet", "--python", here, f"fmx-mapper[cuda13] @ {plain.as_uri()}"])
    tag = run([here, "-c", TAG]).strip()
    code = Path(run([here, HERE / "machine_code.py", gpus], FMX_CACHE=str(scratch)).strip())
    with zipfile.ZipFile(plain) as source:
        files = of_kernels({name: source.read(name) for name in source.namelist()}, tag)
    for path in sorted(code.glob("fmx.*.o")):
        files[f"fmx/code/{code.name}/{path.name}"] = path.read_bytes()
    platform = PLATFORMS["x86-64-v3"]
    name = plain.name.replace("py3-none-any", f"{tag}-none-{platform}").replace("fmx_mapper-", f"{KERNELS}-")
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        write(wheel, files, f"{tag}-none-", platform)


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


def run(command: list, **variables: str) -> str:
    """Standard output of a command that has to succeed, with some variables, outside of this folder."""
    known = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "PYTHON"))}
    words, how = list(map(str, command)), {"env": known | variables, "cwd": "/", "text": True}
    return subprocess.run(words, **how, stdout=subprocess.PIPE, check=True).stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
