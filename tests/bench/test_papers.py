"""docs/papers.md: all figures of the papers are there; the page is what its script makes; clusters add up."""

import sys
from importlib import import_module

import pytest
import runner
from bench.test_bench import run
from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "site" / "papers"))
facts, page, scaling = map(import_module, ("facts", "page", "scaling"))

RECORDED = ROOT / "docs" / "papers.json"


def test_what_is_measured_is_what_the_facts_are_of():
    measured = [
        (paper, figure, what)
        for paper, figures in page.VALUES.items()
        for figure, values in figures.items()
        for what in values
    ]
    assert {fact[:3] for fact in facts.facts()} == set(measured)
    listed = {(paper.key, figure.name) for paper in facts.papers() for figure in paper.figures}
    assert {fact[:2] for fact in facts.facts()} <= listed


def test_the_page_of_the_docs_is_what_the_script_makes():
    pictures = {path.stem for path in (ROOT / "docs" / "figures").glob("*.png")}
    made = page.papers_page(runner.read(RECORDED), pictures)
    assert (ROOT / "docs" / "papers.md").read_text(encoding="utf-8") == made
    assert "missing" not in made
    assert "| not run |" not in made


def test_a_page_without_a_table_says_so():
    rows = [{"cluster": "six equal nodes", "pairs/s": 1014.2}]
    text = page.papers_page([runner.Table("nodes", "c", "here", "2026-01-01", rows)], set())
    assert "| six equal nodes | 1015 (6.8.2) | 1,014 pairs/s |" in text
    assert "| roofline | not run | | |" in text
    assert "missing" in text


def test_columns_of_a_given_reference_are_those_of_its_text(tmp_path):
    """Each element of COFI is in a column, and error-free reads step to a column as often as it has some."""
    from texts import random_letters

    letters = random_letters(3000, "columns") + "ACGTA" * 200
    (tmp_path / "r.fa").write_text(f">c\n{letters}\n")
    small = "--only columns --reads 10 --length 50 -o"
    (table,) = run("search", tmp_path / "r.fa", *small.split(), tmp_path)
    *rows, bvsfm = table.rows
    assert sum(row["share of all elements"] for row in rows) == pytest.approx(1)
    k = next(k for k in range(12, 0, -1) if 4**k < len(letters) + 1)
    assert sum(row["columns"] for row in rows) == 4**k
    seen = {letters[i : i + k] for i in range(len(letters) - k + 1)}
    empty = next(row["columns"] for row in rows if row["elements"] == "0")
    assert empty == 4**k - len(seen)
    assert bvsfm["elements"] == "bvsfm-k2-d64"


# A simulated cluster: what can be said by arithmetic comes out, and nothing is lost.

SITE = {"rates": (1e6,), "start": 0, "index": 0, "disk": 1e15, "dispatch": 0, "merging": 0}


@pytest.mark.parametrize(
    ("changes", "n", "shard", "seconds"),
    [
        ({}, 10**9, 10**7, 1000),
        ({"start": 5, "index": 1e10, "disk": 1e9, "dispatch": 0.5, "merging": 1e9, "read_in": 0,
          "read_out": 100}, 10**8, 10**7, 5 + 10 + 100 + 10 * 0.5 + 10),
        ({"disk": 1e9, "read_in": 500, "read_out": 500, "rates": (1e6,) * 10}, 10**8, 10**6, 100),
        ({"rates": (3e6, 1e6)}, 4 * 10**8, 10**5, 100),
        ({"rates": (1e6,) * 7, "start": 1, "dispatch": 0.001, "failures": 3000}, 10**9, 10**7, None),
    ],
)  # fmt: skip
def test_a_simulated_cluster_takes_as_long_as_its_rates_say(changes, n, shard, seconds):
    found = scaling.simulate(scaling.Site(**SITE | changes), n, shard)
    assert found.done == n // shard
    assert seconds is None or found.seconds == pytest.approx(seconds, rel=0.01)
