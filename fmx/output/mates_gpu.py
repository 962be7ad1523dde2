"""Formats pairs on a GPU, with the functions of mates.py.

room      upper bound of the bytes of each pair's records, then prefix sums
put       the records of a pair by one thread, with room between pairs; their bytes, then prefix sums
gather    the records without it, one warp per pair, which also writes bases and qualities (records.py)
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.functions import inlined
from ..compiler.warp import WARP, kernel, thread_in_block, thread_index
from ..index.reference import is_reverse
from ..machines.gpu_jobs import add_up
from .hits_gpu import N_THREADS, Loose
from .mates import ALL, Pairs, Side, most_records, put_pair, room_of_pair
from .records import FIRST, SECOND, gap_byte, gap_of, with_gaps

if TYPE_CHECKING:
    from ..input.reads import ReadBatch
    from ..machines.gpu import DeviceArray
    from ..machines.gpu_jobs import KernelReport
    from ..machines.gpu_session import GpuStream
    from .hits import HitWriter


@kernel
def room_kernel(pairs, n_widest, by_letters, begins):
    """Write the room for the records of each pair; ``by_letters``: sequences replace missing names."""
    i = thread_index()
    if i < pairs.proper.total.size:
        begins[i] = room_of_pair(pairs, i, n_widest)
        if by_letters:
            one, two = (
                pairs.one.reads.length[pairs.one.start + i],
                pairs.two.reads.length[pairs.two.start + i],
            )
            begins[i] += most_records(pairs, i) * max(one, two)


@kernel
def put_kernel(form, pairs, by_letters, loose):
    """Write the records of each pair; ``loose.sizes`` gets their bytes."""
    i = thread_index()
    if i < pairs.proper.total.size:
        if by_letters:
            _name(pairs.one.reads, pairs.one.start + i)
            _name(pairs.two.reads, pairs.two.start + i)
        begin = loose.begins[i]
        loose.sizes[i] = put_pair(form, loose.records, begin, pairs, i) - begin


@inlined
def _name(batch, r):
    """Name a nameless read by its sequence."""
    if batch.name_length[r] == 0:
        batch.name_start[r], batch.name_length[r] = batch.start[r], batch.length[r]


@kernel
def gather_pairs_kernel(form, pairs, loose, out):
    """Copy the records one after another into ``out`` uint8, one warp per pair, and fill their gaps.

    Sizes are prefix sums.
    """
    i, lane = thread_index() // WARP, thread_in_block() % WARP
    if i < pairs.proper.total.size and loose.sizes[i] < loose.sizes[i + 1]:
        start, begin, done = loose.sizes[i], loose.begins[i], np.int64(0)
        for is_second in range(2):
            side = pairs.two if is_second else pairs.one
            r, reverse = side.start + i, _is_reverse(pairs, side, i)
            gap, n_gap = gap_of(form, side.reads, r)
            if n_gap > 0:
                for j in range(done + lane, gap - begin, WARP):
                    out[start + j] = loose.records[begin + j]
                done = gap - begin
                for j in range(lane, n_gap, WARP):
                    out[start + done + j] = gap_byte(form, side.reads, r, reverse, j)
                done += n_gap
        for j in range(done + lane, loose.sizes[i + 1] - start, WARP):
            out[start + j] = loose.records[begin + j]


@inlined
def _is_reverse(pairs, side, i):
    """Return whether the first record of a mate of pair i has the reverse complement of its bases."""
    if pairs.proper.first[i] < pairs.proper.first[i + 1]:
        return is_reverse(pairs.proper.lead1[i] if side.flag == FIRST else pairs.proper.lead2[i])
    first = side.hits.first[i]
    return side.hits.first[i + 1] > first and side.hits.reverse[first]


class GpuMateWriter:
    """A MateWriter whose records are made, and compressed if need be, on the GPU of this thread."""

    def __init__(self, writer: "HitWriter", n_widest: int) -> None:
        self._made, self._by_letters, self._widest = writer.made_on_gpu(), not writer.is_sam, n_widest
        self.encoded, self.fetch = self._made.encoded, self._made.fetch

    def measure(
        self, stream: "GpuStream", batch: "ReadBatch", tables: Any, report: "KernelReport", slot: int
    ) -> "DeviceArray":
        """Launch the computation of where the records of n pairs begin, int64[n + 1]; ``slot`` gets the room.

        ``batch``: mates 1, then mates 2; ``tables``: PairTables.
        """
        n, pairs = tables.proper.total.size, pairs_of(batch, tables)
        begins = stream.there("begins", n + 1, np.int64)
        stream.launch(room_kernel, n, N_THREADS, pairs, self._widest, self._by_letters, begins)
        add_up(stream, begins, n, report, slot)
        return begins

    def room_of(self, size: int, is_fastq: bool, n: int) -> int:
        """Return an upper bound of the bytes of the records of n pairs, if none has more than one hit.

        ``size``: bytes of the records of the reads.
        """
        parts = 1 + (not is_fastq) + 2 * self._by_letters  # bases, qualities, and bases as names
        return parts * size + 2 * n * self._widest

    def write(
        self, stream: "GpuStream", batch: "ReadBatch", tables: Any, begins: "DeviceArray", n_bytes: int,
        report: "KernelReport", slot: int,
    ) -> "DeviceArray":  # fmt: skip
        """Launch the writing of records, of at most ``n_bytes`` with the room between them; return the array.

        ``slot`` of the report gets their bytes; ``fetch`` copies them to the host.
        """
        n, pairs, there = tables.proper.total.size, pairs_of(batch, tables), stream.there
        loose = Loose(begins, there("sizes", n + 1, np.int64), there("loose", n_bytes, np.uint8))
        form = with_gaps(self._made.form, there("gaps", 2 * n, np.int64))
        stream.begin("format")
        stream.launch(put_kernel, n, N_THREADS, form, pairs, self._by_letters, loose)
        add_up(stream, loose.sizes, n, report, slot)
        out = there("records", n_bytes, np.uint8)
        stream.launch(gather_pairs_kernel, WARP * n, N_THREADS, form, pairs, loose, out)
        return out


def pairs_of(batch: "ReadBatch", tables: Any) -> Pairs:
    """Return the Pairs of mates 1 and then mates 2 with PairTables."""
    n, hits = tables.proper.total.size, tables.hits
    one, two = (
        hits._replace(**{
            name: getattr(hits, name)[start : start + n + (name == "first")]
            for name in ("first", "total")
        })
        for start in (0, n)
    )  # fmt: skip
    return Pairs(Side(batch, one, FIRST, 0), Side(batch, two, SECOND, n), tables.proper, 0, ALL)
