"""Shards on the GPUs of a worker: each GPU keeps what it has, such as its copy of the index."""

import threading

import cases
import pytest
from cluster import nearby
from conftest import SIMULATED
from texts import numbered, random_letters

from fmx.jobs import cluster as shards
from fmx.jobs import mem, pairwise, search
from fmx.machines import gpu
from fmx.machines.places import Device

TEXT = random_letters(200, "shards")
MEM = ["mem", "-x", "ref.fmx", "few.fa", "-l", "80", "--format", "tsv", "--algorithm", "mummergpu"]


@pytest.mark.parametrize(
    ("words", "module", "name", "n_gpus"),
    [
        (["locate", "-x", "ref.fmx", "few.fa", "--forward-only"], search, "prepare", 1),
        (MEM, mem, "prepare", 1),
        pytest.param(
            ["pairwise", "few.fa", "--id", "0.3", "--gpus", "all"], pairwise, "open_gpus", 2,
            marks=pytest.mark.skipif(SIMULATED or gpu.n_devices() < 2, reason="needs two GPUs"),
        ),
    ],
)  # fmt: skip
def test_shards_on_gpus_are_the_bytes_of_the_cpu(words, module, name, n_gpus, folder, monkeypatch):
    from fmx.cli.main import run

    (folder / "ref.fa").write_bytes(cases.fasta(numbered([TEXT])))
    (folder / "few.fa").write_bytes(cases.fasta([(f"r{i}", TEXT[i : i + 400]) for i in range(0, 90, 3)]))
    assert run(["index", "-q", "--with-lcp", "ref.fa"]) == 0
    assert run([*words, "-q", "-o", "one.tsv"]) == 0
    made, prepare, both = [], getattr(module, name), threading.Barrier(n_gpus)

    def noted(*given):
        made.extend(each.first for each in given if isinstance(each, Device))
        both.wait(60)  # shards are done at the same time
        return prepare(*given)

    near = nearby.use(monkeypatch)
    monkeypatch.setattr(module, name, noted)
    monkeypatch.setattr(shards, "n_gpus_here", lambda: 2)
    assert (folder / "few.fa").stat().st_size > 3000  # three shards
    assert run([*words, "-q", *near, "--engine", "cuda", "-o", "all.tsv"]) == 0
    assert (folder / "all.tsv").read_bytes() == (folder / "one.tsv").read_bytes()
    assert sorted(made) == list(range(n_gpus))  # not one for each shard
