"""Near matches: all occurrences of a pattern with at most v mismatches (v <= 2), by exact search of words.

A pattern is covered by pieces, so that each way to place v mismatches is caught by one of them at least.  For
each piece the words are looked up that it may be in the text, with some of its symbols changed; the rest of
the pattern is compared with the text there (near/matches.py).  Pieces come in two ways, and as wide as is
cheapest by the words there are and the rows that a text without repeats has for each:

    apart     v + 1 pieces, of which one has no mismatch (the pigeonhole)     |---|   |---|   |---|
    two ends  the first and the last w symbols: one has less than v;          |--------|
              or all v are where both lie, if they meet                              |--------|
                                                                                     |-|

A symbol is a set of bases (input/sets.py), and a word spells out one base of each.  Where sets are larger
than one base, pieces lie in the stretch where words are fewest.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.primitives import at, popcount, trailing_zeros
from ...input.dna import WORD, symbols

if TYPE_CHECKING:
    from ...input.sets import Sets

MOST = 2  # mismatches
LONGEST, LONGEST_APART = 32, 64  # symbols of a piece: one packed word, or two where none is changed
STRETCH = 64  # symbols of a pattern of sets among which pieces are sought
_LOOKUP, _ROW = 1.0, 0.4  # what a word costs to look up, and each of its rows to compare

# Columns of a piece: its symbols ``START`` to ``START + LENGTH``; the words have at least ``LEAST`` and at
# most ``MOST_CHANGED`` of them changed, all from ``INNER`` on.
START, LENGTH, INNER, LEAST, MOST_CHANGED, N_COLUMNS = range(6)
MOST_PIECES = MOST + 1


class Pieces(NamedTuple):
    """``columns`` int64[n * MOST_PIECES * N_COLUMNS] of n patterns; pieces that are not used have LENGTH 0.

    ``words`` int64[n]: how many words each pattern has.
    """

    columns: np.ndarray
    words: np.ndarray


class Way(NamedTuple):
    """How a stretch of a pattern, symbols ``start`` to ``stop``, is covered: two ends of ``width`` symbols.

    Or, with ``width`` 0, by pieces apart.
    """

    cost: float
    start: int
    stop: int
    width: int


def plan(sets: "Sets", v: int, n_text: int) -> Pieces:
    """The pieces of patterns (Sets), for a text of n_text symbols."""
    n = sets.length.size
    found = Pieces(np.zeros(n * MOST_PIECES * N_COLUMNS, np.int64), np.zeros(n, np.int64))
    _plan(sets, v, np.float64(n_text), np.empty((STRETCH, LONGEST + 1, MOST + 1)), found)
    return found


@inlined
def covers(pieces, i, j, inside, n_before):
    """Whether piece j of pattern i has a word with ``inside`` changes, of which ``n_before`` too early."""
    piece = first_column(i, j)
    least, most = at(pieces.columns, piece + LEAST), at(pieces.columns, piece + MOST_CHANGED)
    return at(pieces.columns, piece + LENGTH) > 0 and n_before == 0 and least <= inside <= most


@inlined
def first_column(i, j):
    """Where the columns of piece j of pattern i begin."""
    return (i * MOST_PIECES + j) * N_COLUMNS


@compiled
def _plan(sets, v, n_text, counts, found):
    """``counts`` float64[STRETCH, LONGEST + 1, MOST + 1] is scratch."""
    plain, last_length, way = np.int64(0), np.int64(-1), Way(0.0, np.int64(0), np.int64(0), np.int64(0))
    for i in range(sets.length.size):
        length = sets.length[i]
        if length == 0:
            continue
        if sets.first[i] >= 0:
            way, last_length = _best_of_sets(sets, i, v, n_text, counts), np.int64(-1)
        elif length != last_length:
            way, last_length = _best_plain(length, v, n_text), length
        else:  # as the plain pattern before
            start, last = first_column(i, 0), first_column(plain, 0)
            for j in range(MOST_PIECES * N_COLUMNS):
                found.columns[start + j] = found.columns[last + j]
            found.words[i] = found.words[plain]
            continue
        plain = i
        _cut(way, v, found, i, LONGEST if sets.first[i] >= 0 else LONGEST_APART)
        for j in range(MOST_PIECES):
            piece = found.columns[first_column(i, j) : first_column(i, j + 1)]
            if piece[LENGTH] > 0:
                found.words[i] += _n_words(sets, i, piece)


@inlined
def _rows(n_text, width):
    """Rows that a word has in a text without repeats."""
    return n_text * 0.25**width


@inlined
def _of_plain(width, n):
    """Words with exactly n (0 to 2) of ``width`` symbols changed."""
    return 1.0 if n == 0 else 3.0 * width if n == 1 else 4.5 * width * (width - 1)


@inlined
def _best_plain(length, v, n_text):
    """The Way to cover a pattern of single bases."""
    share = min(length // (v + 1), np.int64(LONGEST_APART))
    best = Way(1e300, np.int64(0), length, np.int64(0))
    if share > 0:
        best = Way((v + 1) * (_LOOKUP + _ROW * _rows(n_text, share)), np.int64(0), length, np.int64(0))
    if v > 0:
        for width in range(1, min(length, LONGEST) + 1):
            n, shared = 0.0, max(2 * width - length, np.int64(0))
            for changed in range(v):
                n += 2 * _of_plain(width, changed)
            n += _of_plain(shared, v)
            cost = n * (_LOOKUP + _ROW * _rows(n_text, width))
            if cost < best.cost:
                best = Way(cost, np.int64(0), length, np.int64(width))
    return best


@inlined
def _best_of_sets(sets, i, v, n_text, counts):
    """The same of any sets.  ``counts[a, w, e]``: words of w symbols from a on, e of them changed."""
    length, first = min(sets.length[i], np.int64(STRETCH)), sets.first[i]
    for a in range(length):
        counts[a, 0, 0], counts[a, 0, 1], counts[a, 0, 2] = 1.0, 0.0, 0.0
        for w in range(1, min(length - a, LONGEST) + 1):
            bases = np.float64(popcount(np.uint64(sets.sets[first + a + w - 1])))
            before, now = counts[a, w - 1], counts[a, w]
            now[0] = before[0] * bases
            now[1] = before[1] * bases + before[0] * (4 - bases)
            now[2] = before[2] * bases + before[1] * (4 - bases)
    best = Way(1e300, np.int64(0), length, np.int64(0))
    for a in range(length):
        for b in range(a + 1, length + 1):
            share = min((b - a) // (v + 1), LONGEST)
            if share > 0:
                cost = 0.0
                for j in range(v + 1):
                    n = counts[a + j * ((b - a) // (v + 1)), share, 0]
                    cost += n * (_LOOKUP + _ROW * _rows(n_text, share))
                if cost < best.cost:
                    best = Way(cost, np.int64(a), np.int64(b), np.int64(0))
            if v > 0:
                for w in range(max(1, share), min(b - a, LONGEST) + 1):
                    n, shared = 0.0, 2 * w - (b - a)
                    for changed in range(v):
                        n += counts[a, w, changed] + counts[b - w, w, changed]
                    if shared > 0:  # the unchanged symbols around it are spelled out, too
                        n += counts[b - w, shared, v] * counts[a, w - shared, 0]
                    cost = n * (_LOOKUP + _ROW * _rows(n_text, w))
                    if cost < best.cost:
                        best = Way(cost, np.int64(a), np.int64(b), np.int64(w))
    return best


@inlined
def _cut(way, v, pieces, i, longest):
    """Write the pieces of pattern i, as a Way has them; those apart with ``longest`` symbols at most."""
    size = way.stop - way.start
    if way.width == 0:
        for j in range(v + 1):
            start = way.start + j * (size // (v + 1))
            width = min(size // (v + 1), np.int64(longest))
            _put(pieces.columns, first_column(i, j), start, width, start, 0, 0)
        return
    last = way.stop - way.width
    _put(pieces.columns, first_column(i, 0), way.start, way.width, way.start, 0, v - 1)
    _put(pieces.columns, first_column(i, 1), last, way.width, last, 0, v - 1)
    if 2 * way.width > size:
        _put(pieces.columns, first_column(i, 2), way.start, way.width, last, v, v)


@inlined
def _put(columns, piece, start, length, inner, least, most):
    columns[piece + START], columns[piece + LENGTH], columns[piece + INNER] = start, length, inner
    columns[piece + LEAST], columns[piece + MOST_CHANGED] = least, most


@inlined
def _n_words(sets, i, piece):
    """Exact number of words of a piece."""
    zero, one, two = np.int64(1), np.int64(0), np.int64(0)
    for j in range(piece[START], piece[START] + piece[LENGTH]):
        bases = popcount(np.uint64(sets.sets[sets.first[i] + j])) if sets.first[i] >= 0 else np.int64(1)
        others = 4 - bases if j >= piece[INNER] else 0
        two = two * bases + one * others
        one = one * bases + zero * others
        zero *= bases
    n = np.int64(0)
    for changed in range(piece[LEAST], piece[MOST_CHANGED] + 1):
        n += zero if changed == 0 else one if changed == 1 else two
    return n


# The words of pieces: what they may be in the text, with some of their symbols changed (near.py).


class Words(NamedTuple):
    """What is looked up: n words, packed, each in two of ``words`` uint64[2 * n + 1].

    Their lengths, patterns, pieces: int64[n].
    """

    words: np.ndarray
    length: np.ndarray
    pattern: np.ndarray
    piece: np.ndarray


def spell(sets: "Sets", pieces: Pieces, start: int, stop: int) -> Words:
    """The words of patterns start to stop."""
    n = int(pieces.words[start:stop].sum())
    words = Words(np.zeros(2 * n + 1, np.uint64), *(np.empty(n, np.int64) for _ in range(3)))
    _spell(sets, pieces, start, stop, words)
    return words


@compiled
def _spell(sets, pieces, start, stop, words):
    n = np.int64(0)
    for i in range(start, stop):
        for j in range(MOST_PIECES):
            piece = pieces.columns[first_column(i, j) : first_column(i, j + 1)]
            if piece[LENGTH] > 0:
                done = _spell_piece(sets, i, piece, words, n)
                for k in range(n, done):
                    words.pattern[k], words.piece[k], words.length[k] = i, j, piece[LENGTH]
                n = done


@inlined
def _spell_piece(sets, i, piece, words, n):
    """Write the words of a piece from number n on; the number after them."""
    first, is_plain = sets.first[i] + piece[START], sets.first[i] < 0
    length, inner = piece[LENGTH], piece[INNER] - piece[START]
    word = np.uint64(0)
    if is_plain:
        word = _plain_word(sets, i, piece[START], min(length, np.int64(WORD)))
    if length > WORD:  # none is changed
        words.words[2 * n] = word
        words.words[2 * n + 1] = _plain_word(sets, i, piece[START] + WORD, length - WORD)
        return n + 1
    for changed in range(piece[LEAST], piece[MOST_CHANGED] + 1):
        a_stop = length if changed > 0 else inner + 1
        for a in range(inner, a_stop):
            b_stop = length if changed > 1 else a + 2
            for b in range(a + 1, b_stop):
                if is_plain:
                    n = _change(word, changed, a, b, words, n)
                else:
                    where = a if changed > 0 else -1, b if changed > 1 else -1
                    n = _spell_changed(sets, (first, length), where, words, n)
    return n


@inlined
def _plain_word(sets, i, start, k):
    """Symbols ``start`` onwards of a plain pattern, k of them (1 to 32), packed."""
    return symbols(sets.words, sets.plane[i] >> 2, start, k) << np.uint64(64 - 2 * k)


@inlined
def _change(word, changed, a, b, words, n):
    """Write a word with its symbols a and b, or a alone, or none, changed in all ways."""
    at_a, at_b = np.uint64(62 - 2 * a), np.uint64(62 - 2 * b)
    for one in range(1, 4 if changed > 0 else 2):
        first = word ^ np.uint64(one if changed > 0 else 0) << at_a
        for two in range(1, 4 if changed > 1 else 2):
            words.words[2 * n] = first ^ np.uint64(two) << at_b if changed > 1 else first
            n += 1
    return n


@inlined
def _spell_changed(sets, span, changed, words, n):
    """Write all words of a span of sets (first, length) with two symbols ``changed`` (-1: none)."""
    first, length = span
    total = np.int64(1)
    for j in range(length):
        total *= popcount(np.uint64(_choice(sets, first, j, changed)))
    for number in range(total):
        word, left = np.uint64(0), np.int64(number)
        for j in range(length):
            own = np.uint64(_choice(sets, first, j, changed))
            bases = popcount(own)
            if bases > 1:
                for _ in range(left % bases):
                    own &= own - np.uint64(1)
                left //= bases
            word = word << np.uint64(2) | np.uint64(trailing_zeros(own))
        words.words[2 * (n + number)] = word << np.uint64(64 - 2 * length)
    return n + total


@inlined
def _choice(sets, first, j, changed):
    """The bases that symbol j of a word may be."""
    own = at(sets.sets, first + j)
    return np.uint8(15) ^ own if j == changed[0] or j == changed[1] else own
