"""A word of warning where queries have so many matches that nobody wants them all."""

import threading

import numpy as np

from .contracts import Matches, Strands

MANY, LEAST = 10, 1_000_000  # matches a base, and matches in all, that both must be passed


class Flood:
    """Counts the matches of queries that several threads find, and warns once: ``say(warning)``."""

    def __init__(self, say, least: int, n_strands: int):
        self._say, self._least, self._n_strands = say, least, n_strands
        self._n_matches = self._n_bytes = self._n_starts = 0
        self._is_told, self._lock = False, threading.Lock()

    def see(self, n_matches: int, n_bytes: int, n_starts: int) -> None:
        """So many matches, in lines of so many bytes, start in so many places of strands of the queries."""
        with self._lock:
            self._n_matches, self._n_bytes = self._n_matches + n_matches, self._n_bytes + n_bytes
            self._n_starts += n_starts
            is_many = self._n_matches >= max(LEAST, MANY * self._n_starts + 1)
            if self._is_told or not is_many:
                return
            self._is_told = True
        n_starts = max(self._n_starts, 1)
        n_coming = self._n_strands * self._n_bytes / n_starts * 1e6
        self._say(
            f"warning: {self._n_matches / n_starts:,.0f} matches start at a base, which is more than {MANY}: "
            f"about {_size(n_coming)} of output are coming for each million bases of the queries; "
            f"a larger -l than {self._least} gives fewer"
        )


class Seen:
    """How far the matches of some Strands have been found: ``starts(matches)`` since the last call."""

    def __init__(self, strands: Strands):
        self._start, self._ends = strands.start, np.cumsum(strands.stop - strands.start)
        self._done = 0

    def starts(self, matches: Matches) -> int:
        """Places where matches may start, up to the last one of ``matches``."""
        if not matches.length.size:
            return 0
        k, position = int(matches.strand[-1]), int(matches.position[-1])
        return self._up_to((int(self._ends[k - 1]) if k else 0) + position + 1 - int(self._start[k]))

    def rest(self) -> int:
        """Those after them."""
        return self._up_to(int(self._ends[-1]) if self._ends.size else 0)

    def _up_to(self, now: int) -> int:
        n, self._done = now - self._done, now
        return n


def _size(n: float) -> str:
    """Bytes in words."""
    return f"{n / 1e9:,.1f} GB" if n >= 1e9 else f"{n / 1e6:,.0f} MB"
