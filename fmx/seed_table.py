"""The first row of every string of s symbols: where seed and verify begins.

    starts[c]      number of rows that sort before the string c followed by anything but a separator
    starts[4^s]    n

The rows of string c lie in [starts[c], starts[c + 1]), together with the few suffixes between them that meet
a separator within s symbols: who uses the table compares whole patterns and so leaves those out.
A short suffix w sorts just before w AA...A, so all starts are one cumulative sum.
"""

from typing import NamedTuple

import numpy as np

from .jit import compiled

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


def build_seed_table(text, s) -> SeedTable:
    """Count the strings of s symbols of ``text`` (uint8 codes, separator 0)."""
    starts = np.zeros(4**s + 1, np.uint32)
    _count(text, s, starts)
    _accumulate(starts)
    return SeedTable(starts, s)


@compiled
def _count(text, s, starts):
    mask = (np.int64(1) << (2 * s)) - 1
    code = run = np.int64(0)
    for i in range(text.size):
        symbol = np.int64(text[i])
        if symbol:
            code = ((code << 2) | (symbol - 1)) & mask
            run += 1
            if run >= s:
                starts[code + 1] += np.uint32(1)
        else:
            for length in range(min(run + 1, s)):
                ending = code & ((np.int64(1) << (2 * length)) - 1)
                starts[ending << (2 * (s - length))] += np.uint32(1)
            code = run = np.int64(0)


@compiled
def _accumulate(starts):
    total = np.uint32(0)
    for c in range(starts.size):
        total += starts[c]
        starts[c] = total
