"""The jobs of jobs.py on a GPU: a part is a thread's, so that no step needs a kernel of its own."""

import numpy as np

from ..compiler import radix_sort
from ..compiler.warp import kernel, thread_index
from ..errors import DeviceError
from . import gpu
from .jobs import Machine, do

_N_THREADS = 256
_THREADS_OF_A_MULTIPROCESSOR = 2048


@kernel
def do_kernel(job, n, size):
    """Part i of a job by thread i; parts of ``size`` things."""
    part = thread_index()
    start = part * size
    if start < n:
        do(job, part, start, min(start + size, n))


class Gpu(Machine):
    """One GPU.  ``memory``: how much of its memory may be used, in bytes."""

    empty, zeros = staticmethod(gpu.empty), staticmethod(gpu.zeros)
    to_host = staticmethod(gpu.to_host)
    synchronize, errors = staticmethod(gpu.synchronize), staticmethod(gpu.errors)

    def __init__(self, number=0, memory=None):
        """Raises DeviceError where there is no such GPU, or no package that sorts on it."""
        self.name = f"GPU {number}, {gpu.open_device(number)}"
        radix_sort.library()  # here, not amid the work
        free = gpu.free_bytes()
        if memory and memory > free:
            raise DeviceError(f"GPU {number} has {free / 1e9:.1f} GB free: lower --gpu-memory")
        self.memory = memory or free * 19 // 20

    def take(self, value):
        if isinstance(value, np.ndarray):
            return gpu.to_device(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.take, value))
        return value

    def part_size(self, n, multiple=1) -> int:
        """Things of a part, a multiple of ``multiple``, such that n things keep every thread busy."""
        n_parts = 1 if gpu.SIMULATED else gpu.n_multiprocessors() * _THREADS_OF_A_MULTIPROCESSOR
        return max(-(-n // n_parts // multiple), 1) * multiple

    def run(self, job, n, size=1):
        """Do all n things of a job, ``size`` in a part; without it, a thread each."""
        if n:
            n_threads = gpu.block_size(_N_THREADS)
            do_kernel[-(-n // size // n_threads), n_threads](job, np.int64(n), np.int64(size))

    def sort_pairs(self, keys, values, spare_keys, spare_values, n_bits):
        """(keys, values), uint64 and uint32, sorted by keys below 2^n_bits: in these arrays or the spare."""
        return radix_sort.sort_pairs(keys, values, spare_keys, spare_values, n_bits, gpu.empty)
