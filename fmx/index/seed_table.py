"""The first row of every string of s symbols: where seed and verify begins.

    starts[c]      number of rows that sort before the string c followed by anything but a separator
    starts[4^s]    n

The rows of string c lie in [starts[c], starts[c + 1]), together with the few suffixes between them that meet
a separator within s symbols: who uses the table compares whole patterns and so leaves those out.
A short suffix w sorts just before w AA...A, so all starts are one cumulative sum.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, bits_from
from ..input.dna import symbols
from ..machines.jobs import do
from .kmers import count_strings, note, note_ended
from .reference import block_end

MIN_LENGTH, MAX_LENGTH = 4, 13


class SeedTable(NamedTuple):
    """``starts`` uint32[4^s + 1]; ``s`` symbols in a string."""

    starts: np.ndarray
    s: int


def default_length(n_text: int) -> int:
    """The longest s with at most twice as many strings as the text has symbols."""
    s = MIN_LENGTH
    while s < MAX_LENGTH and 4 ** (s + 1) <= 2 * n_text:
        s += 1
    return s


def longest_strings(n_text: int) -> int:
    """The longest strings of which a table, or a layout, may have an entry for each: 10, or 4^s <= 4 n."""
    return max(10, (n_text.bit_length() + 1) // 2)


def build_seed_table(text, s) -> SeedTable:
    """Count the strings of s symbols of ``text`` (uint8 codes, separator 0)."""
    table = SeedTable(np.zeros(4**s + 1, np.uint32), s)
    count_strings(text, s, table)
    _accumulate(table.starts)
    return table


class FindStarts(NamedTuple):
    """``starts`` uint32[4^s + 1] by search in the suffix array."""

    text: Any
    sa: Any
    s: int
    starts: Any


def first_rows(backend, text, sa, s):
    """The starts of a seed table, on the backend: counted in the text, or by a GPU searched for in ``sa``."""
    if backend.serial:
        return build_seed_table(text, s).starts
    starts = backend.empty(4**s + 1, np.uint32)
    backend.run(FindStarts(text, sa, s, starts), starts.size)
    return starts


class Lengthen(NamedTuple):
    """``starts`` uint32[4^s + 1] from a SeedTable of shorter strings, ``sa``, and the packed text."""

    known: SeedTable
    sa: Any
    words: Any
    blocks: Any
    s: int
    starts: Any


@do.register(Lengthen)
def _lengthen(job, part, start, stop):
    """A string's first row is among those of the shorter string that it begins with."""
    n_more = 2 * (job.s - job.known.s)
    for c in range(start, stop):
        low = np.int64(at(job.known.starts, c >> n_more))
        high = np.int64(at(job.known.starts, min((c >> n_more) + 1, job.known.starts.size - 1)))
        while low < high:
            middle = (low + high) >> 1
            position = np.int64(at(job.sa, middle))
            length = min(block_end(job.blocks, position) - position, np.int64(job.s))
            held = symbols(job.words, 0, position, 32) & bits_from(np.int32(64 - 2 * length))
            code = np.int64(held >> np.uint64(64 - 2 * job.s))
            if code < c or (code == c and length < job.s):
                low = middle + 1
            else:
                high = middle
        job.starts[c] = low


@do.register(FindStarts)
def _find_starts(job, stretch, start, stop):
    for c in range(start, stop):
        last = c == np.int64(1) << (2 * job.s)
        job.starts[c] = job.sa.size if last else first_row(job.text, job.sa, c, job.s, False)


@inlined
def first_row(text, sa, c, s, beyond):
    """The first row that sorts not before the string c of s symbols, or ``beyond`` all that start with it."""
    low, high = np.int64(0), np.int64(sa.size)
    while low < high:
        middle = (low + high) >> 1
        if _sorts_before(text, np.int64(at(sa, middle)), c, s, beyond):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _sorts_before(text, position, c, s, or_same):
    """Whether a suffix sorts before the string c of s symbols, or starts with it."""
    for i in range(s):
        if position + i >= text.size:
            return True
        symbol, wanted = np.int64(at(text, position + i)), 1 + ((c >> (2 * (s - 1 - i))) & 3)
        if symbol != wanted:
            return symbol < wanted
    return or_same


@note.register(SeedTable)
def _note(counts, code):
    counts.starts[code + 1] += np.uint32(1)


@note_ended.register(SeedTable)
def _note_ended(counts, code, length):
    counts.starts[code << (2 * (counts.s - length))] += np.uint32(1)


@compiled
def _accumulate(starts):
    total = np.uint32(0)
    for c in range(starts.size):
        total += starts[c]
        starts[c] = total
