"""Buffers that serve again: the kernel clears each page of a new one, which costs as much as filling it."""

from collections import deque

import numpy as np


class Buffers:
    """Of a writer, for all its threads."""

    def __init__(self):
        self._spare: deque = deque()
        self.make = np.empty  # (size, type) -> array

    def take(self, size) -> np.ndarray:
        """An array of ``size`` bytes or more."""
        try:
            out = self._spare.pop()
        except IndexError:
            return self.make(size, np.uint8)
        return out if out.size >= size else self.make(size, np.uint8)

    def written(self, piece) -> None:
        """A piece, the beginning of such an array, has been written: the array may be used again."""
        self._spare.append(piece.base)
