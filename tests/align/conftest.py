import importlib.util
import os

import pytest

from .families import family


@pytest.fixture(scope="session")
def peers():
    """parasail, the outside oracle: must be there where CI=true."""
    if importlib.util.find_spec("parasail") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("parasail is not installed, but CI=true")
        pytest.skip("parasail is not installed")
    import parasail

    return parasail


@pytest.fixture(scope="session")
def genes():
    """Related sequences of 16S length: 3 families of 8 with 0 to 14 % changes, seed 16."""
    return family(seed=16, n_roots=3, n_children=8, length=1450, most=0.14)
