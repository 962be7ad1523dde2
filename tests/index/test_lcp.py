"""The LCP and rank arrays against their definitions, in an index and out of it."""

import json

import cases
import naive
import numpy as np
import pytest
import workflow
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from packed import codes_of
from texts import TEXTS, numbered

from fmx.cli.main import run
from fmx.errors import UnsupportedError
from fmx.index.bwt import LCP, build_lcp, invert, lcp_below
from fmx.index.fm_index import load, load_lcp
from fmx.index.suffix_array import suffix_array
from fmx.machines.jobs import Cores

LONG = numbered(["ACGTTGCA" * 60, "ACGTTGCA" * 60 + "C", "A" * 700 + "N" + "A" * 255, "A" * 256])


def whole(lcp) -> list:
    return [int(lcp_below(lcp, row, 2**40)) for row in range(lcp.small.size)]


def check(contigs, n_threads=1):
    text = naive.text_of(contigs)
    codes = codes_of(text)
    sa = suffix_array(codes)
    lcp = build_lcp(codes, sa, n_threads)
    assert whole(lcp) == naive.lcp_array(text, sa.tolist())
    assert invert(Cores(n_threads), sa)[sa].tolist() == list(range(sa.size))
    assert np.array_equal(lcp.rows, np.flatnonzero(lcp.small == 255))
    return lcp


@pytest.mark.parametrize("name", TEXTS)
def test_the_arrays_of_awkward_texts(name):
    check(TEXTS[name], n_threads=3)


def test_values_from_255_on_stand_in_the_list():
    lcp = check(LONG, n_threads=2)
    assert lcp.values.min() == 255
    assert lcp.values.max() == 699
    row = int(lcp.rows[np.argmax(lcp.values)])
    assert [int(lcp_below(lcp, row, limit)) for limit in (1, 254, 255, 256, 698, 699, 700)] == [
        1, 254, 255, 256, 698, 699, 699,
    ]  # fmt: skip


@examples(60)
@given(st.lists(st.text("ACGTN", min_size=1, max_size=40).filter(naive.blocks), min_size=1, max_size=6),
       st.integers(1, 4))  # fmt: skip
def test_the_arrays_of_any_contigs(sequences, n_threads):
    check(numbered(sequences), n_threads)


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "ref.fa"
    path.write_bytes(cases.fasta(LONG))
    return path


def test_an_index_has_them_when_built_or_added(reference, tmp_path, capsys):
    built, extended = tmp_path / "built.fmx", tmp_path / "extended.fmx"
    assert run(["index", "-q", "--with-lcp", str(reference), "-o", str(built)]) == 0
    assert run(["index", "-q", str(reference), "-o", str(extended)]) == 0
    with pytest.raises(UnsupportedError, match="--add --with-lcp"):
        load_lcp(load(extended))
    assert run(["mem", "-q", "-x", str(extended), "--algorithm", "mummergpu", str(reference)]) == 1
    assert "has no LCP array; add it with" in capsys.readouterr().err
    assert run(["index", "--add", "--with-lcp", str(extended)]) == 0
    assert "added lcp" in capsys.readouterr().err
    assert run(["index", "--add", "--with-lcp", str(extended)]) == 0
    assert "already has the LCP array" in capsys.readouterr().err
    inspected = workflow.inspect(extended, verify=True)
    assert inspected["arrays"] == workflow.inspect(built, verify=True)["arrays"]
    assert inspected["search"]["bytes"] == workflow.inspect(built)["search"]["bytes"]
    text = naive.text_of(LONG)
    for path in (built, extended):
        opened = load(path)
        lcp, rank = load_lcp(opened)
        assert whole(LCP(*lcp)) == naive.lcp_array(text, opened.sa.positions.tolist())
        assert np.array_equal(rank[opened.sa.positions], np.arange(len(text)))
    assert run(["inspect", str(built)]) == 0
    assert "LCP array" in capsys.readouterr().out
    assert run(["inspect", "--json", str(built)]) == 0
    assert json.loads(capsys.readouterr().out)["arrays"]["lcp.rank"]["dtype"] == "uint32"


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--sa-rate", "4"], 1), (["--add"], 1), (["--add", "--sa-rate", "4"], 2)]
)
def test_what_does_not_go_together(arguments, code, reference, tmp_path, capsys):
    assert run(["index", "-q", "--with-lcp", *arguments, str(reference)]) == code
    message = capsys.readouterr().err
    assert "a reference, not its index" in message or "--sa-rate" in message
