"""How a job is cut for a cluster, and what is told while its shards are done."""

import os
from functools import partial
from types import SimpleNamespace

import cases
import pytest
from cluster import nearby
from cluster.test_shards_of_commands import CONTIGS, reads

from fmx.cli import dispatch
from fmx.jobs.cluster import ShardCount
from fmx.jobs.identity import n_of_files
from fmx.jobs.pairwise import n_of_chunks
from fmx.machines.progress import Progress


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("cpu", [1, 1, 3, 64, 64, 800, 4096]),
        ("auto", [1, 1, 3, 64, 64, 800, 4096]),
        ("cuda", [1, 1, 1, 8, 16, 100, 4096]),
    ],
)
def test_much_input_has_larger_shards_whatever_the_cluster(engine, expected, monkeypatch):
    monkeypatch.setattr(os.path, "getsize", lambda n: n << 20)
    sizes = 0, 31, 100, 2 << 10, 6 << 10, 100 << 10, 1 << 30
    assert [n_of_files([n], engine) for n in sizes] == expected
    assert n_of_files([50, 50], "cpu") == n_of_files([100], "cpu")


@pytest.mark.parametrize(
    ("engine", "filtered", "expected"),
    [
        ("cpu", True, [1, 5, 64, 64, 78]),
        ("cpu", False, [1, 5, 70, 256, 4096]),
        ("cuda", True, [1, 5, 16, 16, 39]),
        ("both", False, [1, 5, 16, 16, 39]),
    ],
)
def test_many_pairs_have_larger_shards(engine, filtered, expected):
    assert [n_of_chunks(n, filtered, engine) for n in (0, 5, 70, 256, 5000)] == expected


def shard(number, **summary):
    return SimpleNamespace(number=number, run={"command": "mem"}, summary=summary)


def test_the_rate_is_of_what_was_done_now():
    now = [10.0]
    done = ShardCount(3, {2}, lambda: now[0])
    assert (done.message(), done.share()) == ("0 of 3 shards", 0)
    done.add(shard(2, queries=1, bases=5000, matches=9))
    now[0] += 4
    assert (done.message(), done.share()) == ("1 of 3 shards", 0)
    done.add(shard(3, queries=1, bases=6000, matches=9))
    assert (done.message(), done.share()) == ("2 of 3 shards, 1,500 bases/s", 0.5)
    assert ShardCount(1, {1}).share() == 0  # nothing is left


@pytest.mark.parametrize(
    ("arguments", "unit"),
    [
        (["search", "few.fq"], "reads"),
        (["search", "-1", "few.fq", "-2", "two.fq"], "pairs"),
        (["mem", "few.fq"], "bases"),
        (["pairwise", "genes.fa"], "pairs"),
    ],
)
def test_progress_tells_shards_and_their_rate(arguments, unit, command, index_of, folder, monkeypatch):
    for name in ("few.fq", "two.fq"):
        (folder / name).write_bytes(cases.fastq(reads(60)))
    genes = [(f"g{i}", CONTIGS[0][1][i : i + 60]) for i in range(0, 300, 10)]
    (folder / "genes.fa").write_bytes(cases.fasta(genes))
    monkeypatch.setattr(dispatch, "Progress", partial(Progress, seldom=0))
    index = [] if arguments[0] == "pairwise" else ["-x", index_of(CONTIGS)]
    done = command(*arguments, *index, *nearby.use(monkeypatch), "-o", "out")
    assert done.code == 0, done.err
    lines = [line for line in done.err.splitlines() if " left: " in line and f" {unit}/s" in line]
    n = len({line.split(" shards")[0].split(": ")[-1] for line in lines})
    assert n > 1, done.err
    assert " 100 % " in lines[-1], done.err
    assert done.err.splitlines()[-1].endswith(f" {unit}/s")
