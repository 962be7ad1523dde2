"""What an algorithm for maximal exact matches (a matcher) promises: two functions, joined by its type.

A matcher is a NamedTuple of an index's arrays and ``least``, the least length of a match.  It works in two
phases, so that memory is bounded whatever a query hits: ``seek`` finds for each anchor, a place in a pattern,
the rows of the suffix array among which its matches are; ``collect`` turns the rows of some anchors into
matches.  Patterns (reads.Patterns) hold A, C, G and T alone: a query is one pattern for each of its runs of
these, on each strand (mem/strands.py).

    pattern   ...CCATGCATTGACCA...      anchors   |     |     |
    anchors give the matches that start after the anchor before, up to the anchor itself

so matches come out in order, and each of them once.  A match is maximal in both directions: it cannot be
longer, for the pattern ends there, or the text's block, or the symbols differ.
"""

from typing import NamedTuple

import numpy as np

from ..jit import by_type


class Anchors(NamedTuple):
    """Places in patterns, ascending by (pattern, position), and the rows [lo, hi) to look at for each.

    ``pattern`` int64[n] counts the patterns that were given; ``position`` int64[n] symbols into it; ``lo``,
    ``hi`` uint32[n].  An anchor has at most hi - lo matches.  A matcher may return a type of its own that
    has these fields and more.
    """

    pattern: np.ndarray
    position: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


class Matches(NamedTuple):
    """Matches, ascending by (pattern, position, text).  All uint32[n].

    ``position`` is where a match starts in its pattern, ``text`` where it starts in the text.
    """

    pattern: np.ndarray
    position: np.ndarray
    text: np.ndarray
    length: np.ndarray


@by_type
def seek(matcher, patterns) -> Anchors:
    """The anchors of all patterns, and their rows: those without any may be left out."""


@by_type
def collect(matcher, patterns, anchors, start, stop, matches) -> int:
    """Write the matches of anchors start to stop into ``matches`` from 0 on; their number.

    ``matches`` has room for sum(hi - lo) of these anchors.
    """
