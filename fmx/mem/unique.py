"""Which matches are unique in the reference, and in the query: MUMmer's --mumreference and --mum.

A match is unique in the reference if its letters occur once there, as they are: not on the other strand.  It
is unique in the query if they occur once in the query's row (one strand of it).
"""

import numpy as np

from ..compiler.functions import compiled
from ..compiler.primitives import at
from ..input.dna import WORD, symbols
from ..input.reads import Patterns
from ..search.engines import cpu
from .contracts import Matches, take


def in_reference(queries, strands, matches) -> Matches:
    """The matches that occur once in the text; ``queries``: of each of its parts one that engines take.

    All matches that start at a place of a strand must be among ``matches``: only the longest can be unique.
    """
    n = matches.length.size
    is_first = np.ones(n, np.bool_)
    is_first[1:] = (np.diff(matches.strand) != 0) | (np.diff(matches.position) != 0)
    starts = np.flatnonzero(is_first)
    longest = np.maximum.reduceat(matches.length, starts)
    found = take(matches, matches.length == np.repeat(longest, np.diff(np.append(starts, n))))
    patterns = _patterns_of(strands, found)
    n_occurrences = np.zeros(found.length.size, np.int64)
    for query in queries:
        intervals = cpu.search(query, patterns)
        n_occurrences += intervals.hi - intervals.lo
    return take(found, n_occurrences == 1)


def in_query(strands, matches) -> Matches:
    """The matches that occur once in their row, from all that are unique in the reference.

    Letters that are unique in the text occur again in a row just where another match of it holds them.
    """
    row, end = strands.row[matches.strand], matches.text + matches.length
    order = np.lexsort((-matches.length, matches.text, row))
    far = row * (end.max(initial=0) + 1) + end
    reached = np.maximum.accumulate(far[order])
    held = np.zeros(order.size, np.bool_)
    held[1:] = far[order][1:] <= reached[:-1]
    twice = held[1:] & (far[order][1:] == far[order][:-1]) & (np.diff(matches.text[order]) == 0)
    held[:-1] |= twice
    alone = np.empty(order.size, np.bool_)
    alone[order] = ~held
    return take(matches, alone)


def _patterns_of(strands, matches) -> Patterns:
    """The letters of the matches as patterns."""
    first = np.zeros(matches.length.size + 1, np.int64)
    np.cumsum((matches.length + WORD - 1) // WORD, out=first[1:])
    patterns = Patterns(np.zeros(first[-1] + 1, np.uint64), first[:-1], matches.length)
    _copy(strands, matches, patterns)
    return patterns


@compiled
def _copy(strands, matches, patterns):
    for j in range(matches.length.size):
        first = at(strands.first, matches.strand[j])
        for i in range(0, matches.length[j], WORD):
            k = min(matches.length[j] - i, WORD)
            word = symbols(strands.words, first, matches.position[j] + i, k) << np.uint64(64 - 2 * k)
            patterns.words[patterns.first[j] + (i >> 5)] = word
