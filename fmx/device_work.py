"""The jobs of work.py on a GPU: a part is a thread's, so that no step needs a kernel of its own."""

import numpy as np

from . import jit_device, jit_sort
from .errors import DeviceError
from .jit_warp import kernel, thread_index
from .work import Machine, do

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

    empty, zeros = staticmethod(jit_device.empty), staticmethod(jit_device.zeros)
    to_host = staticmethod(jit_device.to_host)
    synchronize, errors = staticmethod(jit_device.synchronize), staticmethod(jit_device.errors)

    def __init__(self, number=0, memory=None):
        """Raises DeviceError where there is no such GPU, or no package that sorts on it."""
        self.name = f"GPU {number}, {jit_device.open_device(number)}"
        jit_sort.library()  # here, not amid the work
        free = jit_device.free_bytes()
        if memory and memory > free:
            raise DeviceError(f"GPU {number} has {free / 1e9:.1f} GB free: lower --gpu-memory")
        self.memory = memory or free * 19 // 20

    def take(self, value):
        if isinstance(value, np.ndarray):
            return jit_device.to_device(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.take, value))
        return value

    def part_size(self, n, multiple=1) -> int:
        """Things of a part, a multiple of ``multiple``, such that n things keep every thread busy."""
        n_parts = 1 if jit_device.SIMULATED else jit_device.n_multiprocessors() * _THREADS_OF_A_MULTIPROCESSOR
        return max(-(-n // n_parts // multiple), 1) * multiple

    def run(self, job, n, size=1):
        """Do all n things of a job, ``size`` in a part; without it, a thread each."""
        if n:
            n_threads = jit_device.block_size(_N_THREADS)
            do_kernel[-(-n // size // n_threads), n_threads](job, np.int64(n), np.int64(size))

    def sort_pairs(self, keys, values, spare_keys, spare_values, n_bits):
        """(keys, values), uint64 and uint32, sorted by keys below 2^n_bits: in these arrays or the spare."""
        return jit_sort.sort_pairs(keys, values, spare_keys, spare_values, n_bits)
