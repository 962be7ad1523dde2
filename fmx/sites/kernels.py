"""Sites with a PAM in a packed text, and the guides that match them.

A site is a protospacer, of as many bases as a guide, and the PAM beside it, inside one block of the text:

    strand +   | protospacer | PAM |        strand -   | PAM' | protospacer' |        ' reverse complement

PAMs are compared with 32 places of the text at a time.  The protospacer of each site is looked up in two
tables of half guides.  Of the at most K mismatches of a guide, its left half has at most K // 2, or its right
half at most (K - 1) // 2.  So a table holds every word into which so many mismatches change a half of a
guide, and a site is compared with the guides under its own two words:

    starts    | word 0 | word 1 | ...        the entries of a word: starts[word] to starts[word + 1]
    entries   | other half of a guide << 32 | its number | ...
"""

from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, leading_zeros, low_bits, popcount, prefetch
from ..index.reference import find_block
from ..input.dna import SETS, WORD, reverse_complement, symbols

_ONES = np.uint64(0x5555555555555555)  # the lower bit of each base


class PamPatterns(NamedTuple):
    """PAMs on both strands beside protospacers of ``n`` bases; the first that fits a protospacer counts.

    ``patterns`` int64[m, 4]: where a pattern begins, in bases after the first of the protospacer; its length;
    whether it is that of the strand -; the end of its tests.  ``tests`` int64[k, 2]: the place of a letter
    other than N, and the set of its bases as bits.
    """

    n: int
    patterns: np.ndarray
    tests: np.ndarray


def make_patterns(n: int, pams: Sequence[str], is_5prime: bool) -> PamPatterns:
    """Return the PamPatterns of ``pams``, IUPAC codes, beside n bases; ``is_5prime``: the PAM comes first."""
    patterns, tests = [], []
    for pam, reverse in product(pams, (0, 1)):
        offset = -len(pam) if is_5prime != bool(reverse) else n
        for i, code in enumerate(reversed(pam) if reverse else pam):
            bases = ["ACGT".index(base) for base in SETS[code]]
            if len(bases) < 4:
                tests.append((offset + i, sum(1 << (3 - base if reverse else base) for base in bases)))
        patterns.append((offset, len(pam), reverse, len(tests)))
    return PamPatterns(n, np.array(patterns, np.int64), np.array(tests, np.int64).reshape(-1, 2))


class Sites(NamedTuple):
    """Sites: ``word`` uint64, the protospacer on the strand of the site; ``key`` int64, the place."""

    word: np.ndarray
    key: np.ndarray


LENGTH_BITS = 7  # of a key, which is text position << 8 | number of bases << 1 | reverse, in order of places


@inlined
def start_of(key):
    return key >> (LENGTH_BITS + 1)


@inlined
def length_of(key):
    return (key >> 1) & ((1 << LENGTH_BITS) - 1)


@inlined
def _in_set(word, bases):
    """Return which bases of a word, by their lower bits, are in a set."""
    equal = np.uint64(0)
    for base in range(4):
        if bases >> base & 1:
            different = word ^ _ONES * np.uint64(base)
            equal |= ~(different | different >> np.uint64(1))
    return equal


@compiled
def find_sites(words, blocks, begin_of_part, pams, start, stop, sites):
    """Write the sites whose protospacer begins at ``start`` to ``stop`` in a packed part of the text.

    Return (number of sites, position to go on from): it stops early if ``sites`` have too little room.
    """
    n, n_sites = np.int64(pams.n), np.int64(0)
    block = find_block(blocks, start)
    while block < blocks.text_start.size and blocks.text_start[block] < stop:
        begin, end = blocks.text_start[block], blocks.text_start[block] + blocks.length[block]
        last = min(stop, end - n + 1)
        for i in range(max(start, begin), last, WORD):
            if n_sites + 2 * WORD > sites.key.size:
                return n_sites, i
            seen, t = np.uint64(0), 0  # places with a site on + (lower bits of bases) and - (upper bits)
            for p in range(pams.patterns.shape[0]):
                offset, length, reverse, end_of_tests = pams.patterns[p]
                low = max(begin - offset - i, 0)
                high = max(min(end - length - offset - i + 1, last - i, WORD), low)
                fits = (
                    low_bits(64 - 2 * low) & ~low_bits(64 - 2 * high) & ~(seen >> np.uint64(reverse)) & _ONES
                )
                while t < end_of_tests:
                    place = i + pams.tests[t, 0]  # perhaps before the text, but only for bases below ``low``
                    if fits:
                        ours = symbols(words, 0, max(place, 0), WORD) >> np.uint64(2 * max(-place, 0))
                        fits &= _in_set(ours, pams.tests[t, 1])
                    t += 1
                seen |= fits << np.uint64(reverse)
                while fits:
                    j = leading_zeros(fits) >> 1
                    fits ^= np.uint64(1) << np.uint64(62 - 2 * j)
                    word = symbols(words, 0, i + j, n)
                    first = (begin_of_part + i + j + min(offset, 0)) << (LENGTH_BITS + 1)
                    sites.word[n_sites] = reverse_complement(word, n) if reverse else word
                    sites.key[n_sites] = first | (n + length) << 1 | reverse
                    n_sites += 1
        block += 1
    return n_sites, stop


class HalfTable(NamedTuple):
    """The words of halves, the ``k`` bases from bit ``shift`` of a guide on; ``other``: the bit of the other.

    ``starts`` uint32[4^k + 2], ``entries`` uint64.
    """

    starts: np.ndarray
    entries: np.ndarray
    shift: int
    k: int
    other: int


class Tables(NamedTuple):
    """Guides, ``words`` uint64, by their ``halves``: left and right.

    At most ``most`` mismatches, ``most_left`` in the left half for the table of these, more for the other.
    """

    words: np.ndarray
    halves: tuple[HalfTable, HalfTable]
    most: int
    most_left: int


LONGEST = 11  # bases of a word in a table: the starts of longer ones fit in no cache


def words_of_halves(n: int, most: int) -> list[tuple[int, np.ndarray]]:
    """Return, for the left and the right half of guides of n bases, the bases of a word, and what to XOR it
    with to change as many of them as the half may have mismatches, uint64."""
    left = n // 2 + (most % 2 == 0)  # it may have more of them
    halves = []
    for k, n_most in ((min(left, LONGEST), most // 2), (min(n - left, LONGEST), (most - 1) // 2)):
        changes = [
            sum(by << 2 * i for by, i in zip(each, places, strict=True))
            for n_changed in range(n_most + 1)
            for places in combinations(range(k), n_changed)
            for each in product((1, 2, 3), repeat=n_changed)
        ]
        halves.append((k, np.array(changes, np.uint64)))
    return halves


def make_tables(words: np.ndarray, which: np.ndarray, n: int, most: int) -> Tables:
    """Return the Tables of the guides ``which`` (int64) of ``words``, which have n bases."""
    right, tables = 2 * (n - n // 2 - (most % 2 == 0)), []
    for shift, other, (k, changes) in zip((right, 0), (0, right), words_of_halves(n, most), strict=True):
        starts, entries = np.zeros(4**k + 2, np.uint32), np.empty(changes.size * which.size, np.uint64)
        tables.append(HalfTable(starts, entries, shift, k, other))
        _fill(tables[-1], words, which, changes)
    return Tables(words, (tables[0], tables[1]), most, most // 2)


@inlined
def word_in(table, word):
    """Return the word of a half in a guide or a protospacer, as an index."""
    return word >> np.uint64(table.shift) & low_bits(2 * table.k)


@inlined
def other_of(table, word):
    """Return the other half, of at most 16 bases."""
    return word >> np.uint64(table.other) & low_bits(WORD if table.other else table.shift)


@compiled
def _fill(table, words, which, changes):
    for g in which:
        for change in changes:
            table.starts[np.int64(word_in(table, words[g]) ^ change) + 2] += 1
    for w in range(1, table.starts.size):
        table.starts[w] += table.starts[w - 1]
    for g in which:
        entry = other_of(table, words[g]) << np.uint64(32) | np.uint64(g)
        for change in changes:
            end = np.int64(word_in(table, words[g]) ^ change) + 1
            table.entries[table.starts[end]] = entry
            table.starts[end] += 1


@inlined
def n_different(x, y):
    """Return in how many bases two words differ."""
    x ^= y
    return popcount((x | x >> np.uint64(1)) & _ONES)


class Matched(NamedTuple):
    """Sites that guides match: ``rank`` int32, number of the guide << 3 | mismatches; ``key`` int64."""

    rank: np.ndarray
    key: np.ndarray


_FAR, _NEAR = 32, 16  # sites ahead, for which starts and entries are prefetched


@compiled
def match_sites(tables, sites, first, n_sites, matched):
    """Write which guides match the sites from ``first`` on; return (number of matches, site to go on from).

    It stops early if ``matched``, which has room for all guides at one site, has too little room.
    """
    most, left = tables.most, np.uint64(tables.halves[0].shift)
    n = np.int64(0)
    for s in range(first, n_sites):
        word, n_before = at(sites.word, s), n
        for table in tables.halves:
            if s + _FAR < n_sites:
                prefetch(table.starts, np.int64(word_in(table, at(sites.word, s + _FAR))))
            if s + _NEAR < n_sites:
                w = word_in(table, at(sites.word, s + _NEAR))
                prefetch(table.entries, np.int64(at(table.starts, w)))
            w, other = word_in(table, word), other_of(table, word)
            for e in range(at(table.starts, w), at(table.starts, w + np.uint64(1))):
                entry = at(table.entries, e)
                if n_different(entry >> np.uint64(32), other) > most:
                    continue
                number = entry & np.uint64(0xFFFFFFFF)
                guide = at(tables.words, number)
                total, in_left = n_different(guide, word), n_different(guide >> left, word >> left)
                if total <= most and (in_left <= tables.most_left) == (table.other == 0):
                    if n == matched.key.size:
                        return n_before, s
                    matched.rank[n], matched.key[n] = np.int64(number) << 3 | total, at(sites.key, s)
                    n += 1
    return n, n_sites


@compiled
def place_keys(rank, key, begins, out):
    """Write the keys of each rank to ``out`` from ``begins``, int64 by rank, on, which are moved."""
    for i in range(rank.size):
        out[begins[rank[i]]] = key[i]
        begins[rank[i]] += 1


@compiled
def sort_keys(ends, key):
    """Sort the keys of each rank, up to ``ends``; they nearly are, as pieces of the text come in order."""
    begin = np.int64(0)
    for end in ends:
        for i in range(begin + 1, end):
            moved, j = key[i], i
            while j > begin and key[j - 1] > moved:
                key[j] = key[j - 1]
                j -= 1
            key[j] = moved
        begin = end
