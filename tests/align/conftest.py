"""Fixtures of tests of alignment."""

import pytest
from conftest import missing

from .families import family


@pytest.fixture(scope="session")
def peers():
    """parasail, the outside oracle."""
    try:
        import parasail
    except ImportError:
        missing("parasail is not installed")
    return parasail


@pytest.fixture(scope="session")
def genes():
    """Related sequences of 16S length: 3 families of 8 with 0 to 14 % changes, seed 16."""
    return family(seed=16, n_roots=3, n_children=8, length=1450, most=0.14)
