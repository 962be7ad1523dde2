"""Every layout: the Occ law on awkward texts, by naive counting; walks; sizes by the papers' formulas."""

import numpy as np
import pytest

from fmx import layouts
from fmx.contracts import address, extend, lanes, neighbour, occ, preceding, share
from fmx.jit import compiled
from fmx.suffix_array import suffix_array

NAMES = [str(name) for name in layouts.all_names()]


def text_of(*blocks):
    """Codes of blocks of ACGT, each followed by a separator."""
    return np.array([b"$ACGT".index(x) for block in blocks for x in (block + "$").encode()], np.uint8)


def random_blocks(seed, n, longest, letters="ACGT"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), rng.integers(1, longest + 1))) for _ in range(n)]


def texts(d):
    yield "one base", text_of("A")
    yield "one-base contigs", text_of(*"ACGTACAAATTTGGA" * 20)
    yield "short contigs", text_of(*random_blocks(1, 150, 5))
    yield "contigs of A", text_of(*random_blocks(2, 60, 12, "A"))
    yield "one letter", text_of("T" * 400)
    yield "period 2", text_of("AC" * 300)
    for n in (d - 1, d, d + 1, 2 * d, 2 * d + 1):
        yield f"{n} rows", text_of("".join(np.random.default_rng(n).choice(list("ACGT"), n - 1)))
    yield "random", text_of(*random_blocks(3, 3, 1500))


def k_symbols(text, sa, k):
    """Code of the k symbols before each suffix, -1 if there is none: by definition."""
    codes = []
    for position in sa.tolist():
        before = text[max(0, position - k) : position].tolist()
        known = len(before) == k and 0 not in before
        codes.append(sum((x - 1) * 4 ** (k - 1 - i) for i, x in enumerate(before)) if known else -1)
    return np.array(codes)


def first_row(text, sa, code, k):
    """Number of suffixes that sort before the k-symbol."""
    string = [(code >> 2 * (k - 1 - i) & 3) + 1 for i in range(k)]
    return sum(text[p : p + k].tolist() < string for p in sa.tolist())


@compiled
def all_occ(layout, c, out):
    for i in range(out.size):
        out[i] = occ(layout, c, i)


@compiled
def occ_by_lanes(layout, c, i):
    word, offset = address(layout, c, i)
    total = np.int64(0)
    for lane in range(lanes(layout)):
        a, b = layout.entries[word + 2 * lane], layout.entries[word + 2 * lane + 1]
        total += share(layout, lane, a, b, c, offset)
    return total


@compiled
def n_lanes(layout):
    return lanes(layout)


@compiled
def all_preceding(layout, out):
    for row in range(out.size):
        out[row] = preceding(layout, row)


@compiled
def extended(layout, c, lo, hi):
    return extend(layout, c, lo, hi)


@compiled
def walked(layout, row):
    return neighbour(layout, row)


def tried_symbols(k, codes):
    """Every k-symbol if there are few, else some that occur and the corners."""
    if k <= 2:
        return range(4**k)
    seen = np.unique(codes[codes >= 0])
    return sorted({0, 1, 4**k - 2, 4**k - 1, *seen[:: max(1, seen.size // 6)].tolist()})


def build(name, text, n_threads=1):
    """(layout, suffix array) of a text."""
    sa = suffix_array(text)
    return layouts.REGISTRY[name.family].build(text, sa, name.k, name.d, n_threads), sa


@pytest.mark.parametrize("name", NAMES)
def test_occ_counts_what_is_there(name):
    name = layouts.parse_name(name)
    for what, text in texts(name.d or 64):
        layout, sa = build(name, text, 2)
        codes = k_symbols(text, sa, name.k)
        counted = np.empty(text.size + 1, np.int64)
        for c in tried_symbols(name.k, codes):
            expected = np.concatenate([[0], np.cumsum(codes == c)]) + first_row(text, sa, c, name.k)
            all_occ(layout, c, counted)
            np.testing.assert_array_equal(counted, expected, f"{name} {what} {c}")
            for lo, hi in ((0, text.size), (text.size // 3, text.size // 2), (5, 5)):
                if hi <= text.size:
                    assert extended(layout, c, lo, hi) == (expected[lo], expected[hi])
            if n_lanes(layout):
                rows = range(0, text.size + 1, max(1, text.size // 97))
                assert [occ_by_lanes(layout, c, i) for i in rows] == expected[rows].tolist()


@pytest.mark.parametrize("name", NAMES)
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


@pytest.mark.parametrize("name", NAMES)
def test_size_is_the_formula(name):
    name = layouts.parse_name(name)
    text = text_of(*random_blocks(4, 3, 20000))
    layout, _ = build(name, text)
    size = sum(array.nbytes for array in layout if isinstance(array, np.ndarray))
    expected = name.bytes_per_symbol(text.size) * text.size
    assert expected <= size <= expected * 1.001 + 3 * 16 * 4**name.k + 2048
