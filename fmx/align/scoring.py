"""Scores, and the normal form in which the machine computes them.

Take the gap score out of every path: H(i, j) = S(i, j) - (i + j) * gap.  A gap step then adds nothing, a
match adds match - 2 gap, a mismatch mismatch - 2 gap, and both may be divided by their common divisor:

    S   4 / -5, gap -10     H   24 / 15, gap 0     divided by 3   8 / 5

H starts at 0 along both edges and never falls in either direction, so the difference of two neighbours lies
between 0 and the larger addend: for ordinary scores a byte holds it whatever the length.
"""

from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

import numpy as np

from ..errors import UnsupportedError

LIMIT = 2**31 - 1


class Weights(NamedTuple):
    """A Scoring as compiled code takes it: ``scores`` (match, mismatch, gap), all else as of Scoring."""

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
                f"scores {self.match}/{self.mismatch}/{self.gap}: above {LIMIT // 3}; divide all of them"
            )

    @property
    def raw(self) -> tuple[int, int]:
        """What a match and a mismatch add to H, before division."""
        return self.match - 2 * self.gap, self.mismatch - 2 * self.gap

    @property
    def divisor(self) -> int:
        """By which both are divided."""
        return gcd(max(self.raw[0], 0), max(self.raw[1], 0)) or 1

    @property
    def gains(self) -> tuple[int, int]:
        """What a match and a mismatch add to H.  Where that is negative two gaps are better: 0."""
        return max(self.raw[0], 0) // self.divisor, max(self.raw[1], 0) // self.divisor

    @property
    def diagonal(self) -> tuple[bool, bool]:
        """May an optimal path hold a match, a mismatch?  Not where two gaps score more."""
        return self.raw[0] >= 0, self.raw[1] >= 0

    @property
    def weights(self) -> Weights:
        """This for compiled code."""
        return Weights((self.match, self.mismatch, self.gap), self.gains, self.diagonal, self.divisor)

    @property
    def dtype(self) -> type:
        """The element in which differences of H are exact."""
        return np.uint8 if max(self.gains) <= 255 else np.int32

    def score(self, h: np.ndarray, n_letters: np.ndarray) -> np.ndarray:
        """The score of a value of H where n_letters letters of both sequences are used (works on arrays)."""
        return h * self.divisor + n_letters * self.gap
