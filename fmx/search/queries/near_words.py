"""Near matches: all occurrences of a pattern with up to v mismatches (v <= 2), by exact search of words.

Pieces cover a pattern such that every placement of v mismatches leaves at least one piece that catches it.
For each piece, all words that it may be in the text are looked up, with some of its symbols changed. The rest
of the pattern is then compared with the text (near.py). There are three ways to cut pieces. The
cheapest one is used, as estimated from the number of words and of their rows in a text without repeats:

    apart     v + 1 pieces, one without a mismatch (pigeonhole principle)     |---|   |---|   |---|
    two ends  the first and the last w symbols: one has less than v;          |--------|
              or, if the two overlap, all v lie in the overlap                       |--------|
                                                                                     |-|
    overlapping  three of w symbols, for v = 2: none has a mismatch,          |--------|     |--------|
              or one has it where the first two, or the last two, meet             |--------|

A symbol is a set of bases (input/sets.py), and a word spells one base of each set. If some sets are larger
than one base, pieces may be cut from a span with fewer words. An empty set, such as N in a read, is a known
mismatch: it is one of those of its piece, and leaves one fewer for pieces elsewhere.

Words come in pairs, for a read and for its reverse complement, so that a sparse suffix array looks up both at
once: the pieces of the reverse complement mirror those of the read.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.primitives import at, popcount, trailing_zeros
from ...dna import WORD, pack_reverse, symbols
from ...input.reads import Patterns
from ...input.sets import first_word, set_at

if TYPE_CHECKING:
    from ...input.sets import Sets


_MOST_MISMATCHES = 2  # changed symbols that _spell_piece knows
LONGEST = 64  # symbols of a piece: two packed words
MOST_SYMBOLS = (_MOST_MISMATCHES + 1) * LONGEST  # symbols of a pattern that pieces are cut from
APART, TWO_ENDS, OVERLAPPING = range(3)
_LOOKUP, _ROW = 1.0, 0.4  # costs: of looking up a word (the unit), and of comparing each of its rows
_LOOKUP_BOTH = 1.4  # of looking up both words of a pair in a sparse suffix array
_NEVER = np.inf
_EMPTY, _SPELLED, _ONCE, _TWICE, _N_SUMS = range(5)  # columns of sums, see _add_symbol


class Lookups(NamedTuple):
    """Which words can be looked up in a text of ``n_text`` symbols (float).

    ``shortest``: symbols of the shortest word that a sparse suffix array finds, 0 without one.
    ``any_length``: whether another method finds shorter words.
    """

    n_text: float
    shortest: int = 0
    any_length: bool = True


class Way(NamedTuple):
    """How pieces of ``width`` symbols cover symbols ``start`` to ``stop`` of a pattern.

    ``most``: mismatches in pieces. ``kind``: APART, TWO_ENDS or OVERLAPPING.
    """

    cost: float
    start: int
    stop: int
    most: int
    width: int
    kind: int


@lru_cache
def ways_of(v: int, lookups: Lookups) -> np.ndarray:
    """Return how patterns of single bases are cut: width and kind by length, int64[2 * n]."""
    ways = np.zeros(2 * (MOST_SYMBOLS + 1), np.int64)
    _fill_ways(v, lookups, np.zeros((MOST_SYMBOLS + 1, _N_SUMS)), ways)
    return ways


@compiled
def _fill_ways(v, lookups, sums, ways):
    sums[0, _SPELLED] = 1.0
    for length in range(1, MOST_SYMBOLS + 1):
        _add_symbol(sums, length, np.uint64(1))
        way = _best(sums, (np.int64(0), np.int64(length)), v, lookups, _none())
        ways[2 * length], ways[2 * length + 1] = way.width, way.kind


@inlined
def _none():
    return Way(_NEVER, np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(APART))


@inlined
def _cost(lookups, width):
    """Return the cost of a pair of words of ``width`` symbols, with its rows in a text without repeats."""
    rows = 2 * _ROW * lookups.n_text * 0.25**width
    if 0 < lookups.shortest <= width:
        return _LOOKUP_BOTH + rows
    return 2 * _LOOKUP + rows if lookups.any_length else _NEVER


@inlined
def _add_symbol(sums, n, symbol):
    """Fill row n of ``sums`` float64[.., _N_SUMS]: n symbols of a pattern, the last is ``symbol``.

    Columns: number of empty sets; words, with any base for an empty set; for one changed symbol, the sum of
    the other words per word; the sum of their squares.
    """
    bases = popcount(symbol)
    others = (4.0 - bases) / bases if bases > 0 else 0.0
    sums[n, _EMPTY] = sums[n - 1, _EMPTY] + (bases == 0)
    sums[n, _SPELLED] = sums[n - 1, _SPELLED] * (bases if bases > 0 else 4.0)
    sums[n, _ONCE], sums[n, _TWICE] = sums[n - 1, _ONCE] + others, sums[n - 1, _TWICE] + others * others


@inlined
def _words_of_span(sums, start, stop, changed):
    """Return the number of words of symbols ``start`` to ``stop`` with exactly ``changed`` of them changed.

    An empty set is always changed.
    """
    n, others = changed - (sums[stop, _EMPTY] - sums[start, _EMPTY]), sums[stop, _ONCE] - sums[start, _ONCE]
    twice = 0.5 * (others * others - (sums[stop, _TWICE] - sums[start, _TWICE]))
    factor = 0.0 if n < 0 else 1.0 if n == 0 else others if n == 1 else twice
    return factor * sums[stop, _SPELLED] / sums[start, _SPELLED]


@inlined
def _best(sums, span, v, lookups, best):
    """Return ``best`` or a cheaper Way to cover a span (start, stop), in a time linear in its length."""
    (start, stop), length = span, span[1] - span[0]
    share = min(length // (v + 1), np.int64(LONGEST))
    if share > 0:
        n = 0.0
        for j in range(v + 1):
            first = start + j * (length // (v + 1))
            n += _words_of_span(sums, first, first + share, 0)
        best = _cheaper(best, Way(n * _cost(lookups, share), start, stop, v, share, np.int64(APART)))
    for width in range(1, min(length, LONGEST) + 1):
        n, end, last = 0.0, start + width, stop - width
        most = v - max(np.int64(sums[last, _EMPTY] - sums[end, _EMPTY]), np.int64(0))  # in the two ends
        if most == 0:
            continue
        for changed in range(most):
            n += _words_of_span(sums, start, end, changed) + _words_of_span(sums, last, stop, changed)
        if last < end:  # the unchanged symbols before it are also spelled
            n += _words_of_span(sums, start, last, 0) * _words_of_span(sums, last, end, most)
        cost = _cost(lookups, width)
        best = _cheaper(best, Way(n * cost, start, stop, most, width, np.int64(TWO_ENDS)))
        if v == 2 and 2 * width <= length <= 3 * width:
            n, middle = _words_of_span(sums, last, stop, 0), (start + last) // 2
            for a, b in ((start, middle), (middle, last)):
                n += _words_of_span(sums, a, a + width, 0)
                n += _words_of_span(sums, a, b, 0) * _words_of_span(sums, b, a + width, 1)
            best = _cheaper(best, Way(n * cost, start, stop, v, width, np.int64(OVERLAPPING)))
    return best


@inlined
def _cheaper(best, way):
    return way if way.cost < best.cost else best


@inlined
def _best_of_sets(sets, i, v, lookups, room):
    """Return the cheapest Way to cover a pattern of sets, from spans between sets of not just one base.

    The time is linear in the length of a pattern if it has a few such sets, else quadratic. ``room``:
    (sums float64[MOST_SYMBOLS + 1, _N_SUMS], starts int64[MOST_SYMBOLS + 1]).
    """
    sums, starts = room
    n = min(sets.length[i], np.int64(MOST_SYMBOLS))
    sums[0, _EMPTY], sums[0, _SPELLED], sums[0, _ONCE], sums[0, _TWICE] = 0.0, 1.0, 0.0, 0.0
    for j in range(n):
        _add_symbol(sums, j + 1, np.uint64(set_at(sets, i, j)))
        starts[j + 1] = -1
    for start in range(n):
        if start > 0 and sums[start, _SPELLED] == sums[start - 1, _SPELLED]:
            continue
        for stop in range(start + 1, n + 1):
            if stop < n and sums[stop, _SPELLED] == sums[stop + 1, _SPELLED]:
                continue
            length, other = stop - start, starts[stop - start]
            if other < 0 or _words_in(sums, start, length, n, v) < _words_in(sums, other, length, n, v):
                starts[length] = start
    best = _none()
    for length in range(1, n + 1):
        if starts[length] >= 0:
            start, most = starts[length], _most_in(sums, starts[length], length, n, v)
            best = _best(sums, (start, start + length), most, lookups, best)
    return best


@inlined
def _most_in(sums, start, length, n, v):
    """Return the most mismatches in a span, if n symbols have up to v: one at each empty set elsewhere."""
    return v - np.int64(sums[n, _EMPTY] - sums[start + length, _EMPTY] + sums[start, _EMPTY])


@inlined
def _words_in(sums, start, length, n, v):
    return _words_of_span(sums, start, start + length, _most_in(sums, start, length, n, v))


_ROOM = LONGEST // WORD  # packed words per word

# Columns of a piece: its symbols ``START`` to ``START + LENGTH``. Its words have ``LEAST`` to
# ``MOST_CHANGED`` symbols changed, all between ``INNER`` and ``OUTER``.
START, LENGTH, INNER, OUTER, LEAST, MOST_CHANGED, N_COLUMNS = range(7)
MOST_PIECES = _MOST_MISMATCHES + 1


class Pieces(NamedTuple):
    """Pieces of the patterns of n reads.

    ``columns`` int64[2 * n, MOST_PIECES, N_COLUMNS]: rows 2r and 2r + 1 are read r; unused pieces have LENGTH
    0. ``n_words`` int64[n]: number of words of each read.
    """

    columns: np.ndarray
    n_words: np.ndarray


def plan(sets: "Sets", v: int, lookups: Lookups) -> Pieces:
    """Return the pieces of patterns (Sets); the Lookups must allow each pattern to be covered."""
    n = sets.length.size
    pieces = Pieces(np.zeros((n, MOST_PIECES, N_COLUMNS), np.int64), np.zeros(n // 2, np.int64))
    room = np.empty((MOST_SYMBOLS + 1, _N_SUMS)), np.empty(MOST_SYMBOLS + 1, np.int64)
    _plan(sets, v, lookups, ways_of(v, lookups), room, pieces)
    return pieces


@compiled
def _plan(sets, v, lookups, ways, room, pieces):
    """Fill Pieces, which hold zeros. ``ways``: result of ways_of. ``room``: as in _best_of_sets."""
    for r in range(pieces.n_words.size):
        i = _pattern_of(sets, r)
        length = sets.length[i]
        if length > 0 and sets.is_plain[i]:
            row = 2 * min(length, np.int64(MOST_SYMBOLS))
            way = Way(0.0, np.int64(0), length, v, at(ways, row), at(ways, row + 1))
            plan_read(sets, r, way, pieces)
        elif length > 0:
            plan_read(sets, r, _best_of_sets(sets, i, v, lookups, room), pieces)


@inlined
def plan_read(sets, r, way, pieces):
    """Write the pieces of read r and of its reverse complement, as a Way cuts them; Pieces hold zeros."""
    i = _pattern_of(sets, r)
    length = sets.length[i]
    _cut(way, pieces, i)
    for j in range(MOST_PIECES):
        piece, other = pieces.columns[i, j], pieces.columns[i ^ 1, j]
        if piece[LENGTH] > 0:
            pieces.n_words[r] += _n_words(sets, i, piece)
            other[START], other[LENGTH] = length - piece[START] - piece[LENGTH], piece[LENGTH]
            other[INNER], other[OUTER] = length - piece[OUTER], length - piece[INNER]
            other[LEAST], other[MOST_CHANGED] = piece[LEAST], piece[MOST_CHANGED]


@inlined
def _pattern_of(sets, r):
    """Return the pattern whose words are spelled for read r: 2r, or 2r + 1 if only that one is searched."""
    return 2 * r if sets.length[2 * r] > 0 else 2 * r + 1


@inlined
def _cut(way, pieces, i):
    """Write the pieces of pattern i for a Way."""
    size, v, width, last = way.stop - way.start, way.most, way.width, way.stop - way.width
    if way.kind == APART:
        for j in range(v + 1):
            start = way.start + j * (size // (v + 1))
            _put(pieces, i, j, (start, width), (start, start + width), (0, 0))
    elif way.kind == TWO_ENDS:
        for j, start in enumerate((way.start, last)):
            _put(pieces, i, j, (start, width), (start, start + width), (0, v - 1))
        if 2 * width > size:
            _put(pieces, i, 2, (way.start, width), (last, way.start + width), (v, v))
    else:
        middle = (way.start + last) // 2
        _put(pieces, i, 0, (way.start, width), (middle, way.start + width), (0, 1))
        _put(pieces, i, 1, (middle, width), (last, middle + width), (0, 1))
        _put(pieces, i, 2, (last, width), (last, last + width), (0, 0))


@inlined
def _put(pieces, i, j, symbols, changed, n_changed):
    """Write piece j: (start, length), (inner, outer) and (least, most), as in its columns."""
    piece = pieces.columns[i, j]
    piece[START], piece[LENGTH] = symbols
    piece[INNER], piece[OUTER] = changed
    piece[LEAST], piece[MOST_CHANGED] = n_changed


@inlined
def _n_words(sets, i, piece):
    """Return the exact number of words that _spell_piece writes for a piece: ``spell`` allocates as many."""
    zero, one, two, width = np.int64(1), np.int64(0), np.int64(0), piece[OUTER] - piece[INNER]
    if sets.is_plain[i]:
        one, two = 3 * width, 9 * width * (width - 1) // 2
    else:
        for j in range(piece[START], piece[START] + piece[LENGTH]):
            bases = popcount(np.uint64(set_at(sets, i, j)))
            others = 4 - bases if piece[INNER] <= j < piece[OUTER] else 0
            two = two * bases + one * others
            one = one * bases + zero * others
            zero *= bases
    n = np.int64(0)
    for changed in range(piece[LEAST], piece[MOST_CHANGED] + 1):
        n += zero if changed == 0 else one if changed == 1 else two
    return n


# Words of pieces: what they may be in the text, with some of their symbols changed.


class Words(NamedTuple):
    """Words as ``patterns``, in pairs that near.py reads: row 2n of a read, 2n + 1 of its reverse complement.

    ``pattern``, ``piece`` int64[n_rows]: pattern and piece of each word. A word that is not searched has
    length 0.
    """

    patterns: Patterns
    pattern: np.ndarray
    piece: np.ndarray


def spell(sets: "Sets", pieces: Pieces, start: int, stop: int) -> Words:
    """Return the words of reads start to stop."""
    n = 2 * int(pieces.n_words[start:stop].sum())
    first, length, pattern, piece = np.empty((4, n), np.int64)
    words = Words(Patterns(np.empty(_ROOM * n + 1, np.uint64), first, length), pattern, piece)
    _spell(sets, pieces, start, stop, words)
    return words


@compiled
def _spell(sets, pieces, start, stop, words):
    packed, n = words.patterns.words, np.int64(0)
    for r in range(start, stop):
        i = _pattern_of(sets, r)
        for j in range(MOST_PIECES):
            piece = pieces.columns[i, j]
            if piece[LENGTH] == 0:
                continue
            done = _spell_piece(sets, i, piece, packed, n)
            for k in range(n, done):
                pack_reverse(packed, _word_of(k, i), _word_of(k, i ^ 1), piece[LENGTH])
                for row in range(2 * k, 2 * k + 2):
                    other = 2 * r + (row & 1)
                    words.pattern[row], words.piece[row] = other, j
                    words.patterns.first[row] = _ROOM * row
                    words.patterns.length[row] = min(piece[LENGTH], sets.length[other])
            n = done


@inlined
def _word_of(n, i):
    """Return where in ``packed`` the word of pattern i in pair n begins."""
    return _ROOM * (2 * n + (i & 1))


@inlined
def _spell_piece(sets, i, piece, packed, n):
    """Write the words of a piece from pair n on; return the next n."""
    by_bases, start = sets.is_plain[i], piece[START]
    length, inner, outer = piece[LENGTH], piece[INNER] - piece[START], piece[OUTER] - piece[START]
    word = np.uint64(0), np.uint64(0)
    if by_bases:
        word = _plain_word(sets, i, start, length)
    for changed in range(piece[LEAST], piece[MOST_CHANGED] + 1):
        a_stop = outer if changed > 0 else inner + 1
        for a in range(inner, a_stop):
            b_stop = outer if changed > 1 else a + 2
            for b in range(a + 1, b_stop):
                if by_bases:
                    n = _change(word, changed, (a, b), packed, n, i)
                else:
                    where = a if changed > 0 else -1, b if changed > 1 else -1
                    n = _spell_changed(sets, (start, length), where, packed, n, i)
    return n


@inlined
def _plain_word(sets, i, start, length):
    """Return symbols ``start`` onwards of a pattern of single bases, packed in two words."""
    first, n = first_word(sets, i), min(length, np.int64(WORD))
    word, rest = symbols(sets.words, first, start, n) << np.uint64(64 - 2 * n), np.uint64(0)
    if length > WORD:
        rest = symbols(sets.words, first, start + WORD, length - WORD) << np.uint64(2 * (LONGEST - length))
    return word, rest


@inlined
def _change(word, changed, where, packed, n, i):
    """Write a word with ``changed`` (0 to 2) of two symbols changed in all ways; return the next n."""
    for one in range(1, 4 if changed > 0 else 2):
        for two in range(1, 4 if changed > 1 else 2):
            to = _word_of(n, i)
            packed[to], packed[to + 1] = word
            if changed > 0:
                packed[to + where[0] // WORD] ^= _change_of(one, where[0])
            if changed > 1:
                packed[to + where[1] // WORD] ^= _change_of(two, where[1])
            n += 1
    return n


@inlined
def _change_of(symbol, j):
    """Return a symbol shifted to the position of symbol j in its packed word."""
    return np.uint64(symbol) << np.uint64(2 * (WORD - 1 - j % WORD))


@inlined
def _spell_changed(sets, span, changed, packed, n, i):
    """Write all words of a span (start, length), with symbols ``changed`` (two, or -1); return the next n."""
    start, length = span
    total = np.int64(1)
    for j in range(length):
        total *= popcount(np.uint64(_choice(sets, i, start, j, changed)))
    for number in range(total):
        to, left = _word_of(n + number, i), np.int64(number)
        packed[to] = packed[to + 1] = 0
        for j in range(length):
            choices = np.uint64(_choice(sets, i, start, j, changed))
            bases = popcount(choices)
            if bases > 1:
                for _ in range(left % bases):
                    choices &= choices - np.uint64(1)
                left //= bases
            packed[to + j // WORD] |= _change_of(trailing_zeros(choices), j)
    return n + total


@inlined
def _choice(sets, i, start, j, changed):
    """Return the bases that symbol j of a word, which begins at ``start`` of pattern i, may be."""
    symbol = set_at(sets, i, start + j)
    return np.uint8(15) ^ symbol if j == changed[0] or j == changed[1] else symbol
