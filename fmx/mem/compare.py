"""Comparing a query with the text, 32 symbols at a time."""

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at, leading_zeros
from ..index.reference import block_end
from ..input.dna import WORD, symbols


@inlined
def symbol(words, first, i):
    """Symbol i of the packed string at word ``first``, as a uint64."""
    return (at(words, first + (i >> 5)) >> np.uint64(62 - 2 * (i & 31))) & np.uint64(3)


@inlined
def common_prefix(words, position, query_words, first, i, most):
    """How many symbols, ``most`` at most, the text from ``position`` and a query from symbol i share.

    ``words`` the packed text; the query's words start at ``first``, and more follow them.
    """
    done = 0
    while done < most:
        ours = symbols(words, 0, position + done, WORD)
        difference = ours ^ symbols(query_words, first, i + done, WORD)
        if difference:
            return min(done + (leading_zeros(difference) >> 1), most)
        done += WORD
    return most


@inlined
def compare(matcher, position, query_words, first, i, m, known):
    """(symbols in common, order) of the suffix at ``position`` and the subquery i of a strand of m symbols.

    ``known`` of them are known to match.  The order is -1, 0, 1 for a subquery that sorts before the suffix,
    is a prefix of it, sorts after it.  ``matcher`` has the text's ``words`` and ``blocks``.
    """
    if known == m - i:
        return known, np.int64(0)
    stop = block_end(matcher.blocks, position) - position
    most = min(m - i, stop)
    more = most - known
    length = known + common_prefix(matcher.words, position + known, query_words, first, i + known, more)
    if length == m - i:
        return length, np.int64(0)
    if length == stop:
        return length, np.int64(1)
    ours, theirs = symbol(matcher.words, 0, position + length), symbol(query_words, first, i + length)
    return length, np.int64(1) if theirs > ours else np.int64(-1)
