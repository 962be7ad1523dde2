"""Protocol of every layout: the Occ law, compiled and uncompiled, and the symbol before a row."""

import journeys
import naive
import numpy as np
import pytest
from conftest import LAYOUTS
from texts import TEXTS

from fmx import contracts, layouts
from fmx.errors import UnsupportedError
from fmx.jit import compiled


@compiled
def all_occ(layout, out):
    for c in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[c, i] = contracts.occ(layout, c, i)


@compiled
def all_extend(layout, lo, hi, out):
    for c in range(out.shape[0]):
        for j in range(lo.size):
            out[c, j, 0], out[c, j, 1] = contracts.extend(layout, c, lo[j], hi[j])


@compiled
def all_preceding(layout, out):
    for row in range(out.size):
        out[row] = contracts.preceding(layout, row)


@pytest.fixture
def held(layout, index_of):
    """(name of text, its contigs, the layout over it) for every awkward text."""
    return [
        (name, contigs, journeys.load(index_of(contigs, LAYOUTS), layout).layout)
        for name, contigs in TEXTS.items()
    ]


def columns(contigs, k):
    text = naive.text_of(contigs)
    rows = naive.suffix_array(text)
    return np.array([naive.occ_column(text, rows, letters) for letters in naive.kmers(k)])


def test_occ_is_the_naive_count(held):
    for name, contigs, index in held:
        expected = columns(contigs, index.k)
        found = np.empty_like(expected)
        all_occ(index, found)
        np.testing.assert_array_equal(found, expected, name)


def test_extend_is_occ_at_both_ends(held):
    for name, contigs, index in held:
        expected = columns(contigs, index.k)
        n = expected.shape[1] - 1
        lo = np.arange(0, n + 1, 7)
        hi = np.minimum(lo + np.arange(lo.size) % 5 * 20, n)
        found = np.empty((expected.shape[0], lo.size, 2), np.int64)
        all_extend(index, lo, hi, found)
        np.testing.assert_array_equal(found, np.stack([expected[:, lo], expected[:, hi]], axis=2), name)


def test_preceding_is_the_bwt(held):
    for name, contigs, index in held:
        text = naive.text_of(contigs)
        codes = {letters: code for code, letters in enumerate(naive.kmers(index.k))} | {None: -1}
        expected = [codes[letters] for letters in naive.kmer_bwt(text, naive.suffix_array(text), index.k)]
        found = np.empty(len(expected), np.int64)
        all_preceding(index, found)
        assert found.tolist() == expected, name


@pytest.mark.parametrize("name", ["separator after each base", "text of 97"])
def test_the_law_holds_uncompiled(name, layout, index_of):
    contigs = TEXTS[name]
    held = journeys.load(index_of(contigs, LAYOUTS), layout).layout
    expected = columns(contigs, held.k)
    step = 1 if held.k == 1 else 5
    for c in range(0, expected.shape[0], step):
        found = [contracts.occ.py_func(held, np.int64(c), np.int64(i)) for i in range(expected.shape[1])]
        assert found == expected[c].tolist()


def test_several_threads_build_the_same_layout(layout, tmp_path):
    contigs = TEXTS["repeats across separators"]
    paths = [journeys.build(tmp_path / f"{n}.fmx", contigs, [layout], n_threads=n) for n in (1, 2, 3, 7)]
    files = [{file.name: file.read_bytes() for file in path.glob(f"{layout}.*")} for path in paths]
    assert files[0]
    assert all(other == files[0] for other in files[1:])


def test_names_of_layouts_are_completed_and_checked():
    assert str(layouts.parse_name("bvsfm")) == layouts.DEFAULT
    assert str(layouts.parse_name("bvsfm-d224")) == "bvsfm-k2-d224"
    for name in layouts.all_names():
        assert layouts.parse_name(str(name)) == name
    for wrong in ("", "fm", "bvsfm-k9", "bvsfm-d7", "bvsfm-k2-d96-x", "BVSFM", "bvsfm-d96-k2"):
        with pytest.raises(UnsupportedError):
            layouts.parse_name(wrong)
