"""Suffix arrays by buckets on all cores and by radix sort, and tables found by search, as on a GPU."""

import cases
import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from packed import codes_of
from texts import TEXTS

from fmx import dna
from fmx.errors import DeviceError
from fmx.index import fasta, layouts, positions, suffix_array
from fmx.index.suffix_array import LIMIT, PER_KEY, make_suffix_array, sort_by_radix
from fmx.machines.jobs import Cores

MANY = 8  # threads by which any share of the rows may be tied
SYMBOL_BYTES, SUFFIX_BYTES = 18, 24  # that a radix sort needs per symbol, and per suffix of a pass
GENOMES = [
    "lambda_NC_001416.fa.gz", "ecoli536_NC_008253.fna.gz", "scerevisiae_sacCer3.fa.gz",
    "mirbase_hairpin.fa.gz", "human_hs37_chrX_20M-30M.fa.gz", "athaliana_TAIR10.1_chr1.fa.gz",
]  # fmt: skip


class CoresThatSearch(Cores):
    """Cores that do what a GPU does."""

    serial, memory = False, 10**9

    def sort_pairs(self, keys, values, spare_keys, spare_values, n_bits):
        order = np.argsort(keys, kind="stable")
        return keys[order], values[order]


MACHINE = CoresThatSearch(2)


def memory_for(n, passes):
    return SYMBOL_BYTES * n + SUFFIX_BYTES * -(-n // passes)


def check(text, n_threads=MANY, c=None, passes=1) -> int:
    """Compare with divsufsort, by buckets of c symbols and by radix sort; return the number of rounds."""
    expected = suffix_array.suffix_array(text)
    by_radix, n_rounds = sort_by_radix(MACHINE, text, memory_for(text.size, passes))
    for sa in (suffix_array.sort_suffixes(text, n_threads, c), by_radix):
        np.testing.assert_array_equal(sa, expected)
        assert sa.dtype == np.uint32
    return n_rounds


def text_of(name):
    return fasta.read_fasta(cases.fasta(TEXTS[name]))[1]


@pytest.mark.parametrize("name", TEXTS)
def test_the_suffix_array_of_awkward_texts(name):
    for c in (1, 2, 5):
        check(text_of(name), c=c)


@given(st.text("$ACGT", max_size=120), st.integers(1, 30), st.integers(1, 4), st.booleans())
def test_the_suffix_array_of_any_text(letters, repeats, c, is_ended):
    check(codes_of((letters * repeats)[:1500] + "$A"[is_ended]), c=c)


@given(st.integers(200, 3000), st.integers(1, 7), st.integers(1, 3), st.integers(2, 12), st.integers(0, 100))
def test_neither_threads_nor_buckets_nor_passes_change_it(n, n_threads, c, passes, seed):
    check(np.random.default_rng(seed).integers(0, 5, n).astype(np.uint8), n_threads, c, passes)


@pytest.mark.parametrize("n", [10, 100, 1000, 10**5])
@pytest.mark.parametrize("unit", ["A", "$", "AC", "ACGTTGCATTA", "T" * 70 + "$"])
def test_repeats_end_after_as_many_rounds_as_doublings(unit, n):
    """All but the last few suffixes are tied until h reaches the length of the text."""
    n_rounds = check(np.resize(codes_of(unit), n), c=2)
    if len(unit) < 12:
        assert n_rounds == int(np.ceil(np.log2(max(n - len(unit) + 1, PER_KEY) / PER_KEY)))


@pytest.mark.parametrize("n_copies", [2, 3, 25, 61])
@pytest.mark.parametrize("m", [LIMIT - 20, LIMIT + 20, 1000])
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
    check(fasta.read_fasta(data(name))[1][-1_000_000:], 2, passes=3)


def long_repeats():
    unit = np.append(np.random.default_rng(1).integers(1, 5, 50_000), 0).astype(np.uint8)
    return np.concatenate([unit, unit])


HARD = pytest.mark.parametrize(
    "text", [long_repeats(), np.ones(5000, np.uint8)], ids=["repeats", "one bucket"]
)


@HARD
def test_without_divsufsort_any_text_is_sorted(text, monkeypatch):
    expected = suffix_array.suffix_array(text)
    monkeypatch.setattr(suffix_array, "pydivsufsort", None)
    np.testing.assert_array_equal(suffix_array.sort_suffixes(text, 2, for_buffers=0), expected)
    np.testing.assert_array_equal(make_suffix_array(Cores(2), text), expected)
    np.testing.assert_array_equal(suffix_array.suffix_array(text), expected)


@HARD
def test_long_repeats_and_large_buckets_are_left_to_divsufsort(text):
    pytest.importorskip("pydivsufsort")
    assert suffix_array.sort_suffixes(text, 2, for_buffers=0) is None
    np.testing.assert_array_equal(make_suffix_array(Cores(2), text), suffix_array.suffix_array(text))


def test_too_little_memory_is_an_error_that_says_so():
    text = np.ones(5000, np.uint8)
    with pytest.raises(DeviceError, match=r"5000 symbols needs .* raise --gpu-memory"):
        sort_by_radix(MACHINE, text, 17 * 5000)
    with pytest.raises(DeviceError, match=r"suffixes begin alike, but .* raise --gpu-memory"):
        sort_by_radix(MACHINE, text, memory_for(5000, 2))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_arrays_do_not_depend_on_the_parts(n_threads):
    """Nor on whether their columns were counted or searched for."""
    text = synthetic.make_codes(Cores(), synthetic.Repeat, 7000)
    sa, starts = suffix_array.suffix_array(text), np.zeros(1, np.int64)
    one, other = Cores(1), CoresThatSearch(n_threads)
    np.testing.assert_array_equal(dna.pack_text(text, one), dna.pack_text(text, other))
    samples = [positions.sample(sa, starts, 7, 2, 3, backend) for backend in (other, one)]
    for array, expected in zip(*samples, strict=True):
        np.testing.assert_array_equal(array, expected)
    for family in layouts.REGISTRY:
        name = layouts.parse_name(family, text.size)
        build = layouts.REGISTRY[family].build
        layout, expected = (build(text, sa, name.k, name.d, backend) for backend in (other, one))
        for field in set(layout._fields) - {"k"}:
            np.testing.assert_array_equal(getattr(layout, field), getattr(expected, field), f"{name} {field}")
