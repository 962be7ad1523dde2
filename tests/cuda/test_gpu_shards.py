"""Shards on the GPUs of a worker, two pretended ones in the simulator: each keeps its copy of the index."""

import threading

import journeys
import pytest
from cluster import nearby
from conftest import SIMULATED
from texts import numbered, random_letters

from fmx import workflow
from fmx.cli import worker
from fmx.machines import gpu

pytestmark = pytest.mark.skipif(not SIMULATED and gpu.n_devices() < 2, reason="needs two GPUs")
TEXT = random_letters(200, "shards")


def test_shards_on_two_gpus_are_the_bytes_of_the_cpu(folder, monkeypatch):
    from fmx.cli.main import run

    (folder / "ref.fa").write_bytes(journeys.fasta(numbered([TEXT])))
    (folder / "few.fa").write_bytes(journeys.fasta([(f"r{i}", TEXT[i : i + 400]) for i in range(0, 90, 3)]))
    assert run(["index", "-q", "ref.fa"]) == 0
    locate = ["locate", "-q", "-x", "ref.fmx", "few.fa", "--forward-only"]
    assert run([*locate, "-o", "one.tsv"]) == 0
    made, prepare, both = [], workflow.prepare, threading.Barrier(2)

    def noted(*given):
        made.append(given[-1].first)
        both.wait(60)  # two shards are done at the same time
        return prepare(*given)

    near = nearby.use(monkeypatch)
    monkeypatch.setattr(workflow, "prepare", noted)
    monkeypatch.setattr(worker, "n_gpus_here", lambda: 2)
    assert (folder / "few.fa").stat().st_size > 3000  # three shards
    assert run([*locate, *near, "--engine", "cuda", "--gpus", "all", "-o", "all.tsv"]) == 0
    assert (folder / "all.tsv").read_bytes() == (folder / "one.tsv").read_bytes()
    assert sorted(made) == [0, 1]  # not one for each shard
