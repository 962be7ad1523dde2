"""docs/papers.md is what its script makes."""

import sys
from importlib import import_module

import runner
from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "site" / "papers"))
page = import_module("page")

RECORDED = ROOT / "docs" / "papers.json"


def test_the_page_of_the_docs_is_what_the_script_makes():
    pictures = {path.stem for path in (ROOT / "docs" / "figures").glob("*.png")}
    made = page.papers_page(runner.read(RECORDED), pictures)
    assert (ROOT / "docs" / "papers.md").read_text(encoding="utf-8") == made
    assert "missing" not in made
    assert "| not run |" not in made
