"""The stages of a matcher on a GPU, timed: "copy in", "match" and "copy out", index included."""

import time
from collections import Counter

from .. import jit_device


class Stages:
    """``seconds`` sums up what each stage has taken."""

    def __init__(self):
        self.seconds: Counter = Counter()

    def run(self, stage, work, *arguments):
        """``work(*arguments)``, done by the device when this returns."""
        start = time.perf_counter()
        result = work(*arguments)
        jit_device.synchronize()
        self.seconds[stage] += time.perf_counter() - start
        return result
