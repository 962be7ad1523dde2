"""Sequences in memory, and their scores in the normal form that the kernels compute.

    codes   0 0 1 3 | 2 2 4 | | 1     A C G T are 0 1 2 3 in either case, U is T; every other letter is 4 and
    starts  0         4       7 7 8   equals nothing, not even itself

Unlike in a reference, names may repeat and sequences may be empty.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..dna import CODE, LOOKED_AT, other_than_dna
from ..errors import InputError, UnsupportedError
from ..input.chunks import no_fasta
from ..input.reads import parse
from ..input.spans import read_chunks
from ..input.streams import input_name


class Sequences(NamedTuple):
    """Sequences: ``codes`` uint8[starts[-1]]; ``starts`` int64[n + 1]."""

    codes: np.ndarray
    starts: np.ndarray

    @property
    def n(self) -> int:
        """Number of sequences."""
        return self.starts.size - 1

    def lengths(self) -> np.ndarray:
        """Return the length of each sequence, int64[n]."""
        return np.diff(self.starts)

    @property
    def longest(self) -> int:
        """Length of the longest sequence, 0 if there is none."""
        return int(self.lengths().max(initial=0))


@inlined
def extent(sequences, i):
    """Return (where sequence i begins in ``codes``, its length)."""
    return sequences.starts[i], sequences.starts[i + 1] - sequences.starts[i]


def read_sequences(
    path: bytes | str, warn: Callable[[str], object] = lambda words: None
) -> tuple[list[str], Sequences]:
    """Return (names, Sequences) of FASTA: a file, '-', or bytes, which may be empty. Raises InputError.

    ``warn`` gets a message if the file is hardly DNA.
    """
    names, pieces = [], [np.empty(0, np.uint8)]
    begin = bytearray()  # letters of the first sequences
    with closing(read_chunks([path], check=check_begin)) as chunks:
        for chunk in chunks:
            batch = parse(chunk)
            for r in range(batch.length.size):
                if batch.name_length[r] == 0:
                    raise InputError(chunk.path, f"record {chunk.number + r}", "expected a name after '>'")
                name, start = batch.name_start[r], batch.start[r]
                names.append(batch.data[name : name + batch.name_length[r]].tobytes().decode())
                letters = batch.data[start : start + batch.length[r]]
                pieces.append(CODE[letters])
                begin += letters[: LOOKED_AT - len(begin)].data
    if not names and not isinstance(path, bytes):
        raise InputError(input_name(path), "", "the file is empty; expected FASTA")
    if strange := other_than_dna(np.frombuffer(begin, np.uint8)):
        warn(f"{input_name(path)}: {strange} They match nothing")
    starts = np.cumsum([piece.size for piece in pieces], dtype=np.int64)
    return names, Sequences(np.concatenate(pieces), starts)


def check_begin(path: str, byte: int) -> bool:
    """Return False: it is not FASTQ. Raises InputError if no FASTA file begins with ``byte``."""
    if byte != ord(">"):
        raise InputError(path, "line 1", no_fasta(byte))
    return False


# Scores in normal form.
#
# Take the gap score out of every path: H(i, j) = S(i, j) - (i + j) * gap. A gap step then adds nothing, a
# match adds match - 2 gap, a mismatch mismatch - 2 gap, and both may be divided by their common divisor:
#
#     S   4 / -5, gap -10     H   24 / 15, gap 0     divided by 3   8 / 5
#
# H starts at 0 along both edges and never falls in either direction, so the difference of two neighbours is
# between 0 and the larger addend: for ordinary scores it fits in a byte, whatever the length.

LIMIT = 2**31 - 1


class Weights(NamedTuple):
    """A Scoring for compiled code: ``scores`` (match, mismatch, gap); the others as in Scoring."""

    scores: tuple[int, int, int]
    gains: tuple[int, int]
    diagonal: tuple[bool, bool]
    divisor: int


@dataclass(frozen=True)
class Scoring:
    """Score of a match, a mismatch and one gap symbol; any integers."""

    match: int = 4
    mismatch: int = -5
    gap: int = -10

    def __post_init__(self) -> None:
        if max(abs(self.match), abs(self.mismatch), abs(self.gap)) * 3 > LIMIT:
            raise UnsupportedError(
                f"scores {self.match}/{self.mismatch}/{self.gap}: larger than {LIMIT // 3}; "
                "divide all three by the same number"
            )

    @property
    def raw(self) -> tuple[int, int]:
        """What a match and a mismatch add to H, before division."""
        return self.match - 2 * self.gap, self.mismatch - 2 * self.gap

    @property
    def divisor(self) -> int:
        """Common divisor of both."""
        return gcd(max(self.raw[0], 0), max(self.raw[1], 0)) or 1

    @property
    def gains(self) -> tuple[int, int]:
        """What a match and a mismatch add to H; 0 if it would be negative, because two gaps are better."""
        return max(self.raw[0], 0) // self.divisor, max(self.raw[1], 0) // self.divisor

    @property
    def diagonal(self) -> tuple[bool, bool]:
        """Whether a best path may contain a match, a mismatch: not if two gaps score more."""
        return self.raw[0] >= 0, self.raw[1] >= 0

    @property
    def weights(self) -> Weights:
        """This Scoring for compiled code."""
        return Weights((self.match, self.mismatch, self.gap), self.gains, self.diagonal, self.divisor)

    @property
    def dtype(self) -> type:
        """dtype in which differences of H are exact."""
        return np.uint8 if max(self.gains) <= 255 else np.int32

    def score(self, h: np.ndarray, n_letters: np.ndarray) -> np.ndarray:
        """Return the scores of H (numbers or arrays), where n_letters letters of both sequences are used."""
        return h * self.divisor + n_letters * self.gap
