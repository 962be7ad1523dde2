"""docs/bench, what of it needs no GPU and no minutes."""

import os
import re
import subprocess
import sys

import inputs
import pytest
import runner
from conftest import ROOT
from cover import nightly
from texts import numbered, random_letters

from fmx.errors import FmxError


@pytest.mark.parametrize("changed", [0.0, 0.5])
def test_simulated_reads_are_of_the_place_in_their_name(changed, tmp_path):
    contigs = {"a": random_letters(300, 1) + "N" + random_letters(80, 2), "b": random_letters(90, 3)}
    fasta, reads = tmp_path / "r.fa", tmp_path / "r.fq"
    fasta.write_text("".join(f">{name}\n{letters}\n" for name, letters in contigs.items()))
    assert inputs.write_reads(fasta, 200, 50, reads, changed=changed) == 200
    lines = reads.read_text().splitlines()
    seen, same = set(), 0
    assert ("N" in "".join(lines[1::4])) == (changed > 0)
    for name, letters, _, quality in zip(*(lines[i::4] for i in range(4)), strict=True):
        number, contig, place, strand = name[1:].split(":")
        seen.add((int(number), contig, strand))
        assert len(letters) == len(quality) == 50
        if strand == "-":
            letters = letters[::-1].translate(str.maketrans("ACGT", "TGCA"))
        source = contigs[contig][int(place) : int(place) + 50]
        same += sum(a == b for a, b in zip(letters, source, strict=True))
    assert {number for number, _, _ in seen} == set(range(200))
    assert {(contig, strand) for _, contig, strand in seen} == {(c, s) for c in "ab" for s in "+-"}
    assert same == 10_000 if not changed else 4_000 < same < 6_000


def test_simulated_pairs_are_proper(tmp_path):
    import naive_pairs

    contigs, paths = numbered([random_letters(400, "pairs")]), (tmp_path / "1.fq", tmp_path / "2.fq")
    (tmp_path / "r.fa").write_text(f">c0\n{contigs[0][1]}\n")
    inputs.write_pairs(tmp_path / "r.fa", 20, (30, 90), paths)
    mates = zip(*(path.read_text().splitlines()[1::4] for path in paths), strict=True)
    inserts = [[abs(x[2]) for x in naive_pairs.proper_pairs(contigs, *pair)] for pair in mates]
    assert inserts == [[90]] * 20


def test_a_table_names_its_command_and_commit(tmp_path, capsys, monkeypatch):
    rows = [{"what": "a", "n": 1, "s": 0.123456}, {"what": "b", "n": 2, "s": 1234.5, "more": None}]
    monkeypatch.setattr(sys, "argv", ["docs/bench", "mem", "/a/b.fa", "-t", "2"])
    table = runner.keep(tmp_path / "new", "t", "a machine", rows)
    assert runner.read(tmp_path / "new" / "t.json") == [table]
    assert table.command == "docs/bench mem b.fa -t 2"
    assert re.fullmatch(r"([0-9a-f]{8,}\+?)?", table.commit)
    shown = "| what | n | s | more |\n|---|---|---|---|\n| a | 1 | 0.123 |  |\n| b | 2 | 1,234 |  |\n"
    assert shown in capsys.readouterr().out


def test_what_is_no_table_is_refused(tmp_path):
    for text in ("{", '[{"table": "t"}]', "[1]"):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(FmxError, match=r"t\.json: not tables of docs/bench"):
            runner.read(tmp_path / "t.json")


def test_a_command_that_fails_is_an_error():
    with pytest.raises(FmxError, match="exit 3: no such thing"):
        runner.run(["bash", "-c", "echo no such thing >&2; exit 3"])


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
