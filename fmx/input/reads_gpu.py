"""Bytes of a Chunk -> ReadBatch and Patterns on a GPU, by the functions that the CPU takes a record by.

    counts   newlines that count in each tile of the bytes, then their running totals
    starts   where each record begins: a thread a tile
    reads    a record a thread: its parts, its checks, its packed words

Words of a record lie where its bytes are in the chunk, in proportion: no totals of lengths are needed.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.warp import kernel, thread_index
from ..machines import gpu
from ..machines.gpu_jobs import add_up
from .chunks import is_border
from .dna import CODE, WORD
from .read_problems import OK
from .reads import LONGEST_NAME, LONGEST_READ, Patterns, ReadBatch, pack_strands
from .record import take_fasta, take_fastq
from .trimming import Trim, trim_read

TILE = 256
PROBLEM, BORDERS, FREE = range(3)  # of what is reported; later steps have the rest
N_THREADS = 128
_FASTQ_SHIFT, _FASTA_SHIFT = 2, 1  # bytes of the shortest record of so many letters hold their words


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
    """How records become reads: the Trim of their letters, which strands are searched, and whether they must
    keep the limits of SAM and BAM."""

    trim: Trim
    strands: int
    for_sam: bool


@kernel
def count_kernel(raw):
    """``raw.before`` gets the number of newlines that count of each tile, by a thread a tile."""
    tile = thread_index()
    start = tile * TILE
    if start < raw.data.size:
        n = 0
        for i in range(start, min(start + TILE, raw.data.size)):
            if is_border(raw.data, i, raw.is_fastq):
                n += 1
        raw.before[tile] = n


@kernel
def starts_kernel(raw):
    """``raw.starts`` by the running totals of the tiles, by a thread a tile."""
    tile = thread_index()
    start, shift = tile * TILE, 2 if raw.is_fastq else 0  # borders of a record: 4, or 1
    if start < raw.data.size:
        number = raw.before[tile]
        for i in range(start, min(start + TILE, raw.data.size)):
            if is_border(raw.data, i, raw.is_fastq):
                number += 1
                r = number >> shift
                if r << shift == number and r <= raw.n_reads:
                    raw.starts[r] = i + 1
    if tile == 0:
        raw.starts[0] = 0
        if not raw.is_fastq:
            raw.starts[raw.n_reads] = raw.data.size


@kernel
def reads_kernel(raw, batch, reading, patterns, report):
    """The reads and their patterns, by a thread a record; ``report[PROBLEM]`` gets 1 if any has one.

    ``reading``: a Reading.
    """
    r = thread_index()
    if r < raw.n_reads:
        expected = 4 * raw.n_reads if raw.is_fastq else raw.n_reads - 1
        batch.length[r], batch.searchable[r] = 0, False
        is_whole = report[BORDERS] == expected
        if is_whole:
            if raw.is_fastq:
                after, wrong = take_fastq(batch, r, raw.starts[r], CODE)
            else:
                after, wrong = take_fasta(batch, r, raw.starts[r], CODE)
            is_whole = wrong == OK and after == raw.starts[r + 1]
            if is_whole:
                trim_read(batch, r, reading.trim)
            if reading.for_sam and (batch.name_length[r] > LONGEST_NAME or batch.length[r] > LONGEST_READ):
                is_whole = False
        if not is_whole:
            report[PROBLEM] = 1
            batch.length[r], batch.searchable[r], batch.name_length[r] = 0, False, 0
        patterns.length[2 * r] = patterns.length[2 * r + 1] = 0
        patterns.first[2 * r] = raw.starts[r] >> (_FASTQ_SHIFT if raw.is_fastq else _FASTA_SHIFT)
        patterns.first[2 * r + 1] = patterns.first[2 * r] + ((batch.length[r] + WORD - 1) >> 5)
        pack_strands(batch, r, reading.strands, CODE, patterns)


def _sent(flight, data):
    """Bytes of the host on the device."""
    n = data.size
    packed = flight.here("data", n, np.uint8)
    if data.base is packed:
        packed = data  # they were read there
    else:
        packed[:n] = data
    flight.begin("copy in")
    return gpu.copy(packed[:n], flight.there("data", n, np.uint8), flight.stream)[:n]


def parse(flight, chunk, reading, report):
    """Launch what makes (ReadBatch, Patterns) on the device of a Chunk with one record at least.

    The Report gets PROBLEM as reads_kernel has it; then no read is searched.
    """
    n, n_reads, there = chunk.data.size, chunk.n_bound, flight.there
    shift, n_tiles = _FASTQ_SHIFT if chunk.is_fastq else _FASTA_SHIFT, -(-n // TILE)
    data = chunk.there.data if chunk.there else _sent(flight, chunk.data)
    before, starts = there("before", n_tiles + 1, np.int64), there("starts", n_reads + 1, np.int64)
    raw = Raw(data, chunk.is_fastq, n_reads, before, starts)
    columns = [there(name, n_reads, np.int64) for name in ReadBatch._fields[1:-1]]
    batch = ReadBatch(data, *columns, there("searchable", n_reads, np.bool_))
    words, first = there("words", (n >> shift) + 2, np.uint64), there("first", 2 * n_reads, np.int64)
    patterns = Patterns(words, first, there("length of pattern", 2 * n_reads, np.int64)[: 2 * n_reads])
    flight.begin("parse")
    flight.launch(count_kernel, n_tiles, N_THREADS, raw)
    add_up(flight, before, n_tiles, report, BORDERS)
    flight.launch(starts_kernel, n_tiles, N_THREADS, raw)
    flight.launch(reads_kernel, n_reads, N_THREADS, raw, batch, reading, patterns, report.there)
    return batch, patterns
