"""Comparing a query with the text, 32 symbols at a time."""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at, leading_zeros, trailing_zeros
from ..index.reference import block_end
from ..input.dna import WORD, symbols


class Subquery(NamedTuple):
    """Symbols ``i`` to ``m`` (half-open) of the packed string at word ``first``; a spare word follows it."""

    words: np.ndarray
    first: int
    i: int
    m: int


@inlined
def symbol(words, first, i):
    """Symbol i of the packed string at word ``first``, as a uint64."""
    return (at(words, first + (i >> 5)) >> np.uint64(62 - 2 * (i & 31))) & np.uint64(3)


@inlined
def common_prefix(words, position, subquery, known, most):
    """How many symbols, ``most`` at most, the text from ``position`` and a subquery share; ``known`` do.

    ``words`` the packed text.
    """
    done = known
    while done < most:
        ours = symbols(words, 0, position + done, WORD)
        difference = ours ^ symbols(subquery.words, subquery.first, subquery.i + done, WORD)
        if difference:
            return min(done + (leading_zeros(difference) >> 1), most)
        done += WORD
    return most


@inlined
def common_suffix(words, position, subquery, most):
    """How many symbols, ``most`` at most, are the same just before ``position`` and before a subquery."""
    done = np.int64(0)
    while done < most:
        k = min(most - done, WORD)
        ours = symbols(words, 0, position - done - k, k)
        difference = ours ^ symbols(subquery.words, subquery.first, subquery.i - done - k, k)
        if difference:
            return done + (trailing_zeros(difference) >> 1)
        done += k
    return most


@inlined
def compare(text, position, subquery, known):
    """(symbols in common, order) of the suffix at ``position`` and a subquery, which share ``known`` ones.

    The order is -1, 0, 1 for a subquery that sorts before the suffix, is a prefix of it, sorts after it.
    ``text`` has the packed ``words`` and ``blocks``.
    """
    m = subquery.m - subquery.i
    if known == m:
        return known, np.int64(0)
    stop = block_end(text.blocks, position) - position
    length = common_prefix(text.words, position, subquery, known, min(m, stop))
    if length == m:
        return length, np.int64(0)
    if length == stop:
        return length, np.int64(1)
    ours = symbol(text.words, 0, position + length)
    theirs = symbol(subquery.words, subquery.first, subquery.i + length)
    return length, np.int64(1) if theirs > ours else np.int64(-1)
