"""What contracts promise, held against every layout of the registry."""

from typing import Any, NamedTuple

import pytest

from fmx.errors import UnsupportedError
from fmx.index import layouts
from fmx.index.contracts import lookup
from fmx.index.prefix_table import MIN_LENGTH, PrefixTable
from fmx.search.queries import Exact

PREFIX = PrefixTable(None, MIN_LENGTH)


class Forgetful(NamedTuple):
    """A layout that registers no lookup."""

    entries: Any
    k: int


def example(name):
    """A layout without arrays."""
    cls = layouts.REGISTRY[name.family].types[name.k, name.d]
    return cls(*(name.k if field == "k" else None for field in cls._fields))


def test_a_layout_of_long_steps_without_lookup_is_refused_by_name():
    assert Exact(PREFIX, Forgetful(None, MIN_LENGTH + 1)).layout.k == MIN_LENGTH + 1
    with pytest.raises(UnsupportedError, match=f"Forgetful steps over {MIN_LENGTH + 2} symbols .*lookup"):
        Exact(PREFIX, Forgetful(None, MIN_LENGTH + 2))


def test_a_lookup_that_is_not_there_has_no_answer():
    with pytest.raises(AssertionError, match="contract"):
        lookup(Forgetful(None, 9), 0, 1)


@pytest.mark.parametrize("name", layouts.all_names(), ids=str)
def test_every_layout_can_be_searched(name):
    assert Exact(PREFIX, example(name)).layout.k == name.k
