"""A layout added by the steps of docs/layouts.md, a file and a line of the registry: everything knows it."""

import cases
import naive
import numpy as np
import plain_layout
import pytest
from occ_law import build, check_occ, texts
from texts import random_letters

from fmx.compiler import object_cache
from fmx.compiler.functions import Compiled
from fmx.index import consistency, layouts

NAME = "plain-k1-d32"
CONTIGS = [
    ("one", random_letters(700, 1)),
    ("two", "ACGT" * 30 + "N" + random_letters(90, 2)),
    ("three", "A"),
]
READS = [
    "A",
    "ACGTACGT",
    CONTIGS[0][1][50:130],
    CONTIGS[1][1][100:119],
    naive.reverse_complement(CONTIGS[0][1][-33:]),
]


@pytest.fixture(autouse=True)
def added(monkeypatch):
    """The line of the registry."""
    monkeypatch.setitem(layouts.REGISTRY, "plain", plain_layout.FAMILY)


def test_the_law_of_occ():
    name = layouts.parse_name("plain")
    for what, text in texts(plain_layout.D):
        check_occ(*build(name, text), text, what)


@pytest.mark.parametrize("sa_rate", [1, 5])
def test_a_search_over_it(tmp_path, sa_rate):
    index = cases.build(tmp_path / "ref.fmx", CONTIGS, [NAME], sa_rate)
    assert cases.ask(cases.load(index, NAME), READS) == cases.expect(CONTIGS, READS)


def test_commands_know_it(tmp_path, command, monkeypatch):
    monkeypatch.setenv("FMX_CACHE", str(tmp_path / "cache"))
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
    monkeypatch.setattr(object_cache, "save", lambda name, code, *_: kept.append(name))
    index = cases.build(tmp_path / "ref.fmx", CONTIGS, [NAME, layouts.DEFAULT])
    for name, n_columns in ((NAME, 4), (layouts.DEFAULT, 16)):
        layout, counts = cases.load(index, name).layout, np.zeros((2, n_columns), np.int64)
        kept.clear()
        assert Compiled(consistency._agree.function)(layout, layouts.parse_name(name).d, 0, 96, counts)
        assert len(kept) == (name != NAME)
