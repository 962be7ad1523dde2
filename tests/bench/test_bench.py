"""docs/bench, what of it needs no GPU and no minutes."""

import os
import subprocess
import sys

import pytest
import runner
from conftest import ROOT
from cover import nightly
from texts import random_letters


@pytest.mark.parametrize("mismatches", [0, nightly(1)])
def test_a_simulated_screen_is_counted_as_is_true(mismatches, tmp_path):
    small = "--guides 90 --reads 3000 --samples 2 --stagger 3 --runs 1 -t 1 --mismatches"
    (table,) = run("count", *small.split(), mismatches, "--work", tmp_path, "-o", tmp_path)
    assert [row["reads off"] for row in table.rows] == [0]
    lines = [line.split("\t") for line in (tmp_path / "fmx.tsv").read_text().splitlines()]
    assert lines[0] == ["sgRNA", "Gene", "sample01", "sample02"]
    assert 1300 < sum(int(line[2]) for line in lines[1:]) <= 1500


def test_sites_of_guides_are_timed(tmp_path):
    small = "--size 3000 --guides 9 --mismatches 2 --runs 1 -t 1"
    (table,) = run("offtargets", *small.split(), "--work", tmp_path, "-o", tmp_path)
    assert [row["sites"] for row in table.rows] == ["fmx"]
    assert (tmp_path / "sites.tsv").read_bytes().startswith(b"guide\tcontig\t")


@pytest.mark.nightly
def test_what_screens_leave_and_lose_is_counted(tmp_path):
    for name in "ho":
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{random_letters(4000, name)}\n")
    files = tmp_path / "h.fa", tmp_path / "o.fa"
    (table,) = run("screens", *files, "--reads", 600, "--runs", 1, "-o", tmp_path)
    left = {row["screen"]: (row["host left %"], row["other lost %"]) for row in table.rows}
    assert 25 < left["fmx"][0] < 55
    assert left["fmx --min-match 31"][0] < 2
    assert {lost for _, lost in left.values()} == {0}


def test_modes_are_timed_beside_bowtie(peer, tmp_path):
    peer("bowtie"), peer("bowtie-build")
    (tmp_path / "r.fa").write_text(f">a\n{random_letters(3000, 'modes')}\n")
    small = "--reads 40 --length 30 --runs 1 -t 1 --repeat 2 --peer bowtie --mode pairs --mode guides"
    (table,) = run("modes", tmp_path / "r.fa", *small.split(), "-o", tmp_path)
    assert [row["command"] for row in table.rows] == ["fmx", "bowtie", *2 * ["fmx cpu", "bowtie"]]
    assert [row["mode"] for row in table.rows] == [x for x in ("index", "pairs", "guides") for _ in (0, 1)]
    assert all(row["wall s"] > 0 and row["CPU s"] > 0 for row in table.rows)
    assert {row["most in"].partition(":")[0] for row in table.rows[2:]} == {"CPU"}


@pytest.mark.nightly
def test_matches_are_timed_by_algorithm_and_stage(peer, tmp_path):
    peer("mummer")
    small = "--size 20000 --bases 3000 --runs 1 -t 2 --workload SUIS -o"
    (table,) = run("mem", *small.split(), tmp_path)
    names = ["fmx seeds cpu", "fmx mummergpu cpu", "mummer", "mummer's index", "mummer less index"]
    assert [row["command"] for row in table.rows] == 3 * names


@pytest.mark.nightly
def test_pairs_of_genes_are_timed(tmp_path):
    (tmp_path / "g.fa").write_text("".join(f">{i}\n{random_letters(60, str(i))}\n" for i in range(4)))
    (table,) = run("pairwise", tmp_path / "g.fa", "--runs", 1, "-t", 1, "-o", tmp_path)
    names = ["fmx --id 0.97", "fmx --id 0.97 --no-prefilter", "fmx, all paths"]
    assert [row["pairwise"] for row in table.rows][:3] == names


def run(*arguments):
    """Run a command of docs/bench; its last argument is the folder of its tables.  Returns the first ones."""
    words = [sys.executable, str(ROOT / "docs" / "bench"), *map(str, arguments)]
    subprocess.run(words, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return runner.read(min(arguments[-1].glob("*.json")))
