"""Prefix sums on a GPU, numbers that kernels report to the host, and the jobs of an index on a GPU.

Prefix sums of some hundred thousand sizes take one launch: a block adds up its own sizes, and the sums of the
blocks before it (after Merrill and Garland 2016, Single-pass parallel prefix scan with decoupled look-back).
CUDA's own library would serve one host thread at a time, and importing it would slow every command.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler import kernels
from ..compiler.warp import INT64, atomic_add, cuda, kernel, sync_block, thread_in_block, thread_index
from . import gpu
from .jobs import Cores, do

if TYPE_CHECKING:
    from .gpu import DeviceArray, GpuSession, GpuStream

_SUM_THREADS = 1024
_SLOTS = 32


class KernelReport:
    """Numbers that kernels write for the host: two int64 arrays of a stream, zero at first."""

    def __init__(self, stream: "GpuStream") -> None:
        self._stream = stream
        self.device_array = stream.device_array("report", _SLOTS, np.int64)
        self.pinned_array = stream.pinned_array("report", _SLOTS, np.int64)
        gpu.fill_zero(self.device_array, stream.handle)

    def __getitem__(self, slot: int) -> int:
        """Return a number as of the last ``read``."""
        return int(self.pinned_array[slot])

    def read(self) -> None:
        """Wait for all work of the stream, then copy the numbers to the host."""
        self._stream.receive([self.device_array], [self.pinned_array])
        self._stream.wait()


@kernel
def add_up_kernel(sizes, n, n_threads, sums, report, slot):
    """Replace sizes[i] by sizes[0] + ... + sizes[i - 1] for 0 <= i <= n; ``sizes`` is int64[n + 1 or more].

    ``report[slot]`` (int64) receives the total.  Blocks of ``n_threads``, with 8 bytes of shared memory per
    thread and 8 more.  ``sums`` int64[1 + blocks], zeros: the number of blocks that have begun, and 1 + the
    sum of each block.  A block waits only for blocks that began before it.
    """
    thread, shared = thread_in_block(), cuda.shared.array(0, INT64)
    if thread == 0:
        shared[n_threads] = atomic_add(sums, 0, np.int64(1))
    sync_block()
    block = shared[n_threads]
    i = block * n_threads + thread
    size = sizes[i] if i < n else np.int64(0)
    shared[thread] = size
    sync_block()
    reach = 1
    while reach < n_threads:
        before = shared[thread - reach] if thread >= reach else np.int64(0)
        sync_block()
        shared[thread] += before
        sync_block()
        reach *= 2
    before = shared[thread] - size
    if thread == 0:
        shared[n_threads] = 0
        atomic_add(sums, 1 + block, 1 + shared[n_threads - 1])
    sync_block()
    for j in range(thread, block, n_threads):
        sum_of_block = np.int64(0)
        while sum_of_block == 0:
            sum_of_block = atomic_add(sums, 1 + j, np.int64(0))
        atomic_add(shared, n_threads, sum_of_block - 1)
    sync_block()
    before += shared[n_threads]
    if i < n:
        sizes[i] = before
    if i == n - 1:
        sizes[n] = report[slot] = before + size


def add_up(stream: "GpuStream", sizes: "DeviceArray", n: int, report: KernelReport, slot: int) -> None:
    """Replace the first n > 0 ``sizes`` (int64, on the device) by their n + 1 prefix sums.

    ``slot`` of the KernelReport receives the total.
    """
    n_threads = gpu.block_size(_SUM_THREADS)
    n_blocks = -(-n // n_threads)
    sums = stream.device_array("sums of blocks", 1 + n_blocks, np.int64)
    gpu.fill_zero(sums, stream.handle, 1 + n_blocks)
    how = n_blocks, n_threads, stream.handle, 8 * (n_threads + 1)
    add_up_kernel[how](sizes, n, n_threads, sums, report.device_array, slot)


# The jobs of jobs.py on a GPU.  Each thread does one stretch, so no step needs its own kernel.

_N_THREADS = 256
_THREADS_OF_A_MULTIPROCESSOR = 2048


@kernel
def do_kernel(job, n, size):
    """Thread i does stretch i of a job: ``size`` of its n things."""
    stretch = thread_index()
    start = stretch * size
    if start < n:
        do(job, stretch, start, min(start + size, n))


class Gpu(Cores):
    """The backend of a GpuSession; ``memory``: bytes of it that may be used; ``n_threads`` of the host."""

    serial = False
    empty, zeros, from_host = staticmethod(gpu.empty), staticmethod(gpu.zeros), staticmethod(gpu.to_device)
    to_host, errors = staticmethod(gpu.to_host), staticmethod(gpu.errors)
    sort_pairs = staticmethod(kernels.sort_pairs)

    def __init__(self, session: "GpuSession", n_threads: int = 1) -> None:
        """Raise DeviceError if the package that sorts on the GPU is missing."""
        kernels.cccl()  # fail here rather than in the middle of the work
        self.n_threads = n_threads
        self.name, self.memory, self.number = str(session), session.memory, session.number

    def run(self, job: NamedTuple, n: int, size: int | None = None) -> None:
        if n:
            n_threads, size = gpu.block_size(_N_THREADS), size or 1
            do_kernel[-(-n // size // n_threads), n_threads](job, np.int64(n), np.int64(size))

    def pieces(self, array: "np.ndarray | DeviceArray", n: int) -> Iterator[np.ndarray]:
        if isinstance(array, np.ndarray):
            yield from super().pieces(array, n)
            return
        gpu.use(self.number)
        buffer = gpu.pinned(min(n, array.size), array.dtype)
        for i in range(0, max(array.size, 1), n):
            m = min(n, array.size - i)
            yield gpu.to_host(array[i : i + m], buffer[:m])

    def stretch_size(self, n: int, multiple: int = 1) -> int:
        n_threads = 1 if gpu.SIMULATED else gpu.n_multiprocessors() * _THREADS_OF_A_MULTIPROCESSOR
        return max(-(-n // n_threads // multiple), 1) * multiple
