"""Files of samples, taken span by span by whoever is free, several files at a time.

A worker takes the next span of the first file that nobody else is reading.  So one compressed file, which
can only be read in order, keeps one worker busy, and several keep all of them busy.
"""

import threading
from heapq import heappop, heappush

from ..input import spans
from ..input.link import Link
from ..input.share import Share


class Input:
    """The file ``path`` of sample number ``sample``; ``where`` its guides stand, told by its first span."""

    def __init__(self, sample, path, n_threads):
        self.sample, self.path, self.where = sample, path, Link()
        self._spans, self._is_new = spans.plan([path], n_threads=n_threads), True

    def next(self):
        """(the next span, is it the first); None at the end."""
        span, is_first = next(self._spans, None), self._is_new
        self._is_new = False
        return span and (span, is_first)

    def close(self):
        self._spans.close()


class Inputs:
    """The files of Samples, for n_threads workers.

    It is an iterator that gives itself as long as there may be a span left to ``take``.
    """

    def __init__(self, samples, n_threads):
        paths = [(i, path) for i, sample in enumerate(samples) for path in sample.paths]
        each = max(1, n_threads // len(paths))
        self._inputs = [Input(sample, path, each) for sample, path in paths]
        self._changed, self._n_open = threading.Condition(), len(paths)
        self._free = list(range(len(paths)))  # a heap: those that nobody is reading
        self.share = Share([path for _, path in paths])

    def __iter__(self):
        return self

    def __next__(self):
        with self._changed:
            if self._n_open:
                return self
        raise StopIteration

    def take(self):
        """(Input, span, is it the first of the file), or None when nothing is left.  Raises InputError."""
        while True:
            with self._changed:
                while not self._free:
                    if not self._n_open:
                        return None
                    self._changed.wait()
                number = heappop(self._free)
            taken = None
            try:
                taken = self._inputs[number].next()
            finally:
                with self._changed:
                    if taken:
                        heappush(self._free, number)
                    else:
                        self._n_open -= 1
                    self._changed.notify_all()
            if taken:
                self.share.note(number, taken[0].end)
                return self._inputs[number], *taken

    def close(self):
        for each in self._inputs:
            each.close()
