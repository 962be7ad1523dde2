"""The jobs of jobs.py on a GPU: a stretch is a thread's, so that no step needs a kernel of its own."""

import numpy as np

from ..compiler import radix_sort
from ..compiler.warp import kernel, thread_index
from . import gpu
from .jobs import ONE_CORE, Backend, do

_N_THREADS = 256
_THREADS_OF_A_MULTIPROCESSOR = 2048


@kernel
def do_kernel(job, n, size):
    """Stretch i of a job, ``size`` things of n, by thread i."""
    stretch = thread_index()
    start = stretch * size
    if start < n:
        do(job, stretch, start, min(start + size, n))


def run(job, n, size=1):
    """Do all n things of a job on the GPU that this thread uses, ``size`` by a thread."""
    if n:
        n_threads = gpu.block_size(_N_THREADS)
        do_kernel[-(-n // size // n_threads), n_threads](job, np.int64(n), np.int64(size))


class Gpu(Backend):
    """The GPU of a GpuSession, of which ``memory`` bytes may be used."""

    empty, zeros, run = staticmethod(gpu.empty), staticmethod(gpu.zeros), staticmethod(run)
    take, to_host = staticmethod(gpu.take), staticmethod(gpu.to_host)
    synchronize, errors = staticmethod(gpu.synchronize), staticmethod(gpu.errors)

    def __init__(self, session):
        """Raises DeviceError where there is no package that sorts on it."""
        radix_sort.library()  # here, not amid the work
        self.name, self.memory, self.number = str(session), session.memory, session.number

    def pieces(self, array, n):
        """Of an array of the GPU or of the host, for any thread, through pinned memory."""
        if isinstance(array, np.ndarray):
            yield from ONE_CORE.pieces(array, n)
            return
        gpu.use(self.number)
        buffer = gpu.pinned(min(n, array.size), array.dtype)
        for i in range(0, max(array.size, 1), n):
            m = min(n, array.size - i)
            yield gpu.to_host(array[i : i + m], buffer[:m])

    def stretch_size(self, n, multiple=1) -> int:
        """Things of a stretch, a multiple of ``multiple``, such that n things keep every thread busy."""
        n_threads = 1 if gpu.SIMULATED else gpu.n_multiprocessors() * _THREADS_OF_A_MULTIPROCESSOR
        return max(-(-n // n_threads // multiple), 1) * multiple

    def sort_pairs(self, keys, values, spare_keys, spare_values, n_bits):
        """(keys, values), uint64 and uint32, sorted by keys below 2^n_bits: in these arrays or the spare."""
        return radix_sort.sort_pairs(keys, values, spare_keys, spare_values, n_bits, gpu.empty)
