"""Protocol of layouts: the law of occ on awkward texts, walks, sizes by the papers' formulas, names."""

import cases
import numpy as np
import pytest
from cached import compiled
from cover import covered
from occ_law import (
    all_preceding,
    build,
    check_occ,
    k_symbols,
    random_blocks,
    text_of,
    texts,
)
from packed import pack
from texts import random_letters

from fmx.errors import UnsupportedError
from fmx.index import layouts
from fmx.index.contracts import (
    MAX_ROWS,
    OFFSET_BITS,
    ROW,
    SYMBOL_BITS,
    address,
    neighbour,
    position_of,
)  # fmt: skip
from fmx.index.positions import sample
from fmx.index.suffix_array import suffix_array
from fmx.index.tables import build_prefix_table
from fmx.input.reads import Patterns
from fmx.search.find import find_intervals
from fmx.search.queries.backward import Backward

NAMES = [str(name) for name in cases.all_layouts() if name.family != "cofi" or name.k <= 9]


def wanted(case):
    """Every k of a family, and every d; of cofi, k even and odd."""
    name = layouts.parse_name(case[0])
    return {(name.family, name.k % 2 if name.family == "cofi" else name.k), name.d}


every_layout = pytest.mark.parametrize("name", covered(zip(NAMES, strict=True), wanted))


@compiled
def walked(layout, row):
    return neighbour(layout, row)


@every_layout
def test_occ_is_the_naive_count(name):
    name = layouts.parse_name(name)
    for what, text in texts(name.d or 64):
        check_occ(*build(name, text, 2), text, f"{name} {what}")


@every_layout
def test_neighbour_walks_the_text(name):
    name = layouts.parse_name(name)
    for what, text in texts(name.d or 64):
        layout, sa = build(name, text)
        codes = k_symbols(text, sa, name.k)
        if name.family != "cofi":
            found = np.empty(text.size, np.int64)
            all_preceding(layout, found)
            np.testing.assert_array_equal(found, codes, f"{name} {what}")
        for row in np.flatnonzero(codes >= 0)[:: max(1, text.size // 50)].tolist():
            if name.family == "cofi" and 0 in text[sa[row] : sa[row] + name.k]:
                continue
            other, distance = walked(layout, row)
            assert int(sa[other]) == int(sa[row]) + distance, f"{name} {what}"


@every_layout
def test_size_is_the_formula(name):
    name = layouts.parse_name(name)
    text = text_of(*random_blocks(4, 3, 20000))
    layout, _ = build(name, text)
    arrays = {key: array for key, array in layout._asdict().items() if isinstance(array, np.ndarray)}
    missing = arrays.pop("missing", np.empty(0, np.uint32))  # not in the formula: 4 bytes a row and a run
    assert missing.size <= 2 * 4096 + 4 + 2 * name.k * np.count_nonzero(text == 0)
    size = sum(array.nbytes for array in arrays.values())
    expected = name.bytes_per_symbol(text.size) * text.size
    whole_runs = 3 * (name.d or 0) * name.bytes_per_symbol(text.size)
    assert (
        round(expected) <= size <= expected * 1.016 + whole_runs + 100
    )  # k = 3: two bits of a unit are spare


def test_cofi_takes_the_largest_k_whose_offsets_fit():
    assert [str(layouts.parse_name("cofi", n)) for n in (10, 4**5, 4**5 + 1, 10**8, 3 * 10**9, 2**32)] == [
        "cofi-k2", "cofi-k4", "cofi-k5", "cofi-k13", "cofi-k15", "cofi-k15",
    ]  # fmt: skip


SEARCHED = ["sampled-k1-d64", "kstep-k2-d64", "kstep-k3-d63", "alternate-k1-d192", "alternate-k2-d64"]
SEARCHED += ["bvsfm-k1-d96", "bvsfm-k3-d224", "bvsfm-k2-d64", *(f"cofi-k{k}" for k in range(2, 10))]


@pytest.mark.parametrize("name", SEARCHED)
def test_search_finds_patterns_of_every_length(name):
    """The remainder of a pattern is in the prefix table (4 symbols here), or else in the layout."""
    rng = np.random.default_rng(5)
    name = layouts.parse_name(name)
    for blocks in (random_blocks(6, 40, 60), random_blocks(7, 300, 4), random_blocks(8, 5, 40, "A")):
        text = text_of(*blocks)
        layout, sa = build(name, text)
        strings = [rng.integers(0, 4, length).tolist() for length in range(1, 12)]
        for length in range(1, 45):
            for _ in range(4):
                start = rng.integers(0, max(1, text.size - length))
                strings.append((text[start : start + length] - np.uint8(1)).clip(0, 3).tolist())
        table = build_prefix_table(text, 4)
        whole = text.tobytes()
        letters = ["".join("ACGT"[x] for x in string) for string in strings]
        found = find_intervals(Backward(table, layout), Patterns(*pack(letters)))
        for string, lo, hi in zip(strings, found.lo.tolist(), found.hi.tolist(), strict=True):
            wanted = bytes(x + 1 for x in string)
            expected = [p for p in range(text.size) if whole.startswith(wanted, p)]
            assert sorted(sa[lo:hi].tolist()) == expected, f"{name} {string}"


@pytest.mark.parametrize("names", [("bvsfm-k2-d96", "cofi-k5"), ("alternate-k1-d64",), ("cofi-k3",)])
@pytest.mark.parametrize("s", [1, 2, 7])
def test_sampled_positions_are_those_of_the_suffix_array(names, s):
    names = [layouts.parse_name(name) for name in names]
    for blocks in (random_blocks(9, 40, 90), random_blocks(10, 200, 6)):
        text = text_of(*blocks)
        starts = np.cumsum([0] + [len(block) + 1 for block in blocks])[:-1]
        for name in names:
            layout, sa = build(name, text)
            k, ahead = max(n.k for n in names), max(n.k * n.kind.walks_forward for n in names)
            kept = sample(sa, starts.astype(np.int64), s, k, ahead)
            found = np.empty(sa.size, np.int64)
            all_positions(kept, layout, found)
            np.testing.assert_array_equal(found, sa)


@compiled
def all_positions(sa, layout, out):
    for row in range(out.size):
        out[row] = position_of(sa, layout, row)


def test_names_of_layouts_are_completed_and_checked():
    assert str(layouts.parse_name("bvsfm")) == layouts.DEFAULT
    assert str(layouts.parse_name("bvsfm-d224")) == "bvsfm-k2-d224"
    for name in cases.all_layouts():
        assert layouts.parse_name(str(name)) == name
    for wrong in ("", "fm", "bvsfm-k9", "bvsfm-d7", "bvsfm-k2-d96-x", "BVSFM", "bvsfm-d96-k2"):
        with pytest.raises(UnsupportedError):
            layouts.parse_name(wrong)


# The limits of engines, and what a layout must register.


@pytest.mark.parametrize("name", [x for x in cases.all_layouts() if x.units], ids=str)
def test_a_layout_keeps_the_limits_of_engines(name):
    """Every address of a text of some runs, whose contigs end near borders of runs."""
    assert 0 < name.units <= 64
    assert 2 * name.k <= SYMBOL_BITS
    assert name.d <= ROW + 1
    assert name.forms(MAX_ROWS)[f"{name}.entries"].shape[0] // 2 <= 2**32
    blocks = [random_letters(n, n) for n in (1, 2, 3, name.d - 3, name.d, 2 * name.d, 17)]
    text = text_of(*blocks)
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
            assert 0 <= word <= layout.entries.size - 2 * name.units
            assert 0 <= offset < 1 << OFFSET_BITS
            assert common.setdefault((c, word), offset & ~ROW) == offset & ~ROW
            assert abs(surplus) <= name.d


def test_an_engine_packs_what_the_limits_allow():
    assert SYMBOL_BITS + 1 + 2 * OFFSET_BITS <= 32
