"""Counting the strings of k symbols of a text in one pass: what the prefix and the seed table are made of."""

import numpy as np

from ..compiler.contract import by_type
from ..compiler.functions import compiled


@by_type
def note(counts, code):
    """Count a string of k symbols."""


@by_type
def note_ended(counts, code, length):
    """Count a suffix that meets a separator after ``length`` < k symbols, which are ``code``."""


@compiled
def count_strings(text, k, counts):
    """Note each suffix of ``text`` (uint8 codes, separator 0) in ``counts``, by one thread."""
    mask = (np.int64(1) << (2 * k)) - 1
    code = run = np.int64(0)
    for i in range(text.size):
        symbol = np.int64(text[i])
        if symbol:
            code = ((code << 2) | (symbol - 1)) & mask
            run += 1
            if run >= k:
                note(counts, code)
        else:
            for length in range(min(run + 1, k)):
                note_ended(counts, code & ((np.int64(1) << (2 * length)) - 1), length)
            code = run = np.int64(0)
