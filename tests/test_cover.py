"""The cover of combinations: nothing that meets anywhere is left out, and it is small."""

import itertools

import pytest
from cover import cover, covered, pairs


@pytest.mark.parametrize("sizes", [(3, 4), (5, 6, 2), (3, 4, 5, 2), (1, 7, 1)])
def test_every_two_values_meet_in_few_cases(sizes):
    cases = [case for case in itertools.product(*map(range, sizes)) if sum(case) % 5 != 1]
    chosen = [cases[i] for i in cover(cases)]
    assert set().union(*map(pairs, chosen)) == set().union(*map(pairs, cases))
    largest, second = sorted(sizes)[:-3:-1]
    assert len(chosen) <= 2 * largest * second
    assert len(chosen) < len(cases) or len(sizes) < 3 or 1 in sizes


def test_all_others_are_of_the_night():
    cases = list(itertools.product(range(4), range(4), range(4)))
    by_day = [p.values for p in covered(cases, lambda case: {case[0], 4 + case[1]}) if not p.marks]
    assert {case[0] for case in by_day} == {case[1] for case in by_day} == set(range(4))
    assert len(by_day) < 8
    assert {mark.name for p in covered(cases) for mark in p.marks} == {"nightly"}
    assert [p.values for p in covered(cases)] == cases
