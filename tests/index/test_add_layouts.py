"""Adding layouts to an index: the same as building them at once, whole or not at all."""

import dataclasses

import numpy as np
import pytest

from fmx import workflow
from fmx.cli.main import run
from fmx.errors import UnsupportedError
from fmx.index import fm_index, layouts

FASTA = ">x\n" + "ACGTTGCANNNACCAGTTGACA" * 40 + "\n>y\nGATTACA\n>z\nA\n"
NAMES = ["sampled-k1-d64", "alternate-k2-d64", "cofi-k4"]


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "ref.fa"
    path.write_text(FASTA)
    return path


def test_added_layouts_are_those_built(reference, tmp_path):
    built, extended = tmp_path / "built.fmx", tmp_path / "extended.fmx"
    workflow.build_index(reference, built, workflow.IndexOptions([layouts.DEFAULT, *NAMES]))
    workflow.build_index(reference, extended)
    assert workflow.add_layouts(extended, NAMES[:1]) == NAMES[:1]
    assert workflow.add_layouts(extended, NAMES) == NAMES[1:]
    found = workflow.inspect(extended, verify=True)
    assert found["layouts"] == [layouts.DEFAULT, *NAMES]
    for name, array in workflow.inspect(built, verify=True)["arrays"].items():
        assert found["arrays"][name] == array
    assert not list(extended.glob(".*"))


def test_an_interrupted_addition_leaves_the_index_as_it_was(reference, tmp_path, monkeypatch):
    path = tmp_path / "ref.fmx"
    workflow.build_index(reference, path)
    before = (path / "meta.json").read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    family = dataclasses.replace(layouts.REGISTRY["cofi"], build=interrupted)
    monkeypatch.setitem(layouts.REGISTRY, "cofi", family)
    with pytest.raises(KeyboardInterrupt):
        workflow.add_layouts(path, NAMES)
    assert (path / "meta.json").read_bytes() == before
    assert workflow.inspect(path, verify=True)["layouts"] == [layouts.DEFAULT]
    assert not list(path.glob(".*"))


def test_a_sampled_suffix_array_is_refused(reference, tmp_path, capsys):
    path = tmp_path / "ref.fmx"
    workflow.build_index(reference, path, workflow.IndexOptions(sa_rate=4))
    with pytest.raises(UnsupportedError, match="one in 4 positions"):
        workflow.add_layouts(path, NAMES)
    assert run(["index", "--add", "--layout", "cofi", str(path)]) == 1
    assert run(["index", "--add", str(path)]) == 2


@pytest.mark.parametrize("sa_rate", [1, 3])
def test_search_is_the_same_with_every_layout(reference, tmp_path, sa_rate):
    path, reads = tmp_path / "ref.fmx", tmp_path / "reads.fa"
    names = [layouts.DEFAULT, "bvsfm-k3-d224", "kstep-k3-d63", "alternate-k1-d64", *NAMES, "cofi-k9"]
    workflow.build_index(reference, path, workflow.IndexOptions(names, sa_rate, prefix_length=4))
    text = "".join(line for line in FASTA.split("\n") if not line.startswith(">"))
    rng = np.random.default_rng(1)
    starts = rng.integers(0, len(text) - 40, 200).tolist()
    reads.write_text("".join(f">r{i}\n{text[i : i + 1 + i % 37]}\n" for i in starts))
    outputs = []
    for name in names:
        out = tmp_path / f"{name}.sam"
        assert run(["search", "-q", "-a", "-x", str(path), "--layout", name, "-o", str(out), str(reads)]) == 0
        outputs.append([line for line in out.read_text().split("\n") if not line.startswith("@PG")])
    assert all(output == outputs[0] for output in outputs)
    assert fm_index.load(path, "cofi").layout_name == "cofi-k9"
