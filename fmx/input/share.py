"""What share of its inputs a run has read, by where the spans that were taken end."""

import os
from contextlib import closing


class Share:
    """Of the files ``paths``; called, it gives a number from 0 to 1, or None where that cannot be known."""

    def __init__(self, paths):
        is_known = all(not isinstance(path, bytes) and os.path.isfile(path) for path in paths)
        self._sizes = [os.path.getsize(path) for path in paths] if is_known else []
        self._total = sum(self._sizes)
        self._ends: dict = {}  # of files that are read: bytes

    def note(self, number, end) -> None:
        """Of the ``number``-th file ``end`` bytes were taken."""
        self._ends[number] = end

    def end(self, number) -> None:
        """All of the ``number``-th file was taken."""
        self._ends[number] = self._sizes[number] if self._sizes else 0

    def of(self, spans):
        """Yield the spans of the files, one after the other, and note where each ends."""
        number, last = 0, None
        with closing(spans):
            for span in spans:
                if last and (span.path != last.path or span.end < last.end):
                    number += 1
                last = span
                self.note(number, span.end)
                yield span

    def of_pairs(self, spans):
        """The same for PairSpans."""
        with closing(spans):
            for span in spans:
                for number, end in span.ends():
                    self.note(number, end)
                yield span

    def __call__(self) -> float | None:
        done = sum(self._ends.values())
        return min(1.0, done / self._total) if done and self._total else None
