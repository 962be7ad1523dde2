"""What contracts promise, held against every layout of the registry."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from texts import random_letters

from fmx.errors import UnsupportedError
from fmx.index import layouts
from fmx.index.contracts import MAX_ROWS, MAX_UNITS, OFFSET_BITS, ROW, SYMBOL_BITS, address, lookup, units
from fmx.index.suffix_array import suffix_array
from fmx.index.tables import MIN_PREFIX, PrefixTable
from fmx.search.queries.exact import Exact

PREFIX = PrefixTable(None, MIN_PREFIX)


class Forgetful(NamedTuple):
    """A layout that registers no lookup."""

    entries: Any
    k: int


def example(name):
    """A layout without arrays."""
    cls = layouts.REGISTRY[name.family].types[name.k, name.d]
    return cls(*(name.k if field == "k" else None for field in cls._fields))


def test_a_layout_of_long_steps_without_lookup_is_refused_by_name():
    assert Exact(PREFIX, Forgetful(None, MIN_PREFIX + 1)).layout.k == MIN_PREFIX + 1
    with pytest.raises(UnsupportedError, match=f"Forgetful steps over {MIN_PREFIX + 2} symbols .*lookup"):
        Exact(PREFIX, Forgetful(None, MIN_PREFIX + 2))


def test_a_lookup_that_is_not_there_has_no_answer():
    with pytest.raises(AssertionError, match="contract"):
        lookup(Forgetful(None, 9), 0, 1)


@pytest.mark.parametrize("name", layouts.all_names(), ids=str)
def test_every_layout_can_be_searched(name):
    assert Exact(PREFIX, example(name)).layout.k == name.k


@pytest.mark.parametrize("name", [x for x in layouts.all_names() if units(example(x))], ids=str)
def test_a_layout_keeps_the_limits_of_engines(name):
    """Every address of a text of some runs, whose contigs end near borders of runs."""
    assert 0 < units(example(name)) <= MAX_UNITS
    assert 2 * name.k <= SYMBOL_BITS
    assert name.d <= ROW + 1
    assert name.forms(MAX_ROWS)[f"{name}.entries"].shape[0] // 2 <= 2**32
    blocks = [random_letters(n, n) for n in (1, 2, 3, name.d - 3, name.d, 2 * name.d, 17)]
    text = np.array(["$ACGT".index(letter) for block in blocks for letter in block + "$"], np.uint8)
    layout = layouts.REGISTRY[name.family].build(text, suffix_array(text), name.k, name.d)
    rows = {
        *range(0, text.size + 1, 13),
        *range(0, text.size + 1, name.d),
        *range(name.d - 1, text.size, name.d),
    }
    common: dict = {}  # to all rows of an entry, what is in the bits beyond those of ROW
    for c in sorted({0, 1, 4**name.k // 2, 4**name.k - 1}):
        for i in rows:
            word, offset, surplus = address(layout, np.int64(c), np.int64(i))
            assert word % 2 == 0
            assert 0 <= word <= layout.entries.size - 2 * units(layout)
            assert 0 <= offset < 1 << OFFSET_BITS
            assert common.setdefault((c, word), offset & ~ROW) == offset & ~ROW
            assert abs(surplus) <= name.d


def test_an_engine_packs_what_the_limits_allow():
    assert SYMBOL_BITS + 1 + 2 * OFFSET_BITS <= 32
