"""The examples of docs/python.md, of the notebook and of the docstrings do what they show."""

import base64
import doctest
import inspect
import json
import re
import runpy

import pytest
from conftest import ROOT
from notebooks import run

import fmx

PUBLIC = [name for name in fmx.__all__ if callable(getattr(fmx, name)) and not name.endswith("Error")]


@pytest.fixture
def files(folder):
    """A current folder as the examples begin with."""
    for name, text in runpy.run_path(str(ROOT / "docs" / "example_files.py"))["pages"]()["python"].items():
        (folder / name).write_text(text)


def test_the_page(files):
    found = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False, encoding="utf-8")
    assert (found.failed, found.attempted > 20) == (0, True)


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings(name, files):
    index = fmx.build("genome.fa", "genome.fmx")
    public = getattr(fmx, name)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    tests = finder.find(public, name, globs={"fmx": fmx, "index": index, name: public})
    for test in tests:
        runner.run(test)
    assert runner.summarize().failed == 0
    assert sum(len(test.examples) for test in tests) > 0


def test_what_there_is_is_documented():
    assert dir(fmx) == sorted(fmx.__all__)
    for name in PUBLIC:
        own = getattr(fmx, name)
        members = [each for key, each in vars(own).items() if callable(each) and key[0] != "_"]
        for each in [own, *members] if isinstance(own, type) else [own]:
            assert each.__doc__, each
            parameters = inspect.getdoc(each).partition("Args:\n")[2].partition("\n\n")[0]
            named = re.findall(r"^    (\w[\w, ]*):", parameters, re.M)
            assert {part for names in named for part in names.split(", ")} <= {
                *inspect.signature(each).parameters
            }
    assert (ROOT / "fmx" / "py.typed").exists()


def test_the_cells_run_and_show_what_the_notebook_shows():
    notebook = json.loads((ROOT / "docs" / "tour.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = run(notebook)
    ours = 0
    for cell, found in zip(cells, shown, strict=True):
        saved = cell["outputs"][0]["data"] if cell["outputs"] else {}
        assert found.keys() == saved.keys()
        text = "".join(saved.get("text/plain", ""))
        if text.startswith(("<fmx", "1498 reads")):  # others look as their versions say
            assert found["text/plain"] == text
            ours += 1
    assert ours >= 5
    (image,) = (found["image/png"] for found in shown if "image/png" in found)
    assert base64.b64decode(image).startswith(b"\x89PNG")
