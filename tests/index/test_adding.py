"""A layout of a new file, by the steps of docs/layouts.md; layouts added to an index that exists."""

import dataclasses

import cases
import naive
import numpy as np
import plain_layout
import pytest
import workflow
from occ_law import build, check_occ, texts
from texts import random_letters

from fmx.compiler import object_cache
from fmx.compiler.functions import Compiled
from fmx.index import consistency, layouts
from fmx.index.positions import SampledSA

NAME = "plain-k1-d32"
CONTIGS = [
    ("one", random_letters(700, 1)),
    ("two", "ACGT" * 30 + "N" + random_letters(90, 2)),
    ("three", "A"),
]
READS = [
    "A", "ACGTACGT", CONTIGS[0][1][50:130], CONTIGS[1][1][100:119],
    naive.reverse_complement(CONTIGS[0][1][-33:]),
]  # fmt: skip


@pytest.fixture(autouse=True)
def added(monkeypatch):
    """The line of the registry."""
    monkeypatch.setitem(layouts.REGISTRY, "plain", plain_layout.FAMILY)


def test_the_law_of_occ():
    name = layouts.parse_name("plain")
    for what, text in texts(plain_layout.D):
        check_occ(*build(name, text), text, what)


def test_commands_know_it(tmp_path, command):
    index, reference, reads = tmp_path / "ref.fmx", tmp_path / "ref.fa", tmp_path / "reads.fa"
    reference.write_bytes(cases.fasta(CONTIGS))
    reads.write_bytes(cases.fasta([(f"r{i}", read) for i, read in enumerate(READS)]))
    done = command("index", "-q", "--layout", "plain,bvsfm", "--sa-rate", "3", "-o", index, reference)
    assert (done.code, done.err) == (0, "")
    shown = command("inspect", "--verify", index)
    assert (shown.code, NAME in shown.out.decode()) == (0, True)
    answers = [
        command("search", "-q", "-a", "-x", index, "--layout", name, reads) for name in ("plain", "bvsfm")
    ]
    assert answers[0].records == answers[1].records
    assert answers[0].code == answers[1].code == 0


def test_code_of_a_type_that_is_not_of_fmx_is_not_kept(tmp_path, monkeypatch):
    """Kept code is told apart by names and by fmx's sources, and those of the type are not among them."""
    kept: list = []
    monkeypatch.setattr(object_cache, "load", lambda *_: None)
    monkeypatch.setattr(object_cache, "write", lambda name, data, *_: kept.append(name))
    index = cases.build(tmp_path / "ref.fmx", CONTIGS, [NAME, layouts.DEFAULT])
    for name in (NAME, layouts.DEFAULT):
        layout = cases.load(index, name).layout
        kept.clear()
        sa = SampledSA(np.zeros(0, np.uint32), np.zeros(0, np.uint64), 0, 1)
        walk, positions = np.zeros(2, np.int64), np.zeros(0, np.uint32)
        assert Compiled(consistency._locate_all.function)(layout, sa, walk, positions)
        assert len(kept) == (name != NAME)


# Layouts added to an index: the same as building them at once, whole or not at all.

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
