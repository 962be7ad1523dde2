"""The stages of a matcher on a GPU, timed: "copy in", "match" and "copy out", index included."""

import time
from collections import Counter
from contextlib import contextmanager
from threading import Lock

from ..machines import gpu


class Stages:
    """``seconds`` sums up what each stage has taken, of all threads of the host together."""

    def __init__(self):
        self.seconds: Counter = Counter()
        self._lock = Lock()

    def add(self, stage, seconds):
        with self._lock:
            self.seconds[stage] += seconds

    @contextmanager
    def timed(self, stage):
        """Count the time that the host spends within, and the device with what it is given there."""
        start = time.perf_counter()
        yield
        gpu.synchronize()
        self.add(stage, time.perf_counter() - start)
