"""What the stages of a piece of work take."""

import time
from collections import Counter
from contextlib import contextmanager
from threading import Lock


class Clock:
    """``seconds`` sums up what each stage has taken, of all threads of the host together."""

    def __init__(self):
        self.seconds: Counter = Counter()
        self._lock = Lock()

    def add(self, stage, seconds):
        """Count some more."""
        with self._lock:
            self.seconds[stage] += seconds

    @contextmanager
    def timed(self, stage):
        """Count the time that the host spends within."""
        start = time.perf_counter()
        yield
        self.add(stage, time.perf_counter() - start)


class Timed:
    """A file whose writing is timed, as the stage "write"."""

    def __init__(self, clock, file):
        self._clock, self._file = clock, file

    def write(self, piece):
        with self._clock.timed("write"):
            self._file.write(piece)
