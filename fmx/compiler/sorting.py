"""Sorting in place and searching sorted arrays; compiled code here may not allocate (see numba_cpu.py)."""

from typing import NamedTuple

import numpy as np

from .functions import by_type, inlined
from .primitives import at

_SMALL = 24
_MANY, _DIGIT, N_DIGITS = 60, np.uint64(255), 256  # fewest keys sorted by digits; mask; values of a digit


@inlined
def lower_bound(array, left, right, value):
    """Return the index of the first element of the ascending array[left:right] not less than ``value``."""
    while left < right:
        middle = (left + right) >> 1
        if np.int64(at(array, middle)) < value:
            left = middle + 1
        else:
            right = middle
    return left


@inlined
def sort(keys, n):
    """Sort keys[:n] (int64): a Shell sort with Tokuda's gaps, few keys by insertion alone."""
    gap = 1
    while n > _SMALL and 9 * gap < 4 * n:
        gap = 9 * gap // 4 + 1
    while gap > 0:
        for i in range(gap, n):
            key, j = keys[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                j -= gap
            keys[j] = key
        gap = (4 * gap - 1) // 9


class InPlace(NamedTuple):
    """``keys`` int64[n], sorted in place."""

    keys: np.ndarray


class ByDigits(NamedTuple):
    """``keys`` int64[n], none negative; many keys are sorted by digits (radix sort).

    ``spare`` int64[n] and ``counts`` int64[N_DIGITS] are its working memory.
    """

    keys: np.ndarray
    spare: np.ndarray
    counts: np.ndarray


@by_type
def sort_keys(room, n):
    """Sort the first n keys of an InPlace or a ByDigits."""


@sort_keys.register(InPlace)
def _sort_in_place(room, n):
    sort(room.keys, n)


@sort_keys.register(ByDigits)
def _sort_by_digits(room, n):
    sort_digits(room.keys, room.spare, room.counts, n, 0)


@inlined
def sort_digits(keys, spare, counts, n, first):
    """Sort keys[:n] (int64, none negative) by digits ``first`` to 7; keys equal in these are in any order.

    Digits in which all keys are equal are skipped.  ``spare`` int64[n] and ``counts`` int64[N_DIGITS]:
    working memory.
    """
    j = 1
    while j < n and keys[j - 1] <= keys[j]:
        j += 1
    if j >= n:  # they are sorted
        return
    if n < _MANY:
        sort(keys, n)
        return
    differ, source, target = differing(keys, 0, n), keys, spare
    is_back = True
    for digit in range(first, 8):
        shift = np.uint64(8 * digit)
        if digit_of(differ, shift):
            lay_out_digits(source, 0, n, shift, counts)
            for j in range(n):
                target[next_place(counts, at(source, j), shift)] = at(source, j)
            source, target = target, source
            is_back = not is_back
    if not is_back:
        for j in range(n):
            keys[j] = spare[j]


@inlined
def sort_few(keys, values, start, stop):
    """Sort keys and values start to stop by the keys, by insertion; those of equal keys keep their order."""
    for i in range(start + 1, stop):
        key, value, j = keys[i], values[i], i
        while j > start and keys[j - 1] > key:
            keys[j], values[j] = keys[j - 1], values[j - 1]
            j -= 1
        keys[j], values[j] = key, value


@inlined
def differing(keys, start, stop):
    """Return the bits in which keys (int64) start to stop are not all equal."""
    differ = np.int64(0)
    for j in range(start, stop):
        differ |= keys[j] ^ keys[start]
    return differ


@inlined
def digit_of(key, shift):
    """Return the digit of an int64 that begins at bit ``shift`` (uint64), as uint64."""
    return (np.uint64(key) >> shift) & _DIGIT


@inlined
def lay_out_digits(keys, start, stop, shift, counts):
    """Set ``counts`` int64[N_DIGITS] to the place of the first of keys start to stop with each digit."""
    for digit in range(N_DIGITS):
        counts[digit] = 0
    for j in range(start, stop):
        counts[digit_of(at(keys, j), shift)] += 1
    to = np.int64(start)
    for digit in range(N_DIGITS):
        counts[digit], to = to, to + counts[digit]


@inlined
def next_place(counts, key, shift):
    """Return the place (uint64) of a key by its digit, and advance it: keys of equal digits stay in order."""
    digit = digit_of(key, shift)
    to = at(counts, digit)
    counts[digit] = to + 1
    return np.uint64(to)


@inlined
def last_until(array, low, high, value):
    """Return the index of the last element <= ``value`` of the ascending array[low:high], or ``low``."""
    while high - low > 1:
        middle = (low + high) >> 1
        if at(array, middle) <= value:
            low = middle
        else:
            high = middle
    return low
