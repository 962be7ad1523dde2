"""Inflates a span of BGZF on a GPU and parses its reads there; the host gets both ends, to cut at records.

    file      | blocks of the span                        | blocks after it ...
    pinned    | compressed                                              |
    device    | inflated, checked, newlines counted                     |
    host      | first bytes |                      | last bytes, those beyond   |

What the GPU does not support, or what is damaged, is read on the CPU, which reports errors.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..codecs import BgzfBlocks, gzip_from
from ..codecs.bgzf import blocks
from ..codecs.inflate_gpu import SLACK
from ..compiler.functions import inlined
from ..compiler.primitives import load_little_endian, popcount, trailing_zeros
from ..compiler.warp import atomic_add, grid_size, kernel, thread_index
from ..dna import CODE, WORD
from ..machines import gpu
from ..machines.gpu_jobs import KernelReport, add_up
from .chunks import find_border, find_end, is_border
from .reads import (
    LONGEST_NAME,
    LONGEST_READ,
    OK,
    Patterns,
    ReadBatch,
    Trim,
    pack_strands,
    take_fasta,
    take_fastq,
    trim_read,
)
from .spans import SpanBuffer

if TYPE_CHECKING:
    from ..codecs.inflate_gpu import Inflater
    from ..machines.gpu import DeviceArray, GpuStream
    from . import Reader
    from .chunks import Chunk

PROBLEM, _BORDERS, FREE = range(3)  # of the report; gpu_mapper.py and gpu_pairs.py use the rest from FREE on
_STRETCH, _COUNTERS = 256, 1 << 16  # fewest bytes per counting thread, and most such threads


@kernel
def count_ends_kernel(data, size, is_fastq, report):
    """Add the newlines that count (chunks.count) in the first ``size`` bytes to ``report[_BORDERS]``.

    Each thread reads bytes at equal distances.
    """
    n = np.int64(0)
    for i in range(thread_index(), size, grid_size()):
        n += is_border(data, i, is_fastq)
    atomic_add(report, _BORDERS, n)


class GpuSpanBuffer(SpanBuffer):
    """A SpanBuffer that inflates BGZF blocks on the GPU of a ``stream``, with ``inflater``.

    The host gets ``ends`` bytes at the start of a span and, from as many before its end on, all others.
    """

    def __init__(self, stream: "GpuStream", inflater: "Inflater", ends: int, reader: "Reader") -> None:
        super().__init__(reader, partial(stream.pinned_array, "data"))
        self._stream, self._inflater, self._ends, self._known = stream, inflater, ends, 0
        self._on_gpu: DeviceArray | None = None  # the bytes; the host has _known of them
        self._reader: Any

    def load(self, size: int, beyond: int, is_fastq: bool) -> int:
        n = self._inflate(size, beyond, is_fastq) if size and isinstance(self._reader, BgzfBlocks) else None
        return super().load(size, beyond, is_fastq) if n is None else n

    def read_on(self, more: int) -> None:
        self.whole()
        self._on_gpu = None
        super().read_on(more)

    def whole(self) -> None:
        """Copy the bytes that the host lacks."""
        if self._on_gpu is not None and self._known < self.n:
            gpu.copy(self._on_gpu, self.data())
            self._known = self.n

    def after_newlines(self, n: int, is_fastq: bool) -> int:
        if self._on_gpu is not None and find_border(self.data()[: self._known], 0, n, is_fastq)[1]:
            self.whole()
        return super().after_newlines(n, is_fastq)

    def end_line(self) -> int:
        stop = super().end_line()
        if self._on_gpu is not None and stop > self.n:
            gpu.copy(self._buffer[self.n : stop], self._on_gpu[self.n : stop], self._stream.handle)
        return stop

    def cut(self, begin: int, stop: int) -> tuple:
        return self._buffer[begin:stop], None if self._on_gpu is None else self._on_gpu[begin:stop]

    def _inflate(self, own: int, beyond: int, is_fastq: bool) -> int | None:
        """Load on the GPU; None if the host must do it."""
        reader, stream = self._reader, self._stream
        stops, is_end = _with_those_behind(reader, beyond)
        if reader.skip or stops is None:
            return None
        n_bytes = int(stops[-1])
        room = n_bytes + (n_bytes >> 4) + SLACK  # the next span may be a little larger
        packed = stream.pinned_array("packed", room, np.uint8)[: n_bytes + SLACK]
        if reader.file.read(packed[:n_bytes], reader.start) < n_bytes:
            return None
        report = KernelReport(stream)
        inflated = self._inflater.inflate(stream, packed, stops, report, PROBLEM)
        if inflated is None:
            return None
        on_gpu, n = inflated
        n_threads = min(-(-own // _STRETCH), _COUNTERS)
        stream.launch(count_ends_kernel, n_threads, _N_THREADS, on_gpu, own, is_fastq, report.device_array)
        first, last = min(self._ends, n), max(own - self._ends, 0)
        ends = stream.pinned_array("ends", first + n - last, np.uint8)[: first + n - last]
        stream.receive([on_gpu[:first], on_gpu[last:n]], [ends[:first], ends[first:]])
        report.read()
        if report[PROBLEM]:
            return None
        on_host = np.empty(n + 1, np.uint8)  # pages in the middle are never touched
        on_host[:first], on_host[last:n] = ends[:first], ends[first:]
        self._reader = gzip_from(reader.file, reader.start + n_bytes)
        self._on_gpu, self._buffer = on_gpu, on_host
        self.n, self.is_end, self._known = n, is_end, first if first < last else n
        if is_fastq and is_end and find_end(on_host[last:n]) == 0:
            self.whole()  # the last line ends further inside
        return report[_BORDERS]


def _with_those_behind(reader: BgzfBlocks, beyond: int) -> tuple[np.ndarray | None, bool]:
    """Return (ends of the blocks of ``reader`` and the next ``beyond`` bytes, whether the input ends there).

    The ends are int64[n], relative to the first block, or None if data follow that are not BGZF.
    """
    stops, file, size = list(reader.stops), reader.file, None
    for stop, size in blocks(file, stops[-1], at_once=8):
        stops.append(stop)
        beyond -= size
        if beyond <= 0:
            break
    is_end = beyond > 0 and stops[-1] == file.size
    if beyond > 0 and not is_end:
        return None, False
    return np.array(stops, np.int64) - reader.start, is_end


# Parses a Chunk into ReadBatch and Patterns on a GPU, with the same functions per record as the CPU.
#
#     counts   newlines that count in each tile of the bytes, then their prefix sums
#     starts   where each record begins: one thread per tile
#     reads    one thread per record: its fields, checks and packed words
#
# The words of a record are placed in proportion to its bytes in the chunk: no prefix sums of lengths needed.

_TILE = 256
_N_THREADS = 128
_FASTQ_SHIFT, _FASTA_SHIFT = 2, 1  # log2 of the bytes of a record for which it gets one packed word


class Raw(NamedTuple):
    """A Chunk on the device: ``data`` uint8[n], ``n_reads`` records.

    ``before`` int64[tiles + 1]: newlines that count before each tile; ``starts`` int64[n_reads + 1]: where
    each record begins, and the end.
    """

    data: np.ndarray
    is_fastq: bool
    n_reads: int
    before: np.ndarray
    starts: np.ndarray


class Reading(NamedTuple):
    """How to make reads of records: how to trim them, which strands to search, and whether to check the
    limits of SAM and BAM.

    ``in_turn``: the records are mates 1 and 2 of each pair in turn; all mates 1 come first in the batch.
    """

    trim: Trim
    strands: int
    for_sam: bool
    in_turn: bool = False


@inlined
def _borders_from(data, i, stop, is_fastq):
    """Return bit 7 of eight bytes from i on, for newlines before ``stop`` that count as in chunks.count."""
    borders = np.uint64(0)
    if i + 8 <= stop:
        x = load_little_endian(data, i) ^ np.uint64(0x0A0A0A0A0A0A0A0A)
        low = np.uint64(0x7F7F7F7F7F7F7F7F)
        borders = ~(((x & low) + low) | x | low)
        if is_fastq or borders == 0:
            return borders
    for j in range(i, min(i + 8, stop)):
        keep = np.uint64(128) << np.uint64(8 * (j - i))
        borders = borders | keep if is_border(data, j, is_fastq) else borders & ~keep
    return borders


@kernel
def count_kernel(raw):
    """Count newlines that count into ``raw.before``, one thread per tile."""
    tile = thread_index()
    start = tile * _TILE
    if start < raw.data.size:
        stop, n = min(start + _TILE, raw.data.size), np.int64(0)
        for i in range(start, stop, 8):
            n += popcount(_borders_from(raw.data, i, stop, raw.is_fastq))
        raw.before[tile] = n


@kernel
def starts_kernel(raw):
    """Fill ``raw.starts`` from the prefix sums of tiles, one thread per tile."""
    tile = thread_index()
    start, shift = tile * _TILE, 2 if raw.is_fastq else 0  # borders of a record: 4, or 1
    if start < raw.data.size:
        stop, number = min(start + _TILE, raw.data.size), raw.before[tile]
        for i in range(start, stop, 8):
            borders = _borders_from(raw.data, i, stop, raw.is_fastq)
            while borders != 0:
                number += 1
                r = number >> shift
                if r << shift == number and r <= raw.n_reads:
                    raw.starts[r] = i + (trailing_zeros(borders) >> 3) + 1
                borders &= borders - np.uint64(1)
    if tile == 0:
        raw.starts[0] = 0
        if not raw.is_fastq:
            raw.starts[raw.n_reads] = raw.data.size


@kernel
def reads_kernel(raw, batch, reading, patterns, report):
    """Parse reads and pack patterns, one thread per record; ``report[PROBLEM]`` becomes 1 if one is damaged.

    ``reading``: a Reading.
    """
    i = thread_index()
    if i < raw.n_reads:
        r = (i >> 1) + (i & 1) * (raw.n_reads >> 1) if reading.in_turn else i
        expected = 4 * raw.n_reads if raw.is_fastq else raw.n_reads - 1
        batch.length[r], batch.searchable[r] = 0, False
        is_whole = report[_BORDERS] == expected
        if is_whole:
            if raw.is_fastq:
                after, wrong = take_fastq(batch, r, raw.starts[i], CODE)
            else:
                after, wrong = take_fasta(batch, r, raw.starts[i], CODE)
            is_whole = wrong == OK and after == raw.starts[i + 1]
            if is_whole:
                trim_read(batch, r, reading.trim)
            if reading.for_sam and (batch.name_length[r] > LONGEST_NAME or batch.length[r] > LONGEST_READ):
                is_whole = False
        if not is_whole:
            report[PROBLEM] = 1  # later kernels may run before the host knows: they see an empty read
            batch.length[r], batch.searchable[r], batch.name_length[r] = 0, False, 0
            batch.start[r] = batch.name_start[r] = batch.quality_start[r] = 0
        patterns.length[2 * r] = patterns.length[2 * r + 1] = 0
        patterns.first[2 * r] = raw.starts[i] >> (_FASTQ_SHIFT if raw.is_fastq else _FASTA_SHIFT)
        patterns.first[2 * r + 1] = patterns.first[2 * r] + ((batch.length[r] + WORD - 1) >> 5)
        pack_strands(batch, r, reading.strands, CODE, patterns)


def parse(
    stream: "GpuStream", chunk: "Chunk", reading: Any, report: KernelReport
) -> tuple[ReadBatch, Patterns]:
    """Launch the kernels that parse a Chunk of at least one record into (ReadBatch, Patterns) on the device.

    If the report gets PROBLEM, no read is searched.
    """
    data = chunk.on_gpu
    if data is None:
        data, n = chunk.data, chunk.data.size
        pinned = stream.pinned_array("data", n, np.uint8)
        if not np.may_share_memory(data, pinned):  # not in pinned memory already
            pinned[:n] = data
            data = pinned
        stream.begin("copy in")
        data = gpu.copy(data[:n], stream.device_array("data", n, np.uint8), stream.handle)[:n]
    return parse_on_device(stream, data, chunk.is_fastq, chunk.n_bound, reading, report)


def parse_on_device(
    stream: "GpuStream", data: "DeviceArray", is_fastq: bool, n_reads: int, reading: Any, report: KernelReport
) -> tuple[ReadBatch, Patterns]:
    """Launch the kernels of ``parse`` for the bytes of ``n_reads`` records that are on the device."""
    n, array = data.size, stream.device_array
    shift, n_tiles = _FASTQ_SHIFT if is_fastq else _FASTA_SHIFT, -(-n // _TILE)
    before, starts = array("before", n_tiles + 1, np.int64), array("starts", n_reads + 1, np.int64)
    raw = Raw(data, is_fastq, n_reads, before, starts)
    columns = [array(name, n_reads, np.int64) for name in ReadBatch._fields[1:-1]]
    batch = ReadBatch(data, *columns, array("searchable", n_reads, np.bool_))  # type: ignore[call-arg]
    words, first = array("words", (n >> shift) + 2, np.uint64), array("first", 2 * n_reads, np.int64)
    patterns = Patterns(words, first, array("length of pattern", 2 * n_reads, np.int64)[: 2 * n_reads])
    stream.begin("parse")
    stream.launch(count_kernel, n_tiles, _N_THREADS, raw)
    add_up(stream, before, n_tiles, report, _BORDERS)
    stream.launch(starts_kernel, n_tiles, _N_THREADS, raw)
    stream.launch(reads_kernel, n_reads, _N_THREADS, raw, batch, reading, patterns, report.device_array)
    return batch, patterns
