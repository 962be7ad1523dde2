"""Layouts added to an index: the same as building them at once, whole or not at all."""

import dataclasses

import pytest
import workflow

from fmx.index import layouts

FASTA = ">x\n" + "ACGTTGCANNNACCAGTTGACA" * 40 + "\n>y\nGATTACA\n>z\nA\n"
ADDED = ["sampled-k1-d64", "alternate-k2-d64", "cofi-k4"]


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "ref.fa"
    path.write_text(FASTA)
    return path


def test_added_layouts_are_those_built(reference, tmp_path):
    built, extended = tmp_path / "built.fmx", tmp_path / "extended.fmx"
    workflow.build_index(reference, built, workflow.IndexOptions([layouts.DEFAULT, *ADDED]))
    workflow.build_index(reference, extended)
    assert workflow.add_layouts(extended, ADDED[:1]) == ADDED[:1]
    assert workflow.add_layouts(extended, ADDED) == ADDED[1:]
    found = workflow.inspect(extended, verify=True)
    assert found["layouts"] == [layouts.DEFAULT, *ADDED]
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
        workflow.add_layouts(path, ADDED)
    assert (path / "meta.json").read_bytes() == before
    assert workflow.inspect(path, verify=True)["layouts"] == [layouts.DEFAULT]
    assert not list(path.glob(".*"))
