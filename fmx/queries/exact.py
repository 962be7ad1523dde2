"""Exact occurrence of a pattern by backward search (Ferragina and Manzini 2000; k-steps: Chacon et al. 2013).

The last symbols come from the prefix table: the most it holds, less what would leave a remainder, so that
every later step is a whole k-step towards the front of the pattern.
"""

from typing import Any, NamedTuple

import numpy as np

from ..contracts import FREE, HI, LEFT, LO, PATTERN, advance, begin, extend, prefetch_extend
from ..dna import symbols
from ..prefix_table import PrefixTable, pair_index, prefetch_pair

PAIR, SYMBOL = FREE, FREE + 1  # the pair to look up, -1 afterwards; the k-symbol of the step under way


class Exact(NamedTuple):
    """Backward search over one layout."""

    prefix: PrefixTable
    layout: Any


@begin.register(Exact)
def begin_exact(query, patterns, i, state, slot):
    length, k = patterns.length[i], query.layout.k
    looked_up = min(length, np.int64(query.prefix.q))
    if length > looked_up:
        looked_up -= (looked_up - length) % k
    left = length - looked_up
    pair = pair_index(patterns.words, patterns.first[i], left, looked_up)
    prefetch_pair(query.prefix, pair)
    state[slot, PATTERN] = i
    state[slot, LEFT] = left
    state[slot, PAIR] = pair


@advance.register(Exact)
def advance_exact(query, patterns, state, slot):
    pair, left = state[slot, PAIR], state[slot, LEFT]
    if pair >= 0:
        lo, hi = np.int64(query.prefix.pairs[2 * pair]), np.int64(query.prefix.pairs[2 * pair + 1])
        state[slot, PAIR] = -1
    else:
        lo, hi = extend(query.layout, state[slot, SYMBOL], state[slot, LO], state[slot, HI])
    state[slot, LO] = lo
    state[slot, HI] = hi
    if left == 0 or lo >= hi:
        return True
    k = query.layout.k
    left -= k
    c = np.int64(symbols(patterns.words, patterns.first[state[slot, PATTERN]], left, k))
    prefetch_extend(query.layout, c, lo, hi)
    state[slot, LEFT] = left
    state[slot, SYMBOL] = c
    return False
