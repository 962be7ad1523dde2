"""The forms of layouts that fmx bench search measures find the same intervals as the layouts."""

import numpy as np
import pytest
from index.occ_law import build, patterns_of, random_blocks, text_of

from fmx.bench.search import Unprefetched
from fmx.index import layouts
from fmx.index.layouts import cofi
from fmx.index.prefix_table import build_prefix_table
from fmx.search.engines import cpu
from fmx.search.queries.exact import Exact

FORMS = {
    "without prefetching": lambda layout: Unprefetched(layout, layout.k),
    "branching": lambda layout: cofi.CofiBranching(*layout),
    "of whole columns": lambda layout: cofi.CofiWhole(*layout),
}


@pytest.mark.parametrize(
    ("name", "form"), [("bvsfm-k2-d64", "without prefetching"), *(("cofi-k7", form) for form in FORMS)]
)
def test_a_form_finds_what_its_layout_finds(name, form):
    """Strings of the text and others, some shorter than a step and than those of the prefix table."""
    rng = np.random.default_rng(5)
    text = text_of(*random_blocks(6, 40, 60), *random_blocks(8, 5, 40, "A"))
    layout, _ = build(layouts.parse_name(name), text)
    strings = [rng.integers(0, 4, length).tolist() for length in range(1, 12)]
    for length in [*range(1, 45)] * 4:
        start = rng.integers(0, text.size - length)
        strings.append((text[start : start + length] - np.uint8(1)).clip(0, 3).tolist())
    table, patterns = build_prefix_table(text, 4), patterns_of(strings)
    found, expected = (
        cpu.search(Exact(table, searched), patterns) for searched in (FORMS[form](layout), layout)
    )
    sizes = expected.hi - expected.lo
    assert (sizes > 0).sum() > 20
    assert (found.hi - found.lo).tolist() == sizes.tolist()
    assert found.lo[sizes > 0].tolist() == expected.lo[sizes > 0].tolist()
