"""docs/papers.md is what its script makes."""

import subprocess
import sys

from conftest import ROOT

PAPERS = ROOT / "docs" / "site" / "papers"
MAKE = """import page, runner
pictures = {path.stem for path in (page.DOCS / "figures").glob("*.png")}
print(page.papers_page(runner.read(page.DOCS / "papers.json"), pictures), end="")"""


def test_the_page_of_the_docs_is_what_the_script_makes():
    done = subprocess.run(
        [sys.executable, "-c", MAKE], cwd=PAPERS, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    assert (ROOT / "docs" / "papers.md").read_text(encoding="utf-8") == done.stdout
    assert "missing" not in done.stdout
    assert "| not run |" not in done.stdout
