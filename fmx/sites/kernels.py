"""Sites with a PAM in a packed text, the guides that match them, and their lines in TSV or BED.

A site is a protospacer, of as many bases as a guide, and the PAM beside it, inside one block of the text:

    strand +   | protospacer | PAM |        strand -   | PAM' | protospacer' |        ' reverse complement

PAMs are compared with 32 places of the text at a time.  The protospacer of each site is looked up by its two
halves.  Of the at most K mismatches of a guide, its left half has at most K // 2, or its right half at most
(K - 1) // 2.  So a guide is listed under all words that a half of it becomes by so many mismatches, and a
site is compared with the guides under its own two words:

    starts    | left word 0 | left word 1 | ... | right word 0 | ...        the entries of word w:
    entries   | number of a guide | ...                                     starts[w] to starts[w + 1]
"""

from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, leading_zeros, low_bits, popcount, prefetch
from ..dna import SETS, WORD, reverse_complement, symbols
from ..index.reference import Blocks, find_block, place_of, symbol
from ..output import put

HEAD = b"guide\tcontig\tstart\tend\tstrand\tsite\tmismatches\tpositions\n"
_BASES, _COMMA = np.frombuffer(b"ACGT", np.uint8), b","[0]
_ONES = np.uint64(0x5555555555555555)  # the lower bit of each base


class Part(NamedTuple):
    """A part of a text: packed ``words``, its ``blocks``, and where it begins in the text."""

    words: np.ndarray
    blocks: Blocks
    begin: int


class PamPatterns(NamedTuple):
    """PAMs on both strands beside protospacers of ``n`` bases; the first that fits a protospacer counts.

    ``patterns`` int64[m, 3]: where a pattern begins, in bases after the first of the protospacer; its length;
    whether it is that of the strand -.  ``sets`` uint8[m, longest]: the bases at each of its places, as bits.
    """

    n: int
    patterns: np.ndarray
    sets: np.ndarray


def make_patterns(n: int, pams: Sequence[str], is_5prime: bool) -> PamPatterns:
    """Return the PamPatterns of ``pams``, IUPAC codes, beside n bases; ``is_5prime``: the PAM comes first."""
    both = [*product(pams, (False, True))]
    sets = np.zeros((len(both), max(map(len, pams))), np.uint8)
    for row, (pam, reverse) in zip(sets, both, strict=True):
        bases, codes = ("TGCA", pam[::-1]) if reverse else ("ACGT", pam)
        row[: len(pam)] = [sum(1 << bases.index(base) for base in SETS[code]) for code in codes]
    patterns = [(-len(pam) if is_5prime != reverse else n, len(pam), reverse) for pam, reverse in both]
    return PamPatterns(n, np.array(patterns, np.int64), sets)


_LENGTH_BITS = 7  # of a key, which is text position << 8 | number of bases << 1 | reverse, in order of places


@inlined
def extent_of(key):
    """Return (text position, number of bases, at most the longest guide + limits.PAM[1]) of a site."""
    return key >> (_LENGTH_BITS + 1), (key >> 1) & ((1 << _LENGTH_BITS) - 1)


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
def find_sites(part, pams, start, stop, protospacer, key):
    """Write the sites whose protospacer begins at ``start`` to ``stop`` in a part of the text.

    ``protospacer`` uint64: on the strand of the site; ``key`` int64: the place.  Both have room for two
    sites at each place.  Return the number of sites.
    """
    blocks, n, n_sites = part.blocks, np.int64(pams.n), np.int64(0)
    block = find_block(blocks, start)
    while block < blocks.text_start.size and blocks.text_start[block] < stop:
        begin, end = blocks.text_start[block], blocks.text_start[block] + blocks.length[block]
        last = min(stop, end - n + 1)
        for i in range(max(start, begin), last, WORD):
            seen = np.uint64(0)  # places with a site on + (lower bits of bases) and - (upper bits)
            for p in range(pams.patterns.shape[0]):
                offset, length, reverse = pams.patterns[p]
                low = max(begin - offset - i, 0)
                high = max(min(end - length - offset - i + 1, last - i, WORD), low)
                fits = (
                    low_bits(64 - 2 * low) & ~low_bits(64 - 2 * high) & ~(seen >> np.uint64(reverse)) & _ONES
                )
                for q in range(length):
                    place = i + offset + q  # perhaps before the text, but only for bases below ``low``
                    if fits and pams.sets[p, q] != 15:
                        ours = symbols(part.words, 0, max(place, 0), WORD) >> np.uint64(2 * max(-place, 0))
                        fits &= _in_set(ours, pams.sets[p, q])
                seen |= fits << np.uint64(reverse)
                while fits:
                    j = leading_zeros(fits) >> 1
                    fits ^= np.uint64(1) << np.uint64(62 - 2 * j)
                    word = symbols(part.words, 0, i + j, n)
                    first = (part.begin + i + j + min(offset, 0)) << (_LENGTH_BITS + 1)
                    protospacer[n_sites] = reverse_complement(word, n) if reverse else word
                    key[n_sites] = first | (n + length) << 1 | reverse
                    n_sites += 1
        block += 1
    return n_sites


class Half(NamedTuple):
    """A half of guides, whose word is the ``k`` bases from bit ``shift`` of a guide on.

    ``first``: index of its word 0 in ``starts``; ``changes`` uint64: XOR with one gives a variant of a word.
    """

    shift: int
    k: int
    first: int
    changes: np.ndarray


class Tables(NamedTuple):
    """Guides, ``words`` uint64, with at most ``most`` mismatches, by their ``halves``, left and right.

    ``starts`` uint32[number of words + 2], ``entries`` uint32: each guide once for each of the changes.
    """

    words: np.ndarray
    halves: tuple[Half, Half]
    starts: np.ndarray
    entries: np.ndarray
    most: int


_MOST_BASES = 11  # bases of a word in a table: the starts of longer ones fit in no cache
OF_GUIDE = 4 * (1 + 33 + 495 + 1 + 33)  # bytes of entries: 2 + 1 changes, 3 * 11, 9 * 55


def make_tables(words: np.ndarray, which: np.ndarray, n: int, most: int) -> Tables:
    """Return the Tables of the guides ``which`` (int64) of ``words``, which have n bases."""
    left = n // 2 + (most % 2 == 0)  # it may have more mismatches
    halves, first = [], 0
    for shift, n_bases, n_most in ((2 * (n - left), left, most // 2), (0, n - left, (most - 1) // 2)):
        k = min(n_bases, _MOST_BASES)
        changes = [
            sum(by << 2 * i for by, i in zip(each, places, strict=True))
            for n_changed in range(n_most + 1)
            for places in combinations(range(k), n_changed)
            for each in product((1, 2, 3), repeat=n_changed)
        ]
        halves.append(Half(shift, k, first, np.array(changes, np.uint64)))
        first += 4**k
    starts = np.zeros(first + 2, np.uint32)
    entries = np.empty(which.size * sum(half.changes.size for half in halves), np.uint32)
    tables = Tables(words, (halves[0], halves[1]), starts, entries, most)
    _fill(tables, which)
    return tables


@inlined
def _word_in(half, word):
    """Return where the starts have the word of a half in a guide or a protospacer."""
    return half.first + np.int64(word >> np.uint64(half.shift) & low_bits(2 * half.k))


@compiled
def _fill(tables, which):
    starts = tables.starts
    for half in tables.halves:
        for g in which:
            for change in half.changes:
                starts[_word_in(half, tables.words[g] ^ change << np.uint64(half.shift)) + 2] += 1
    for w in range(1, starts.size):
        starts[w] += starts[w - 1]
    for half in tables.halves:
        for g in which:
            for change in half.changes:
                end = _word_in(half, tables.words[g] ^ change << np.uint64(half.shift)) + 1
                tables.entries[starts[end]] = g
                starts[end] += 1


_FAR, _NEAR = 32, 16  # sites ahead, for which starts and entries are prefetched


@compiled
def match_sites(tables, protospacer, first, n_sites, rank, site):
    """Write which guides match the sites from ``first`` on; return (number of matches, site to go on from).

    Of a match: ``rank`` int32, guide << 3 | mismatches (limits.SITE_MISMATCHES); ``site`` int64, its number.
    Both have room for all guides at one site. It stops before a site whose matches have no room.
    """
    most, left = tables.most, np.uint64(tables.halves[0].shift)
    n = np.int64(0)
    for s in range(first, n_sites):
        word, n_before = at(protospacer, s), n
        for half in tables.halves:
            if s + _FAR < n_sites:
                prefetch(tables.starts, _word_in(half, at(protospacer, s + _FAR)))
            if s + _NEAR < n_sites:
                w = _word_in(half, at(protospacer, s + _NEAR))
                prefetch(tables.entries, np.int64(at(tables.starts, w)))
            w = _word_in(half, word)
            for e in range(at(tables.starts, w), at(tables.starts, w + 1)):
                number = at(tables.entries, e)
                different = at(tables.words, number) ^ word
                different = (different | different >> np.uint64(1)) & _ONES
                total = popcount(different)
                if total <= most and (popcount(different >> left) <= most // 2) == (half.shift > 0):
                    if n == rank.size:
                        return n_before, s
                    rank[n], site[n] = np.int64(number) << 3 | total, s
                    n += 1
    return n, n_sites


@compiled
def place_keys_by_rank(rank, key, begins, ends, out):
    """Write the keys of each rank in order to ``out``, from ``begins`` on; ``ends`` are at first the same.

    ``rank`` int32[n]; ``key``, ``out`` int64[n]; ``begins``, ``ends`` int64, by rank. Those of a
    rank are nearly in order, as the pieces of the text are.
    """
    for i in range(rank.size):
        j = ends[rank[i]]
        while j > begins[rank[i]] and out[j - 1] > key[i]:
            out[j] = out[j - 1]
            j -= 1
        out[j] = key[i]
        ends[rank[i]] += 1


class SiteForm(NamedTuple):
    """Names and ``sequences`` of guides, names of contigs, ``blocks`` and ``parts`` of a reference."""

    guides: put.NameLines
    sequences: put.NameLines
    contigs: put.NameLines
    blocks: Blocks
    parts: tuple[Part, ...]
    is_5prime: bool
    is_bed: bool


def lines_of(form: SiteForm, rank: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Return the lines of sites: ``rank`` int64, guide << 3 | mismatches; ``key`` int64, the place."""
    names = sum(int(np.diff(lines.first).max()) for lines in (form.guides, form.contigs))
    out = np.empty(key.size * (names + (1 << _LENGTH_BITS) + 10 * put.DIGITS), np.uint8)
    return out[: _write(form, rank, key, out)]


@compiled
def _write(form, rank, key, out):
    to = np.int64(0)
    for h in range(key.size):
        guide, n_mismatches = rank[h] >> 3, rank[h] & 7
        (start, n), reverse = extent_of(key[h]), key[h] & 1
        place = place_of(form.blocks, start)
        if not form.is_bed:
            to = put.byte(out, put.name(out, to, form.guides, guide), put.TAB)
        to = put.field(out, put.name(out, to, form.contigs, place.contig), place.position)
        to = put.field(out, to, place.position + n)
        if form.is_bed:
            to = put.field(out, put.name_field(out, to, form.guides, guide), n_mismatches)
            to = put.byte(out, put.strand_field(out, to, reverse), put.LINE)
            continue
        to = put.byte(out, put.strand_field(out, to, reverse), put.TAB)
        for part in form.parts:
            first = start - part.begin
            if 0 <= first < part.blocks.text_start[-1] + part.blocks.length[-1]:
                for i in range(n):
                    code = symbol(part.words, 0, first + i)
                    if reverse:
                        out[to + n - 1 - i] = _BASES[np.uint64(3) - code]
                    else:
                        out[to + i] = _BASES[code]
        site, to = to, put.field(out, to + n, n_mismatches)
        to = put.byte(out, to, put.TAB)
        first = form.sequences.first[guide]
        length = form.sequences.first[guide + 1] - 1 - first
        site += n - length if form.is_5prime else 0
        n_written = 0
        for i in range(length):
            if out[site + i] != form.sequences.data[first + i]:
                to = put.number(out, put.byte(out, to, _COMMA) if n_written else to, i + 1)
                n_written += 1
        to = put.byte(out, to if n_written else put.byte(out, to, put.STAR), put.LINE)
    return to
