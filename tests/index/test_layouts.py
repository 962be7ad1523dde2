"""Protocol of layouts: the Occ law on all awkward texts, compiled and uncompiled; names."""

import functools

import journeys
import naive
import numpy as np
import pytest
from kept import compiled
from texts import TEXTS

from fmx.errors import UnsupportedError
from fmx.index import contracts, layouts


@compiled
def all_occ(layout, out):
    for c in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[c, i] = contracts.occ(layout, c, i)


@pytest.fixture(params=TEXTS)
def contigs(request):
    return TEXTS[request.param]


@functools.lru_cache(64)
def columns(text, k):
    rows = naive.suffix_array(text)
    return np.array([naive.occ_column(text, rows, letters) for letters in naive.kmers(k)])


def test_occ_is_the_naive_count(contigs, layout, index_of):
    held = journeys.load(index_of(contigs, [layout]), layout).layout
    expected = columns(naive.text_of(contigs), held.k)
    found = np.empty_like(expected)
    all_occ(held, found)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["separator after each base", "text of 97", "text of 225"])
def test_the_law_holds_uncompiled(name, layout, index_of):
    contigs = TEXTS[name]
    held = journeys.load(index_of(contigs, [layout]), layout).layout
    expected = columns(naive.text_of(contigs), held.k)
    for c in range(0, expected.shape[0], 1 + expected.shape[0] // 5):
        found = [contracts.occ(held, np.int64(c), np.int64(i)) for i in range(expected.shape[1])]
        assert found == expected[c].tolist()


def test_several_threads_build_the_same_layout(layout, tmp_path):
    contigs = TEXTS["repeats across separators"]
    built = []
    for n in (1, 2, 3, 7):
        path = journeys.build(tmp_path / f"{n}.fmx", contigs, [layout], n_threads=n)
        built.append({array.name: array.read_bytes() for array in path.glob("*.npy")})
    assert any(name.startswith(layout) for name in built[0])
    assert all(other == built[0] for other in built[1:])


def test_names_of_layouts_are_completed_and_checked():
    assert str(layouts.parse_name("bvsfm")) == layouts.DEFAULT
    assert str(layouts.parse_name("bvsfm-d224")) == "bvsfm-k2-d224"
    for name in layouts.all_names():
        assert layouts.parse_name(str(name)) == name
    for wrong in ("", "fm", "bvsfm-k9", "bvsfm-d7", "bvsfm-k2-d96-x", "BVSFM", "bvsfm-d96-k2"):
        with pytest.raises(UnsupportedError):
            layouts.parse_name(wrong)
