"""Suffix arrays by buckets on all cores, compared with divsufsort's."""

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from test_radix import GENOMES
from test_reference import codes
from texts import TEXTS

from fmx.index import fasta
from fmx.index import suffix_array as buckets
from fmx.index import suffix_array as in_bucket
from fmx.index.suffix_array import make_suffix_array, suffix_array
from fmx.machines.jobs import Cores

MANY = 8  # threads by which any share of the rows may be tied


def check(text, n_threads=MANY, c=None):
    """Compare with divsufsort."""
    sa = buckets.sort_suffixes(text, n_threads, c)
    np.testing.assert_array_equal(sa, suffix_array(text))
    assert sa.dtype == np.uint32


@pytest.mark.parametrize("name", TEXTS)
def test_the_suffix_array_of_awkward_texts(name):
    import cases

    _, text = fasta.read_fasta(cases.fasta(TEXTS[name]))
    for c in (1, 2, 5):
        check(text, c=c)


@given(st.text("$ACGT", max_size=120), st.integers(1, 30), st.integers(1, 4), st.booleans())
def test_the_suffix_array_of_any_text(letters, repeats, c, is_ended):
    check(codes((letters * repeats)[:1500] + "$A"[is_ended]), c=c)


@given(st.integers(200, 3000), st.integers(1, 7), st.integers(1, 3), st.integers(0, 100))
def test_neither_threads_nor_buckets_change_it(n, n_threads, c, seed):
    check(np.random.default_rng(seed).integers(0, 5, n).astype(np.uint8), n_threads, c)


@pytest.mark.parametrize("n", [10, 100, 1000, 10**5])
@pytest.mark.parametrize("unit", ["A", "$", "AC", "ACGTTGCATTA", "T" * 70 + "$"])
def test_repeats_are_sorted_by_ranks(unit, n):
    """Also where a suffix and the one h further on are of one group, and beyond the end of the text."""
    check(np.resize(codes(unit), n), c=2)


@pytest.mark.parametrize("n_copies", [2, 3, 25, 61])
@pytest.mark.parametrize("m", [in_bucket.LIMIT - 20, in_bucket.LIMIT + 20, 1000])
def test_copies_with_some_other_symbols(n_copies, m):
    """Groups of every kind: sorted by insertion, by comparing items (25), by radix (61); tied, or not."""
    rng = np.random.default_rng(m)
    unit = np.append(rng.integers(1, 5, m), 0).astype(np.uint8)
    copies = [unit.copy() for _ in range(n_copies)]
    for copy in copies[1:]:
        copy[rng.integers(0, m)] = rng.integers(0, 5)
    check(np.concatenate(copies))


@pytest.mark.parametrize("name", GENOMES)
def test_the_suffix_array_of_genomes(name, data):
    _, text = fasta.read_fasta(data(name))
    check(text[-1_000_000:], 2)


def test_a_text_of_repeats():
    check(synthetic.make_codes(Cores(), synthetic.Repeat, 300_000), 2)


def long_repeats():
    unit = np.append(np.random.default_rng(1).integers(1, 5, 50_000), 0).astype(np.uint8)
    return np.concatenate([unit, unit])


@pytest.mark.parametrize("text", [long_repeats(), np.ones(5000, np.uint8)], ids=["repeats", "one bucket"])
def test_without_divsufsort_any_text_is_sorted(text, monkeypatch):
    expected = suffix_array(text)
    monkeypatch.setattr(buckets, "pydivsufsort", None)
    np.testing.assert_array_equal(buckets.sort_suffixes(text, 2, for_buffers=0), expected)
    np.testing.assert_array_equal(make_suffix_array(Cores(2), text), expected)
    np.testing.assert_array_equal(suffix_array(text), expected)


def test_long_repeats_are_left_to_divsufsort():
    pytest.importorskip("pydivsufsort")
    text = long_repeats()
    assert buckets.sort_suffixes(text, 2) is None
    np.testing.assert_array_equal(make_suffix_array(Cores(2), text), suffix_array(text))


def test_a_bucket_of_nearly_all_suffixes_is_left_to_divsufsort():
    pytest.importorskip("pydivsufsort")
    text = np.ones(5000, np.uint8)
    assert buckets.sort_suffixes(text, MANY, for_buffers=0) is None
    np.testing.assert_array_equal(make_suffix_array(Cores(2), text), suffix_array(text))


@pytest.mark.parametrize(("n", "c"), [(1, 1), (1 << 18, 1), ((1 << 18) + 1, 2), (10**8, 6), (2**32 - 1, 8)])
def test_buckets_have_65536_suffixes_on_average_at_most(n, c):
    assert buckets.symbols_of_bucket(n) == c
