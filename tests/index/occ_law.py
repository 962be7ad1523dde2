"""The law of occ, for any layout: its counts are those of a naive scan, however it is asked."""

import functools

import naive
import numpy as np
from cached import compiled
from packed import codes_of
from texts import TEXTS

from fmx.index import layouts
from fmx.index.contracts import address, extend, occ, preceding, share, units
from fmx.index.suffix_array import suffix_array
from fmx.machines.jobs import Cores


def text_of(*blocks):
    """Codes of blocks of ACGT, each followed by a separator."""
    return codes_of("".join(f"{block}$" for block in blocks))


def random_blocks(seed, n, longest, letters="ACGT"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), rng.integers(1, longest + 1))) for _ in range(n)]


def texts(d):
    """(name, codes) of awkward texts; some are about as long as a sampling distance ``d``."""
    yield from ((name, codes_of(naive.text_of(contigs))) for name, contigs in TEXTS.items())
    yield "300 contigs of a base", text_of(*"ACGTACAAATTTGGA" * 20)
    yield "short contigs", text_of(*random_blocks(1, 150, 5))
    yield "contigs of A", text_of(*random_blocks(2, 60, 12, "A"))
    yield "400 of one letter", text_of("T" * 400)
    yield "600 of period 2", text_of("AC" * 300)
    for n in (d - 1, d, d + 1, 2 * d, 2 * d + 1):
        yield f"{n} rows", text_of("".join(np.random.default_rng(n).choice(list("ACGT"), n - 1)))
    yield "random", text_of(*random_blocks(3, 3, 1500))


def spelled(text) -> str:
    """The letters of a text's codes."""
    return "".join("$ACGT"[code] for code in text.tolist())


@functools.cache
def rows_of(letters):
    """The suffix array of a text, which layouts share."""
    return suffix_array(codes_of(letters))


@functools.cache
def first_row(letters, symbols):
    """That of suffixes that begin with these symbols."""
    return naive.first_row(letters, rows_of(letters).tolist(), symbols)


def k_symbols(text, sa, k):
    """Code of the k symbols before each suffix, -1 if there is none."""
    found = naive.kmer_bwt(spelled(text), sa.tolist(), k)
    return np.array([-1 if x is None else int(x.translate(str.maketrans("ACGT", "0123")), 4) for x in found])


@compiled
def all_occ(layout, c, out):
    for i in range(out.size):
        out[i] = occ(layout, c, i)


@compiled
def all_by_units(layout, c, out):
    for i in range(out.size):
        word, offset, surplus = address(layout, c, i)
        out[i] = -surplus
        for unit in range(units(layout)):
            a, b = layout.entries[word + 2 * unit], layout.entries[word + 2 * unit + 1]
            out[i] += share(layout, unit, a, b, c, offset)


@compiled
def all_preceding(layout, out):
    for row in range(out.size):
        out[row] = preceding(layout, row)


@compiled
def extended(layout, c, lo, hi):
    return extend(layout, c, lo, hi)


def tried_symbols(k, codes):
    """Every k-symbol if there are few, else some that occur and the corners."""
    if 4**k <= (256 if codes.size < 500 else 16):
        return range(4**k)
    seen = np.unique(codes[codes >= 0])
    return sorted({0, 1, 4**k - 2, 4**k - 1, *seen[:: max(1, seen.size // 6)].tolist()})


def letters_of(c, k) -> str:
    return "".join("ACGT"[c >> 2 * i & 3] for i in reversed(range(k)))


def build(name, text, n_threads=1):
    """(layout, suffix array) of a text."""
    sa = rows_of(spelled(text))
    return layouts.REGISTRY[name.family].build(text, sa, name.k, name.d, Cores(n_threads)), sa


def check_occ(layout, sa, text, what="") -> None:
    """Compare all counts of some symbols with naive ones: of rows, of intervals, and summed up from units."""
    letters, codes = spelled(text), k_symbols(text, sa, layout.k)
    counted = np.empty(text.size + 1, np.int64)
    for c in tried_symbols(layout.k, codes):
        first = first_row(letters, letters_of(c, layout.k))
        expected = first + np.append(0, np.cumsum(codes == c))
        all_occ(layout, c, counted)
        np.testing.assert_array_equal(counted, expected, f"{what} {c}")
        for lo, hi in ((0, text.size), (text.size // 3, text.size // 2), (5, 5)):
            if hi <= text.size:
                assert extended(layout, c, lo, hi) == (expected[lo], expected[hi])
        if units(layout):
            all_by_units(layout, c, counted)
            np.testing.assert_array_equal(counted, expected, f"{what} {c} by units")
