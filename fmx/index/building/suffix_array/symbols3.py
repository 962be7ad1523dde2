"""A text in 3 bits a symbol, so that numbers compare as its suffixes: end 0, separator 1, A C G T 2 to 5.

    word w   bit 63: 0 | symbol 21 w: bits 62 to 60 | ... | symbol 21 w + 20: bits 2 to 0

Beyond the end of the text there are ends: a suffix that stops sorts before those that go on.
"""

from typing import Any, NamedTuple

import numpy as np

from ....compiler.functions import inlined
from ....compiler.primitives import at, quotient
from ....machines.jobs import do

PER_KEY = 21  # symbols of a word, and of the longest key


class Pack(NamedTuple):
    """``text`` uint8[n] (separator 0, A C G T 1 to 4) -> ``words`` uint64."""

    text: Any
    words: Any


@do.register(Pack)
def _pack(job, stretch, start, stop):
    for w in range(start, stop):
        word, first = np.uint64(0), PER_KEY * w
        for i in range(first, first + PER_KEY):
            symbol = np.uint64(at(job.text, i)) + np.uint64(1) if i < job.text.size else np.uint64(0)
            word = (word << np.uint64(3)) | symbol
        job.words[w] = word


def pack(backend, text):
    """The words of a text that is on the backend; one more follows, for ``key``."""
    words = backend.empty(-(-text.size // PER_KEY) + 2, np.uint64)
    backend.run(Pack(text, words), words.size)
    return words


@inlined
def key(words, i, k):
    """The k symbols (1 to 21) from position i (0 <= i <= n) as a uint64, the first one highest."""
    word = quotient(i, PER_KEY)
    shift = np.uint64(3 * (i - PER_KEY * word))
    high = at(words, word) << shift
    low = at(words, word + 1) >> (np.uint64(63) - shift)
    both = (high | low) & np.uint64(0x7FFFFFFFFFFFFFFF)
    return both >> np.uint64(63 - 3 * k)
