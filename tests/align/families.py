"""Made-up related sequences, and sequences in memory."""

import random

import numpy as np

from fmx.align.sequences import Sequences
from fmx.dna import CODE


def mutate(random_, sequence, n_edits, letters="ACGT"):
    """``sequence`` after so many substitutions, insertions and deletions of 1 to 3 letters."""
    s = list(sequence)
    for _ in range(n_edits):
        at, kind, n = random_.randrange(len(s) + 1), random_.randrange(4), random_.choice([1, 1, 2, 3])
        if kind < 2 and s:
            s[at % len(s)] = random_.choice(letters)
        elif kind == 2:
            s[at:at] = random_.choices(letters, k=n)
        else:
            del s[at : at + n]
    return "".join(s)


def family(seed, n_roots, n_children, length, most):
    """Roots and their children, each with 0 to ``most`` (a share) edits."""
    random_ = random.Random(seed)
    sequences = []
    for _ in range(n_roots):
        root = "".join(random_.choices("ACGT", k=length))
        for child in range(n_children):
            sequences.append(mutate(random_, root, int(length * most * child / n_children)))
    return sequences


AWKWARD = [
    "", "A", "N", "acgt", "ACGU", "ACGTRYKM", "A" * 33, "AC" * 40, "NNNNNNNNNN",
    *family(seed=5, n_roots=2, n_children=5, length=61, most=0.3),
    *family(seed=6, n_roots=1, n_children=4, length=130, most=0.3),
]  # fmt: skip


def encode(strings) -> Sequences:
    """Sequences from strings."""
    codes = CODE[np.frombuffer("".join(strings).encode(), np.uint8)]
    return Sequences(codes, np.cumsum([0, *map(len, strings)]))
