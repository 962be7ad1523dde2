"""The words of pieces: what they may be in the text, with some of their symbols changed (near.py)."""

from typing import NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.primitives import at, popcount, trailing_zeros
from .near import INNER, LEAST, LENGTH, MOST_CHANGED, MOST_PIECES, START, first_column


class Words(NamedTuple):
    """What is looked up: ``words`` uint64[n + 1], packed; their lengths, patterns, pieces int64[n]."""

    words: np.ndarray
    length: np.ndarray
    pattern: np.ndarray
    piece: np.ndarray


def spell(sets, pieces, start, stop) -> Words:
    """The words of patterns start to stop."""
    n = int(pieces.words[start:stop].sum())
    words = Words(np.zeros(n + 1, np.uint64), *(np.empty(n, np.int64) for _ in range(3)))
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
    first = sets.first[i] + piece[START]
    length, inner = piece[LENGTH], piece[INNER] - piece[START]
    word, is_plain = _spell_plain(sets, first, length)
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
def _spell_plain(sets, first, length):
    """(the word of single bases, whether they are)."""
    word = np.uint64(0)
    for j in range(length):
        own = np.uint64(at(sets.sets, first + j))
        if popcount(own) != 1:
            return word, False
        word = word << np.uint64(2) | np.uint64(trailing_zeros(own))
    return word << np.uint64(64 - 2 * length), True


@inlined
def _change(word, changed, a, b, words, n):
    """Write a word with its symbols a and b, or a alone, or none, changed in all ways."""
    at_a, at_b = np.uint64(62 - 2 * a), np.uint64(62 - 2 * b)
    for one in range(1, 4 if changed > 0 else 2):
        first = word ^ np.uint64(one if changed > 0 else 0) << at_a
        for two in range(1, 4 if changed > 1 else 2):
            words.words[n] = first ^ np.uint64(two) << at_b if changed > 1 else first
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
        words.words[n + number] = word << np.uint64(64 - 2 * length)
    return n + total


@inlined
def _choice(sets, first, j, changed):
    """The bases that symbol j of a word may be."""
    own = at(sets.sets, first + j)
    return np.uint8(15) ^ own if j == changed[0] or j == changed[1] else own
