"""Names of contigs that an index holds as bytes are those of a list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmx.index.reference import ContigNames, names_of

NAMES = st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1), min_size=1)


def lines_of(names):
    return np.frombuffer("\n".join(names).encode(), np.uint8)


@given(names=NAMES, start=st.none() | st.integers(-3, 3), stop=st.none() | st.integers(-3, 3))
def test_they_are_read_as_a_list_is(names, start, stop):
    held = ContigNames(lines_of(names))
    assert held == names
    assert len(held) == len(names)
    assert [held[i] for i in range(-len(names), len(names))] == 2 * names
    assert held[start:stop] == names[start:stop]
    with pytest.raises(IndexError):
        held[len(names)]


@given(names=NAMES)
def test_a_newline_at_the_end_changes_nothing(names):
    one, two = names_of(lines_of(names)), names_of(lines_of([*names, ""]))
    assert one.first.tolist() == two.first.tolist()


def test_no_names_are_none():
    assert names_of(lines_of([])).first.tolist() == [0]
