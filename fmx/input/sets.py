"""Near matches: the base sets of a pattern, and where the text has a base outside of them."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import by_type_or_this, compiled, inlined
from ..compiler.primitives import at, leading_zeros, popcount
from ..dna import CODE, FORWARD, REVERSE, WORD, pack_read, pack_reverse, symbols

if TYPE_CHECKING:
    from .reads import ReadBatch

# Changes of a pattern: where the text has a base that is not in the pattern's set.  The low two bits of an
# int64 are their number; above, 30 bits for each change: its position in the pattern and the text's base.
_N_BITS, _CHANGE_BITS, NONE = 2, 30, -1


@inlined
def n_changes(changes):
    """Return the number of changes."""
    return changes & 3


@inlined
def change_at(changes, j):
    """Return (position of change number j in the pattern, the text's base)."""
    own = changes >> (_N_BITS + _CHANGE_BITS * j)
    return (own >> 2) & ((1 << 28) - 1), own & 3


class NoChanges(NamedTuple):
    """In place of the ``changes`` and ``best`` of exact hits; ``n`` has no meaning."""

    n: int = 0


EXACT = NoChanges()


@by_type_or_this
def changes_of(changes, hit):
    """Return the changes of a hit, from those of all (search/hits.py)."""
    return changes[hit]


@changes_of.register(NoChanges)
def _no_changes(changes, hit):
    return np.int64(0)


@by_type_or_this
def n_best_of(best, i, hit_changes, total):
    """Return how many occurrences of read i have as few mismatches as a hit; 0 if others have fewer.

    ``best``: of Hits. ``hit_changes``: changes of the hit. ``total``: number of occurrences of the read.
    """
    return best[i] >> 2 if n_changes(hit_changes) == best[i] & 3 else np.int64(0)


@n_best_of.register(NoChanges)
def _all_are_best(best, i, hit_changes, total):
    return total


# Base sets of patterns, which compare a pattern with the text 32 symbols at a time.
#
# A set has four bits, A C G T from the lowest; it matches its bases, and nothing if it is empty.  For each 32
# symbols of a pattern there are four planes, for A C G T; the bit of a symbol is at the lower of its two bits
# in packed text (dna.py):
#
#     bit      62   60   58  ...  0        pattern R A N: A 1 1 1, C 0 0 1, G 1 0 1, T 0 0 1
#     symbol    0    1    2  ... 31

_LOW = 0x5555555555555555  # the lower bit of each symbol


class Sets(NamedTuple):
    """Patterns as base sets: row 2r is read r, row 2r + 1 its reverse complement.

    Pattern i has ``length[i]`` symbols (int64, 0: not searched). If it ``is_plain`` (bool), it has only A C G
    T, and its packed symbols are in ``words`` uint64 from plane[i] >> 2 on. Else its sets are in ``planes``
    uint64, four words per 32 symbols, from ``plane[i]`` on.
    """

    planes: np.ndarray
    words: np.ndarray
    is_plain: np.ndarray
    plane: np.ndarray
    length: np.ndarray


def searched(batch: "ReadBatch", table: np.ndarray, most: int) -> np.ndarray:
    """bool[n_reads]: reads that can occur with at most ``most`` mismatches; ``table``: base set by byte.

    They have more bases than that, and at most that many match nothing.
    """
    can_occur = np.empty(batch.length.size, np.bool_)
    _look(batch, table, most, can_occur)
    return can_occur


@compiled
def _look(batch, table, most, can_occur):
    for r in range(can_occur.size):
        n, empty = batch.length[r], np.int64(0)
        if not batch.searchable[r]:
            for i in range(batch.start[r], batch.start[r] + n):
                empty += table[batch.data[i]] == 0
        can_occur[r] = n > most and empty <= most


@inlined
def first_word(sets, i):
    """Return where in ``sets.words`` the packed symbols of a plain pattern i begin."""
    return sets.plane[i] >> 2


@inlined
def set_at(sets, i, j):
    """Return the set (uint8) of symbol j of a pattern i that is not plain."""
    plane, shift, bases = sets.plane[i] + 4 * (j >> 5), np.uint64(62 - 2 * (j & 31)), np.uint64(0)
    for c in range(4):
        bases |= ((at(sets.planes, plane + c) >> shift) & np.uint64(1)) << np.uint64(c)
    return np.uint8(bases)


@inlined
def _unmatched(sets, i, j, ours):
    """Return the lower bits of the symbols in ``ours``, the first highest, that pattern i does not match.

    It is compared from symbol j, a multiple of WORD, on. The bits of further symbols may be anything.
    """
    if at(sets.is_plain, i):
        differ = ours ^ at(sets.words, first_word(sets, i) + (j >> 5))
        return (differ | differ >> np.uint64(1)) & np.uint64(_LOW)
    plane = at(sets.plane, i) + (j >> 3)
    low = ours & np.uint64(_LOW)
    high = (ours >> np.uint64(1)) & np.uint64(_LOW)
    of_a = ~high & ~low & at(sets.planes, plane)
    of_c = ~high & low & at(sets.planes, plane + 1)
    of_g = high & ~low & at(sets.planes, plane + 2)
    of_t = high & low & at(sets.planes, plane + 3)
    return np.uint64(_LOW) & ~(of_a | of_c | of_g | of_t)


def make_sets(
    batch: "ReadBatch", start: int, stop: int, is_searched: np.ndarray, strands: int, table: np.ndarray
) -> Sets:
    """Sets of reads start to stop of a batch; ``is_searched`` bool[n_reads] excludes reads."""
    plane, length = np.empty((2, 2 * (stop - start)), np.int64)
    n_planes = _lay_out(batch, start, is_searched, strands, plane, length)
    planes, words = np.empty(n_planes, np.uint64), np.empty((n_planes >> 2) + 1, np.uint64)
    sets = Sets(planes, words, np.repeat(batch.searchable[start:stop], 2), plane, length)
    _fill(batch, start, table, CODE, sets)
    return sets


@compiled
def _lay_out(batch, start, is_searched, strands, plane, length):
    """Fill ``plane`` and ``length`` of Sets; return the size of ``planes``."""
    n_planes = np.int64(0)
    for i in range(length.size):
        r = start + (i >> 1)
        n = batch.length[r] if is_searched[r] else np.int64(0)
        plane[i], length[i] = n_planes, n if strands & (REVERSE if i & 1 else FORWARD) else 0
        n_planes += 4 * ((n + WORD - 1) // WORD)
    return n_planes


@compiled
def _fill(batch, start, table, code, sets):
    sets.words[-1] = 0
    for i in range(sets.length.size):
        r = start + (i >> 1)
        if not sets.is_plain[i]:
            _fill_sets(batch, r, table, sets, i)
            continue
        n, first = max(sets.length[i], sets.length[i ^ 1]), sets.plane[i] >> 2
        if i & 1:
            pack_reverse(sets.words, sets.plane[i - 1] >> 2, first, n)
        else:
            pack_read(batch.data, batch.start[r], n, code, sets.words, first)


@inlined
def _fill_sets(batch, r, table, sets, i):
    """Fill the planes of pattern i, read r or its reverse complement."""
    n, begin = sets.length[i], batch.start[r]
    for word in range(sets.plane[i], sets.plane[i] + 4 * ((n + WORD - 1) // WORD)):
        sets.planes[word] = 0
    for j in range(n):
        bases = np.uint64(table[batch.data[begin + (n - 1 - j if i & 1 else j)]])
        word, bit = sets.plane[i] + 4 * (j >> 5), np.uint64(62 - 2 * (j & 31))
        for c in range(4):
            plane = word + (3 - c if i & 1 else c)  # of the base, or of its complement
            sets.planes[plane] |= ((bases >> np.uint64(c)) & np.uint64(1)) << bit


@inlined
def changes_at(words, position, sets, i, most):
    """The changes of pattern i at ``position`` of the packed text ``words``; NONE if more than ``most``."""
    length = at(sets.length, i)
    n, found, done = np.int64(0), np.int64(0), np.int64(0)
    while done < length:
        k = min(length - done, np.int64(WORD))
        ours = symbols(words, 0, position + done, k) << np.uint64(64 - 2 * k)
        other = _unmatched(sets, i, done, ours) & ~((np.uint64(1) << np.uint64(64 - 2 * k)) - np.uint64(1))
        n += popcount(other)
        if n > most:
            return np.int64(NONE)
        n_before = n - popcount(other)
        while other:
            zeros = leading_zeros(other)  # odd
            base = np.int64((ours >> np.uint64(63 - zeros)) & np.uint64(3))
            found |= ((done + (zeros >> 1)) << 2 | base) << (_N_BITS + _CHANGE_BITS * n_before)
            n_before += 1
            other &= ~(np.uint64(1) << np.uint64(63 - zeros))
        done += WORD
    return found | n
