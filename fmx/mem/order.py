"""Matches of one anchor into order, in place: compiled code allocates nothing (compiler/functions.py).

While the matches of an anchor are sought, ``position`` holds position << 32 | text, and ``strand`` and
``text`` are room for sorting.
"""

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at

_RUN = 12  # matches sorted by insertion
_MANY = 24  # matches sorted by digits
_DIGIT = np.uint64(255)
N_DIGITS = 256


@inlined
def put_in_order(matches, start, stop, strand):
    """Sort matches start to stop by (position, text), by merging, and write all their fields."""
    keys, lengths = sort_pairs(matches.position, matches.length, matches.text, matches.strand, start, stop)
    _write(matches, keys, lengths, start, stop, strand)


@inlined
def put_many_in_order(matches, start, stop, strand, counts):
    """The same, by digits (radix sort) where there are many; ``counts`` int64[N_DIGITS] is its own."""
    keys, lengths, other_keys, other_lengths = matches.position, matches.length, matches.text, matches.strand
    if stop - start < _MANY:
        keys, lengths = sort_pairs(keys, lengths, other_keys, other_lengths, start, stop)
    else:
        differ = np.int64(0)
        for j in range(start, stop):
            differ |= keys[j] ^ keys[start]
        for digit in range(8):
            shift = np.uint64(8 * digit)
            if (np.uint64(differ) >> shift) & _DIGIT:
                _sort_by_digit(keys, lengths, other_keys, other_lengths, start, stop, shift, counts)
                keys, other_keys = other_keys, keys
                lengths, other_lengths = other_lengths, lengths
    _write(matches, keys, lengths, start, stop, strand)


@inlined
def _write(matches, keys, lengths, start, stop, strand):
    for j in range(start, stop):
        key, length = keys[j], lengths[j]
        matches.strand[j], matches.length[j] = strand, length
        matches.position[j], matches.text[j] = key >> 32, key & 0xFFFFFFFF


@inlined
def sort_pairs(keys, values, other_keys, other_values, start, stop):
    """Sort pairs start to stop by key: (keys, values), in these arrays or in the other two."""
    for first in range(start, stop, _RUN):
        _insert(keys, values, first, min(first + _RUN, stop))
    width = _RUN
    while width < stop - start:
        for first in range(start, stop, 2 * width):
            middle, last = min(first + width, stop), min(first + 2 * width, stop)
            _merge(keys, values, other_keys, other_values, first, middle, last)
        keys, other_keys = other_keys, keys
        values, other_values = other_values, values
        width *= 2
    return keys, values


@inlined
def _insert(keys, values, start, stop):
    for i in range(start + 1, stop):
        key, value, j = keys[i], values[i], i
        while j > start and keys[j - 1] > key:
            keys[j], values[j] = keys[j - 1], values[j - 1]
            j -= 1
        keys[j], values[j] = key, value


@inlined
def _merge(keys, values, other_keys, other_values, first, middle, last):
    i, j = first, middle
    for to in range(first, last):  # without branches that nobody can predict
        left = (j == last) | ((i < middle) & (keys[i] < keys[min(j, last - 1)]))
        taken = i if left else j
        other_keys[to], other_values[to] = keys[taken], values[taken]
        i += left
        j += 1 - left


@inlined
def _sort_by_digit(keys, lengths, other_keys, other_lengths, start, stop, shift, counts):
    """Put keys, and lengths with them, into the other arrays by one digit; equal ones stay in order."""
    for digit in range(N_DIGITS):
        counts[digit] = 0
    for j in range(start, stop):
        counts[(np.uint64(at(keys, j)) >> shift) & _DIGIT] += 1
    to = start
    for digit in range(N_DIGITS):
        counts[digit], to = to, to + counts[digit]
    for j in range(start, stop):
        digit = (np.uint64(at(keys, j)) >> shift) & _DIGIT
        to = at(counts, digit)
        counts[digit] = to + 1
        other_keys[np.uint64(to)], other_lengths[np.uint64(to)] = at(keys, j), at(lengths, j)
