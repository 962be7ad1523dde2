"""Inflate BGZF blocks on a GPU, one warp per block; all data are checked.

For each deflate block, lane 0 reads the code lengths with the function of the CPU (huffman.py), the warp
fills the code tables in shared memory (code_tables_gpu.py), and each lane decodes a part of the tokens
(tokens_gpu.py).  A stream that is unsound, or has another length or CRC-32, is noted in a report; it never
reads or writes outside its range.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.cuda import int32, uint8
from ..compiler.functions import compiled, inlined
from ..compiler.warp import (
    UINT32,
    WARP,
    cuda,
    kernel,
    sync_block,
    sync_warp,
    thread_in_block,
    thread_index,
)
from ..machines import gpu
from . import huffman
from .bgzf import LONGEST, TAIL, word
from .code_tables_gpu import DISTANCE_BITS, LITERAL_BITS, BlockTables, CodeTable, take_codes
from .crc32_gpu import ADVANCE, LOW, crc32_of_warp
from .huffman import HuffmanCode
from .tokens_gpu import N_COPIES, Listing, TokenStream, write_tokens

if TYPE_CHECKING:
    from ..machines.gpu import DeviceArray
    from ..machines.gpu_jobs import KernelReport
    from ..machines.gpu_session import GpuStream

SLACK = 1024  # readable bytes after the blocks: more than the longest header of deflate
_N_LITERALS, _N_DISTANCES = 1 << LITERAL_BITS, 1 << DISTANCE_BITS
_N_LENGTHS, _N_SYMBOLS = 288 + 32, 288 + 32 + 19  # of the first two codes, of all three
_N_ADVANCE, _TO_CHECK, _BEHIND = ADVANCE.size, 256, 8  # threads of a block; bytes after the output
int16, uint16 = np.dtype(np.int16), np.dtype(np.uint16)  # dtypes of arrays of the kernel


class Packed(NamedTuple):
    """BGZF blocks on the device, in ``data`` uint8[n]; ``words`` is a uint32 view of it.

    For each block, int64: ``begins``, ``ends``: its deflate stream in ``data``; ``at``: where its output
    goes; ``sizes``: bytes of output; ``sums``: their CRC-32.
    """

    data: np.ndarray
    words: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    at: np.ndarray
    sizes: np.ndarray
    sums: np.ndarray


class Entries(NamedTuple):
    """Constants of all codes, int64: ``entry`` of HuffmanCode for each kind; ``order`` of Codes."""

    literals: np.ndarray
    distances: np.ndarray
    lengths: np.ndarray
    order: np.ndarray


def entries() -> Entries:
    """Return the Entries of RFC 1951, on the host."""
    codes = huffman.make_codes()
    return Entries(codes.literals.entry, codes.distances.entry, codes.lengths.entry, codes.order)


class Inflater:
    """Inflates BGZF blocks on the GPU that this thread uses."""

    def __init__(self) -> None:
        self._same, self._table = gpu.take(entries()), gpu.take(ADVANCE)

    def inflate(
        self, stream: "GpuStream", packed: np.ndarray, stops: np.ndarray, report: "KernelReport", slot: int
    ) -> "tuple[DeviceArray, int] | None":
        """Launch the kernels and return (device array for the output of all blocks, its bytes).

        ``packed`` uint8: the blocks in pinned memory, and SLACK bytes; ``stops``: the end of each block.
        ``report[slot]`` becomes 1 if any block is damaged.  Returns None if a header is unusual or a size
        impossible.
        """
        n_blocks, there = stops.size, stream.there
        table = stream.here("blocks", 5 * n_blocks, np.int64)[: 5 * n_blocks]
        n = _tabulate(packed, stops, table.reshape(5, n_blocks))
        if n < 0:
            return None
        stream.begin("copy in")
        data = gpu.copy(packed, there("packed", packed.size, np.uint8), stream.handle)
        rows = gpu.copy(table, there("blocks", table.size, np.int64), stream.handle)
        columns = [rows[i * n_blocks : (i + 1) * n_blocks] for i in range(5)]
        held, out = Packed(data, gpu.words_of(data), *columns), there("data", n + _BEHIND, np.uint8)
        stream.begin("inflate")
        n_threads, block = WARP * n_blocks, gpu.block_size(_TO_CHECK)
        stream.launch(inflate_kernel, n_threads, WARP, held, self._same, out, report.there, slot)
        words, table = gpu.words_of(out), self._table
        stream.launch(check_kernel, n_threads, block, held, words, table, report.there, slot)
        return out, n


@kernel
def inflate_kernel(packed, same, out, report, slot):
    """Inflate each block to ``out`` uint8, one warp per block; a block of threads is a warp.

    ``same``: Entries.  ``report[slot]`` becomes 1 if a stream is unsound or its length differs from its
    header.
    """
    lane, b = thread_in_block(), thread_index() // WARP
    lengths = cuda.shared.array(_N_LENGTHS, uint8)  # each on a separate line, as the simulator requires
    both = cuda.shared.array(_N_LENGTHS, uint8)
    few = cuda.shared.array(19, uint8)
    table = cuda.shared.array(_N_LITERALS, int32)
    distances = cuda.shared.array(_N_DISTANCES, int32)
    looked_up = cuda.shared.array(128, int32)
    counts = cuda.shared.array(7 * 16, int32)
    symbols = cuda.shared.array(_N_SYMBOLS, int16)
    places = cuda.shared.array(N_COPIES, uint16)
    copies = cuda.shared.array(N_COPIES, int32)
    offsets = cuda.shared.array(WARP, int32)
    begins = cuda.shared.array(WARP, int32)
    group = cuda.shared.array(WARP, int32)
    codes = BlockTables(
        CodeTable(
            lengths[:288], table, counts[:16], counts[16:32], counts[32:48], symbols[:288], same.literals
        ),
        CodeTable(
            lengths[288:], distances, counts[48:64], counts[64:80], counts[80:96], symbols[288:_N_LENGTHS],
            same.distances,
        ),
        HuffmanCode(few, looked_up, counts[96:], symbols[_N_LENGTHS:], same.lengths),
        same.order, both,
    )  # fmt: skip
    # Words, and bits from the first of them on, which have 32 bits.
    first, listing = packed.begins[b] >> 2, Listing(places, copies, offsets, begins, group)
    words, data = packed.words[first:], packed.data[4 * first :]
    bit, end = np.int32(8 * (packed.begins[b] & 3)), np.int32(8 * (packed.ends[b] - 4 * first))
    own, at, is_last, is_sound = out[packed.at[b] : packed.at[b] + packed.sizes[b]], np.int32(0), False, True
    while is_sound and not is_last:
        head = _peek(words, bit)
        is_last, kind, bit = head & 1 == 1, np.int32(head >> 1 & 3), np.int32(bit + 3)
        if kind == 0:
            start, n = _stored(words, bit, end, own.size - at)
            for i in range(lane, n, WARP):
                own[at + i] = data[start + i]
            is_sound, at, bit = n >= 0, np.int32(at + n), np.int32(8 * (start + n))
        else:
            sync_warp()  # all lanes have finished with the tables of the block before
            bit = take_codes(data, bit, kind, codes, lane)
            if 0 <= bit < end:
                bit, at = write_tokens(TokenStream(words, end, codes), bit, own, at, listing, lane)
            is_sound = 0 <= bit <= end
    if lane == 0 and not (is_sound and at == own.size and (bit + 7) >> 3 == end >> 3):
        report[slot] = 1


@kernel
def check_kernel(packed, words, table, report, slot):
    """Set ``report[slot]`` to 1 if the CRC-32 of any block's output differs; one warp per block.

    ``words`` uint32: the output, and one word more; ``table``: ADVANCE of crc32_gpu.py.
    """
    lane, b = thread_in_block() % WARP, thread_index() // WARP
    own = cuda.shared.array(_N_ADVANCE, UINT32)
    for i in range(thread_in_block(), _N_ADVANCE, np.int64(cuda.blockDim.x)):
        own[i] = table[i]
    sync_block()
    if b < packed.at.size:
        found = crc32_of_warp(words, packed.at[b], packed.sizes[b], lane, own, LOW)
        if lane == 0 and found ^ LOW != packed.sums[b]:
            report[slot] = 1


@compiled
def _tabulate(packed, stops, table):
    """Fill ``table`` int64[5, n], the last fields of Packed, for blocks that end at ``stops`` int64[n].

    Returns their uncompressed bytes; -1 if a header has more than extra fields, or a size is impossible.
    """
    start, at = 0, 0
    for b in range(stops.size):
        body, stop = start + 12 + packed[start + 10] + 256 * np.int64(packed[start + 11]), stops[b] - TAIL
        n = word(packed, stop + 4)
        if packed[start + 3] != 4 or body > stop or n > LONGEST:
            return -1
        check = word(packed, stop)
        table[0, b], table[1, b], table[2, b], table[3, b], table[4, b] = body, stop, at, n, check
        start, at = stops[b], at + n
    return at


@inlined
def _peek(words, bit):
    """Return 32 bits, the next one lowest, as int64."""
    i, shift = bit >> 5, np.uint64(bit & 31)
    both = np.uint64(words[i]) | np.uint64(words[i + 1]) << np.uint64(32)
    return np.int64(both >> shift & np.uint64(LOW))


@inlined
def _stored(words, bit, end, room):
    """Return (byte where the stored bytes begin, their number), or -1 bytes if impossible."""
    first = (np.int64(bit) + 7) >> 3
    word = _peek(words, 8 * first)
    n, check = word & 0xFFFF, word >> 16
    if n ^ check != 0xFFFF or 8 * (first + 4 + n) > end or n > room:
        n = -1
    return first + 4, n
