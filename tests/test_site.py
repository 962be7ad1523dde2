"""The site of the documents: built strictly, so that links lead somewhere; complete; nothing is fetched."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

import fmx
from fmx.cli import main

pytestmark = pytest.mark.nightly  # make docs builds it, too; tests/test_docs.py looks at links


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    folder = tmp_path_factory.mktemp("site")
    config = ROOT / "docs" / "site" / "mkdocs.yml"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", folder]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    return folder


def test_nothing_is_fetched_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    for path in pages:
        link = r"<(?:img|script|link)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//"
        assert not re.findall(link, path.read_text()), path


def test_every_command_and_every_name_of_the_library_has_its_section(site):
    library = (site / "library" / "index.html").read_text()
    for name in main.fmx.list_commands(None):
        page = (site / f"command-{name}" / "index.html").read_text()
        command = main.fmx.get_command(None, name)
        for param in command.params:
            assert getattr(param, "hidden", False) or param.opts[-1] in page or param.opts[0][0] != "-"
    for name in fmx.__all__:
        assert name.startswith("_") or re.search(rf"<h2[^>]*>(<code>)?\s*fmx\.{name}\b", library), name
