"""Things that have sizes, a portion at a time."""

import numpy as np

from ..compiler.functions import compiled


def runs(sizes, most):
    """Yield (start, stop) of runs of things: sizes int64[n] of a run are ``most`` in all, or it is one.

    A thing of no size counts as if it were 1.
    """
    start = 0
    while start < sizes.size:
        stop = _stop_of_run(sizes, start, most)
        yield start, stop
        start = stop


@compiled
def _stop_of_run(sizes, start, most):
    done, i = max(sizes[start], 1), start + 1
    while i < sizes.size and done + max(sizes[i], 1) <= most:
        done += max(sizes[i], 1)
        i += 1
    return i


def cuts(sizes, most):
    """Yield (i, start, stop): things i, i + 1, ..., each from start[j] to stop[j], ``most`` in all.

    Things have ``sizes`` int64[n], and are cut where need be; start, stop int64.
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if ends.size else 0
    for begin in range(0, total, most):
        end = min(begin + most, total)
        a, b = int(np.searchsorted(ends, begin, "right")), int(np.searchsorted(ends, end)) + 1
        start, stop = np.zeros(b - a, np.int64), sizes[a:b].copy()
        start[0], stop[-1] = begin - (ends[a] - sizes[a]), end - (ends[b - 1] - sizes[b - 1])
        yield a, start, stop
