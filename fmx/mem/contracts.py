"""What an algorithm for maximal exact matches (a matcher) promises: two functions, joined by its type.

A matcher is a NamedTuple of an index's arrays and ``least``, the least length of a match.  It works in two
phases, so that memory is bounded whatever a query hits: ``seek`` finds for each anchor, a place in a strand,
the rows of the suffix array among which its matches are; ``collect`` turns the rows of some anchors into
matches.

    strand    ...CCATGCATTGACCA...      anchors   |     |     |
    an anchor gives the matches that start after the anchor before it, up to the anchor itself

so matches come out in order, and each of them once.  A match is maximal in both directions: it cannot be
longer, for the strand ends there, or the text's block, or the symbols differ.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import by_type


class Strands(NamedTuple):
    """Runs of A, C, G and T of queries and of their reverse complements, packed.

    Strand i is ``length[i]`` symbols from word ``first[i]`` of ``words`` (uint64, with a spare word); the
    matches wanted are those that start at ``start[i]`` to ``stop[i]`` (half-open).  It is the part of row
    ``row[i]`` (2r for query r, 2r + 1 for its reverse complement) that begins at ``offset[i]``.
    All int64[n].
    """

    words: np.ndarray
    first: np.ndarray
    length: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    row: np.ndarray
    offset: np.ndarray


class Matches(NamedTuple):
    """Matches, ascending by (strand, position, text).  All int64[n].

    ``position`` is where a match starts in its strand, ``text`` where it starts in the text.
    """

    strand: np.ndarray
    position: np.ndarray
    text: np.ndarray
    length: np.ndarray


def empty_matches(n) -> Matches:
    """Arrays for n matches."""
    return Matches(*(np.empty(n, np.int64) for _ in Matches._fields))


def take(columns, which):
    """Those of a slice, a mask or indices, of a NamedTuple of columns, as Matches are."""
    return type(columns)(*(column[which] for column in columns))


def join_matches(several) -> Matches:
    """Matches one after the other, in arrays of their own."""
    return Matches(*(np.concatenate(columns) for columns in zip(empty_matches(0), *several, strict=True)))


@by_type
def seek(matcher, strands):
    """The anchors of all strands, ascending by (strand, position); those without rows may be left out.

    A NamedTuple of columns, among them ``strand``, ``position`` int64[n], symbols into it, and ``lo``, ``hi``
    uint32[n], half-open: the rows to look at.  An anchor has at most hi - lo matches.
    """


@by_type
def collect(matcher, strands, anchors, start, stop, matches):
    """Write the matches of anchors start to stop into ``matches`` from 0 on; their number.

    ``matches`` has room for sum(hi - lo) of these anchors.
    """
