"""Exact occurrence of a pattern by backward search (Ferragina and Manzini 2000; k-steps: Chacon et al. 2013).

The last symbols come from the prefix table: as many as it holds, minus what would leave a remainder, so that
every later step is a whole k-step towards the start of the pattern. If the remainder of length / k is longer
than the table's strings, contracts.lookup finds it. GPU engines call ``start`` and take the steps themselves.
"""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at
from ...dna import symbols
from ...errors import UnsupportedError
from ...index.contracts import (
    FREE,
    HI,
    LEFT,
    LO,
    PATTERN,
    advance,
    begin,
    extend,
    lookup,
    prefetch_extend,
    prefetch_symbol,
    start,
)
from ...index.tables import MIN_PREFIX, PrefixTable, pair_index, prefetch_pair

_ENTRY, _SYMBOL = FREE, FREE + 1  # entry of the prefix table, _STEP or _LOOKUP; next k-symbol
_STEP, _LOOKUP = -1, -2


class Backward(NamedTuple):
    """Query of backward search: a look-up in ``prefix``, then k-steps in ``layout``."""

    prefix: PrefixTable
    layout: Any


def make_backward(prefix: PrefixTable, layout: Any) -> Backward:
    """Return the query of a layout. Raises UnsupportedError if it cannot find reads of all lengths."""
    if layout.k > MIN_PREFIX + 1 and not lookup.knows(layout):
        raise UnsupportedError(
            f"{type(layout).__name__} steps over {layout.k} symbols and cannot find shorter strings: its "
            "file must register contracts.lookup"
        )
    return Backward(prefix, layout)


@inlined
def _looked_up(query, length):
    """Return how many of the last symbols come from a table, and whether that is the prefix table."""
    k = query.layout.k
    looked_up = min(length, np.int64(query.prefix.q))
    if length > looked_up:
        looked_up -= (looked_up - length) % k
    if looked_up < 0:
        return looked_up + k, False
    return looked_up, True


@begin.register(Backward)
def _begin_backward(query, patterns, i, state, slot):
    length = at(patterns.length, i)
    looked_up, in_prefix_table = _looked_up(query, length)
    state[slot, PATTERN] = i
    if in_prefix_table:
        entry = pair_index(patterns.words, at(patterns.first, i), length - looked_up, looked_up)
        prefetch_pair(query.prefix, entry)
        state[slot, _ENTRY] = entry
    else:
        state[slot, _ENTRY] = _LOOKUP
    state[slot, LEFT] = length - looked_up
    _prefetch_step(query, patterns, i, length - looked_up)


@start.register(Backward)
def _start_backward(query, patterns, i):
    length, first = patterns.length[i], patterns.first[i]
    looked_up, in_prefix_table = _looked_up(query, length)
    left = length - looked_up
    if in_prefix_table:
        entry = pair_index(patterns.words, first, left, looked_up)
        lo, hi = np.int64(query.prefix.pairs[2 * entry]), np.int64(query.prefix.pairs[2 * entry + 1])
    else:
        c = np.int64(symbols(patterns.words, first, left, looked_up))
        lo, hi = lookup(query.layout, c, looked_up)
    return lo, hi, left


@inlined
def _prefetch_step(query, patterns, i, left):
    """Prefetch the layout's data for the k-symbol before ``left`` of pattern i, for the step after next."""
    k = query.layout.k
    if left >= k:
        prefetch_symbol(query.layout, np.int64(symbols(patterns.words, at(patterns.first, i), left - k, k)))


@advance.register(Backward)
def _advance_backward(query, patterns, state, slot):
    """Look up the last symbols, or take one k-step, and prefetch for the next; return whether done."""
    entry, left = state[slot, _ENTRY], state[slot, LEFT]
    if entry >= 0:
        lo, hi = np.int64(at(query.prefix.pairs, 2 * entry)), np.int64(at(query.prefix.pairs, 2 * entry + 1))
        state[slot, _ENTRY] = _STEP
    elif entry == _LOOKUP:
        length = patterns.length[state[slot, PATTERN]] - left
        c = np.int64(symbols(patterns.words, at(patterns.first, state[slot, PATTERN]), left, length))
        lo, hi = lookup(query.layout, c, length)
        state[slot, _ENTRY] = _STEP
    else:
        lo, hi = extend(query.layout, state[slot, _SYMBOL], state[slot, LO], state[slot, HI])
        if lo < 0 or hi > np.int64(at(query.prefix.pairs, 1)):  # contradictory counters: no row
            lo = hi = np.int64(0)
    state[slot, LO] = lo
    state[slot, HI] = hi
    if left == 0 or lo >= hi:
        return True
    k = query.layout.k
    left -= k
    c = np.int64(symbols(patterns.words, at(patterns.first, state[slot, PATTERN]), left, k))
    prefetch_extend(query.layout, c, lo, hi)
    _prefetch_step(query, patterns, state[slot, PATTERN], left)
    state[slot, LEFT] = left
    state[slot, _SYMBOL] = c
    return False
