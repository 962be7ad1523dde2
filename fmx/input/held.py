"""The bytes of a span, and of what follows it, as far as they were read: in the host's memory."""

import numpy as np

from .chunks import NEWLINE, count, find_border


class Held:
    """``n`` bytes of a reader; ``is_end``: it has no more.  ``make`` (n, dtype) gives room for them."""

    def __init__(self, reader, make=np.empty):
        self._reader, self._make, self._buffer = reader, make, np.empty(0, np.uint8)
        self.n, self.is_end = 0, False

    def load(self, own, beyond, is_fastq) -> int:
        """Read ``own`` bytes and as many ``beyond``: how many newlines count in the former.

        Raises InputError.
        """
        self.read_on(own + beyond)
        return count(self.data(), min(self.n, own), is_fastq)

    def read_on(self, more):
        """Have that many more bytes, or all.  Raises InputError."""
        n = self.n + more
        if n >= self._buffer.size:  # one is left for a newline
            larger = self._make(max(4 * self.n, n) + 1, np.uint8)
            larger[: self.n] = self.data()
            self._buffer = larger
        self.n += self._reader.readinto(self._buffer[self.n : n])
        self.is_end = self.n < n

    def room(self) -> int:
        """Bytes that can be read without a larger buffer."""
        return self._buffer.size - 1 - self.n

    def data(self):
        """All of them, uint8[n]; those in the middle may be unknown before ``whole``."""
        return self._buffer[: self.n]

    def whole(self):
        """All of them, uint8[n]."""
        return self.data()

    def begin(self, left, is_fastq) -> int:
        """The place behind the ``left``-th newline that counts."""
        return find_border(self.data(), 0, left, is_fastq)[0]

    def end_line(self):
        """Let a newline stand behind them."""
        self._buffer[self.n] = NEWLINE

    def cut(self, begin, stop) -> tuple:
        """``data`` and ``there`` of a Chunk of these bytes."""
        return self._buffer[begin:stop], None
