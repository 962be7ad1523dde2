"""Running totals on a GPU: where each of many things begins that have sizes; what the host is told of them.

A block of threads does it in one launch, each a stretch of its own: the things are some hundred thousand.
CUDA's library would serve one thread of the host at a time, and cost each command its import.
"""

import numpy as np

from ..compiler.warp import INT64, cuda, grid_size, kernel, sync_block, thread_in_block
from . import gpu

_N_THREADS = 1024
_SLOTS = 32


class Report:
    """Numbers that kernels write for the host, zeros at first: ``there`` and ``here`` int64, of a flight."""

    def __init__(self, flight):
        self._flight = flight
        self.there, self.here = (arrays("report", _SLOTS, np.int64) for arrays in (flight.there, flight.here))
        gpu.fill_zero(self.there, flight.stream)

    def __getitem__(self, slot) -> int:
        """A number as it was when they were read last."""
        return int(self.here[slot])

    def read(self):
        """Wait for all that the flight was given, and for the numbers."""
        self._flight.receive([self.there], [self.here])
        self._flight.wait()


@kernel
def add_up_kernel(sizes, n, report, slot):
    """sizes[i] = sizes[0] + ... + sizes[i - 1], in place for 0 <= i <= n; ``sizes`` int64[n + 1 or more].

    ``report[slot]`` (int64) gets the last.  One block, 8 bytes of shared memory a thread.
    """
    own, n_threads = thread_in_block(), grid_size()
    stretch = (n + n_threads - 1) // n_threads
    start, stop = min(own * stretch, n), min((own + 1) * stretch, n)
    total = 0
    for i in range(start, stop):
        total += sizes[i]
    sums = cuda.shared.array(0, INT64)
    sums[own] = total
    sync_block()
    reach = 1
    while reach < n_threads:
        before = sums[own - reach] if own >= reach else 0
        sync_block()
        sums[own] += before
        sync_block()
        reach *= 2
    before = sums[own] - total
    for i in range(start, stop):
        size = sizes[i]
        sizes[i] = before
        before += size
    if own == n_threads - 1:
        sizes[n] = report[slot] = before


def add_up(flight, sizes, n, report, slot) -> None:
    """Turn the first n ``sizes`` (int64 on the device) into their running totals, one more of them.

    ``slot`` of the Report gets the total.
    """
    n_threads = gpu.block_size(_N_THREADS)
    add_up_kernel[1, n_threads, flight.stream, 8 * n_threads](sizes, n, report.there, slot)
