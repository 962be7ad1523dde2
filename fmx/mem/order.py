"""Matches of one anchor into order, in place: compiled code here may not allocate (see jit.py).

While the matches of an anchor are sought, ``position`` holds position << 32 | text, and ``strand`` and
``text`` are room for merging.
"""

from ..jit import inlined

_RUN = 12  # matches sorted by insertion


@inlined
def put_in_order(matches, start, stop, strand):
    """Sort matches start to stop by (position, text), by merging, and write all their fields."""
    keys, lengths = sort_pairs(matches.position, matches.length, matches.text, matches.strand, start, stop)
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
