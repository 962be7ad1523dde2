"""The cover of combinations: nothing that meets anywhere is left out; it is small; the rest is nightly."""

import itertools

import pytest
from cover import covered, pairs


@pytest.mark.parametrize("sizes", [(3, 4), (5, 6, 2), (3, 4, 5, 2), (1, 7, 1)])
def test_every_two_values_meet_in_few_cases(sizes):
    cases = [case for case in itertools.product(*map(range, sizes)) if sum(case) % 5 != 1]
    parameters = covered(cases)
    chosen = [p.values for p in parameters if not p.marks]
    assert [p.values for p in parameters] == cases
    assert {mark.name for p in parameters for mark in p.marks} <= {"nightly"}
    assert set().union(*map(pairs, chosen)) == set().union(*map(pairs, cases))
    largest, second = sorted(sizes)[:-3:-1]
    assert len(chosen) <= 2 * largest * second
    assert len(chosen) < len(cases) or len(sizes) < 3 or 1 in sizes
