"""Deflate bytes on a GPU to BGZF blocks: tokens by LZ77, Huffman codes of each block, then its bits."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.primitives import bits_from32
from ..compiler.warp import (
    INT32,
    UINT32,
    WARP,
    add_across,
    any_lane,
    atomic_add,
    atomic_or,
    ballot,
    bytes_from,
    cuda,
    device,
    first_bit,
    four_from,
    kernel,
    n_bits,
    permute_bytes,
    sync_block,
    sync_warp,
    take,
    take_across,
    thread_in_block,
)  # fmt: skip
from ..machines import gpu
from ..machines.gpu_jobs import add_up
from .bgzf import BLOCK, HEAD, HEADER, LONGEST, STORED, TAIL
from .inflate import END_OF_BLOCK, MOST_BITS, N_DISTANCES, N_LITERALS, ORDER
from .inflate_gpu import ADVANCE, LOW, crc32_of_warp, power, prefix_sum, product

if TYPE_CHECKING:
    from ..machines.gpu import DeviceArray, GpuStream
    from ..machines.gpu_jobs import KernelReport

# LZ77 by a warp: repeats in a block of bytes, found by a table of hashed places without chains.
#
# At each of four adjacent places of a window, a lane considers two copies: from one byte earlier (a run of a
# byte), and from the last place with the same hash of five bytes.  A lane compares _SURE bytes; the warp
# compares the rest of a longer copy.
#
# A copy that was chosen    bit 0: distance | bit 16: length       0 if there is none

_WINDOW = 4 * WARP
_HASH_BITS = 10
_REACH, _LONGEST_COPY, _LEAST = 32768, 258, 4  # bytes: copies of three, which RFC 1951 allows, gain nothing
_DISTANCE, _LENGTH = (1 << 16) - 1, 16
_SURE = 8


@device
def _place_of_hash(low, next_byte, table):
    """Hash five bytes, those of ``low`` and the lowest of ``next_byte``; return ``table`` + the hash."""
    mixed = np.int64(low) * 0x1E35A7BD + (np.int64(next_byte) & 255) * 0x05EBCA6B  # below 2^63
    return np.uint32(np.uint32(table) + (np.uint32(mixed & LOW) >> np.uint32(32 - _HASH_BITS)))


@device
def _hashes(words, at, table):
    """Return _place_of_hash of the four places from ``at`` on, a multiple of 4."""
    i = np.uint32(at) >> np.uint32(2)
    w0, w1 = words[i], words[np.uint32(i + np.uint32(1))]
    return (
        _place_of_hash(w0, w1, table),
        _place_of_hash(permute_bytes(w0, w1, np.uint32(0x4321)), w1 >> np.uint32(8), table),
        _place_of_hash(permute_bytes(w0, w1, np.uint32(0x5432)), w1 >> np.uint32(16), table),
        _place_of_hash(permute_bytes(w0, w1, np.uint32(0x6543)), w1 >> np.uint32(24), table),
    )


@device
def _keep(places, at, h0, h1, h2, h3):
    """Store the last place of each hash in ``places`` (uint16); a lane has ``at`` and the next three places.

    When several lanes write the same entry, it is unknown which is last, so lanes that lost to an earlier
    place write again.
    """
    sync_warp()  # others have read the old entries
    one, two, three = np.int32(at + 1), np.int32(at + 2), np.int32(at + 3)
    lost0 = lost1 = lost2 = lost3 = is_lost = True
    while is_lost:
        if lost0:
            places[h0] = at
        if lost1:
            places[h1] = one
        if lost2:
            places[h2] = two
        if lost3:
            places[h3] = three
        sync_warp()
        lost0, lost1 = np.int32(places[h0]) < at, np.int32(places[h1]) < one
        lost2, lost3 = np.int32(places[h2]) < two, np.int32(places[h3]) < three
        is_lost = any_lane(lost0 or lost1 or lost2 or lost3)


@device
def _alike(low, high):
    """Return how many bytes two strings of eight have in common at the start; 0 if fewer than _LEAST.

    ``low``, ``high``: the exclusive or of their first four bytes, and of their last four.
    """
    n = np.int32(_LEAST + (first_bit(high) >> 3)) if high != 0 else np.int32(_SURE)
    return n if low == 0 else np.int32(0)


@device
def _best(words, at, before, low, high, run, room):
    """Return the longer of two copies to ``at``, cut to ``room`` bytes: length << _LENGTH | distance, or 0.

    One is from ``before``, the last place with the same hash.  The other is from one byte earlier and has
    ``run`` bytes (0 to 8).  ``low``, ``high``: the first and the last four of the eight bytes from ``at`` on.
    """
    length, distance, away = run, np.int32(1), np.int32(at - before)
    i, begin = np.uint32(before) >> np.uint32(2), four_from(before)
    middle = words[np.uint32(i + np.uint32(1))]
    if away > 0 and away <= _REACH and permute_bytes(words[i], middle, begin) == low:
        other_high = permute_bytes(middle, words[np.uint32(i + np.uint32(2))], begin)
        n_alike = _alike(np.uint32(0), np.uint32(other_high ^ high))
        if n_alike > length:
            length, distance = n_alike, away
    length = np.int32(min(length, room))
    return np.int32(length << _LENGTH | distance) if length >= _LEAST else np.int32(0)


@device
def _best_copies(words, at, p0, p1, p2, p3, stop):
    """Return the longest copies to the four places from ``at`` on, a multiple of 4, up to ``stop``: for each
    length << _LENGTH | distance, or 0.  ``p0`` to ``p3``: the last places with their hashes."""
    i, one = np.uint32(at) >> np.uint32(2), np.uint32(0x4321)
    two, three = np.uint32(0x5432), np.uint32(0x6543)
    w0, w1, w2 = words[i], words[np.uint32(i + np.uint32(1))], words[np.uint32(i + np.uint32(2))]
    last = words[np.uint32(max(at - 4, 0)) >> np.uint32(2)]
    last = last if at > 0 else np.uint32(~w0 << np.uint32(24))  # nothing comes before the first
    x0 = np.uint32(w0 ^ permute_bytes(last, w0, three))
    x1 = np.uint32(w1 ^ permute_bytes(w0, w1, three))
    x2 = np.uint32(w2 ^ permute_bytes(w1, w2, three))
    room = np.int32(stop - at)
    b0 = _best(words, at, p0, w0, w1, _alike(x0, x1), room)
    low, high = permute_bytes(w0, w1, one), permute_bytes(w1, w2, one)
    y0, y1 = permute_bytes(x0, x1, one), permute_bytes(x1, x2, one)
    b1 = _best(words, np.int32(at + 1), p1, low, high, _alike(y0, y1), np.int32(room - 1))
    low, high = permute_bytes(w0, w1, two), permute_bytes(w1, w2, two)
    y0, y1 = permute_bytes(x0, x1, two), permute_bytes(x1, x2, two)
    b2 = _best(words, np.int32(at + 2), p2, low, high, _alike(y0, y1), np.int32(room - 2))
    low, high = permute_bytes(w0, w1, three), permute_bytes(w1, w2, three)
    y0, y1 = permute_bytes(x0, x1, three), permute_bytes(x1, x2, three)
    b3 = _best(words, np.int32(at + 3), p3, low, high, _alike(y0, y1), np.int32(room - 3))
    return b0, b1, b2, b3


@device
def _lengthened(words, at, length, distance, stop, lane):
    """Extend the copy to ``at`` that _best_copies found, as far as possible; return its length."""
    most = np.int32(min(_LONGEST_COPY, stop - at))
    is_open = length == _SURE
    while is_open and length < most:
        here = np.int32(at + length + 4 * lane)
        differs = np.uint32(bytes_from(words, here) ^ bytes_from(words, np.int32(here - distance)))
        lanes = ballot(differs != 0)
        if lanes != 0:
            first = first_bit(lanes)
            length = np.int32(length + 4 * first + (first_bit(take(differs, first)) >> 3))
            is_open = False
        else:
            length = np.int32(length + _WINDOW)
    return np.int32(min(length, most))


# Bytes to tokens of deflate on a GPU: literals, and copies of earlier bytes (RFC 1951, section 3.2.5).
#
# A block of threads holds a block of bytes in shared memory.  A warp takes sections of it, and goes through
# the windows of a section: it finds the repeats of its places, then chooses tokens from left to right, each
# the longest copy there unless the next place has a longer one.  Copies come from any earlier place and end
# within their section, so no warp waits for another, and the tokens do not depend on the order of execution.
#
# token     bit 0    5            10         15           28
# literal   byte                                          0
# copy      length | extra bits | distance | extra bits | 1       length and distance by their codes

_TOKEN_THREADS = 512  # of a block of threads
SECTION = 4096  # bytes: whole windows, and at most WARP sections in a block
N_SECTIONS, N_COUNTS, _COPY = -(-BLOCK // SECTION), N_LITERALS + N_DISTANCES, 1 << 28
_UINT16 = np.dtype(np.uint16)  # dtype of an array of the kernel
_BEFORE = 1024  # bytes before a section whose places its warp enters in the table
# Words of shared memory: the bytes and padding, tables of places (before: of the CRC), counts.
_TABLES = (BLOCK + _LONGEST_COPY + _WINDOW >> 2) + 4
_COUNTS = _TABLES + (_TOKEN_THREADS // WARP << (_HASH_BITS - 1))
_SHARED = 4 * (_COUNTS + N_COUNTS)  # bytes


class Tokens(NamedTuple):
    """The tokens of n blocks; section s of block b has number i = ``b * N_SECTIONS + s``.

    ``tokens`` uint32[n * N_SECTIONS * SECTION]: those of section i begin at ``i * SECTION``; ``n_tokens``
    int32: how many each section has; ``sums`` uint32: CRC-32 of each section, which starts with LOW in the
    first of a block and with 0 in the others, and is not inverted.  ``counts`` uint32[n * N_COUNTS]: how
    often each literal or length, then each distance, occurs in a block.
    """

    tokens: np.ndarray
    n_tokens: np.ndarray
    sums: np.ndarray
    counts: np.ndarray


@partial(kernel, max_registers=64)  # so that two blocks share a multiprocessor
def tokens_kernel(data, data_words, first, advance, out):
    """Write the Tokens of blocks from ``first`` on to ``out``, by _TOKEN_THREADS each, with _SHARED bytes.

    ``data`` uint8[n]: what is compressed; block b is BLOCK bytes from ``b * BLOCK`` on, and the last one the
    remainder.  ``data_words`` is a uint32 view of it.  ``advance``: ADVANCE of inflate_gpu.py.
    """
    thread, n_threads, block = thread_in_block(), np.int64(cuda.blockDim.x), np.int64(cuda.blockIdx.x)
    words = cuda.shared.array(0, UINT32)
    places = cuda.shared.array(0, _UINT16)
    begin = (first + block) * BLOCK
    n = np.int32(min(data.size - begin, BLOCK))
    for i in range(thread, _TABLES, n_threads):  # zeros follow the bytes
        word = 0
        if 4 * i + 4 <= n:
            word = np.int64(data_words[(begin >> 2) + i])
        else:
            for j in range(4 * i, n):
                word |= np.int64(data[begin + j]) << (8 * (j - 4 * i))
        words[i] = np.uint32(word)
    for i in range(thread, advance.size, n_threads):
        words[_TABLES + i] = advance[i]
    for i in range(thread, N_COUNTS, n_threads):
        words[_COUNTS + i] = 0
    sync_block()
    warp, lane, n_warps = thread // WARP, np.int32(thread % WARP), n_threads // WARP
    for s in range(warp, N_SECTIONS, n_warps):
        size = min(max(n - s * SECTION, 0), SECTION)
        table, before = words[_TABLES : _TABLES + advance.size], LOW if s == 0 else 0
        check = crc32_of_warp(words, s * SECTION, size, lane, table, before)
        if lane == 0:
            out.sums[block * N_SECTIONS + s] = check
    sync_block()  # the table of places overwrites that of the CRC
    for s in range(warp, N_SECTIONS, n_warps):
        i, start = block * N_SECTIONS + s, np.int32(s * SECTION)
        stop, at = np.int32(min(start + SECTION, n)), np.int32(2 * _TABLES + (warp << _HASH_BITS))
        n_tokens, tokens = np.int32(0), out.tokens[i * SECTION : (i + 1) * SECTION]
        if start < stop:
            _enter_places_before(words, places, at, start, lane)
            n_tokens = _write_tokens(words, places, at, start, stop, tokens, lane)
        if lane == 0:
            out.n_tokens[i] = n_tokens
    sync_block()
    for i in range(thread, N_COUNTS, n_threads):
        out.counts[block * N_COUNTS + i] = words[_COUNTS + i] + np.uint32(1 if i == END_OF_BLOCK else 0)


@device
def _enter_places_before(words, places, table, start, lane):
    """Enter the places before a section that begins at ``start`` in its table."""
    for i in range(lane, 1 << _HASH_BITS, WARP):
        places[np.uint32(table + i)] = 0
    for window in range(max(start - _BEFORE, 0), start, _WINDOW):
        at = np.int32(window + 4 * lane)
        h0, h1, h2, h3 = _hashes(words, at, table)
        _keep(places, at, h0, h1, h2, h3)
    sync_warp()


@device
def _write_tokens(words, places, table, start, stop, tokens, lane):
    """Write the tokens of bytes ``start`` to ``stop`` to ``tokens`` and count them; return their number."""
    n, done, all_four = np.int32(0), start, np.uint32(15)
    for window in range(start, stop, np.int32(_WINDOW)):
        at = np.int32(window + 4 * lane)
        h0, h1, h2, h3 = _hashes(words, at, table)
        p0, p1, p2, p3 = places[h0], places[h1], places[h2], places[h3]
        b0, b1, b2, b3 = _best_copies(words, at, np.int32(p0), np.int32(p1), np.int32(p2), np.int32(p3), stop)
        _keep(places, at, h0, h1, h2, h3)
        b4 = np.int32(take(b0, (lane + 1) & 31))
        # Bits for the four places that have a copy, unless the next place has a longer one.
        n0, n1, n2, n3 = b0 >> _LENGTH, b1 >> _LENGTH, b2 >> _LENGTH, b3 >> _LENGTH
        n4 = b4 >> _LENGTH if lane < WARP - 1 else np.int32(0)
        one = np.uint32(1) if n0 > 0 and n0 >= n1 else np.uint32(0)
        two = np.uint32(2) if n1 > 0 and n1 >= n2 else np.uint32(0)
        three = np.uint32(4) if n2 > 0 and n2 >= n3 else np.uint32(0)
        four = np.uint32(8) if n3 > 0 and n3 >= n4 else np.uint32(0)
        starts = np.uint32(one | two | three | four)
        # Bits of the lane's four places that begin no token, because earlier ones reach over them.
        open_at = bits_from32(np.int32(done - at))
        taken = np.uint32((~open_at | bits_from32(np.int32(stop - at))) & all_four)
        copy, is_open = (np.int32(0), np.int32(0)), True
        while is_open:
            ahead = np.uint32(starts & open_at)
            lanes = ballot(ahead != 0)
            is_open = lanes != 0
            if is_open:
                first, j = first_bit(lanes), first_bit(ahead)
                best = b0 if j == 0 else b1 if j == 1 else b2 if j == 2 else b3
                best = np.int32(take(np.int32(best << 2 | j & 3), first))
                distance, length = np.int32(best >> 2 & _DISTANCE), np.int32(best >> (2 + _LENGTH))
                begin = np.int32(window + 4 * first + (best & 3))
                length = _lengthened(words, begin, length, distance, stop, lane)
                done = np.int32(begin + length)
                if lane == first:
                    copy = _copy_token(length, distance), j
                open_at = bits_from32(np.int32(done - at))
                taken = np.uint32(taken | (bits_from32(np.int32(begin - at)) & ~open_at & all_four))
        n = _put_tokens(words, at, taken, copy, tokens, n, lane)
    return n


@device
def _copy_token(length, distance):
    n, d = np.int32(length - 3), np.int32(distance - 1)
    bits = np.int32(max(29 - cuda.clz(np.int32(n | 1)), 0))
    code, extra = np.int32((bits << 2) + (n >> bits)), np.int32(n & ((1 << bits) - 1))
    if length == _LONGEST_COPY:
        code, extra = np.int32(28), np.int32(0)
    more = np.int32(max(30 - cuda.clz(np.int32(d | 1)), 0))
    far, rest = np.int32((more << 1) + (d >> more)), np.int32(d & ((1 << more) - 1))
    return np.int32(_COPY | rest << 15 | far << 10 | extra << 5 | code)


@device
def _put_tokens(words, at, taken, copy_at, tokens, n, lane):
    """Write each lane's tokens of its four places from ``at`` on, after ``n`` others; return the new number.

    They are literals where nothing is ``taken`` (bits), and a copy, as (token, place), or (0, 0).
    """
    copy, place = copy_at
    n_tokens = np.int32(4 - n_bits(taken) + (1 if copy != 0 else 0))
    low, middle, high = ballot(n_tokens & 1 != 0), ballot(n_tokens & 2 != 0), ballot(n_tokens & 4 != 0)
    before = np.uint32(~bits_from32(lane))
    i = np.int32(n + n_bits(low & before) + 2 * n_bits(middle & before) + 4 * n_bits(high & before))
    word = words[np.uint32(at) >> np.uint32(2)]
    for j in range(4):
        if copy != 0 and place == j:
            tokens[np.uint32(i)] = copy
            i = np.int32(i + 1)
        if np.uint32(taken >> np.uint32(j) & np.uint32(1)) == 0:
            literal = np.uint32(word >> np.uint32(8 * j) & np.uint32(255))
            tokens[np.uint32(i)] = literal
            i = np.int32(i + 1)
            atomic_add(words, np.uint32(_COUNTS + literal), np.uint32(1))
    if copy != 0:
        atomic_add(words, np.uint32(_COUNTS + END_OF_BLOCK + 1 + (copy & 31)), np.uint32(1))
        atomic_add(words, np.uint32(_COUNTS + N_LITERALS + (copy >> 10 & 31)), np.uint32(1))
    return np.int32(n + n_bits(low) + 2 * n_bits(middle) + 4 * n_bits(high))


# Huffman codes on a GPU, from the counts of each literal, length and distance in a block.
#
# Code lengths: rank the symbols by count; join nodes from two queues, of symbols and of joined nodes (van
# Leeuwen, 1976), by one thread; compute the depth of each symbol; where it exceeds the limit of deflate,
# lengthen the codes of the next deepest symbols to make room.  Rare symbols get the longest codes.

CODE_THREADS = 128  # at least WARP
_N_LENGTHS, _SHORT = 19, 7  # symbols of the code of lengths, and most bits of each
N_SYMBOLS = N_COUNTS + _N_LENGTHS  # literals and lengths, distances, lengths of their codes
_CHECK, _HEAD_BITS, N_CODES = N_SYMBOLS, N_SYMBOLS + 1, N_SYMBOLS + 2
_FIXED_BITS = 17 + 3 * _N_LENGTHS  # of the header of a dynamic block, before the lengths
_N_NODES, _N_OF, _NONE = 2 * N_LITERALS, MOST_BITS + 1, (1 << 31) - 1


class BlockCodes(NamedTuple):
    """The codes of n blocks.  ``codes`` uint32[n * N_CODES]: for each literal or length, each distance, and
    each length of these codes, the bits as written, and their number << 16; 0 if it does not occur.  At
    _CHECK: the CRC-32.  At _HEAD_BITS: bits before the first token; all codes of a stored block are 0.

    ``stops`` int64[n + 1]: bytes of the BGZF blocks, then their prefix sums.
    """

    codes: np.ndarray
    stops: np.ndarray


@kernel
def codes_kernel(tokens, n_bytes, out):
    """Compute the BlockCodes of blocks, ``n_bytes`` in total, by CODE_THREADS each.

    One thread joins the nodes and repairs the lengths.
    """
    thread, n_threads, b = thread_in_block(), np.int64(cuda.blockDim.x), np.int64(cuda.blockIdx.x)
    counts = cuda.shared.array(N_SYMBOLS, INT32)  # of all symbols
    lengths = cuda.shared.array(N_SYMBOLS, INT32)  # of their codes
    order = cuda.shared.array(N_LITERALS, INT32)  # the symbols of one code that occur, in order
    weights = cuda.shared.array(_N_NODES, INT32)  # their counts, then those of joined nodes
    parents = cuda.shared.array(_N_NODES, INT32)  # the node that each was joined to
    n_of = cuda.shared.array(_N_OF, INT32)  # codes of each length
    bits = cuda.shared.array(2, INT32)  # of what comes before the tokens, and of the tokens
    n, codes = min(n_bytes - b * BLOCK, BLOCK), out.codes[b * N_CODES : (b + 1) * N_CODES]
    for i in range(thread, N_SYMBOLS, n_threads):
        counts[i] = tokens.counts[b * N_COUNTS + i] if i < N_COUNTS else 0
    if thread < 2:
        bits[thread] = 8 * HEAD + _FIXED_BITS if thread == 0 else 0
    if thread >= n_threads - WARP:  # the CRC-32 of the block, from those of its sections
        lane, check = thread % WARP, 0
        if lane < N_SECTIONS:
            n_after = max(n - (lane + 1) * SECTION, 0)
            check = product(np.int64(tokens.sums[b * N_SECTIONS + lane]), power(n_after))
        for reach in (1, 2, 4, 8, 16):
            check ^= take_across(check, reach)
        if thread == n_threads - 1:
            codes[_CHECK] = check ^ LOW
    sync_block()
    for code in range(3):
        first = 0 if code == 0 else N_LITERALS if code == 1 else N_COUNTS
        stop = N_LITERALS if code == 0 else N_COUNTS if code == 1 else N_SYMBOLS
        if code == 2:
            for i in range(thread, N_COUNTS, n_threads):
                atomic_add(counts, N_COUNTS + lengths[i], np.int32(1))
            sync_block()
        # The lengths of the codes of symbols ``first`` to ``stop``, at most ``most`` bits each.
        most = _SHORT if code == 2 else MOST_BITS
        n_used = 0
        for i in range(first, stop):
            n_used += 1 if counts[i] > 0 else 0
        for i in range(first + thread, stop, n_threads):
            this, rank = counts[i], 0
            for j in range(first, stop):
                other = counts[j]
                rank += 1 if other > 0 and (other < this or (other == this and j < i)) else 0
            if this > 0:
                order[rank], weights[rank] = i, this
            lengths[i] = 0
        if thread <= MOST_BITS:
            n_of[thread] = 0
        sync_block()
        if thread == 0:
            _join(weights, parents, n_used)
        sync_block()
        for leaf in range(thread, n_used, n_threads):
            depth, node = 0, leaf
            while node < 2 * n_used - 2:
                depth, node = depth + 1, np.int64(parents[node])
            atomic_add(n_of, min(max(depth, 1), most), np.int32(1))
        sync_block()
        if thread == 0:  # make lengths that were cut to ``most`` fit the code space again (as in miniz)
            taken = 0
            for length in range(1, most + 1):
                taken += n_of[length] << (most - length)
            for _ in range(taken - (1 << most)):
                n_of[most] -= 1
                length = most - 1
                while n_of[length] == 0:
                    length -= 1
                n_of[length] -= 1
                n_of[length + 1] += 2
        sync_block()
        for leaf in range(thread, n_used, n_threads):
            width, longer = most, n_of[most]
            while longer <= leaf:
                width -= 1
                longer += n_of[width]
            lengths[order[leaf]] = width
        sync_block()
        for i in range(first + thread, stop, n_threads):
            codes[i] = _code(lengths, n_of, first, i)
        sync_block()
    for i in range(thread, N_SYMBOLS, n_threads):
        atomic_add(bits, 0 if i >= N_COUNTS else 1, np.int32(counts[i] * (lengths[i] + _extra_bits(i))))
    sync_block()
    head, stored = np.int64(bits[0]), HEAD + STORED + n
    size = head + bits[1] + 7 >> 3
    if size >= stored:
        for i in range(thread, N_COUNTS, n_threads):
            codes[i] = 0
        head, size = 8 * (HEAD + STORED), stored
    if thread == 0:
        codes[_HEAD_BITS], out.stops[b] = head, size + TAIL


@device
def _extra_bits(i):
    """Return the bits after the code of symbol i: literals and lengths, then distances, then code lengths."""
    more = 0
    if i > END_OF_BLOCK + 8 and i < N_LITERALS - 1:
        more = (i - END_OF_BLOCK - 5) >> 2
    elif i >= N_LITERALS + 2 and i < N_COUNTS:
        more = ((i - N_LITERALS) >> 1) - 1
    return np.int32(more)


@device
def _join(weights, parents, n):
    """Join the two nodes of least weight until one is left.

    Sets ``parents`` of n symbols in order, and of the joined nodes after them.
    """
    leaf, node, none = 0, n, np.int32(_NONE)
    of_leaf, of_node = weights[0], none  # next symbol; next joined node
    for parent in range(n, 2 * n - 1):
        total = np.int32(0)
        for _ in range(2):
            if of_leaf <= of_node:
                total, parents[leaf], leaf = np.int32(total + of_leaf), parent, leaf + 1
                of_leaf = weights[leaf] if leaf < n else none
            else:
                total, parents[node], node = np.int32(total + of_node), parent, node + 1
                of_node = weights[node] if node < parent else none
        weights[parent] = total
        of_node = total if node == parent else of_node


@device
def _code(lengths, n_of, first, i):
    """Return the canonical code of symbol i, of those from ``first`` on (RFC 1951, 3.2.2).

    The result has its bits, the first one lowest, and their number << 16.
    """
    bits, value, mirrored = lengths[i], np.int32(0), np.int32(0)
    if bits > 0:
        for shorter in range(1, bits):
            value = np.int32((value + n_of[shorter]) << 1)
        for j in range(first, i):
            value = np.int32(value + (1 if lengths[j] == bits else 0))
        for _ in range(bits):
            mirrored, value = np.int32(mirrored << 1 | value & 1), np.int32(value >> 1)
    return mirrored | bits << 16


# BGZF blocks on a GPU, from tokens and their codes to final bytes; a warp writes a section at a time.
#
#     coded     head | header of deflate | tokens of section 0 | ... | end of block | CRC-32, number of bytes
#     stored    head | 1, n, ~n          | bytes of section 0  | ...                | CRC-32, number of bytes
#
# A warp appends 32 values at a time: prefix sums give the position of each, and their bits are combined in
# shared memory.  A 32-bit word may belong to two sections or two blocks; it is combined in place, atomically.

_BIT_THREADS = 256
_STAGE = 64  # words in which a warp combines 32 * 48 bits with those before them
_N_STAGED = _BIT_THREADS // WARP * _STAGE
_DYNAMIC = 5 | (N_LITERALS - 257) << 3 | (N_DISTANCES - 1) << 8 | (_N_LENGTHS - 4) << 13  # the last block
_HEAD_ROUNDS = 2 - (-N_COUNTS // WARP)  # of everything before the tokens


class _End(NamedTuple):
    """Where a warp's output ends: ``used`` bits of word ``i`` (uint32), which so far are ``word``."""

    i: int
    used: int
    word: int


@kernel
def bits_kernel(data, first, tokens, block_codes, same, out, done):
    """Write the blocks of ``data`` uint8[n] from ``first`` on to ``out`` uint32, zeros so far.

    _BIT_THREADS write each.  ``block_codes``: their BlockCodes.  ``done``: byte where the first of them
    begins.  ``same`` uint8: HEADER of bgzf.py, then ORDER of inflate.py.
    """
    thread, block, n_threads = thread_in_block(), np.int64(cuda.blockIdx.x), np.int64(cuda.blockDim.x)
    codes = cuda.shared.array(N_CODES, UINT32)
    stages = cuda.shared.array(_N_STAGED, UINT32)
    sums = cuda.shared.array(N_SECTIONS, UINT32)
    for i in range(thread, N_CODES, n_threads):
        codes[i] = block_codes.codes[block * N_CODES + i]
    for i in range(thread, _N_STAGED, n_threads):
        stages[i] = 0
    sync_block()
    begin, is_stored = (first + block) * BLOCK, codes[END_OF_BLOCK] == 0
    n = min(data.size - begin, BLOCK)
    warp, lane, n_warps = thread // WARP, thread % WARP, n_threads // WARP
    stage = stages[warp * _STAGE : (warp + 1) * _STAGE]
    # Bits of each section, from which the place of every later section follows.
    for s in range(warp, N_SECTIONS, n_warps):
        i, bits = block * N_SECTIONS + s, np.int64(0)
        if is_stored:
            bits = 8 * min(max(n - s * SECTION, 0), SECTION)
        else:
            for j in range(lane, tokens.n_tokens[i], WARP):
                bits += _coded(codes, tokens.tokens[i * SECTION + j])[1]
            for reach in (1, 2, 4, 8, 16):
                bits = add_across(bits, bits, reach)
        if lane == 0:
            sums[s] = bits
    sync_block()
    # Write each section: before the first one the head, after the last one the tail; 32 values per turn.
    for s in range(warp, N_SECTIONS, n_warps):
        i, start, size = block * N_SECTIONS + s, s * SECTION, min(max(n - s * SECTION, 0), SECTION)
        at = 8 * (done + block_codes.stops[block]) + (np.int64(codes[_HEAD_BITS]) if s > 0 else 0)
        for j in range(s):
            at += np.int64(sums[j])
        n_head = 0 if s > 0 else 2 if is_stored else _HEAD_ROUNDS
        n_values = np.int32(size if is_stored else tokens.n_tokens[i])
        n_body = n_head + (n_values + WARP - 1) // WARP
        end = _End(np.uint32(at >> 5), np.int32(at & 31), np.uint32(0))
        for turn in range(n_body + (1 if size > 0 and start + size == n else 0)):
            value, bits, j = np.uint64(0), np.int32(0), np.int32((turn - n_head) * WARP + lane)
            if turn < n_head:
                length = block_codes.stops[block + 1] - block_codes.stops[block]
                value, bits = _head(codes, same, length, n, turn, lane)
            elif turn == n_body:
                value, bits = _tail(codes, end.used, n, lane)
            elif j < n_values and is_stored:
                value, bits = np.uint64(data[begin + start + j]), np.int32(8)
            elif j < n_values:
                value, bits = _coded(codes, tokens.tokens[i * SECTION + j])
            end = _put_bits(stage, out, end, value, bits, lane)
        if lane == 0 and end.used > 0:
            atomic_or(out, end.i, end.word)


@device
def _coded(codes, token):
    """Return (bits of a token as written, uint64; their number, int32)."""
    if token < _COPY:
        code = codes[token]
        return np.uint64(code & np.uint32(0xFFFF)), np.int32(code >> np.uint32(16))
    length, distance = END_OF_BLOCK + 1 + (np.int32(token) & 31), N_LITERALS + (np.int32(token) >> 10 & 31)
    code, far = codes[length], codes[distance]
    bits = np.int32(code >> np.uint32(16))
    value = np.uint64(code & np.uint32(0xFFFF)) | np.uint64(
        token >> np.uint32(5) & np.uint32(31)
    ) << np.uint64(bits)
    bits = np.int32(bits + _extra_bits(length))
    value |= np.uint64(far & np.uint32(0xFFFF)) << np.uint64(bits)
    bits = np.int32(bits + np.int32(far >> np.uint32(16)))
    value |= np.uint64(token >> np.uint32(15) & np.uint32(8191)) << np.uint64(bits)
    return value, np.int32(bits + _extra_bits(distance))


@device
def _put_bits(stage, out, end, value, bits, lane):
    """Append each lane's ``value`` of ``bits`` bits, in lane order, at an _End; return the new _End.

    ``stage`` uint32[_STAGE]: zeros on entry and on return.
    """
    stop = prefix_sum(bits, lane)
    begin, behind = np.int32(end.used + stop - bits), np.int32(end.used + np.int32(take(stop, WARP - 1)))
    i, shift = np.uint32(begin) >> np.uint32(5), np.uint64(begin & 31)
    low = np.uint64(value << shift)
    first, second = np.uint32(low & np.uint64(LOW)), np.uint32(low >> np.uint64(32))
    if first != 0:
        atomic_or(stage, np.uint32(i), first)
    if second != 0:
        atomic_or(stage, np.uint32(i + np.uint32(1)), second)
    if np.int32(begin & 31) + bits > 64:
        atomic_or(stage, np.uint32(i + np.uint32(2)), np.uint32(value >> (np.uint64(64) - shift)))
    sync_warp()
    n_full, lower, upper = np.int32(behind >> 5), np.uint32(lane), np.uint32(lane + WARP)
    if lower < n_full and lane == 0:
        atomic_or(out, end.i, np.uint32(stage[lower] | end.word))  # shared with the section or block before
    elif lower < n_full:
        out[np.uint32(end.i + lower)] = stage[lower]
    if upper < n_full:
        out[np.uint32(end.i + upper)] = stage[upper]
    rest = np.uint32(stage[np.uint32(n_full)] | (end.word if n_full == 0 else np.uint32(0)))
    sync_warp()
    stage[lower] = stage[upper] = np.uint32(0)
    sync_warp()
    return _End(np.uint32(end.i + np.uint32(n_full)), np.int32(behind & 31), rest)


@device
def _head(codes, same, length, n, turn, lane):
    """Return a lane's (value, bits) of what comes before the first token, 32 values per turn.

    The block has n bytes, compressed to ``length``.  In order: BGZF's head; the numbers of codes; lengths of
    the code of lengths; with this code, all lengths.
    """
    value, bits = np.int64(0), np.int32(0)
    if turn == 0 and lane < HEAD:
        value, bits = np.int64(same[lane]), np.int32(8)
        if lane >= HEAD - 2:
            value = (length - 1) >> (8 * (lane & 1)) & 255
    elif turn == 1 and codes[END_OF_BLOCK] == 0:
        value = 1 if lane == 0 else (n | (n ^ 0xFFFF) << 16) >> (8 * ((lane - 1) & 3)) & 255
        value, bits = (value, np.int32(8)) if lane < STORED else (np.int64(0), np.int32(0))
    elif turn == 1 and lane == 0:
        value, bits = np.int64(_DYNAMIC), np.int32(17)
    elif turn == 1 and lane <= _N_LENGTHS:
        of_length = codes[N_COUNTS + np.int64(same[HEAD + lane - 1])]
        value, bits = np.int64(of_length >> np.uint32(16)), np.int32(3)
    elif turn > 1 and (turn - 2) * WARP + lane < N_COUNTS:
        code = codes[N_COUNTS + np.int64(codes[(turn - 2) * WARP + lane] >> np.uint32(16))]
        value, bits = np.int64(code & np.uint32(0xFFFF)), np.int32(code >> np.uint32(16))
    return np.uint64(value), bits


@device
def _tail(codes, used, n, lane):
    """Return a lane's (value, bits) of what comes after the last token of a block of n bytes.

    In order: the end of block, bits up to the next byte, the CRC-32, and n.  ``used``: bits of the last word
    so far.
    """
    end = codes[END_OF_BLOCK]
    value, bits = np.int64(end & np.uint32(0xFFFF)), np.int32(end >> np.uint32(16))
    if lane == 1:
        value, bits = np.int64(0), np.int32(-(used + bits) & 7)
    elif lane > 1:
        both = np.int64(codes[_CHECK]) | n << 32
        value, bits = both >> (8 * ((lane - 2) & 7)) & 255, np.int32(8)
    if lane > 1 + TAIL:
        value, bits = np.int64(0), np.int32(0)
    return np.uint64(value), bits


# The steps from bytes on a GPU to BGZF blocks there.
#
# data      | 65,280 bytes | 65,280 bytes | ...      _AT_ONCE blocks at a time
# tokens    | literals and copies | ...               tokens_kernel; also the CRC-32
# codes     | of Huffman | ...                       codes_kernel; they determine the size of each block
# blocks    |head stream tail|head stream tail|      bits_kernel

_AT_ONCE = 768  # blocks; each needs another 0.3 MB


def refusal() -> str:
    """Return why this thread's GPU cannot deflate, or an empty string."""
    has, needs = gpu.shared_bytes(), _SHARED
    if has >= needs:
        return ""
    return f"a block of threads of this GPU has {has} bytes of shared memory, but {needs} are needed"


class GpuDeflater:
    """Compresses data to BGZF blocks on the GPU that this thread uses."""

    def __init__(self) -> None:
        self._advance = gpu.to_device(ADVANCE)
        self._same = gpu.to_device(np.concatenate([HEADER, ORDER.astype(np.uint8)]))

    def deflate(
        self, stream: "GpuStream", data: "DeviceArray", report: "KernelReport", slot: int,
        at_once: int = _AT_ONCE,
    ) -> "DeviceArray":  # fmt: skip
        """Return ``data`` (uint8[n > 0] on the device) as BGZF blocks in one device array.

        Waits for the result.  Uses number ``slot`` of the KernelReport.  Makes ``at_once`` blocks at a time.
        """
        n_blocks, done = -(-data.size // BLOCK), 0
        out = stream.device_array("blocks of BGZF", n_blocks * LONGEST, np.uint8)
        gpu.fill_zero(out, stream.handle, n_blocks * LONGEST)
        words, size = gpu.words_of(out), -(-n_blocks // -(-n_blocks // at_once))  # batches of similar size
        for first in range(0, n_blocks, size):
            stream.begin("deflate")
            n = min(size, n_blocks - first)
            buffer = stream.device_array
            tokens = Tokens(
                buffer("tokens", n * N_SECTIONS * SECTION, np.uint32),
                buffer("numbers of tokens", n * N_SECTIONS, np.int32),
                buffer("sums", n * N_SECTIONS, np.uint32),
                buffer("counts", n * N_COUNTS, np.uint32),
            )
            codes = BlockCodes(buffer("codes", n * N_CODES, np.uint32), buffer("stops", n + 1, np.int64))
            on_tokens, on_codes, on_bits = map(gpu.block_size, (_TOKEN_THREADS, CODE_THREADS, _BIT_THREADS))
            tokens_kernel[n, on_tokens, stream.handle, _SHARED](
                data, gpu.words_of(data), first, self._advance, tokens
            )
            codes_kernel[n, on_codes, stream.handle](tokens, data.size - first * BLOCK, codes)
            add_up(stream, codes.stops, n, report, slot)
            bits_kernel[n, on_bits, stream.handle](data, first, tokens, codes, self._same, words, done)
            report.read()
            done += report[slot]
        return out[:done]
