"""Matches of one anchor into order, in place: compiled code allocates nothing (compiler/functions.py).

While the matches of an anchor are sought, ``position`` holds position << 32 | text, and ``strand`` and
``text`` are room for sorting.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at
from ..compiler.sorting import differing, digit_of, lay_out_digits, next_place

_RUN = 12  # pairs sorted by insertion
_MANY = 24  # pairs sorted by digits


class Pairs(NamedTuple):
    """Things to sort: ``keys`` int64[n], and with each of them one of ``values`` int64[n]."""

    keys: np.ndarray
    values: np.ndarray


@inlined
def put_in_order(matches, start, stop, strand, counts):
    """Sort matches start to stop by (position, text), and write all their fields.

    By merging, or by digits (radix sort) where there are many; ``counts`` int64[N_DIGITS] is its own.
    """
    pairs, other = Pairs(matches.position, matches.length), Pairs(matches.text, matches.strand)
    if stop - start < _MANY:
        pairs = sort_pairs(pairs, other, start, stop)
    else:
        differ = differing(pairs.keys, start, stop)
        for digit in range(8):
            shift = np.uint64(8 * digit)
            if digit_of(differ, shift):
                _sort_by_digit(pairs, other, start, stop, shift, counts)
                pairs, other = other, pairs
    for j in range(start, stop):
        key, length = pairs.keys[j], pairs.values[j]
        matches.strand[j], matches.length[j] = strand, length
        matches.position[j], matches.text[j] = key >> 32, key & 0xFFFFFFFF


@inlined
def sort_pairs(pairs, other, start, stop):
    """Sort pairs start to stop by key, by merging; these Pairs or ``other``, whichever holds them."""
    for first in range(start, stop, _RUN):
        _insert(pairs.keys, pairs.values, first, min(first + _RUN, stop))
    width = _RUN
    while width < stop - start:
        for first in range(start, stop, 2 * width):
            middle, last = min(first + width, stop), min(first + 2 * width, stop)
            _merge(pairs, other, first, middle, last)
        pairs, other = other, pairs
        width *= 2
    return pairs


@inlined
def _insert(keys, values, start, stop):
    for i in range(start + 1, stop):
        key, value, j = keys[i], values[i], i
        while j > start and keys[j - 1] > key:
            keys[j], values[j] = keys[j - 1], values[j - 1]
            j -= 1
        keys[j], values[j] = key, value


@inlined
def _merge(pairs, other, first, middle, last):
    keys, i, j = pairs.keys, first, middle
    for to in range(first, last):  # without branches that nobody can predict
        left = (j == last) | ((i < middle) & (keys[i] < keys[min(j, last - 1)]))
        taken = i if left else j
        other.keys[to], other.values[to] = keys[taken], pairs.values[taken]
        i += left
        j += 1 - left


@inlined
def _sort_by_digit(pairs, other, start, stop, shift, counts):
    """Put pairs into ``other`` by one digit of their keys; equal ones stay in order."""
    lay_out_digits(pairs.keys, start, stop, shift, counts)
    for j in range(start, stop):
        to = next_place(counts, at(pairs.keys, j), shift)
        other.keys[to], other.values[to] = at(pairs.keys, j), at(pairs.values, j)
