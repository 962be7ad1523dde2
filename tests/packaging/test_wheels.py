"""Platform wheels: the plain wheel with machine code in it, of tags and a list of files of its own."""

import base64
import csv
import hashlib
import importlib.util
import sys
import zipfile

import pytest
from conftest import ROOT

PATH = ROOT / "docs" / "packaging" / "wheels.py"


@pytest.fixture(scope="module")
def wheels():
    """The module that makes them."""
    sys.path.append(str(PATH.parent))
    spec = importlib.util.spec_from_file_location("wheels", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_wheel_of_kernels_is_about_itself(wheels):
    given = {
        "fmx/__init__.py": b"",
        "fmx_mapper-1.2.dist-info/METADATA": b"Name: fmx-mapper",
        "fmx_mapper-1.2.dist-info/entry_points.txt": b"fmx",
        "fmx_mapper-1.2.dist-info/licenses/LICENSE": b"MIT",
    }
    made = wheels.of_kernels(given, "cp311")
    folder = "fmx_mapper_kernels-1.2.dist-info"
    assert set(made) == {f"{folder}/METADATA", f"{folder}/licenses/LICENSE"}
    lines = made[f"{folder}/METADATA"].decode().splitlines()
    assert {"Requires-Dist: fmx-mapper[cuda13]==1.2", "Requires-Python: ==3.11.*"} <= set(lines)


def test_tags_and_record_are_those_of_what_is_in_it(wheels, tmp_path):
    about = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {
        "fmx/__init__.py": b"",
        "fmx-1.dist-info/WHEEL": about.encode(),
        "fmx-1.dist-info/RECORD": b"of the plain wheel",
        "fmx/code/0123/fmx.f-1.o": b"machine",
    }
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheels.write(wheel, files, "cp311-none-", wheels.PLATFORMS["aarch64"])
    with zipfile.ZipFile(tmp_path / "a.whl") as wheel:
        held = {name: wheel.read(name) for name in wheel.namelist()}
        assert {wheel.getinfo(name).external_attr >> 16 for name in held} == {0o100644}
    assert set(held) == set(files)
    lines = held["fmx-1.dist-info/WHEEL"].decode().splitlines()
    assert lines[1] == "Root-Is-Purelib: false"
    assert lines[2:] == [
        "Tag: cp311-none-manylinux_2_17_aarch64",
        "Tag: cp311-none-manylinux2014_aarch64",
    ]
    rows = {
        name: (digest, size)
        for name, digest, size in csv.reader(held["fmx-1.dist-info/RECORD"].decode().splitlines())
    }
    assert set(rows) == set(held)
    assert rows.pop("fmx-1.dist-info/RECORD") == ("", "")
    for name, (digest, size) in rows.items():
        made = base64.urlsafe_b64encode(hashlib.sha256(held[name]).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={made}", str(len(held[name])))
