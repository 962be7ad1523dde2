"""Sequences as codes and packed by hand, as the tests' own idea of what packing gives."""

import numpy as np


def codes_of(text) -> np.ndarray:
    """Codes of A, C, G, T and of separators ($)."""
    return np.array(["$ACGT".index(letter) for letter in text], np.uint8)


def pack(sequences) -> tuple:
    """(words uint64 with a spare one, first word int64[n], length int64[n]) of sequences of A, C, G and T."""
    words, first = [], []
    for sequence in sequences:
        first.append(len(words))
        for i in range(0, len(sequence), 32):
            piece = sequence[i : i + 32].ljust(32, "A")
            words.append(sum("ACGT".index(letter) << (62 - 2 * j) for j, letter in enumerate(piece)))
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    return np.array([*words, 0], np.uint64), np.array(first, np.int64), lengths
