"""The site of the documents: built strictly, complete; links lead somewhere, and nothing is fetched."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT

import fmx
from fmx.cli import main


class Page(HTMLParser):
    """``ids`` of a page, ``links`` out of it, ``fetched``: what a browser loads to show it."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.fetched = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("img", "script", "link") and (source := given.get("src") or given.get("href")):
            self.fetched.append(source)


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


@pytest.fixture(scope="module")
def pages(site):
    """{path: Page} of all pages but the one for what is not found."""
    return {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_link_of_the_site_leads_somewhere(site, pages):
    assert len(pages) > 25
    for path, page in pages.items():
        for link in (*page.links, *page.fetched):
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), (path.relative_to(site), link)
            if parts.fragment and target in pages and parts.fragment != "__skip":
                assert unquote(parts.fragment) in pages[target].ids, (path.relative_to(site), link)


def test_nothing_is_fetched_from_elsewhere(pages):
    assert [link for page in pages.values() for link in page.fetched if urlsplit(link).netloc] == []


def test_every_command_and_every_name_of_the_library_has_its_section(site):
    library = (site / "library" / "index.html").read_text()
    for name in main.fmx.list_commands(None):
        page = (site / f"command-{name}" / "index.html").read_text()
        command = main.fmx.get_command(None, name)
        for param in command.params:
            assert getattr(param, "hidden", False) or param.opts[-1] in page or param.opts[0][0] != "-"
    for name in fmx.__all__:
        assert name.startswith("_") or re.search(rf"<h2[^>]*>(<code>)?\s*fmx\.{name}\b", library), name
