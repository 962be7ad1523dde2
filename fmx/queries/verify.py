"""Seed and verify: the prefix table, then the suffix array and the packed text compared directly.

The rows that start with the first q symbols of a pattern come from the prefix table.  The rows that start
with all of it are a run of these, found by binary search: SA[row] gives a place in the text, where 32
symbols are compared at a time.  Most intervals are one to a few rows wide, so a read costs three to five
memory accesses, whatever its length; and the answer is the same interval that backward search gives.
"""

from typing import NamedTuple

import numpy as np

from ..contracts import FREE, HI, LO, PATTERN, advance, begin
from ..dna import symbols
from ..jit import inlined, prefetch
from ..prefix_table import PrefixTable, pair_index, prefetch_pair
from ..reference import Blocks, block_end

# LO, HI bound the row sought; STAGE: what has been asked of the memory system; MIDDLE: the row looked at;
# FIRST: the first row of the answer, -1 while it is sought; LAST, TOP bound the row after the answer.
STAGE, MIDDLE, FIRST, LAST, TOP, POSITION = range(FREE, FREE + 6)
_PAIR, _ROW, _TEXT = range(3)


class Verify(NamedTuple):
    """``sa`` uint32[n], the whole suffix array; ``words`` the packed text."""

    prefix: PrefixTable
    sa: np.ndarray
    words: np.ndarray
    blocks: Blocks


@begin.register(Verify)
def begin_verify(query, patterns, i, state, slot):
    looked_up = min(patterns.length[i], np.int64(query.prefix.q))
    pair = pair_index(patterns.words, patterns.first[i], 0, looked_up)
    prefetch_pair(query.prefix, pair)
    state[slot, PATTERN] = i
    state[slot, STAGE] = _PAIR
    state[slot, MIDDLE] = pair


@advance.register(Verify)
def advance_verify(query, patterns, state, slot):
    stage, middle, i = state[slot, STAGE], state[slot, MIDDLE], state[slot, PATTERN]
    length, q = patterns.length[i], np.int64(query.prefix.q)
    if stage == _ROW:
        position = np.int64(query.sa[middle])
        prefetch(query.words, (position + q) >> 5)
        prefetch(query.words, (position + min(length, 256)) >> 5)
        state[slot, POSITION] = position
        state[slot, STAGE] = _TEXT
        return False
    if stage == _PAIR:
        lo, hi = np.int64(query.prefix.pairs[2 * middle]), np.int64(query.prefix.pairs[2 * middle + 1])
        state[slot, LO] = lo
        state[slot, HI] = hi
        if lo >= hi or length <= q:
            return True
        state[slot, FIRST] = -1
        state[slot, LAST] = -1
        state[slot, TOP] = hi
    else:
        order = _compare(query, patterns.words, patterns.first[i], q, length, state[slot, POSITION])
        if state[slot, FIRST] >= 0:  # seeking the row after the answer
            if order == 0:
                state[slot, LO] = middle + 1
            else:
                state[slot, HI] = middle
        elif order < 0:
            state[slot, LO] = middle + 1
        else:
            state[slot, HI] = middle
            if order > 0:
                state[slot, TOP] = middle
            elif state[slot, LAST] < 0:
                state[slot, LAST] = middle + 1
    if state[slot, LO] == state[slot, HI]:
        if state[slot, FIRST] >= 0:  # LO is the row after the answer
            state[slot, HI] = state[slot, LO]
            state[slot, LO] = state[slot, FIRST]
            return True
        if state[slot, LAST] < 0:  # no row was equal
            return True
        state[slot, FIRST] = state[slot, LO]
        state[slot, LO] = state[slot, LAST]
        state[slot, HI] = state[slot, TOP]
        if state[slot, LO] == state[slot, HI]:
            state[slot, LO] = state[slot, FIRST]
            return True
    middle = (state[slot, LO] + state[slot, HI]) >> 1
    prefetch(query.sa, middle)
    state[slot, MIDDLE] = middle
    state[slot, STAGE] = _ROW
    return False


@inlined
def _compare(query, words, first, start, length, position):
    """-1, 0, 1: the suffix at ``position`` sorts before, starts with, sorts after the pattern.

    The first ``start`` symbols are known to be equal.  A separator sorts before every symbol.
    """
    stop = min(length, block_end(query.blocks, position) - position)
    i = start
    while i < stop:
        k = min(stop - i, 32)
        ours = symbols(query.words, 0, position + i, k)
        theirs = symbols(words, first, i, k)
        if ours != theirs:
            return -1 if ours < theirs else 1
        i += 32
    return 0 if stop == length else -1
