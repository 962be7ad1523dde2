"""A text on a GPU with its suffix array, patterns drawn from it, and whether a search found them."""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at
from ...index.building.suffix_array.radix import sort_suffixes
from ...index.layouts.cofi import Invert
from ...index.reference import make_blocks
from ...input.dna import pack_text, symbols
from ...input.reads import Patterns
from ...machines.jobs import choose, do
from ...measure.texts import draw, make_codes


class DeviceText(NamedTuple):
    """On the machine: ``codes`` uint8[n], ``words`` the packed text, ``sa`` uint32[n]; ``n`` symbols."""

    codes: Any
    words: Any
    sa: Any
    n: int


class Separators(NamedTuple):
    """Chooses the positions of separators."""

    codes: Any


class Draw(NamedTuple):
    """``patterns`` of ``length`` from the text, and their ``positions`` uint32."""

    codes: Any
    words: Any
    seed: Any
    length: int
    patterns: Any
    positions: Any


class Wrong(NamedTuple):
    """Chooses the patterns whose interval is not exactly the rows that start with them, or lacks the row of
    where they were drawn from; ``row_of`` uint32[n] by text position."""

    codes: Any
    sa: Any
    row_of: Any
    patterns: Any
    positions: Any
    intervals: Any


@choose.register(Separators)
def _choose_separators(choice, i):
    return i if at(choice.codes, i) == 0 else np.int64(-1)


@inlined
def _has_separator(codes, start, stop):
    i = start
    while i < stop and at(codes, i) != 0:
        i += 1
    return i < stop


@do.register(Draw)
def _draw(job, part, start, stop):
    length, n_words = np.int64(job.length), (np.int64(job.length) + 31) >> 5
    for i in range(start, stop):
        number = np.int64(i)
        position = draw(job.seed, number, job.codes.size - length)
        while _has_separator(job.codes, position, position + length):
            number += np.int64(1) << 32
            position = draw(job.seed, number, job.codes.size - length)
        job.positions[i] = position
        job.patterns.first[i], job.patterns.length[i] = i * n_words, length
        for word in range(n_words):
            k = min(length - 32 * word, 32)
            found = symbols(job.words, 0, position + 32 * word, k)
            job.patterns.words[i * n_words + word] = found << np.uint64(64 - 2 * k)


@inlined
def _starts_with(choice, row, i):
    """Whether a row starts with pattern i."""
    position, patterns = np.int64(at(choice.sa, row)), choice.patterns
    if position + patterns.length[i] > choice.codes.size:
        return False
    for j in range(patterns.length[i]):
        if at(choice.codes, position + j) != 1 + symbols(patterns.words, patterns.first[i], j, 1):
            return False
    return True


@choose.register(Wrong)
def _choose_wrong(choice, i):
    lo, hi = np.int64(choice.intervals.lo[i]), np.int64(choice.intervals.hi[i])
    row = np.int64(at(choice.row_of, np.int64(choice.positions[i])))
    right = lo <= row and row < hi and _starts_with(choice, lo, i) and _starts_with(choice, hi - 1, i)
    if right and lo > 0:
        right = not _starts_with(choice, lo - 1, i)
    if right and hi < choice.sa.size:
        right = not _starts_with(choice, hi, i)
    return np.int64(-1) if right else i


def make_text(machine, kind, n) -> DeviceText:
    """A text of n symbols (kind: of _texts.py) and its suffix array."""
    codes = make_codes(machine, kind, n)
    return DeviceText(codes, pack_text(codes, machine), sort_suffixes(machine, codes, machine.memory)[0], n)


def make_patterns(machine, text, n_patterns, length, seed=7) -> tuple:
    """(Patterns, their positions) drawn from the text."""
    n_words = -(-length // 32)
    patterns = Patterns(
        machine.empty(n_patterns * n_words + 1, np.uint64),
        machine.empty(n_patterns, np.int64),
        machine.empty(n_patterns, np.int64),
    )
    positions = machine.empty(n_patterns, np.uint32)
    machine.run(Draw(text.codes, text.words, np.uint64(seed), length, patterns, positions), n_patterns)
    return patterns, positions


def rows_of(machine, text):
    """uint32[n]: the row of each text position."""
    row_of = machine.empty(text.n, np.uint32)
    machine.run(Invert(text.sa, row_of), text.n)
    return row_of


def count_wrong(machine, text, row_of, patterns, positions, intervals) -> int:
    """Number of patterns whose interval is not exactly that of their occurrences."""
    wrong = Wrong(text.codes, text.sa, row_of, patterns, positions, intervals)
    return int(machine.count(wrong, positions.size)[-1])


def blocks_of(machine, codes):
    """The blocks of a text, each a contig."""
    ends = machine.to_host(machine.select(Separators(codes), codes.size)).astype(np.int64)
    starts = np.concatenate([[0], ends[:-1] + 1])
    return make_blocks(starts, np.arange(starts.size), np.zeros_like(starts), ends - starts)
