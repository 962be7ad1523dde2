"""Inflate BGZF blocks on a GPU, one warp per block; all data are checked.

For each deflate block, lane 0 reads the code lengths with the function of the CPU (inflate.py), the warp
fills the code tables in shared memory, and each lane decodes a part of the tokens.  A stream that is unsound,
or has another length or CRC-32, is noted in a report; it never reads or writes outside its range.

CRC-32 (RFC 1952): each lane takes a part of the bytes.  A sum is a polynomial modulo the CRC polynomial, its
highest power in the lowest bit.  Appending n bytes multiplies it by x^(8 n), so the sums of adjacent parts
are combined by one such product (as in zlib's crc32_combine).  For lengths that are needed often, tables hold
the product for each byte of a sum.
"""

import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import bits_from32
from ..compiler.warp import (
    INT32,
    UINT8,
    UINT32,
    WARP,
    any_lane,
    atomic_add,
    ballot,
    bytes_from,
    cuda,
    device,
    first_bit,
    kernel,
    n_bits,
    reversed_bits,
    sync_block,
    sync_warp,
    take,
    thread_in_block,
    thread_index,
)  # fmt: skip
from ..machines import gpu
from . import inflate
from .bgzf import LONGEST, block_table
from .inflate import (
    END_OF_BLOCK,
    FIELD,
    INVALID,
    KIND,
    LITERALS,
    LONG,
    MORE,
    MOST_BITS,
    VALUE,
    HuffmanCode,
    is_sound,
    read_lengths,
    set_fixed_lengths,
)  # fmt: skip

if TYPE_CHECKING:
    from ..machines.gpu import DeviceArray, GpuStream
    from ..machines.gpu_jobs import KernelReport

_POLYNOMIAL, _ONE, _X8 = 0xEDB88320, 1 << 31, 1 << 23  # _ONE and _X8: x^0 and x^8
LOW = (1 << 32) - 1
_TABLE = np.array([zlib.crc32(bytes([i])) ^ zlib.crc32(b"\0") for i in range(256)], np.int64)


def _tables(n: int) -> np.ndarray:
    """Return uint32[1024]: for each byte of a sum, from the lowest on, its value after n bytes."""
    sums = (np.arange(256) << 8 * np.arange(4)[:, None]).reshape(-1)
    for _ in range(n):
        sums = _TABLE[sums & 255] ^ sums >> 8
    return sums.astype(np.uint32)


ADVANCE = np.concatenate([_tables(4 * WARP), _tables(4)])  # for steps of crc32_of_warp: 128 bytes, 4 bytes


@inlined
def product(a, b):
    """Return the product of two polynomials, 32 bits each, modulo the CRC polynomial."""
    result = 0
    for i in range(32):
        result ^= b if (a >> (31 - i)) & 1 else 0
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return result


@inlined
def power(n):
    """Return x^(8 n) modulo the CRC polynomial."""
    result, square = _ONE, _X8
    while n > 0:
        if n & 1:
            result = product(square, result)
        square, n = product(square, square), n >> 1
    return result


@device
def _advanced(table, at, x):
    """Advance a sum (int64) by the number of bytes that ``table[at:]`` is for."""
    low = table[at + (x & 255)] ^ table[at + 256 + (x >> 8 & 255)]
    return np.int64(low ^ table[at + 512 + (x >> 16 & 255)] ^ table[at + 768 + (x >> 24)])


@device
def crc32_of_warp(words, at, n, lane, table, crc):
    """Return in each lane the CRC-32 ``crc`` of earlier bytes, advanced over n bytes of ``words`` (uint32).

    ``at``: byte where they begin; ``table`` uint32: ADVANCE, whose second half begins at 1024 and ends with
    the table of one byte.  RFC 1952 starts with LOW and inverts the result.
    Each lane takes every 32nd word (Kounavis and Berry, 2005; "braids" in zlib); the last 128 bytes follow in
    fours, then one by one.
    """
    n_rounds, stop = n // (4 * WARP), at + n
    if n_rounds > 0:
        part = np.int64(bytes_from(words, at + 4 * lane)) ^ (crc if lane == 0 else 0)
        for i in range(1, n_rounds):
            part = _advanced(table, 0, part) ^ np.int64(bytes_from(words, at + 4 * WARP * i + 4 * lane))
        crc = 0
        for i in range(WARP):
            crc = _advanced(table, 1024, crc ^ take(part, i))
        at += 4 * WARP * n_rounds
    while at + 4 <= stop:
        crc, at = _advanced(table, 1024, crc ^ np.int64(bytes_from(words, at))), at + 4
    while at < stop:
        byte = np.int64(words[at >> 2]) >> (8 * (at & 3)) & 255
        crc, at = np.int64(table[1792 + ((crc ^ byte) & 255)]) ^ crc >> 8, at + 1
    return crc


# Tables of Huffman codes on a GPU, filled by a warp, and the next token of deflate for each lane.
#
# A table has the entries of inflate.py, each with one literal: with two, lanes that begin at different tokens
# would not come to the same ones.

_LITERAL_BITS, _DISTANCE_BITS = 10, 8  # of the tables' index


class _CodeTable(NamedTuple):
    """A canonical code: ``lengths`` uint8[n], bits of each symbol's code; ``table`` int32[1 << bits].

    For each number of bits, int32[16]: ``n_of``, its symbols; ``first``, its lowest code; ``begins``, where
    its symbols begin in ``symbols`` int16[n], which are in code order.  ``entry`` int64[n]: the table entry
    of each symbol, without the bits taken.
    """

    lengths: np.ndarray
    table: np.ndarray
    n_of: np.ndarray
    first: np.ndarray
    begins: np.ndarray
    symbols: np.ndarray
    entry: np.ndarray


class _BlockTables(NamedTuple):
    """The codes of a block, with the fields of inflate.Codes, which read_lengths fills."""

    literals: _CodeTable
    distances: _CodeTable
    lengths: HuffmanCode
    order: np.ndarray
    both: np.ndarray


class _Bits(NamedTuple):
    """The next ``n`` bits of a stream, at least 32, in ``word`` (uint64), lowest first.

    ``ahead`` is the word after them, number ``i`` of the stream, loaded before it is needed.
    """

    word: np.uint64
    n: np.int32
    i: np.uint32
    ahead: np.uint32


@device
def _read_codes(data, bit, kind, codes, lane):
    """Fill the tables of a block of a kind by a warp; return the bit where its tokens begin, or -1.

    ``codes``: _BlockTables.
    """
    begin = np.int32(-1)
    if lane == 0 and kind == 2:
        begin = np.int32(read_lengths(data, np.int64(bit), codes))
    elif lane == 0 and kind == 1:
        set_fixed_lengths(codes)
        begin = np.int32(bit)
    begin = np.int32(take(begin, 0))
    sync_warp()
    if begin < 0 or codes.literals.lengths[END_OF_BLOCK] == 0:
        return np.int32(-1)
    literals, distances = _unused(codes.literals, lane), _unused(codes.distances, lane)
    if not (is_sound(codes.literals, literals) and is_sound(codes.distances, distances)):
        return np.int32(-1)
    _fill(codes.literals, _LITERAL_BITS, lane)
    _fill(codes.distances, _DISTANCE_BITS, lane)
    return begin


@device
def _unused(code, lane):
    """Count ``n_of``; return the unused code space in units of 2^-15, negative if oversubscribed."""
    if lane <= MOST_BITS:
        code.n_of[lane] = 0
    sync_warp()
    for symbol in range(lane, code.lengths.size, WARP):
        atomic_add(code.n_of, np.int64(code.lengths[symbol]), np.int32(1))
    sync_warp()
    left = np.int64(1)
    for bits in range(1, MOST_BITS + 1):
        if left >= 0:
            left = 2 * left - code.n_of[bits]
    return left


@device
def _fill(code, bits, lane):
    """Fill the ``table`` of a code, which is indexed by ``bits`` bits, and what longer codes need."""
    table, first, index = code.table, np.int32(0), np.int32(0)
    for i in range(lane, table.size, WARP):
        table[i] = INVALID << KIND
    sync_warp()
    for length in range(1, MOST_BITS + 1):
        n, first = np.int32(code.n_of[length]), np.int32(first << 1)
        if lane == 0:
            code.first[length], code.begins[length] = first, index
        before = np.int32(0)
        for symbol in range(lane, code.lengths.size if n > 0 else 0, WARP):
            has_length = code.lengths[symbol] == length
            lanes = ballot(has_length)
            if has_length:
                rank = np.int32(before + n_bits(lanes & np.int64(~bits_from32(np.int32(lane)))))
                code.symbols[index + rank] = symbol
                value = np.uint32(reversed_bits(np.uint32(first + rank)) >> np.uint32(32 - length))
                if length <= bits:
                    entry = np.int32(code.entry[symbol] | length)
                    for i in range(value, table.size, 1 << length):
                        table[i] = entry
                else:
                    table[value & np.uint32(table.size - 1)] = LONG << KIND
            before = np.int32(before + n_bits(lanes))
        first, index = np.int32(first + n), np.int32(index + n)
    sync_warp()


@device
def _looked_up(code, word, bits):
    """Return the entry (uint32) of the code at the lowest bits of a word; ``bits``: of the table's index."""
    entry = np.uint32(code.table[word & np.uint64((1 << bits) - 1)])
    if entry >> np.uint32(KIND) == LONG:
        entry, mirrored = np.uint32(INVALID << KIND), reversed_bits(np.uint32(word & np.uint64(LOW)))
        length = np.int32(bits + 1)
        while length <= MOST_BITS:
            rank = np.int32(np.int32(mirrored >> np.uint32(32 - length)) - code.first[length])
            if rank < code.n_of[length]:
                symbol = code.symbols[np.int32(code.begins[length] + rank)]
                entry, length = np.uint32(code.entry[symbol] | length), np.int32(MOST_BITS)
            length = np.int32(length + 1)
    return entry


@device
def _bits_at(words, bit):
    """Return the _Bits from ``bit`` on; three words of ``words`` (uint32) are read."""
    i = np.uint32(bit) >> np.uint32(5)
    after = np.uint32(i + np.uint32(1))
    bits = _Bits(np.uint64(words[i]), np.int32(32), after, words[after])
    return _without(words, bits, np.int32(bit & 31))


@device
def _without(words, bits, n):
    """Return the _Bits after n of them, at most 32."""
    word, left, i, ahead = np.uint64(bits.word >> np.uint64(n)), np.int32(bits.n - n), bits.i, bits.ahead
    if left < 32:
        word |= np.uint64(ahead) << np.uint64(left)
        left, i = np.int32(left + 32), np.uint32(i + np.uint32(1))
        ahead = words[i]
    return _Bits(word, left, i, ahead)


@device
def _next_token(words, bits, codes):
    """Return (_Bits after the next token, its kind, its bits, its bytes, its literal or distance).

    ``kind``: LITERALS for one literal, VALUE for a copy, INVALID, or another at the end of the block.
    """
    entry = _looked_up(codes.literals, bits.word, _LITERAL_BITS)
    kind, n_taken = entry >> np.uint32(KIND), np.int32(entry & np.uint32(31))
    n, what = _fields(entry)  # literals: their number, 1; length: its extra bits
    if kind != VALUE:
        return _without(words, bits, n_taken), kind, n_taken, n, what
    length = np.int32(what + np.int32(bits.word >> np.uint64(n_taken) & np.uint64((1 << n) - 1)))
    n_first = np.int32(n_taken + n)
    bits = _without(words, bits, n_first)
    entry = _looked_up(codes.distances, bits.word, _DISTANCE_BITS)
    n_taken = np.int32(entry & np.uint32(31))
    n, distance = _fields(entry)
    distance = np.int32(distance + np.int32(bits.word >> np.uint64(n_taken) & np.uint64((1 << n) - 1)))
    if entry >> np.uint32(KIND) != VALUE:
        kind = np.uint32(INVALID)
    n_second = np.int32(n_taken + n)
    return _without(words, bits, n_second), kind, np.int32(n_first + n_second), length, distance


@device
def _fields(entry):
    return (
        np.int32(entry >> np.uint32(MORE) & np.uint32(15)),
        np.int32(entry >> np.uint32(FIELD) & np.uint32((1 << KIND - FIELD) - 1)),
    )


# Tokens of deflate to bytes by a warp: each lane decodes a section of the stream.
#
#     scan      where tokens begin is known for the first lane only.  The others begin some bits early: after
#               a few tokens, wrong ones give way to right ones.  A lane whose first token does not begin
#               where the section before ends decodes again, until all agree.
#     write     prefix sums of bytes determine where each lane's output goes: literals are written, copies
#               listed.
#     copy      32 copies at a time, in order.  Lanes share their bytes, 128 at a time: each byte is traced to
#               one before these, so that no lane waits for another.
#
# After Weissenborn and Schmidt (2018), Massively parallel Huffman decoding on GPUs, and Sitaridi et al.
# (2016), Massively-parallel lossless data decompression.

_SECTION, _LEAST, _EARLY = 512, 256, 512  # bits: most and fewest per lane; how much earlier it begins
_N_COPIES = 1216  # at a time: a section has up to _SECTION / 2 + 1, usually 25
_LENGTH = 9  # bits of a listed copy's length


class _TokenStream(NamedTuple):
    """The tokens of a block in ``words`` uint32, which reach to bit ``end``; ``codes``: _BlockTables."""

    words: np.ndarray
    end: np.int32
    codes: _BlockTables


class _Listing(NamedTuple):
    """Copies in output order, in shared memory.

    ``places`` uint16[_N_COPIES]: where their output begins; ``copies`` int32[_N_COPIES]: distance << 9 |
    length.  Of a group of 32, int32[32]: ``offsets``, bytes of those before; ``begins``, their places;
    ``group``, their copies.
    """

    places: np.ndarray
    copies: np.ndarray
    offsets: np.ndarray
    begins: np.ndarray
    group: np.ndarray


@device
def _write_tokens(stream, bit, out, n, listing, lane):
    """Write the bytes of a block's tokens, from ``bit`` of a _TokenStream on, to ``out[n]`` and after.

    Returns the (bit, n) after them; bit -1 if they are unsound.
    """
    kind, end = np.uint32(VALUE), stream.end
    while kind <= LITERALS:
        size = np.int32(min(max((end - bit + WARP - 1) >> 5, _LEAST), _SECTION))
        begin = np.int32(bit + lane * size)
        limit, early = np.int32(min(begin + size, end)), np.int32(max(begin - _EARLY, bit))
        start = stop = n_bytes = n_copies = np.int32(0)
        last, is_wrong = np.int32(WARP - 1), True
        while any_lane(is_wrong):
            if is_wrong:
                start, stop, kind, n_bytes, n_copies = _scan(stream, early, begin, limit)
            begin = early = np.int32(take(stop, max(lane - 1, 0)))
            ends = ballot(kind > LITERALS)
            last = np.int32(first_bit(ends)) if ends != 0 else np.int32(WARP - 1)
            is_wrong = 0 < lane <= last and start != begin
        if lane > last:
            n_bytes = n_copies = np.int32(0)
        n_bytes_up_to, n_copies_up_to = prefix_sum(n_bytes, lane), prefix_sum(n_copies, lane)
        beyond = ballot(n_copies_up_to > _N_COPIES)
        if beyond != 0:
            last = np.int32(first_bit(beyond) - 1)
        kind, n_all = np.uint32(take(np.int32(kind), last)), np.int32(take(n_bytes_up_to, last))
        if kind == INVALID or n + n_all > out.size:
            return np.int32(-1), n
        is_sound = True
        if lane <= last:
            at, i = np.int32(n + n_bytes_up_to - n_bytes), np.int32(n_copies_up_to - n_copies)
            is_sound = _write(stream, start, stop, out, at, listing, i)
        if any_lane(not is_sound):
            return np.int32(-1), n
        sync_warp()
        _copy(out, listing, np.int32(take(n_copies_up_to, last)), lane)
        bit, n = np.int32(take(stop, last)), np.int32(n + n_all)
    return bit, n


@device
def _scan(stream, early, begin, limit):
    """Decode from bit ``early`` on up to ``limit``; count from the first token at ``begin`` or after.

    Returns (where this token begins, where the last one ends, its kind, number of bytes, number of copies).
    """
    words, end, codes = stream
    at, start, n_bytes, n_copies = np.int32(min(early, end)), np.int32(-1), np.int32(0), np.int32(0)
    bits, kind = _bits_at(words, at), np.uint32(VALUE)
    if begin >= end:  # the stream ends without the end of the block
        start, kind = begin, np.uint32(INVALID)
    while at < limit and kind <= LITERALS:
        if start < 0 and at >= begin:
            start, n_bytes, n_copies = at, np.int32(0), np.int32(0)
        bits, kind, n_taken, n, _ = _next_token(words, bits, codes)
        at, n_bytes = np.int32(at + n_taken), np.int32(n_bytes + n)
        n_copies = np.int32(n_copies + (1 if kind == VALUE else 0))
    return at if start < 0 else start, at, kind, n_bytes, n_copies


@device
def _write(stream, start, stop, out, n, listing, i):
    """Write the literals of a section to ``out[n]`` and after, and its copies to the list from ``i`` on.

    Returns False if a distance is too long.
    """
    at, bits, is_sound = start, _bits_at(stream.words, start), True
    while at < stop:
        bits, kind, n_taken, n_more, what = _next_token(stream.words, bits, stream.codes)
        if kind == LITERALS:
            out[np.uint32(n)] = np.uint8(what)
        elif kind == VALUE:
            is_sound = is_sound and what <= n
            listing.places[np.uint32(i)] = n
            listing.copies[np.uint32(i)] = what << _LENGTH | n_more
            i = np.int32(i + 1)
        at, n = np.int32(at + n_taken), np.int32(n + n_more)
    return is_sound


@device
def _copy(out, listing, n_copies, lane):
    """Do the first ``n_copies`` copies of a list; all other bytes up to the last copy are there."""
    for first in range(0, n_copies, WARP):
        begin, copy = np.int32(LONGEST), np.int32(1 << _LENGTH)  # no copy: behind all, of no bytes
        if first + lane < n_copies:
            begin, copy = np.int32(listing.places[first + lane]), np.int32(listing.copies[first + lane])
        size = np.int32(copy & ((1 << _LENGTH) - 1))
        up_to = prefix_sum(size, lane)
        listing.offsets[lane] = up_to - size
        listing.begins[lane] = begin
        listing.group[lane] = copy
        sync_warp()
        most = np.int32(np.int32(take(up_to, WARP - 1)) - 1)
        for start in range(0, most + 1, 4 * WARP):  # each lane four bytes, so that their loads overlap
            k0, at0 = _place(listing, np.int32(min(start + lane, most)))
            k1, at1 = _place(listing, np.int32(min(start + lane + WARP, most)))
            k2, at2 = _place(listing, np.int32(min(start + lane + 2 * WARP, most)))
            k3, at3 = _place(listing, np.int32(min(start + lane + 3 * WARP, most)))
            from0, from1 = _source(listing, k0, at0), _source(listing, k1, at1)
            from2, from3 = _source(listing, k2, at2), _source(listing, k3, at3)
            lowest = np.int32(take(at0, 0))
            is_open = max(max(from0, from1), max(from2, from3)) >= lowest
            while is_open:
                from0, is_open0 = _traced(listing, from0, lowest)
                from1, is_open1 = _traced(listing, from1, lowest)
                from2, is_open2 = _traced(listing, from2, lowest)
                from3, is_open3 = _traced(listing, from3, lowest)
                is_open = is_open0 or is_open1 or is_open2 or is_open3
            byte0, byte1 = out[np.uint32(from0)], out[np.uint32(from1)]
            byte2, byte3 = out[np.uint32(from2)], out[np.uint32(from3)]
            out[np.uint32(at0)], out[np.uint32(at1)] = byte0, byte1
            out[np.uint32(at2)], out[np.uint32(at3)] = byte2, byte3
            sync_warp()


@device
def _place(listing, i):
    """Return (number of the copy, place) of byte i of a group of copies."""
    k = _last_up_to(listing.offsets, i)
    return k, np.int32(listing.begins[k] + i - listing.offsets[k])


@device
def _source(listing, k, place):
    """Return the place that copy k of the group takes the byte at ``place`` from: before the copy begins."""
    begin, distance = listing.begins[k], np.uint32(listing.group[k] >> _LENGTH)
    ahead = np.uint32(place - begin)
    if ahead >= distance:
        ahead = np.uint32(ahead % distance)
    return np.int32(begin - np.int32(distance) + np.int32(ahead))


@device
def _traced(listing, source, lowest):
    """Return (the source of a byte's source, whether that may have one, too).

    The source remains if it is before ``lowest``, or a literal.
    """
    k = _last_up_to(listing.begins, source)
    length = np.int32(listing.group[k] & ((1 << _LENGTH) - 1))
    before = _source(listing, k, source)
    is_copied = source >= lowest and np.int32(source - listing.begins[k]) < length
    return before if is_copied else source, is_copied and before >= lowest


@device
def _last_up_to(numbers, value):
    """Return the last of 32 ascending numbers that is at most ``value``; the first if none is."""
    k = np.uint32(0)
    for step in (16, 8, 4, 2, 1):
        middle = np.uint32(k + np.uint32(step))
        k = middle if numbers[middle] <= value else k
    return k


@device
def prefix_sum(value, lane):
    """Return the sum of the numbers (int32) of a lane and those before it."""
    for reach in (1, 2, 4, 8, 16):
        before = np.int32(take(value, max(lane - reach, 0)))
        value = np.int32(value + (before if lane >= reach else np.int32(0)))
    return value


SLACK = 1024  # readable bytes after the blocks: more than the longest header of deflate
_N_LITERALS, _N_DISTANCES = 1 << _LITERAL_BITS, 1 << _DISTANCE_BITS
_N_LENGTHS, _N_SYMBOLS = 288 + 32, 288 + 32 + 19  # symbols of the first two codes, and of all three
_N_ADVANCE = ADVANCE.size  # a constant, as shared arrays need
_CHECK_THREADS = 256  # of a block of threads of check_kernel
_BEHIND = 8  # readable bytes after the output
_int16, _uint16 = np.dtype(np.int16), np.dtype(np.uint16)  # dtypes of arrays of the kernel


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


class Inflater:
    """Inflates BGZF blocks on the GPU that this thread uses."""

    def __init__(self) -> None:
        self._same, self._advance = gpu.to_device(inflate.make_codes()), gpu.to_device(ADVANCE)

    def inflate(
        self, stream: "GpuStream", packed: np.ndarray, stops: np.ndarray, report: "KernelReport", slot: int
    ) -> "tuple[DeviceArray, int] | None":
        """Launch the kernels and return (device array for the output of all blocks, its bytes).

        ``packed`` uint8: the blocks in pinned memory, and SLACK bytes; ``stops``: the end of each block.
        ``report[slot]`` becomes 1 if any block is damaged.  Returns None if a header is unusual or a size
        impossible.
        """
        n_blocks, blocks = stops.size, block_table(packed, stops)
        if blocks is None:
            return None
        n, table = int(blocks[3].sum()), stream.pack("blocks", [blocks.reshape(-1)])
        stream.begin("copy in")
        data, rows = stream.send("packed", packed), stream.send("blocks", table)
        columns = [rows[i * n_blocks : (i + 1) * n_blocks] for i in range(5)]
        on_gpu = Packed(data, gpu.words_of(data), *columns)
        out = stream.device_array("data", n + _BEHIND, np.uint8)
        stream.begin("inflate")
        n_threads, results = WARP * n_blocks, (report.device_array, slot)
        stream.launch(inflate_kernel, n_threads, WARP, on_gpu, self._same, out, *results)
        words, size = gpu.words_of(out), gpu.block_size(_CHECK_THREADS)
        stream.launch(check_kernel, n_threads, size, on_gpu, words, self._advance, *results)
        return out, n


@kernel
def inflate_kernel(packed, same, out, report, slot):
    """Inflate each block to ``out`` uint8, one warp per block; a block of threads is a warp.

    ``same``: Codes, for their constants.  ``report[slot]`` becomes 1 if a stream is unsound or its length
    differs from its header.
    """
    lane, b = thread_in_block(), thread_index() // WARP
    lengths = cuda.shared.array(_N_LENGTHS, UINT8)  # each on a separate line, as the simulator requires
    both = cuda.shared.array(_N_LENGTHS, UINT8)
    few = cuda.shared.array(19, UINT8)
    table = cuda.shared.array(_N_LITERALS, INT32)
    distances = cuda.shared.array(_N_DISTANCES, INT32)
    looked_up = cuda.shared.array(128, INT32)
    counts = cuda.shared.array(7 * 16, INT32)
    symbols = cuda.shared.array(_N_SYMBOLS, _int16)
    places = cuda.shared.array(_N_COPIES, _uint16)
    copies = cuda.shared.array(_N_COPIES, INT32)
    offsets = cuda.shared.array(WARP, INT32)
    begins = cuda.shared.array(WARP, INT32)
    group = cuda.shared.array(WARP, INT32)
    codes = _BlockTables(
        _CodeTable(
            lengths[:288], table, counts[:16], counts[16:32], counts[32:48], symbols[:288],
            same.literals.entry,
        ),
        _CodeTable(
            lengths[288:], distances, counts[48:64], counts[64:80], counts[80:96], symbols[288:_N_LENGTHS],
            same.distances.entry,
        ),
        HuffmanCode(few, looked_up, counts[96:], symbols[_N_LENGTHS:], same.lengths.entry),
        same.order, both,
    )  # fmt: skip
    # Words, and bits from the first of them on, which have 32 bits.
    first, listing = packed.begins[b] >> 2, _Listing(places, copies, offsets, begins, group)
    words, data = packed.words[first:], packed.data[4 * first :]
    bit, end = np.int32(8 * (packed.begins[b] & 3)), np.int32(8 * (packed.ends[b] - 4 * first))
    out, at, is_last, is_sound = out[packed.at[b] : packed.at[b] + packed.sizes[b]], np.int32(0), False, True
    while is_sound and not is_last:
        head = _peek(words, bit)
        is_last, kind, bit = head & 1 == 1, np.int32(head >> 1 & 3), np.int32(bit + 3)
        if kind == 0:
            start = ((np.int64(bit) + 7) >> 3) + 4
            sizes = _peek(words, 8 * (start - 4))
            n = sizes & 0xFFFF
            is_sound = n ^ sizes >> 16 == 0xFFFF and 8 * (start + n) <= end and n <= out.size - at
            for i in range(lane, n if is_sound else 0, WARP):
                out[at + i] = data[start + i]
            at, bit = np.int32(at + n), np.int32(8 * (start + n))
        else:
            sync_warp()  # all lanes have finished with the tables of the block before
            bit = _read_codes(data, bit, kind, codes, lane)
            if 0 <= bit < end:
                bit, at = _write_tokens(_TokenStream(words, end, codes), bit, out, at, listing, lane)
            is_sound = 0 <= bit <= end
    if lane == 0 and not (is_sound and at == out.size and (bit + 7) >> 3 == end >> 3):
        report[slot] = 1


@kernel
def check_kernel(packed, words, advance, report, slot):
    """Set ``report[slot]`` to 1 if the CRC-32 of any block's output differs; one warp per block.

    ``words`` uint32: the output, and one word more; ``advance``: ADVANCE.
    """
    lane, b = thread_in_block() % WARP, thread_index() // WARP
    table = cuda.shared.array(_N_ADVANCE, UINT32)
    for i in range(thread_in_block(), _N_ADVANCE, np.int64(cuda.blockDim.x)):
        table[i] = advance[i]
    sync_block()
    if b < packed.at.size:
        check = crc32_of_warp(words, packed.at[b], packed.sizes[b], lane, table, LOW)
        if lane == 0 and check ^ LOW != packed.sums[b]:
            report[slot] = 1


@inlined
def _peek(words, bit):
    """Return 32 bits, the next one lowest, as int64."""
    i, shift = bit >> 5, np.uint64(bit & 31)
    both = np.uint64(words[i]) | np.uint64(words[i + 1]) << np.uint64(32)
    return np.int64(both >> shift & np.uint64(LOW))
