"""Every layout: the Occ law on awkward texts, by naive counting; walks; sizes by the papers' formulas."""

import naive
import numpy as np
import pytest
from cover import covered
from kept import compiled

from fmx.bench.search import Unprefetched
from fmx.index import layouts
from fmx.index.building.suffix_array import suffix_array
from fmx.index.contracts import address, extend, lookup, neighbour, occ, position_of, preceding, share, units
from fmx.index.layouts import cofi
from fmx.index.positions import sample
from fmx.index.prefix_table import build_prefix_table
from fmx.input.reads import Patterns
from fmx.machines.jobs import Cores
from fmx.search.engines import cpu
from fmx.search.queries.exact import Exact

NAMES = [str(name) for name in layouts.all_names() if name.family != "cofi" or name.k <= 9]


def wanted(case):
    """Every k of a family, and every d; of cofi, k even and odd."""
    name = layouts.parse_name(case[0])
    return {(name.family, name.k % 2 if name.family == "cofi" else name.k), name.d}


every_layout = pytest.mark.parametrize("name", covered(zip(NAMES, strict=True), wanted))


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


def spelled(text) -> str:
    """The letters of a text's codes."""
    return "".join("$ACGT"[code] for code in text.tolist())


def k_symbols(text, sa, k):
    """Code of the k symbols before each suffix, -1 if there is none."""
    found = naive.kmer_bwt(spelled(text), sa.tolist(), k)
    return np.array([-1 if x is None else int(x.translate(str.maketrans("ACGT", "0123")), 4) for x in found])


@compiled
def all_occ(layout, c, out):
    for i in range(out.size):
        out[i] = occ(layout, c, i)


@compiled
def occ_by_units(layout, c, i):
    word, offset, surplus = address(layout, c, i)
    total = np.int64(-surplus)
    for unit in range(units(layout)):
        a, b = layout.entries[word + 2 * unit], layout.entries[word + 2 * unit + 1]
        total += share(layout, unit, a, b, c, offset)
    return total


@compiled
def n_units(layout):
    return units(layout)


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
    return layouts.REGISTRY[name.family].build(text, sa, name.k, name.d, Cores(n_threads)), sa


@every_layout
def test_occ_counts_what_is_there(name):
    name = layouts.parse_name(name)
    for what, text in texts(name.d or 64):
        layout, sa = build(name, text, 2)
        codes = k_symbols(text, sa, name.k)
        counted = np.empty(text.size + 1, np.int64)
        for c in tried_symbols(name.k, codes):
            letters = "".join("ACGT"[c >> 2 * i & 3] for i in reversed(range(name.k)))
            expected = np.array(naive.occ_column(spelled(text), sa.tolist(), letters))
            all_occ(layout, c, counted)
            np.testing.assert_array_equal(counted, expected, f"{name} {what} {c}")
            for lo, hi in ((0, text.size), (text.size // 3, text.size // 2), (5, 5)):
                if hi <= text.size:
                    assert extended(layout, c, lo, hi) == (expected[lo], expected[hi])
            if n_units(layout):
                rows = range(0, text.size + 1, max(1, text.size // 97))
                assert [occ_by_units(layout, c, i) for i in rows] == expected[rows].tolist()


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


@compiled
def looked_up(layout, c, length):
    return lookup(layout, c, length)


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_cofi_looks_up_strings_shorter_than_a_step(k):
    for what, text in texts(64):
        sa = suffix_array(text)
        layout = layouts.REGISTRY["cofi"].build(text, sa, k, None, Cores())
        suffixes = [text[p : p + k].tolist() for p in sa.tolist()]
        for length in range(1, k):
            for c in range(0, 4**length, max(1, 4**length // 61)):
                string = [(c >> 2 * (length - 1 - i) & 3) + 1 for i in range(length)]
                starts = [suffix[:length] == string for suffix in suffixes]
                first = starts.index(True) if any(starts) else 0
                lo, hi = looked_up(layout, c, length)
                assert hi - lo == sum(starts), f"{what} {string}"
                assert lo in (first, hi)


def test_cofi_takes_the_largest_k_whose_offsets_fit():
    assert [str(layouts.parse_name("cofi", n)) for n in (10, 4**5, 4**5 + 1, 10**8, 3 * 10**9, 2**32)] == [
        "cofi-k2", "cofi-k4", "cofi-k5", "cofi-k13", "cofi-k15", "cofi-k15",
    ]  # fmt: skip


def patterns_of(strings):
    """Patterns of codes (lists of 0 to 3)."""
    first = np.cumsum([0] + [len(s) // 32 + 1 for s in strings])
    words = np.zeros(first[-1] + 1, np.uint64)
    for start, string in zip(first, strings, strict=False):
        for i, symbol in enumerate(string):
            words[start + i // 32] |= np.uint64(symbol << 62 - 2 * (i % 32))
    return Patterns(words, first[:-1].astype(np.int64), np.array([len(s) for s in strings], np.int64))


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
        for searched in variants(layout):
            found = cpu.search(Exact(table, searched), patterns_of(strings))
            for string, lo, hi in zip(strings, found.lo.tolist(), found.hi.tolist(), strict=True):
                wanted = bytes(x + 1 for x in string)
                expected = [p for p in range(text.size) if whole.startswith(wanted, p)]
                assert sorted(sa[lo:hi].tolist()) == expected, f"{name} {string}"


def variants(layout):
    """The layout and its forms for measurement."""
    yield layout
    yield Unprefetched(layout, layout.k)
    if isinstance(layout, cofi.Cofi):
        yield cofi.CofiBranching(*layout)
        yield cofi.CofiWhole(*layout)


@pytest.mark.parametrize("names", [("bvsfm-k2-d96", "cofi-k5"), ("alternate-k1-d64",), ("cofi-k3",)])
@pytest.mark.parametrize("s", [1, 2, 7])
def test_sampled_positions_are_those_of_the_suffix_array(names, s):
    names = [layouts.parse_name(name) for name in names]
    for blocks in (random_blocks(9, 40, 90), random_blocks(10, 200, 6)):
        text = text_of(*blocks)
        starts = np.cumsum([0] + [len(block) + 1 for block in blocks])[:-1]
        for name in names:
            layout, sa = build(name, text)
            k, ahead = max(n.k for n in names), max(n.k_ahead for n in names)
            kept = sample(sa, starts.astype(np.int64), s, k, ahead)
            found = np.empty(sa.size, np.int64)
            all_positions(kept, layout, found)
            np.testing.assert_array_equal(found, sa)


@compiled
def all_positions(sa, layout, out):
    for row in range(out.size):
        out[row] = position_of(sa, layout, row)
