"""How many reads, or inserts, are how long: exact below 1,024 letters, then in classes 1 to 2 % wide."""

import numpy as np

from ..compiler.functions import compiled, inlined

_EXACT, _BITS, _TOP = 1 << 10, 6, 31  # 2^6 classes from a power of two to the next, up to 2^31
N_CLASSES = _EXACT + ((_TOP - 10) << _BITS)


@inlined
def class_of(length):
    """The number of a length's class."""
    if length < _EXACT:
        return length
    top = 10
    while top < _TOP and length >> (top + 1):
        top += 1
    return min(_EXACT + ((top - 11) << _BITS) + (length >> (top - _BITS)), N_CLASSES - 1)


def no_lengths() -> np.ndarray:
    """int64[N_CLASSES], to count in."""
    return np.zeros(N_CLASSES, np.int64)


@compiled
def count_lengths(length, weight, counts):
    """Count each ``length`` int64[n] in ``counts`` int64[N_CLASSES], ``weight`` int64[n] times."""
    for i in range(length.size):
        counts[class_of(length[i])] += weight[i]


def classes_of(length, weight) -> np.ndarray:
    """How many of ``length`` int64[n] are of each class, int64[N_CLASSES], each ``weight`` [n] times."""
    counts = no_lengths()
    count_lengths(length, np.asarray(weight, np.int64), counts)
    return counts


def lengths_of(length) -> np.ndarray:
    """The same of each once."""
    return classes_of(length, np.ones(length.size, np.int64))


def rows_of(counts) -> list:
    """[shortest, longest, how many] of each class that is not empty, in order."""
    rows = []
    for number in np.flatnonzero(counts).tolist():
        octave, step = divmod(max(number - _EXACT, 0), 1 << _BITS)
        width = 1 << (octave + 10 - _BITS)
        least = ((1 << _BITS) + step) * width
        rows.append([number, number, int(counts[number])] if number < _EXACT else
                    [least, least + width - 1, int(counts[number])])  # fmt: skip
    return rows
