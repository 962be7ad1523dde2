"""Sorting of the matches of an anchor in place, without allocation (compiler/functions.py).

Until the matches of an anchor are sorted, ``position`` holds position << 32 | text, and ``strand`` and
``text`` are scratch.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at
from ..compiler.sorting import differing, digit_of, lay_out_digits, next_place, sort_few
from ..input.dna import WORD, symbols
from ..input.reads import Patterns, pack_reverse
from .strands import Matches, take

if TYPE_CHECKING:
    from .strands import Strands

_MANY = 24  # matches from which on a radix sort is used


class KeyValues(NamedTuple):
    """Pairs to sort: ``keys`` int64[n] and ``values`` int64[n]."""

    keys: np.ndarray
    values: np.ndarray


@inlined
def put_in_order(matches, start, stop, strand, counts):
    """Sort matches start to stop by (position, text), and write all their fields.

    Uses insertion sort, or radix sort for many matches; ``counts`` int64[N_DIGITS] is scratch.
    """
    pairs, other = KeyValues(matches.position, matches.length), KeyValues(matches.text, matches.strand)
    if stop - start < _MANY:
        sort_few(pairs.keys, pairs.values, start, stop)
    else:
        differ = differing(pairs.keys, start, stop)
        for digit in range(8):
            shift = np.uint64(8 * digit)
            if digit_of(differ, shift):
                lay_out_digits(pairs.keys, start, stop, shift, counts)
                for j in range(start, stop):
                    to = next_place(counts, at(pairs.keys, j), shift)
                    other.keys[to], other.values[to] = at(pairs.keys, j), at(pairs.values, j)
                pairs, other = other, pairs
    for j in range(start, stop):
        key, length = pairs.keys[j], pairs.values[j]
        matches.strand[j], matches.length[j] = strand, length
        matches.position[j], matches.text[j] = key >> 32, key & 0xFFFFFFFF


# Uniqueness of matches in the reference and in the query: MUMmer's --mumreference and --mum.
#
# A match is unique in the reference if its bases occur there once; the other strand does not count. It is
# unique in the query if they occur once in the query's row (one strand of it).


def in_reference(searchers: Sequence[Any], strands: "Strands", matches: Matches) -> Matches:
    """Return the matches that occur once in the text; ``searchers`` search Patterns in each of its parts.

    All matches that start at a position of a strand must be in ``matches``: only the longest can be unique.
    """
    n = matches.length.size
    is_first = np.ones(n, np.bool_)
    is_first[1:] = (np.diff(matches.strand) != 0) | (np.diff(matches.position) != 0)
    starts = np.flatnonzero(is_first)
    longest = np.maximum.reduceat(matches.length, starts)
    matches = take(matches, matches.length == np.repeat(longest, np.diff(np.append(starts, n))))
    # Their bases as patterns 2i; the reverse complements, 2i + 1, are not searched.
    length = np.zeros(2 * matches.length.size, np.int64)
    length[::2] = matches.length
    first = np.append(0, np.cumsum(np.repeat((matches.length + WORD - 1) // WORD, 2)))
    patterns = Patterns(np.zeros(first[-1] + 1, np.uint64), first[:-1], length)
    _copy(strands, matches, patterns)
    n_occurrences = np.zeros(matches.length.size, np.int64)
    for search in searchers:
        intervals = search(patterns)
        n_occurrences += (intervals.hi - intervals.lo)[::2]
    return take(matches, n_occurrences == 1)


def in_query(strands: "Strands", matches: Matches) -> Matches:
    """Return the matches that occur once in their row, from all that are unique in the reference.

    The bases of such a match occur in a row again exactly if another match in the text contains them.
    """
    row, end = strands.row[matches.strand], matches.text + matches.length
    order = np.lexsort((-matches.length, matches.text, row))
    far = row * (end.max(initial=0) + 1) + end
    reached = np.maximum.accumulate(far[order])
    contained = np.zeros(order.size, np.bool_)
    contained[1:] = far[order][1:] <= reached[:-1]
    twice = contained[1:] & (far[order][1:] == far[order][:-1]) & (np.diff(matches.text[order]) == 0)
    contained[:-1] |= twice
    return take(matches, np.sort(order[~contained]))


@compiled
def _copy(strands, matches, patterns):
    for j in range(matches.length.size):
        first = at(strands.first, matches.strand[j])
        for i in range(0, matches.length[j], WORD):
            k = min(matches.length[j] - i, WORD)
            word = symbols(strands.words, first, matches.position[j] + i, k) << np.uint64(64 - 2 * k)
            patterns.words[patterns.first[2 * j] + (i >> 5)] = word
        pack_reverse(patterns.words, patterns.first[2 * j], patterns.first[2 * j + 1], matches.length[j])
