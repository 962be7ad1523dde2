"""Formats hits on a GPU, with the same functions per record as the CPU.

begins    upper bound of the bytes of each read's records, then prefix sums
write     the records of a read by one thread, with room between reads; their bytes, then prefix sums
gather    the records without it, one warp per read, which also writes bases and qualities (records.py)
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..codecs.bgzf import deflate
from ..codecs.deflate_gpu import GpuDeflater, refusal
from ..compiler.warp import WARP, kernel, thread_in_block, thread_index
from ..machines import gpu
from ..machines.gpu_jobs import add_up
from .records import Buffers, Window, gap_byte, gap_of, put_read, room_of_read, with_gaps

if TYPE_CHECKING:
    from ..input.reads import ReadBatch
    from ..machines.gpu import DeviceArray
    from ..machines.gpu_jobs import KernelReport
    from ..machines.gpu_session import GpuStream

N_THREADS = 128
ALL = Window(0, 0, 2**62)


class Loose(NamedTuple):
    """Records with room between reads: those of read i begin at ``begins[i]`` and have ``sizes`` bytes.

    ``begins``, ``sizes`` int64[n_reads + 1], or their prefix sums; ``records`` uint8.
    """

    begins: np.ndarray
    sizes: np.ndarray
    records: np.ndarray


@kernel
def measure_kernel(batch, hits, window, n_widest, by_letters, begins):
    """Compute ``begins`` int64, room for the records of each read, one thread per read.

    ``by_letters``: a read without a name is named by its sequence, as in write_kernel.
    """
    i = thread_index()
    if i < hits.total.size:
        size = room_of_read(batch, hits, i, window, n_widest)
        if by_letters and batch.name_length[window.start + i] == 0:
            size += batch.length[window.start + i] * max(hits.first[i + 1] - hits.first[i], 1)
        begins[i] = size


@kernel
def write_kernel(form, batch, hits, window, by_letters, loose):
    """Write the records of each read of a Window, one thread per read; ``loose.sizes`` gets their bytes."""
    i = thread_index()
    if i < hits.total.size:
        r = window.start + i
        if by_letters and batch.name_length[r] == 0:
            batch.name_start[r], batch.name_length[r] = batch.start[r], batch.length[r]
        begin = loose.begins[i]
        loose.sizes[i] = put_read(form, loose.records, begin, batch, hits, i, window) - begin


@kernel
def gather_kernel(form, batch, hits, loose, out):
    """Copy the records one after another into ``out`` uint8, one warp per read, and fill their gaps.

    Sizes are prefix sums.
    """
    i, lane = thread_index() // WARP, thread_in_block() % WARP
    if i < hits.total.size and loose.sizes[i] < loose.sizes[i + 1]:
        start, begin, first = loose.sizes[i], loose.begins[i], hits.first[i]
        n, (gap, n_gap) = loose.sizes[i + 1] - start, gap_of(form, batch, i)
        reverse = hits.first[i + 1] > first and n_gap > 0 and hits.reverse[first]
        n_before = gap - begin if n_gap > 0 else n
        for j in range(lane, n_before, WARP):
            out[start + j] = loose.records[begin + j]
        for j in range(lane, n_gap, WARP):
            out[start + n_before + j] = gap_byte(form, batch, i, reverse, j)
        for j in range(n_before + n_gap + lane, n, WARP):
            out[start + j] = loose.records[begin + j]


class MakesRecords(Protocol):
    """A HitWriter as seen by a GpuHitWriter."""

    form: Any
    widest: int
    is_sam: bool
    encode: Callable[[np.ndarray], bytes] | None

    def encoded(self, records: np.ndarray) -> bytes | np.ndarray:
        """Return the bytes to write for records."""


class GpuHitWriter:
    """A HitWriter (hits.py) whose records are made on the GPU of this thread.

    The GPU also compresses them, if the writer does.  ``refusal``: why the GPU cannot, or "".
    """

    def __init__(self, writer: MakesRecords) -> None:
        is_deflated = writer.encode is deflate
        self._encoded, self.refusal = writer.encoded, refusal() if is_deflated else ""
        self._deflater = GpuDeflater() if is_deflated and not self.refusal else None
        self._widest, self._by_letters, self.buffers = writer.widest, not writer.is_sam, Buffers(gpu.pinned)
        self.form = gpu.take(writer.form)

    def measure(
        self, stream: "GpuStream", batch: "ReadBatch", hits: Any, report: "KernelReport", slot: int
    ) -> "DeviceArray":
        """Launch the computation of begins, int64[n_reads + 1]; ``slot`` of the report gets the total."""
        n_reads = hits.total.size
        begins = stream.there("begins", n_reads + 1, np.int64)
        stream.launch(
            measure_kernel, n_reads, N_THREADS, batch, hits, ALL, self._widest, self._by_letters, begins
        )
        add_up(stream, begins, n_reads, report, slot)
        return begins

    def room_of(self, size: int, is_fastq: bool, n: int) -> int:
        """Return an upper bound of the bytes of the records of n reads, if none has more than one hit.

        ``size``: bytes of the records of the reads.
        """
        parts = 1 + (not is_fastq) + self._by_letters  # bases, qualities, and bases as a name
        return parts * size + n * self._widest

    def write(
        self,
        stream: "GpuStream",
        batch: "ReadBatch",
        hits: Any,
        begins: "DeviceArray",
        n_bytes: int,
        report: "KernelReport",
        slot: int,
    ) -> "DeviceArray":
        """Launch the writing of records, of at most ``n_bytes`` with the room between them; return the array.

        ``slot`` of the report gets their bytes.
        """
        n_reads, there = hits.total.size, stream.there
        loose = Loose(begins, there("sizes", n_reads + 1, np.int64), there("loose", n_bytes, np.uint8))
        stream.begin("format")
        form = with_gaps(self.form, there("gaps", n_reads, np.int64))
        stream.launch(write_kernel, n_reads, N_THREADS, form, batch, hits, ALL, self._by_letters, loose)
        add_up(stream, loose.sizes, n_reads, report, slot)
        out = there("records", n_bytes, np.uint8)
        stream.launch(gather_kernel, WARP * n_reads, N_THREADS, form, batch, hits, loose, out)
        return out

    def fetch(self, stream: "GpuStream", out: "DeviceArray", report: "KernelReport", slot: int) -> np.ndarray:
        """Copy the result of ``write`` to host memory; valid after waiting for the stream.

        ``slot`` has the bytes.  They are in one of ``buffers``, compressed if the GPU does that, which uses
        the next slot.
        """
        n_bytes = report[slot]
        out = out[:n_bytes]
        if self._deflater and n_bytes:
            out = self._deflater.deflate(stream, out, report, slot + 1)
        piece = self.buffers.take(max(out.size, 1))[: out.size]
        stream.receive([out], [piece])
        return piece

    def encoded(self, records: np.ndarray) -> bytes | np.ndarray:
        """Return the bytes to write for a result of ``fetch``."""
        return records if self._deflater else self._encoded(records)
