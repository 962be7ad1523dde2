"""A few of many combinations, in which any two values meet: for ``make test``.  ``make nightly`` runs all."""

import itertools
from collections import Counter

import pytest
from hypothesis import settings


def examples(n: int) -> settings:
    """Let hypothesis draw n % of the usual examples: 60 in ``make test``, 1000 in ``make nightly``."""
    return settings(max_examples=n * settings.default.max_examples // 100)


def nightly(*arguments):
    """Parameters of a test that only ``make nightly`` runs with them."""
    return pytest.param(*arguments, marks=pytest.mark.nightly)


def pairs(case) -> set:
    """Every two values of a case, each with its place."""
    return set(itertools.combinations(enumerate(case), 2))


def cover(cases, wanted=pairs) -> list:
    """Indices of a few cases that have all that is ``wanted`` (case -> set) of any case; chosen greedily."""
    sets = [wanted(case) for case in cases]
    missing, taken, chosen = set().union(*sets), Counter(), []

    def worth(i):
        """How much of what is missing it has; of equals, the one of what was taken least."""
        return len(sets[i] & missing), -sum(taken[value] for value in sets[i])

    while missing:
        best = max(range(len(sets)), key=worth)
        chosen.append(best)
        missing -= sets[best]
        taken.update(sets[best])
    return sorted(chosen)


def covered(cases, wanted=pairs) -> list:
    """Cases (tuples of arguments) as parameters of a test: those outside the cover are marked ``nightly``."""
    cases = list(cases)
    chosen = set(cover(cases, wanted))
    return [pytest.param(*case) if i in chosen else nightly(*case) for i, case in enumerate(cases)]
