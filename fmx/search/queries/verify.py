"""Seed and verify: the seed table, then direct comparison with the packed text through the suffix array.

The seed table gives the rows that start with the first s symbols of a pattern. The rows that start with the
whole pattern are a run of these: SA[row] is a position in the text, where 32 symbols are compared at a time.
As long as the run is wide, binary search narrows it. The last few rows are all compared together, since their
positions do not depend on each other. Most intervals are that narrow from the start, so a read costs three to
five memory accesses, whatever its length. The result is the same interval as that of backward search.

    Verify             on the CPU, several patterns in turn
    _VerifyOnDevice    on a GPU, a thread for each pattern
"""

from typing import NamedTuple

import numpy as np

from ...compiler.functions import inlined, static_type
from ...compiler.primitives import at, prefetch
from ...dna import symbols
from ...index.contracts import FREE, HI, LO, PATTERN, advance, begin, find, on_device
from ...index.reference import Blocks, block_end
from ...index.tables import PrefixTable, SeedTable, pair_index, prefetch_pair

# LO and HI bound the row that is sought. _STAGE: what was prefetched. _MIDDLE: the current row, or a short
# pattern's pair. _POSITION: of the row. _FIRST: first row of the result, or -1. Its end: _LAST to _TOP.
_STAGE, _MIDDLE, _FIRST, _LAST, _TOP, _POSITION = range(FREE, FREE + 6)
_ENTRY, _SEED, _ROW, _TEXT, _ROWS, _TEXTS = range(6)
_ROWS_AT_ONCE = 8  # rows that are compared together


class Verify(NamedTuple):
    """Seed and verify on the CPU: ``prefix`` for short patterns, ``seeds`` for others, packed ``words``.

    ``sa`` uint32[n]: the whole suffix array; ``blocks``: stretches of the text between separators.
    """

    prefix: PrefixTable
    seeds: SeedTable
    sa: np.ndarray
    words: np.ndarray
    blocks: Blocks


@begin.register(Verify)
def _begin_verify(query, patterns, i, state, slot):
    """Prefetch the entry (lo, hi) of a short pattern, or the seed of a longer one."""
    length, first = at(patterns.length, i), at(patterns.first, i)
    state[slot, PATTERN] = i
    if length <= query.prefix.q:
        state[slot, _STAGE] = _ENTRY
        state[slot, _MIDDLE] = pair_index(patterns.words, first, 0, length)
        prefetch_pair(query.prefix, state[slot, _MIDDLE])
        return
    n_seed = min(length, np.int64(query.seeds.s))
    spare = 2 * (query.seeds.s - n_seed)
    seed = np.int64(symbols(patterns.words, first, 0, n_seed))
    prefetch(query.seeds.starts, seed << spare)
    state[slot, _STAGE] = _SEED
    # A suffix that ends within s symbols may start with a pattern shorter than s: it is in the preceding run.
    state[slot, LO] = (seed << spare) - (spare > 0)
    state[slot, HI] = (seed + 1) << spare


@advance.register(Verify)
def _advance_verify(query, patterns, state, slot):
    """Take one step with what was prefetched, and prefetch for the next one; return whether done."""
    stage, i = state[slot, _STAGE], state[slot, PATTERN]
    if stage == _ROWS:
        for row in range(state[slot, LO], state[slot, HI]):
            _prefetch_text(query, np.int64(at(query.sa, row)))
        state[slot, _STAGE] = _TEXTS
        return False
    if stage == _ROW:
        state[slot, _POSITION] = np.int64(at(query.sa, state[slot, _MIDDLE]))
        _prefetch_text(query, state[slot, _POSITION])
        state[slot, _STAGE] = _TEXT
        return False
    if stage == _ENTRY:
        entry = state[slot, _MIDDLE]
        state[slot, LO] = np.int64(query.prefix.pairs[2 * entry])
        state[slot, HI] = np.int64(query.prefix.pairs[2 * entry + 1])
        return True
    if stage == _SEED:
        state[slot, LO] = np.int64(at(query.seeds.starts, state[slot, LO])) if state[slot, LO] >= 0 else 0
        state[slot, HI] = np.int64(at(query.seeds.starts, state[slot, HI]))
        state[slot, _FIRST] = -1
        state[slot, _LAST] = -1
        state[slot, _TOP] = state[slot, HI]
    elif stage == _TEXTS:
        if _bound_equal(query, patterns, i, state, slot):
            return True
    else:
        _narrow(state, slot, _compare(query, patterns, i, state[slot, _POSITION]))
    if state[slot, LO] == state[slot, HI] and _end_search(state, slot):
        return True
    if state[slot, HI] - state[slot, LO] <= _ROWS_AT_ONCE:
        prefetch(query.sa, state[slot, LO])
        prefetch(query.sa, state[slot, HI] - 1)
        state[slot, _STAGE] = _ROWS
        return False
    state[slot, _MIDDLE] = (state[slot, LO] + state[slot, HI]) >> 1
    prefetch(query.sa, state[slot, _MIDDLE])
    state[slot, _STAGE] = _ROW
    return False


@inlined
def _prefetch_text(query, position):
    """Prefetch the first 32 symbols, which decide for most rows."""
    prefetch(query.words, position >> 5)
    prefetch(query.words, (position + 31) >> 5)


@inlined
def _bound_equal(query, patterns, i, state, slot):
    """Compare all rows between the bounds; the equal ones are consecutive.

    Return whether they are the result; otherwise set the bounds to where they meet.
    """
    lo = hi = np.int64(0)
    for row in range(state[slot, LO], state[slot, HI]):
        if _starts_with(query, patterns, i, np.int64(at(query.sa, row))):
            lo = row if lo == hi else lo
            hi = row + 1
    if state[slot, _FIRST] >= 0:
        state[slot, LO] = hi if lo < hi else state[slot, LO]
        state[slot, HI] = state[slot, LO]
    elif state[slot, _LAST] >= 0:
        state[slot, HI] = lo if lo < hi else state[slot, HI]
        state[slot, LO] = state[slot, HI]
    else:
        state[slot, LO] = lo
        state[slot, HI] = hi
        return True
    return False


@inlined
def _starts_with(query, patterns, i, position):
    """Return whether pattern i is at ``position``. Most rows already differ in the first words."""
    first, length = at(patterns.first, i), at(patterns.length, i)
    if position + length > query.sa.size:
        return False
    done = np.int64(0)
    while done < length:
        k = min(length - done, 32)
        ours = symbols(query.words, 0, position + done, k)
        if ours != at(patterns.words, first + (done >> 5)) >> np.uint64(64 - 2 * k):
            return False
        done += 32
    return position + length <= block_end(query.blocks, position)


@inlined
def _narrow(state, slot, order):
    """Move a bound to the current row: ``order`` is the result of _compare for it."""
    middle = state[slot, _MIDDLE]
    seeking_last = state[slot, _FIRST] >= 0
    if order < 0 or (order == 0 and seeking_last):
        state[slot, LO] = middle + 1
        return
    state[slot, HI] = middle
    if not seeking_last:
        if order > 0:
            state[slot, _TOP] = middle
        elif state[slot, _LAST] < 0:
            state[slot, _LAST] = middle + 1


@inlined
def _end_search(state, slot):
    """The bounds have met: return whether the result is n_seed, else start to search its other end."""
    if state[slot, _FIRST] < 0:
        if state[slot, _LAST] < 0:  # no row was equal: LO == HI is the empty result
            return True
        state[slot, _FIRST] = state[slot, LO]
        state[slot, LO] = state[slot, _LAST]
        state[slot, HI] = state[slot, _TOP]
        if state[slot, LO] < state[slot, HI]:
            return False
    state[slot, HI] = state[slot, LO]
    state[slot, LO] = state[slot, _FIRST]
    return True


@inlined
def _compare(query, patterns, i, position):
    """Compare a suffix: it is before (-1), among (0) or after (1) the suffixes that start with pattern i.

    A separator sorts before every symbol.
    """
    first, length = at(patterns.first, i), at(patterns.length, i)
    stop = min(length, block_end(query.blocks, position) - position)
    done = np.int64(0)
    while done < stop:
        k = min(stop - done, 32)
        ours = symbols(query.words, 0, position + done, k)
        theirs = at(patterns.words, first + (done >> 5)) >> np.uint64(64 - 2 * k)
        if ours != theirs:
            return -1 if ours < theirs else 1
        done += 32
    return 0 if stop == length else -1


# On a GPU one thread finds the interval of a pattern, by binary search among the rows of its seed.

_VerifyOnDevice = static_type("_VerifyOnDevice", Verify._fields, __name__)


@on_device.register(Verify)
def _on_device(query):
    return _VerifyOnDevice(*query)


@find.register(_VerifyOnDevice)
def _find(query, patterns, i):
    length, first = np.int64(at(patterns.length, i)), np.int64(at(patterns.first, i))
    if length <= query.prefix.q:
        entry = pair_index(patterns.words, first, 0, length)
        return np.int64(query.prefix.pairs[2 * entry]), np.int64(query.prefix.pairs[2 * entry + 1])
    s, starts = np.int64(query.seeds.s), query.seeds.starts
    if length < s:
        # A suffix that ends within s symbols may start with the pattern: it is in the preceding run.
        spare = 2 * (s - length)
        seed = np.int64(symbols(patterns.words, first, 0, length)) << spare
        lo = np.int64(at(starts, seed - 1)) if seed > 0 else np.int64(0)
        hi = np.int64(at(starts, seed + (np.int64(1) << spare)))
    else:
        seed = np.int64(symbols(patterns.words, first, 0, s))
        lo, hi = np.int64(at(starts, seed)), np.int64(at(starts, seed + 1))
    # One loop does three searches, so that the threads of a warp stay together: for any row that starts with
    # the pattern, then for the first, then for the last.
    begin, last, stop = np.int64(-1), np.int64(-1), hi
    while True:
        if lo >= hi:
            if last < 0:
                return lo, lo
            if begin >= 0:
                return begin, lo
            begin, lo, hi = lo, last, stop
            continue
        middle = (lo + hi) >> 1
        sign = _compare(query, patterns, i, np.int64(at(query.sa, middle)))
        if sign == 0 and last < 0:
            last, stop, hi = middle + 1, hi, middle
        elif sign < 0 or (sign == 0 and begin >= 0):
            lo = middle + 1
        else:
            hi = middle
