"""Sorting in place and searching what is sorted; compiled code here may not allocate (see functions.py)."""

import numpy as np

from .functions import inlined
from .primitives import at

_SMALL = 24


@inlined
def lower_bound(array, left, right, value):
    """Index of the first element of array[left:right], ascending, that is not less than ``value``."""
    while left < right:
        middle = (left + right) >> 1
        if np.int64(at(array, middle)) < value:
            left = middle + 1
        else:
            right = middle
    return left


@inlined
def sort(keys, n):
    """Sort keys[:n] (int64): by insertion if few, else by heapsort, whose time has a bound on any input."""
    if n <= _SMALL:
        for i in range(1, n):
            key, j = keys[i], i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        return
    for root in range(n // 2 - 1, -1, -1):
        _sift(keys, root, n)
    for end in range(n - 1, 0, -1):
        keys[0], keys[end] = keys[end], keys[0]
        _sift(keys, 0, end)


@inlined
def _sift(keys, root, n):
    """Let keys[root] sink to its place in the heap keys[:n]."""
    key = keys[root]
    while True:
        child = 2 * root + 1
        if child >= n:
            break
        if child + 1 < n and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[root] = keys[child]
        root = child
    keys[root] = key


@inlined
def last_until(array, low, high, value):
    """Index of the last element of array[low:high], ascending, that is at most ``value``; else ``low``."""
    while high - low > 1:
        middle = (low + high) >> 1
        if at(array, middle) <= value:
            low = middle
        else:
            high = middle
    return low


@inlined
def find_run(first, j):
    """The run i that holds j, where run i is [first[i], first[i + 1]); there may be empty ones."""
    return last_until(first, 0, first.size - 1, j)
