"""A screen to measure with: a random library, reads of its guides behind a stagger, errors, and the truth."""

from typing import NamedTuple

import numpy as np
from isal import igzip

LENGTH, READ = 20, 75  # letters of a guide, of a read
BEFORE, BEHIND = b"TTGTGGAAAGGACGAAACACCG", b"GTTTTAGAGCTAGAAATAGCAAGTTAAAATAAGGCTAGTCCGTTATCAACTTGAAAAAGTGGC"
_LETTERS = np.frombuffer(b"ACGT", np.uint8)
_AT_ONCE = 1 << 17  # reads
_QUALITIES = np.frombuffer(b"FFFFFFFFFFFF:,", np.uint8)


class Screen(NamedTuple):
    """``library``: its path; ``reads``: paths, a sample each; ``counts`` int64[2, n_samples, n_guides]: reads
    whose guide was read without an error, and with one at most."""

    library: object
    reads: list
    counts: np.ndarray


def simulate(folder, n_guides, n_reads, n_samples, stagger=0, errors=0.003, seed=1) -> Screen:
    """Write a screen: n_reads of 75 letters in all, up to ``stagger`` random letters before the primer, a
    share ``errors`` of letters replaced."""
    rng = np.random.default_rng(seed)
    guides = np.unique(rng.integers(0, 4, (n_guides + n_guides // 100 + 1, LENGTH), np.uint8), axis=0)
    guides = rng.permutation(guides)[:n_guides]
    library = folder / "library.csv"
    with open(library, "w") as file:
        file.write("id,sequence,gene\n")
        for i, codes in enumerate(guides):
            file.write(f"g{i},{_LETTERS[codes].tobytes().decode()},G{i // 4}\n")
    reads, counts = [], np.zeros((2, n_samples, n_guides), np.int64)
    for sample in range(n_samples):
        weight = rng.lognormal(0, 1, n_guides)
        path = folder / f"sample{sample + 1:02}.fq.gz"
        with igzip.open(path, "wb", compresslevel=1) as file:
            left = n_reads * (sample + 1) // n_samples - n_reads * sample // n_samples
            while left:
                n = min(left, _AT_ONCE)
                drawn = rng.choice(n_guides, n, p=weight / weight.sum())
                records, n_wrong = _records(rng, guides, drawn, stagger, errors)
                file.write(records)
                for most in (0, 1):
                    counts[most, sample] += np.bincount(drawn[n_wrong <= most], minlength=n_guides)
                left -= n
        reads.append(path)
    return Screen(library, reads, counts)


def _records(rng, guides, drawn, stagger, errors):
    """(FASTQ of reads of the guides ``drawn``, errors in the guide of each)."""
    n = drawn.size
    whole = np.concatenate(
        [
            rng.integers(0, 4, (n, stagger), np.uint8), np.broadcast_to(_codes(BEFORE), (n, len(BEFORE))),
            guides[drawn], np.broadcast_to(_codes(BEHIND), (n, len(BEHIND))),
        ], axis=1,
    )  # fmt: skip
    skipped = rng.integers(0, stagger + 1, n)
    codes = np.take_along_axis(whole, skipped[:, None] + np.arange(READ), axis=1)
    wrong = rng.random(codes.shape, np.float32) < errors
    codes[wrong] = (codes[wrong] + rng.integers(1, 4, int(wrong.sum()), np.uint8)) % 4
    start = stagger + len(BEFORE) - skipped
    n_wrong = np.take_along_axis(wrong, start[:, None] + np.arange(LENGTH), axis=1).sum(axis=1)
    qualities = _QUALITIES[rng.integers(0, _QUALITIES.size, codes.shape, np.uint8)]
    names = np.char.mod("@X:1:%012d", rng.integers(0, 10**12, n)).astype("S17").view(np.uint8).reshape(n, 17)
    line, plus = np.full((n, 1), 10, np.uint8), np.broadcast_to(np.frombuffer(b"\n+\n", np.uint8), (n, 3))
    return np.concatenate([names, line, _LETTERS[codes], plus, qualities, line], axis=1).tobytes(), n_wrong


def _codes(letters):
    return np.searchsorted(_LETTERS, np.frombuffer(letters, np.uint8)).astype(np.uint8)
