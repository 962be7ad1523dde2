"""Shards on the GPUs of a worker, which keep what they have, such as a copy of the index."""

import cases
import pytest
from cluster import nearby
from conftest import SIMULATED
from texts import numbered, random_letters

from fmx.align import pipeline
from fmx.jobs import mem, search
from fmx.machines.places import Device

TEXT = random_letters(200, "shards")
MEM = ["mem", "-x", "ref.fmx", "few.fa", "-l", "80", "--format", "tsv", "--algorithm", "mummergpu"]


@pytest.mark.parametrize(
    ("words", "module", "name"),
    [
        (["locate", "-x", "ref.fmx", "few.fa", "--forward-only"], search, "choose_mapper"),
        (MEM, mem, "prepare"),
        pytest.param(
            ["pairwise", "few.fa", "--id", "0.3"], pipeline, "open_gpus",
            marks=pytest.mark.skipif(SIMULATED, reason="takes minutes in the simulator"),
        ),
    ],
)  # fmt: skip
def test_shards_on_gpus_are_the_bytes_of_the_cpu(words, module, name, folder, monkeypatch):
    from fmx.cli.main import run

    (folder / "ref.fa").write_bytes(cases.fasta(numbered([TEXT])))
    (folder / "few.fa").write_bytes(cases.fasta([(f"r{i}", TEXT[i : i + 400]) for i in range(0, 90, 3)]))
    assert run(["index", "-q", "--with-lcp", "ref.fa"]) == 0
    assert run([*words, "-q", "-o", "one.tsv"]) == 0
    made, prepare = [], getattr(module, name)

    def noted(*given):
        made.extend(each for each in given if isinstance(each, Device))
        return prepare(*given)

    near = nearby.use(monkeypatch)
    monkeypatch.setattr(module, name, noted)
    assert (folder / "few.fa").stat().st_size > 3000  # three shards
    assert run([*words, "-q", *near, "--engine", "cuda", "-o", "all.tsv"]) == 0
    assert (folder / "all.tsv").read_bytes() == (folder / "one.tsv").read_bytes()
    assert len(made) == 1  # not one for each shard
