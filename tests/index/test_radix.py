"""Suffix array by radix sort, and what a GPU finds by search, run by the CPU's cores: the same jobs."""

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from test_reference import codes
from texts import TEXTS

from fmx.errors import DeviceError
from fmx.index import fasta, layouts, positions, tables
from fmx.index.suffix_array import sort_by_radix, suffix_array
from fmx.input import dna
from fmx.input.dna import PER_KEY
from fmx.machines.jobs import Cores
from fmx.search.engines import cpu
from fmx.search.hits import Intervals

STANDING, SORTED = 18, 24  # bytes a symbol that the sort needs, and for each suffix of a pass


class CoresThatSearch(Cores):
    """Cores that go the way of a GPU."""

    serial, memory = False, 10**9


MACHINE = CoresThatSearch(2)


def memory_for(n, passes):
    return STANDING * n + SORTED * -(-n // passes)


def check(text, passes=1) -> int:
    """Compare with divsufsort; the number of rounds."""
    sa, n_rounds = sort_by_radix(MACHINE, text, memory_for(text.size, passes))
    np.testing.assert_array_equal(sa, suffix_array(text))
    assert sa.dtype == np.uint32
    return n_rounds


@pytest.mark.parametrize("name", TEXTS)
def test_the_suffix_array_of_awkward_texts(name):
    import cases

    _, text = fasta.read_fasta(cases.fasta(TEXTS[name]))
    check(text)


@given(st.text("$ACGT", max_size=120), st.integers(1, 30))
def test_the_suffix_array_of_any_text(letters, repeats):
    check(codes((letters * repeats)[:1500] + "$"))


@given(st.integers(200, 3000), st.integers(2, 12), st.integers(0, 100))
def test_the_number_of_passes_changes_nothing(n, passes, seed):
    text = np.random.default_rng(seed).integers(0, 5, n).astype(np.uint8)
    check(text, passes)


@pytest.mark.parametrize("n", [10, 100, 1000, 10**5])
@pytest.mark.parametrize("unit", ["A", "$", "AC", "ACGTTGCATTA"])
def test_repeats_end_after_as_many_rounds_as_doublings(unit, n):
    """All but the last few suffixes are tied until h reaches the length of the text."""
    text = np.resize(codes(unit), n)
    assert check(text) == doublings(n - len(unit))


@pytest.mark.parametrize("m", [50, 1000, 50_000])
def test_identical_contigs_end_after_as_many_rounds_as_doublings(m):
    unit = np.append(np.random.default_rng(m).integers(1, 5, m), 0).astype(np.uint8)
    text = np.concatenate([unit, unit])
    assert check(text) == doublings(unit.size)


def doublings(length) -> int:
    """How often 21 is doubled until suffixes that share ``length`` symbols differ."""
    return int(np.ceil(np.log2(max(length + 1, PER_KEY) / PER_KEY)))


GENOMES = [
    "lambda_NC_001416.fa.gz", "ecoli536_NC_008253.fna.gz", "scerevisiae_sacCer3.fa.gz",
    "mirbase_hairpin.fa.gz", "human_hs37_chrX_20M-30M.fa.gz", "athaliana_TAIR10.1_chr1.fa.gz",
]  # fmt: skip


@pytest.mark.parametrize("name", GENOMES)
def test_the_suffix_array_of_genomes(name, data):
    _, text = fasta.read_fasta(data(name))
    for passes in (1, 3):
        check(text[-1_000_000:], passes)


def test_too_little_memory_is_an_error_that_says_so():
    text = np.ones(5000, np.uint8)
    with pytest.raises(DeviceError, match=r"5000 symbols needs .* raise --gpu-memory"):
        sort_by_radix(MACHINE, text, 17 * 5000)
    with pytest.raises(DeviceError, match=r"suffixes begin alike, but .* raise --gpu-memory"):
        sort_by_radix(MACHINE, text, memory_for(5000, 2))


@pytest.mark.parametrize("name", TEXTS)
def test_tables_found_by_search_are_those_counted(name):
    import cases

    _, text = fasta.read_fasta(cases.fasta(TEXTS[name]))
    sa = suffix_array(text)
    for q in (4, 5):
        counted = tables.build_prefix_table(text, q)
        np.testing.assert_array_equal(tables.make_prefix_table(MACHINE, text, sa, q).pairs, counted.pairs)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_arrays_do_not_depend_on_the_parts(n_threads):
    """Nor on whether their columns were counted or searched for."""
    text = synthetic.make_codes(Cores(), synthetic.Repeat, 7000)
    sa, starts = suffix_array(text), np.zeros(1, np.int64)
    one, other = Cores(1), CoresThatSearch(n_threads)
    np.testing.assert_array_equal(dna.pack_text(text, one), dna.pack_text(text, other))
    for kept, expected in zip(
        positions.sample(sa, starts, 7, 2, 3, other),
        positions.sample(sa, starts, 7, 2, 3, one),
        strict=True,
    ):
        np.testing.assert_array_equal(kept, expected)
    for family in layouts.REGISTRY:
        name = layouts.parse_name(family, text.size)
        build = layouts.REGISTRY[family].build
        found, expected = (build(text, sa, name.k, name.d, backend) for backend in (other, one))
        for field in set(found._fields) - {"k"}:
            np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), f"{name} {field}")


@pytest.mark.parametrize("backend", [Cores(2), MACHINE], ids=["cores", "as a GPU"])
@pytest.mark.parametrize("kind", [synthetic.Randomize, synthetic.Repeat])
def test_the_bench_knows_a_wrong_interval(kind, backend):
    drawn = synthetic.DrawnPatterns(backend, synthetic.make_codes(backend, kind, 20_000), 300, 70, 5)
    found, n_wrong = cpu.search(drawn.query("bvsfm"), drawn.patterns), drawn.n_wrong
    assert n_wrong(found) == 0
    found.lo[3] += 1
    found.hi[5] += 1
    found.lo[8] -= 1
    found.hi[[9, 10]] = found.lo[[9, 10]]
    assert n_wrong(found) == 5
    assert n_wrong(Intervals(np.zeros_like(found.lo), np.zeros_like(found.hi))) == 300
