"""Inflate BGZF blocks on a GPU, one warp per block; all data are checked.

All lanes decode the same codes and follow the same path, so they exchange nothing; they share the work of a
copy.  For each deflate block, lane 0 builds the code tables in shared memory with the functions of the CPU
(huffman.py).  A stream that is unsound, or has another length or CRC-32, is noted in a report; it never reads
or writes outside its range.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.cuda import int32, int64, uint8
from ..compiler.functions import compiled, inlined
from ..compiler.warp import (
    UINT32,
    WARP,
    cuda,
    device,
    kernel,
    sync_block,
    sync_warp,
    take,
    thread_in_block,
    thread_index,
)
from ..machines import gpu
from . import huffman
from .bgzf import LONGEST, TAIL, word
from .crc32_gpu import ADVANCE, LOW, crc32_of_warp
from .huffman import (
    END,
    HELD,
    KIND,
    LITERALS,
    LONG,
    MORE,
    VALUE,
    Codes,
    HuffmanCode,
    are_sound,
    read_lengths,
    take_fixed_lengths,
)

if TYPE_CHECKING:
    from ..machines.gpu import DeviceArray
    from ..machines.gpu_jobs import KernelReport
    from ..machines.gpu_session import GpuStream

LITERAL_BITS, DISTANCE_BITS = 10, 8  # of the tables' index: the tables of 30 warps fit into a multiprocessor
SLACK = 1024  # readable bytes after the blocks: more than the longest header of deflate
_N_LITERALS, _N_DISTANCES = 1 << LITERAL_BITS, 1 << DISTANCE_BITS
_N_LENGTHS, _N_SYMBOLS = 288 + 32, 288 + 32 + 19  # of the first two codes, of all three
_N_ADVANCE, _TO_CHECK, _BEHIND = ADVANCE.size, 256, 8  # threads of a block; bytes after the output
int16 = np.dtype(np.int16)  # dtype of an array of the kernel


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
    told = cuda.shared.array(1, int64)  # each on a separate line, as the simulator requires
    lengths = cuda.shared.array(_N_LENGTHS, uint8)
    both = cuda.shared.array(_N_LENGTHS, uint8)
    few = cuda.shared.array(19, uint8)
    table = cuda.shared.array(_N_LITERALS, int32)
    distances = cuda.shared.array(_N_DISTANCES, int32)
    looked_up = cuda.shared.array(128, int32)
    counts = cuda.shared.array(48, int32)
    symbols = cuda.shared.array(_N_SYMBOLS, int16)
    codes = Codes(
        HuffmanCode(lengths[:288], table, counts[:16], symbols[:288], same.literals),
        HuffmanCode(lengths[288:], distances, counts[16:32], symbols[288:_N_LENGTHS], same.distances),
        HuffmanCode(few, looked_up, counts[32:], symbols[_N_LENGTHS:], same.lengths),
        same.order, both,
    )  # fmt: skip
    end, own = packed.ends[b], out[packed.at[b] : packed.at[b] + packed.sizes[b]]
    bit, at, is_last, is_sound = 8 * packed.begins[b], np.int64(0), False, True
    while is_sound and not is_last:
        head = _peek(packed.words, bit)
        is_last, kind, bit = head & 1 == 1, head >> 1 & 3, bit + 3
        if kind == 0:
            bit, n = _stored(packed.words, bit, end, own.size - at)
            for i in range(lane, n, WARP):
                own[at + i] = packed.data[(bit >> 3) + i]
            is_sound, at, bit = n >= 0, at + n, bit + 8 * n
        else:
            sync_warp()  # all lanes have finished with the tables of the block before
            if lane == 0:
                told[0] = _take_codes(packed.data, bit, kind, codes)
            sync_warp()
            bit, is_sound = told[0], 0 < told[0] <= 8 * end
            if is_sound:
                bit, at = _coded(packed.words, bit, end, codes, own, at, lane)
                is_sound = 0 < bit <= 8 * end
    if lane == 0 and not (is_sound and at == own.size and (bit + 7) >> 3 == end):
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
    """Return (bit where the stored bytes begin, their number), or -1 bytes if impossible."""
    first = (bit + 7) >> 3
    word = _peek(words, 8 * first)
    n, check = word & 0xFFFF, word >> 16
    if n ^ check != 0xFFFF or first + 4 + n > end or n > room:
        n = -1
    return 8 * (first + 4), n


@inlined
def _take_codes(data, bit, kind, codes):
    """Fill the tables of a block of a kind; return the bit where its symbols begin, or -1."""
    if kind == 2:
        bit = read_lengths(data, bit, codes)
    elif kind == 1:
        take_fixed_lengths(codes)
    else:
        bit = -1
    if bit < 0 or not are_sound(codes):
        return -1
    huffman.fill(codes.literals, LITERAL_BITS)
    huffman.join_literals(codes.literals.table, LITERAL_BITS)
    huffman.fill(codes.distances, DISTANCE_BITS)
    return bit


@inlined
def _looked_up(code, held, size):
    """Return the entry (uint32) of the code at the lowest bits of ``held``; ``size`` is that of its table."""
    entry = np.uint32(code.table[held & np.uint64(size - 1)])
    if entry >> np.uint32(KIND) == LONG:
        entry = np.uint32(huffman.walk(code, np.int64(held & np.uint64(LOW))))
    return entry


@device
def _coded(words, bit, end, codes, own, at, lane):
    """Decode the symbols of a block with filled tables to ``own[at]`` and after.

    Returns the (bit, place) after it; bit -1 if the symbols are unsound.

    ``held`` has the next ``n_held`` bits, lowest first.  Lane i holds the i-th of the following words in a
    ``window``, and the i-th of the window after it, loaded long before they are needed.  For the same reason,
    the last byte of a copy that a lane has loaded is written when the next copy begins.  Numbers have 32 bits
    where possible: those of 64 take a GPU two instructions.
    """
    at_word, last_word, in_window = (bit >> 5) + 1, (end >> 2) + 2, np.int32(0)
    held, n_held = np.uint64(words[at_word - 1]) >> np.uint64(bit & 31), np.int32(32 - (bit & 31))
    window, ahead = words[at_word + lane], words[at_word + WARP + lane]
    n, room, lane, status = np.int32(at), np.int32(own.size), np.int32(lane), np.int64(-1)
    value, value_at = np.uint8(0), np.int32(-1)
    while at_word <= last_word:
        if n_held < 32:
            held |= np.uint64(take(window, in_window)) << np.uint64(n_held)
            n_held, in_window = np.int32(n_held + 32), np.int32(in_window + 1)
            if in_window == WARP:
                at_word, in_window = at_word + WARP, np.int32(0)
                window, ahead = ahead, words[at_word + WARP + lane]
        entry = _looked_up(codes.literals, held, _N_LITERALS)
        kind, bits = entry >> np.uint32(KIND), np.int32(entry & np.uint32(31))
        held, n_held = held >> np.uint64(bits), np.int32(n_held - bits)
        if kind == LITERALS:
            several = np.int32(entry >> np.uint32(MORE) & np.uint32(15))  # 1 or 2
            if n + several > room:
                break
            if lane < several:
                own[np.uint32(n + lane)] = np.uint8(entry >> np.uint32(HELD + 8 * lane) & np.uint32(255))
            n = np.int32(n + several)
            continue
        if kind != VALUE:
            if kind == END:
                status = 32 * (at_word + in_window) - n_held
            break
        bits = np.int32(entry >> np.uint32(MORE) & np.uint32(15))
        length = np.int32(np.int32(entry >> np.uint32(HELD)) + np.int32(held & np.uint64((1 << bits) - 1)))
        held, n_held = held >> np.uint64(bits), np.int32(n_held - bits)
        if n_held < 32:
            held |= np.uint64(take(window, in_window)) << np.uint64(n_held)
            n_held, in_window = np.int32(n_held + 32), np.int32(in_window + 1)
            if in_window == WARP:
                at_word, in_window = at_word + WARP, np.int32(0)
                window, ahead = ahead, words[at_word + WARP + lane]
        entry = _looked_up(codes.distances, held, _N_DISTANCES)
        if entry >> np.uint32(KIND) != VALUE:
            break
        bits = np.int32(entry & np.uint32(31))
        held, n_held = held >> np.uint64(bits), np.int32(n_held - bits)
        bits = np.int32(entry >> np.uint32(MORE) & np.uint32(15))
        distance = np.int32(np.int32(entry >> np.uint32(HELD)) + np.int32(held & np.uint64((1 << bits) - 1)))
        held, n_held = held >> np.uint64(bits), np.int32(n_held - bits)
        if distance > n or n + length > room:
            break
        if value_at >= 0:
            own[np.uint32(value_at)] = value
        value_at = np.int32(-1)
        sync_warp()  # what other lanes wrote becomes visible
        i, source = lane, np.int32(n - distance)
        while i < length:
            if value_at >= 0:
                own[np.uint32(value_at)] = value
            j = i if distance >= length else np.int32(np.uint32(i) % np.uint32(distance))
            value, value_at = own[np.uint32(source + j)], np.int32(n + i)
            i = np.int32(i + WARP)
        n = np.int32(n + length)
    if value_at >= 0:
        own[np.uint32(value_at)] = value
    return status, np.int64(n)
