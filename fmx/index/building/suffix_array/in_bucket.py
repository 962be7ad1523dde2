"""Sorting the suffixes of a bucket by one thread in its own memory; buckets.py runs the threads.

The items of a bucket are sorted by radix.  A group of suffixes with equal items gets new items, from its next
10 symbols, and is sorted in the same way, until no suffixes are equal or they share LIMIT symbols:

    0 | the next 10 symbols, 3 bits each (input/dna.py) | 0 | position, 32 bits

A small group is sorted by insertion, by its next 21 symbols.
"""

from typing import Any, NamedTuple

import numpy as np

from ....compiler.functions import compiled, inlined
from ....compiler.primitives import at
from ....compiler.sorting import sort
from ....input.dna import PER_KEY, key_at
from .ties import tie

LIMIT = 100  # symbols by which suffixes are compared before ranks are result
SYMBOLS = 13  # of an item, after those of its bucket
FULL = 31  # in an item: no separator within its symbols and those of the bucket
_MORE = 10  # symbols of the items of a group
_FEW = 24  # suffixes of a group that is sorted by insertion, 21 symbols at a time
_FEW_ITEMS = 60  # items that are sorted by comparison
_SHIFTS = (31, 39, 47, 55)  # first bits of the passes of a radix sort; the first has one bit of the position
_N_DIGITS = 256
_OF_ITEM = -1


class Sorted(NamedTuple):
    """``words`` of the text (input/dna.py) to ``sa`` uint32[n]; buckets of the first c symbols.

    ``starts`` int64[4^c + 1]: their first rows.
    """

    words: Any
    sa: Any
    starts: Any
    c: int


class SortBuffers(NamedTuple):
    """A thread's memory for up to m items.

    ``spare`` uint64[m]; ``counts`` int64[4, 256]; ``groups`` uint32[m / 2 + 1, 3]: first row, number of rows,
    symbols that they share.
    """

    spare: Any
    counts: Any
    groups: Any


def make_buffers(m: int) -> SortBuffers:
    """Allocate a SortBuffers for buckets of up to m suffixes."""
    counts = np.empty((len(_SHIFTS), _N_DIGITS), np.int64)
    return SortBuffers(np.empty(m, np.uint64), counts, np.empty((m // 2 + 1, 3), np.uint32))


@compiled
def sort_buckets(result, buckets, items, buffers, ties):
    """Sort the buckets from buckets[0] up to buckets[1] into result.sa; ``items`` uint64 are all of theirs.

    Marks rows that share LIMIT symbols in ``ties`` (ties.Ties); returns their number.
    """
    base, n_tied = result.starts[buckets[0]], np.int64(0)
    for bucket in range(buckets[0], buckets[1]):
        start, stop = result.starts[bucket], result.starts[bucket + 1]
        of_bucket = items[start - base : stop - base]
        n_groups = _place(result, start, of_bucket, buffers, 0, _OF_ITEM) if start < stop else 0
        while n_groups > 0:
            n_groups -= 1
            first, m = np.int64(buffers.groups[n_groups, 0]), np.int64(buffers.groups[n_groups, 1])
            alike = np.int64(buffers.groups[n_groups, 2])
            if alike >= LIMIT:
                for row in range(first + 1, first + m):
                    tie(ties, row)
                n_tied += m
            elif m <= _FEW:
                n_groups = _place_few(result, first, m, alike, buffers, n_groups)
            else:
                for j in range(m):
                    position = np.int64(at(result.sa, first + j))
                    key = key_at(result.words, position + alike, _MORE)
                    of_bucket[j] = key << np.uint64(33) | np.uint64(position)
                n_groups = _place(result, first, of_bucket[:m], buffers, n_groups, alike + _MORE)
    return n_tied


@inlined
def _place(result, first, items, buffers, n_groups, alike):
    """Sort items into the rows from ``first`` on; push groups that share ``alike`` symbols.

    If ``alike`` is _OF_ITEM, the items contain it.  Returns the number of groups.
    """
    _sort_items(items, buffers)
    j = np.int64(0)
    while j < items.size:
        begin, like = j, at(items, j) >> np.uint64(32)
        while j < items.size and at(items, j) >> np.uint64(32) == like:
            result.sa[first + j] = at(items, j) & np.uint64(0xFFFFFFFF)
            j += 1
        if j - begin > 1:
            if alike == _OF_ITEM:
                before = np.int64(like & np.uint64(FULL))
                shared = result.c + SYMBOLS if before == FULL else before
            else:
                shared = alike
            n_groups = _push(buffers, n_groups, first + begin, j - begin, shared)
    return n_groups


@inlined
def _place_few(result, first, m, alike, buffers, n_groups):
    """Sort m rows from ``first`` on by their next 21 symbols; push groups, and return their number."""
    keys = buffers.spare
    for j in range(m):
        position, i = at(result.sa, first + j), j
        key = key_at(result.words, np.int64(position) + alike, PER_KEY)
        while i > 0 and at(keys, i - 1) > key:
            keys[i], result.sa[first + i] = at(keys, i - 1), at(result.sa, first + i - 1)
            i -= 1
        keys[i], result.sa[first + i] = key, position
    j = np.int64(0)
    while j < m:
        begin = j
        while j < m and at(keys, j) == at(keys, begin):
            j += 1
        if j - begin > 1:
            n_groups = _push(buffers, n_groups, first + begin, j - begin, alike + PER_KEY)
    return n_groups


@inlined
def _push(buffers, n_groups, first, m, alike):
    """Push a group; return the number of groups."""
    group = buffers.groups[n_groups]
    group[0], group[1], group[2] = first, m, alike
    return n_groups + 1


@inlined
def _sort_items(items, buffers):
    """Sort items by their bits from 32 on."""
    if items.size <= _FEW_ITEMS:
        sort(items, items.size)
        return
    counts = buffers.counts
    counts[:] = 0
    for j in range(items.size):
        for i in range(len(_SHIFTS)):
            counts[i, _digit(at(items, j), i)] += 1
    spare = buffers.spare[: items.size]
    is_back = True
    for i in range(len(_SHIFTS)):
        if counts[i, _digit(items[0], i)] < items.size:  # otherwise the pass would change nothing
            if is_back:
                _pass(items, spare, counts[i], i)
            else:
                _pass(spare, items, counts[i], i)
            is_back = not is_back
    if not is_back:
        for j in range(items.size):
            items[j] = at(spare, j)


@inlined
def _digit(item, i):
    """Return the digit by which pass i sorts an item."""
    return np.int64((item >> np.uint64(_SHIFTS[i])) & np.uint64(_N_DIGITS - 1))


@inlined
def _pass(source, target, counts, i):
    """Do pass i of a radix sort; ``counts`` int64[256]: how often each digit occurs, then where it goes."""
    total = np.int64(0)
    for digit in range(_N_DIGITS):
        counts[digit], total = total, total + counts[digit]
    for j in range(source.size):
        digit = _digit(at(source, j), i)
        target[np.uint64(counts[digit])] = at(source, j)
        counts[digit] += 1
