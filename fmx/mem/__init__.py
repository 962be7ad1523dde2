"""Maximal exact matches: the interface of algorithms (matchers), the strands of queries, sorting, uniqueness.

A matcher has ``slices`` (Matcher). Those of one text on the CPU are NamedTuples of an index's arrays and
``least``, the least length of a match. They work in two phases, so that many matches need no more memory.
``seek`` finds the anchors of all strands, ascending by (strand, position); those without rows may be omitted.
They are a NamedTuple of columns, with ``strand``, ``position`` int64[n] (symbols into the strand), and
``lo``, ``hi`` uint32[n], half-open: the rows of the suffix array that contain the matches of an anchor, at
most one each. ``collect`` writes the matches of some anchors into arrays with room for one per row, and
returns their number.

    strand    ...CCATGCATTGACCA...      anchors   |     |     |
    an anchor gives the matches that start after the anchor before it, up to the anchor itself

So matches are found in order, and each of them once. A match is maximal in both directions: it ends at the
end of the strand, at the end of the text's block, or at a mismatch.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at
from ..compiler.sorting import differing, digit_of, lay_out_digits, next_place, sort_few
from ..dna import CODE, FORWARD, REVERSE, WORD, pack_read, pack_reverse, symbols
from ..input.reads import Patterns
from ..machines.jobs import run_all, runs

if TYPE_CHECKING:
    from ..input.reads import ReadBatch


class Strands(NamedTuple):
    """Runs of A, C, G and T of queries and of their reverse complements, packed.

    Strand i has ``length[i]`` symbols from word ``first[i]`` of ``words`` (uint64, with a spare word), and is
    the part of row ``row[i]`` (2r for query r, 2r + 1 for its reverse complement) that begins at
    ``offset[i]``. Only matches that start at ``start[i]`` to ``stop[i]`` (half-open) are found. All int64[n].
    """

    words: np.ndarray
    first: np.ndarray
    length: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    row: np.ndarray
    offset: np.ndarray


class Matches(NamedTuple):
    """Matches, ascending by (strand, position, text). All int64[n].

    ``position``: where a match starts in its strand. ``text``: where it starts in the text.
    """

    strand: np.ndarray
    position: np.ndarray
    text: np.ndarray
    length: np.ndarray


def empty_matches(n: int) -> Matches:
    """Return arrays for n matches."""
    return Matches(*(np.empty(n, np.int64) for _ in Matches._fields))


def take(columns: Any, which: slice | np.ndarray) -> Any:
    """Return the rows of a slice, a mask or indices of a NamedTuple of columns, such as Matches."""
    return type(columns)(*(column[which] for column in columns))


def join_matches(several: Iterator | Sequence[Matches]) -> Matches:
    """Return Matches one after the other, in new arrays."""
    return Matches(*(np.concatenate(columns) for columns in zip(empty_matches(0), *several, strict=True)))


class Matcher(Protocol):
    """Finds the maximal exact matches of strands.

    Implementations: Seeds, SparseSeeds and MummerGpu; on a GPU GpuMummer; JoinedMatchers for the parts of a
    text. To add one: write ``slices``, on the CPU with ``seek`` and ``collect``, and add it to
    matching.ALGORITHMS and to --algorithm. tests/mem/test_mem.py runs over ALGORITHMS.
    """

    def slices(self, strands: Strands, /) -> "Iterator[Matches]":
        """Yield the Matches of strands in order, none of them empty, each in its own arrays."""


_ROWS_AT_ONCE = 1 << 17


def collected(
    matcher: Any, strands: Strands, anchors: Any, n_threads: int = 1, n_rows: int = _ROWS_AT_ONCE
) -> Iterator[Matches]:
    """Yield the Matches of anchors; each thread takes ``n_rows`` rows, or one anchor, at a time."""
    rows = anchors.hi - anchors.lo
    cuts = list(runs(rows, n_rows)) or [(0, 0)]
    for i in range(0, len(cuts), n_threads):
        work = [
            (strands, anchors, start, stop, empty_matches(int(rows[start:stop].sum())))
            for start, stop in cuts[i : i + n_threads]
        ]
        for n, (*_, matches) in zip(run_all(matcher.collect, work, n_threads), work, strict=True):
            if n:
                yield take(matches, slice(n))


# Queries -> Strands: their runs of A, C, G and T and the reverse complements of these, cut into tasks.
#
#     query     ACGTNNGGA        row 0   ACGT (offset 0)   GGA (offset 6)
#                                row 1   TCC  (offset 0)   ACGT (offset 5)
#
# Any other symbol matches nothing, so no match spans two runs.


def make_strands(batch: "ReadBatch", which: int) -> Strands:
    """Return the strands of all queries, ascending by (row, offset); ``which`` strands as in reads.pack."""
    n_rows = 2 * batch.length.size
    runs, words = np.zeros(n_rows + 1, np.int64), np.zeros(n_rows + 1, np.int64)
    _count(batch, which, CODE, runs, words)
    runs, words = np.cumsum(runs), np.cumsum(words)
    columns = [np.zeros(runs[-1], np.int64) for _ in range(6)]
    strands = Strands(np.zeros(words[-1] + 1, np.uint64), *columns)
    _fill(batch, which, CODE, runs, words, strands)
    return strands


@inlined
def _next_run(batch, r, code, i):
    """Return (start, stop) of the first run of query r that does not start before symbol i."""
    letters = batch.data[batch.start[r] : batch.start[r] + batch.length[r]]
    if batch.searchable[r] and i == 0:
        return np.int64(0), letters.size
    while i < letters.size and code[letters[i]] > 3:
        i += 1
    stop = i
    while stop < letters.size and code[letters[stop]] <= 3:
        stop += 1
    return i, stop


@compiled
def _count(batch, which, code, runs, words):
    """Write the numbers of runs and words of row i to element i + 1."""
    for r in range(batch.length.size):
        i, stop = _next_run(batch, r, code, np.int64(0))
        while i < stop:
            for strand in range(2):
                if which & (REVERSE if strand else FORWARD):
                    runs[2 * r + strand + 1] += 1
                words[2 * r + strand + 1] += (stop - i + WORD - 1) // WORD
            i, stop = _next_run(batch, r, code, stop)


@compiled
def _fill(batch, which, code, runs, words, strands):
    for r in range(batch.length.size):
        forward, reverse = runs[2 * r], runs[2 * r + 2]  # runs of the reverse are in reverse order
        word, end = words[2 * r], words[2 * r + 2]
        i, stop = _next_run(batch, r, code, np.int64(0))
        while i < stop:
            length = stop - i
            pack_read(batch.data, batch.start[r] + i, length, code, strands.words, word)
            if which & FORWARD:
                _note(strands, forward, word, length, 2 * r, i)
                forward += 1
            end -= (length + WORD - 1) // WORD
            if which & REVERSE:
                pack_reverse(strands.words, word, end, length)
                reverse -= 1
                _note(strands, reverse, end, length, 2 * r + 1, batch.length[r] - stop)
            word += (length + WORD - 1) // WORD
            i, stop = _next_run(batch, r, code, stop)


@inlined
def _note(strands, i, word, length, row, offset):
    strands.first[i], strands.length[i], strands.stop[i] = word, length, length
    strands.row[i], strands.offset[i] = row, offset


def some_strands(strands: Strands, a: int, b: int | None) -> Strands:
    """Return strands a to b, with all words."""
    return Strands(strands.words, *(column[a:b] for column in strands[1:]))


def word_ends(strands: Strands) -> np.ndarray:
    """Return where the words of each strand end, int64[n]."""
    return strands.first + (strands.length + WORD - 1) // WORD


# Until the matches of an anchor are sorted, ``position`` holds position << 32 | text, and ``strand`` and
# ``text`` are scratch.

_MANY = 24  # matches from which on a radix sort is used


class _KeyValues(NamedTuple):
    """Pairs to sort: ``keys`` int64[n] and ``values`` int64[n]."""

    keys: np.ndarray
    values: np.ndarray


@inlined
def put_in_order(matches, start, stop, strand, counts):
    """Sort matches start to stop by (position, text), and write all their fields.

    Uses insertion sort, or radix sort for many matches; ``counts`` int64[N_DIGITS] is scratch.
    """
    pairs, other = _KeyValues(matches.position, matches.length), _KeyValues(matches.text, matches.strand)
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


def in_reference(searchers: Sequence[Any], strands: Strands, matches: Matches) -> Matches:
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
    _copy_bases(strands, matches, patterns)
    n_occurrences = np.zeros(matches.length.size, np.int64)
    for search in searchers:
        intervals, _ = search(patterns)
        n_occurrences += (intervals.hi - intervals.lo)[::2]
    return take(matches, n_occurrences == 1)


def in_query(strands: Strands, matches: Matches) -> Matches:
    """Return the matches that occur once in their row, from all that are unique in the reference.

    A match's bases occur in the row again exactly if another match of the row contains its place in the text.
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
def _copy_bases(strands, matches, patterns):
    for j in range(matches.length.size):
        first = at(strands.first, matches.strand[j])
        for i in range(0, matches.length[j], WORD):
            k = min(matches.length[j] - i, WORD)
            word = symbols(strands.words, first, matches.position[j] + i, k) << np.uint64(64 - 2 * k)
            patterns.words[patterns.first[2 * j] + (i >> 5)] = word
        pack_reverse(patterns.words, patterns.first[2 * j], patterns.first[2 * j + 1], matches.length[j])
