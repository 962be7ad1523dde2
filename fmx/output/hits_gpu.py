"""Formats hits of reads and of pairs on a GPU, with the functions of records.py.

measure   upper bound of the bytes of the records of each item, a read or a pair, then prefix sums
write     its records by one thread, with room between items; their bytes, then prefix sums
gather    the records without it, one warp per item, which also writes bases and qualities (records.py)
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..codecs.bgzf import deflate
from ..codecs.deflate_gpu import GpuDeflater, refusal
from ..compiler.warp import WARP, kernel, thread_in_block, thread_index
from ..limits import ALL
from ..machines import gpu
from ..machines.gpu_jobs import add_up
from .records import (
    FIRST,
    SECOND,
    Pairs,
    Side,
    SingleReads,
    gap_byte,
    gap_of,
    mate_of,
    n_items,
    n_mates,
    put_records,
    room_of,
    with_gaps,
)

if TYPE_CHECKING:
    from ..input.reads import ReadBatch
    from ..machines.gpu import DeviceArray, GpuStream
    from ..machines.gpu_jobs import KernelReport

_N_THREADS = 128


class Loose(NamedTuple):
    """Records with room between items: those of item i begin at ``begins[i]`` and have ``sizes`` bytes.

    ``begins``, ``sizes`` int64[n + 1], or their prefix sums; ``records`` uint8.
    """

    begins: np.ndarray
    sizes: np.ndarray
    records: np.ndarray


@kernel
def measure_kernel(work, n_widest, by_letters, begins):
    """Compute ``begins`` int64, room for the records of each read or pair, one thread each.

    ``by_letters``: a read without a name is named by its sequence, as in write_kernel.
    """
    i = thread_index()
    if i < n_items(work):
        begins[i] = room_of(work, i, n_widest, by_letters)


@kernel
def write_kernel(form, work, by_letters, loose):
    """Write the records of SingleReads or Pairs, one thread per item; ``loose.sizes`` gets their bytes."""
    i = thread_index()
    if i < n_items(work):
        if by_letters:
            for k in range(n_mates(work)):
                batch, r, _ = mate_of(work, i, k)
                if batch.name_length[r] == 0:
                    batch.name_start[r], batch.name_length[r] = batch.start[r], batch.length[r]
        begin = loose.begins[i]
        loose.sizes[i] = put_records(work, form, loose.records, begin, i) - begin


@kernel
def gather_kernel(form, work, loose, out):
    """Copy the records one after another into ``out`` uint8, one warp per item, and fill their gaps.

    Sizes are prefix sums.
    """
    i, lane = thread_index() // WARP, thread_in_block() % WARP
    if i < n_items(work) and loose.sizes[i] < loose.sizes[i + 1]:
        start, begin, done = loose.sizes[i], loose.begins[i], np.int64(0)
        for k in range(n_mates(work)):
            batch, r, reverse = mate_of(work, i, k)
            gap, n_gap = gap_of(form, batch, r)
            if n_gap > 0:
                for j in range(done + lane, gap - begin, WARP):
                    out[start + j] = loose.records[begin + j]
                done = gap - begin
                for j in range(lane, n_gap, WARP):
                    out[start + done + j] = gap_byte(form, batch, r, reverse, j)
                done += n_gap
        for j in range(done + lane, loose.sizes[i + 1] - start, WARP):
            out[start + j] = loose.records[begin + j]


class GpuHitWriter:
    """A HitWriter (hits.py) whose records are made on the GPU of this thread.

    The GPU also compresses them, if the writer does and the GPU can.
    """

    def __init__(self, writer: Any) -> None:
        why = refusal() if writer.encode is deflate else ""
        writer.refusals.update({why} - {""})
        self._encoded, self._buffers, self._widest = writer.encoded, writer.buffers, writer.widest
        self._deflater = GpuDeflater() if writer.encode is deflate and not why else None
        self._by_letters, self._n_mates, self._form = (
            not writer.is_sam,
            1 + writer.in_pairs,
            gpu.to_device(writer.form),
        )

    def _work(self, batch: "ReadBatch", tables: Any) -> SingleReads | Pairs:
        return pairs_of(batch, tables) if self._n_mates == 2 else SingleReads(batch, tables.hits, 0, 0, ALL)

    def measure(
        self, stream: "GpuStream", batch: "ReadBatch", tables: Any, report: "KernelReport", slot: int
    ) -> "DeviceArray":
        """Launch the computation of where the records of each of n reads or pairs begin, int64[n + 1].

        ``batch``: reads, or mates 1 and then mates 2; ``tables``: SelectedHits, or PairTables; ``slot`` of
        the report gets the room for all.
        """
        work = self._work(batch, tables)
        n = n_items(work)
        begins = stream.device_array("begins", n + 1, np.int64)
        stream.launch(measure_kernel, n, _N_THREADS, work, self._widest, self._by_letters, begins)
        add_up(stream, begins, n, report, slot)
        return begins

    def room_of(self, size: int, is_fastq: bool, n: int) -> int:
        """Return an upper bound of the bytes of the records of n reads or pairs with at most one hit.

        ``size``: bytes of the records of the reads.
        """
        parts = 1 + (not is_fastq) + self._n_mates * self._by_letters  # bases, qualities, and bases as names
        return parts * size + self._n_mates * n * self._widest

    def write(
        self, stream: "GpuStream", batch: "ReadBatch", tables: Any, begins: "DeviceArray", n_bytes: int,
        report: "KernelReport", slot: int,
    ) -> "DeviceArray":  # fmt: skip
        """Launch the writing of records, of at most ``n_bytes`` with the room between them; return the array.

        ``slot`` of the report gets their bytes.
        """
        work, array = self._work(batch, tables), stream.device_array
        n = n_items(work)
        loose = Loose(begins, array("sizes", n + 1, np.int64), array("loose", n_bytes, np.uint8))
        stream.begin("format")
        form = with_gaps(self._form, array("gaps", self._n_mates * n, np.int64))
        stream.launch(write_kernel, n, _N_THREADS, form, work, self._by_letters, loose)
        add_up(stream, loose.sizes, n, report, slot)
        out = array("records", n_bytes, np.uint8)
        stream.launch(gather_kernel, WARP * n, _N_THREADS, form, work, loose, out)
        return out

    def fetch(self, stream: "GpuStream", out: "DeviceArray", report: "KernelReport", slot: int) -> np.ndarray:
        """Copy the result of ``write`` to host memory; valid after waiting for the stream.

        ``slot`` has the bytes.  They are in a buffer of the writer, compressed if the GPU does that, which
        uses the next slot.
        """
        n_bytes = report[slot]
        out = out[:n_bytes]
        if self._deflater and n_bytes:
            out = self._deflater.deflate(stream, out, report, slot + 1)
        piece = self._buffers.take(max(out.size, 1), gpu.pinned)[: out.size]
        stream.receive([out], [piece])
        return piece

    def encoded(self, records: np.ndarray) -> bytes | np.ndarray:
        """Return the bytes to write for a result of ``fetch``."""
        return records if self._deflater else self._encoded(records)


def pairs_of(batch: "ReadBatch", tables: Any) -> Pairs:
    """Return the Pairs of mates 1 and then mates 2 with PairTables."""
    n, hits = tables.proper.total.size, tables.hits
    one, two = (
        hits._replace(first=hits.first[start : start + n + 1], total=hits.total[start : start + n])
        for start in (0, n)
    )
    return Pairs(Side(batch, one, FIRST, 0), Side(batch, two, SECOND, n), tables.proper, 0, ALL)
