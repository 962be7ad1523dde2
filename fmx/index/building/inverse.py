"""The inverse of a suffix array: the rank array, by text position the row of its suffix."""

from typing import Any, NamedTuple

import numpy as np

from ...compiler.primitives import prefetch
from ...machines.jobs import do


class Invert(NamedTuple):
    """``sa`` uint32[n] -> ``row_of`` uint32[n]."""

    sa: Any
    row_of: Any


def invert(backend, sa):
    """The rank array of ``sa`` (uint32[n], on the backend), uint32[n]."""
    row_of = backend.empty(sa.size, np.uint32)
    backend.run(Invert(sa, row_of), sa.size)
    return row_of


@do.register(Invert)
def _invert(job, stretch, start, stop):
    for row in range(start, stop):
        if row + 32 < stop:
            prefetch(job.row_of, np.int64(job.sa[row + 32]))
        job.row_of[job.sa[row]] = row
