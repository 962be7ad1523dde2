"""Comparing a query with the text, 32 symbols at a time."""

import numpy as np

from ..dna import WORD, symbols
from ..jit import at, inlined
from ..jit_bits import leading_zeros


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
