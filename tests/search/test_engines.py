"""Protocol of layout x query: sizes of intervals and places of hits are those of a naive scan."""

import functools
import itertools

import cases
import numpy as np
import pytest
from cached import compiled
from conftest import LAYOUTS
from cover import covered
from texts import TEXTS, numbered, random_letters, reads_of

from fmx.index.contracts import find, on_device
from fmx.input import reads
from fmx.search.find import find_intervals, make_query
from fmx.search.hits import Intervals

SA_RATES = (1, 2, 3, 5, 8, 64)


@pytest.mark.parametrize("name", TEXTS)
def test_answers_are_the_naive_ones(name, way, index_of):
    contigs = TEXTS[name]
    sequences = reads_of(contigs)
    opened = cases.load(index_of(contigs, LAYOUTS), way)
    assert cases.ask(opened, sequences) == cases.expect(contigs, sequences)


SAMPLED = ["contigs of 1 to 6", "repeats across separators", "period 3", "text of 225"]


@pytest.mark.parametrize(
    ("name", "sa_rate", "layout"), covered(itertools.product(SAMPLED, SA_RATES, LAYOUTS))
)
def test_sampled_suffix_arrays_give_the_same_places(name, sa_rate, layout, index_of):
    contigs = TEXTS[name]
    sequences = reads_of(contigs)
    opened = cases.load(index_of(contigs, [layout], sa_rate), layout)
    assert cases.ask(opened, sequences) == cases.expect(contigs, sequences)


@functools.cache
def ends_of_contigs(n):
    """(contigs, reads from their ends, the answer): a separator comes before a string of a table ends."""
    contigs = numbered([random_letters(m, m) for m in (1, 3, 4, 5, 9, 9, 12, 13, 16, n)])
    sequences = reads_of(contigs, n=10)
    for _, sequence in contigs:
        sequences += [sequence[-m:] for m in range(1, 16)] + [sequence[:m] for m in range(1, 16)]
    sequences = [*dict.fromkeys(sequences), contigs[-1][1][-9:] + "A" * 500]
    return contigs, sequences, cases.expect(contigs, sequences)


@pytest.mark.parametrize("prefix_length", [4, 5, 6, 7])
@pytest.mark.parametrize("n", [300, 1100, 3000])
def test_the_lengths_of_the_tables_do_not_matter(n, prefix_length, index_of):
    contigs, sequences, expected = ends_of_contigs(n)
    path = index_of(contigs, ("bvsfm-k1-d224", "bvsfm-k2-d96"), prefix_length=prefix_length)
    for way in ("verify", "bvsfm-k1-d224", "bvsfm-k2-d96"):
        assert cases.ask(cases.load(path, way), sequences) == expected


@pytest.mark.parametrize("n_slots", [1, 2, 3, 7, 64])
def test_the_number_of_patterns_under_way_does_not_matter(n_slots, way, index_of):
    contigs = TEXTS["repeats across separators"]
    opened = cases.load(index_of(contigs, LAYOUTS), way)
    patterns = reads.pack(cases.batch_of(reads_of(contigs)))
    expected, found = (
        find_intervals(make_query(opened), patterns),
        find_intervals(make_query(opened), patterns, n_slots),
    )
    assert [array.tolist() for array in found] == [array.tolist() for array in expected]


@compiled
def _find_all(query, patterns, intervals):
    for i in range(patterns.length.size):
        if patterns.length[i] > 0:
            lo, hi = find(query, patterns, i)
            if lo < hi:
                intervals.lo[i], intervals.hi[i] = lo, hi


@pytest.mark.parametrize("name", TEXTS)
def test_seed_and_verify_of_a_gpu_thread_finds_the_intervals_of_the_cpu(name, index_of):
    query = make_query(cases.load(index_of(TEXTS[name], LAYOUTS), "verify"))
    patterns = reads.pack(cases.batch_of(reads_of(TEXTS[name])))
    found = Intervals(*np.zeros((2, patterns.length.size), np.uint32))
    _find_all(on_device(query), patterns, found)
    expected = find_intervals(query, patterns)
    assert [array.tolist() for array in found] == [array.tolist() for array in expected]
