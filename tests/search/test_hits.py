"""Which hits are reported: the first ones, drawn ones, none of too many; and sorting."""

import cases
import naive
import numpy as np
import pytest
from cached import compiled
from texts import TEXTS, reads_of

from fmx.compiler.sorting import N_DIGITS, ByDigits, InPlace, sort_keys
from fmx.search.hits import ALL, SelectionPolicy

CONTIGS = TEXTS["repeats across separators"]
READS = reads_of(CONTIGS)


@pytest.fixture
def opened(index_of):
    return cases.load(index_of(CONTIGS), "verify")


@pytest.mark.parametrize("limit", [1, 2, 3, 10, ALL])
@pytest.mark.parametrize("at_most", [1, 2, 5, ALL])
def test_the_first_hits_are_reported_unless_there_are_too_many(limit, at_most, opened):
    found = cases.ask(opened, READS, policy=SelectionPolicy(limit, at_most))
    every = [naive.locate(CONTIGS, read) for read in READS]
    assert found.hits == [hits[:limit] if len(hits) <= at_most else [] for hits in every]
    assert found.total == [len(hits) for hits in every]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_drawn_hits_are_some_of_all_in_order_and_depend_on_the_seed(limit, opened):
    answers = [cases.ask(opened, READS, policy=SelectionPolicy(limit, seed=seed)).hits for seed in (0, 0, 1)]
    assert answers[0] == answers[1]
    assert answers[0] != answers[2]
    assert cases.ask(opened, READS, policy=SelectionPolicy(limit)).hits not in answers
    for read, hits in zip(READS, answers[0], strict=True):
        every = naive.locate(CONTIGS, read)
        assert len(hits) == len(set(hits)) == min(limit, len(every))
        assert set(hits) <= set(every)
        assert hits == sorted(hits)


@compiled
def sort_first(room, n):
    sort_keys(room, n)


@pytest.mark.parametrize("n", [*range(30), 100, 1000, 4097])
def test_sorting(n):
    rng = np.random.default_rng(n)
    drawn = [rng.integers(0, bound + 1, n + 3) for bound in (0, 1, 7, 2**62)]
    for keys in (*drawn, np.arange(n + 3), np.arange(n + 3)[::-1].copy()):
        expected = np.concatenate([np.sort(keys[:n]), keys[n:]])
        counts = np.zeros(N_DIGITS, np.int64)
        for room in (InPlace(keys.copy()), ByDigits(keys, np.zeros_like(keys), counts)):
            sort_first(room, n)
            np.testing.assert_array_equal(room.keys, expected)
