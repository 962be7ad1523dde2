"""fmx bench mem in seconds: every stage and command has its row, and all find the same."""

import json

import numpy as np
import pytest

from fmx.bench import files, mem
from fmx.cli.main import run
from fmx.errors import FmxError
from fmx.measure import texts


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setitem(mem.WORKLOADS, "SUIS", mem.Workload(36, (15, 20)))
    arguments = ["--size", "20000", "--bases", "3000", "--runs", "1", "-t", "2", "--workload", "SUIS"]
    assert run(["bench", "mem", *arguments, "--work", str(folder), "-o", str(folder)]) == 0
    monkeypatch.undo()
    found = {}
    for name in ("stages", "commands"):
        (table,) = json.loads((folder / f"mem-{name}.json").read_text())
        found[name] = table["rows"]
    return found, folder


def test_stages_of_each_algorithm_have_a_row(tables):
    rows, folder = tables[0]["stages"], tables[1]
    assert [(row["least"], row["algorithm"]) for row in rows] == [
        (least, algorithm) for least in (15, 20) for algorithm in ("seeds", "mummergpu")
    ]
    assert all(row["match"] > 0 and row["copy in"] == 0 for row in rows)
    assert all(row["matches"] > 0 for row in rows)
    for name in ("mem-stages.md", "mem-commands.md"):
        assert (folder / name).stat().st_size > 100


def test_commands_have_a_row_each_and_mummer_where_it_is(tables, peer):
    peer("mummer")
    names = [row["command"] for row in tables[0]["commands"]]
    assert names == 2 * [
        "fmx seeds cpu", "fmx mummergpu cpu", "mummer", "mummer's index", "mummer less index",
    ]  # fmt: skip


def test_queries_are_those_asked_for(tmp_path):
    fasta, queries = tmp_path / "ref.fa", tmp_path / "q.fa"
    fasta.write_bytes(texts.random_fasta(5000))
    assert files.write_reads(fasta, 1000, 36, queries, files.FASTA, mem.CHANGED, with_n=False) == 1000
    strands = mem.read_strands(queries)
    assert set(strands.length.tolist()) == {36}
    again = tmp_path / "again.fa"
    files.write_reads(fasta, 1000, 36, again, files.FASTA, mem.CHANGED, with_n=False)
    assert again.read_bytes() == queries.read_bytes()
    with pytest.raises(FmxError, match="no contig has 5001 consecutive bases"):
        files.write_reads(fasta, 7, 5001, queries)


def test_an_algorithm_that_finds_something_else_stops_the_bench():
    import mems

    host, strands = mems.mummergpu("ACGTTGCAACCAGT$", 4), mems.strands(["GTTGCC", "ACCAGT"])
    expected: dict = {}
    row = mem.measure([host], strands, 2, 1, 1, expected)
    assert row["matches"] == 2
    assert expected == {4: np.array([2, 0, 10, 11]).tolist()}
    with pytest.raises(FmxError, match="sums of matches"):
        mem.measure([host], strands, 2, 1, 1, {4: [2, 0, 10, 12]})


def test_a_workload_that_does_not_exist(capsys):
    assert run(["bench", "mem", "--workload", "HS9"]) == 2
    assert "'HS1', 'HS2', 'MONO', 'SUIS'" in capsys.readouterr().err
