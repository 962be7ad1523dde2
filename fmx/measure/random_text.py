"""Random text with repeats: a reference to measure with."""

import numpy as np

REPEATED = 0.3  # share of the reference that is copied from elsewhere in it


def make_text(n, seed=1) -> np.ndarray:
    """A random text of n bases in one block (codes 1 to 4, a separator last), a part of it copies."""
    rng = np.random.default_rng(seed)
    text = np.zeros(n + 1, np.uint8)
    text[:n] = rng.integers(1, 5, n, np.uint8)
    copied = 0
    while copied < REPEATED * n:
        length = int(min(rng.integers(300, 6000), n // 4))
        source, target = rng.integers(0, n - length, 2)
        text[target : target + length] = text[source : source + length]
        copied += length
    return text
