"""LZ77 by a warp: repeats in a block of bytes, found by a table of hashed places without chains.

Each lane looks at four adjacent places of a window: for a run of one byte, and for a copy of what follows the
last place with the same hash of five bytes.  A lane compares _SURE bytes; the warp compares the rest of a
longer copy.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ..compiler.cuda import permute_bytes
from ..compiler.primitives import bits_from32
from ..compiler.warp import (
    UINT32,
    WARP,
    any_lane,
    atomic_add,
    ballot,
    bytes_from,
    cuda,
    device,
    first_bit,
    four_from,
    kernel,
    n_bits,
    sync_block,
    sync_warp,
    take,
    thread_in_block,
)  # fmt: skip
from .bgzf import BLOCK
from .crc32_gpu import LOW, crc32_of_warp
from .huffman import END_OF_BLOCK, N_DISTANCES, N_LITERALS

WINDOW = 4 * WARP
HASH_BITS = 10
REACH, LONGEST, LEAST = 32768, 258, 4  # bytes: RFC 1951 allows copies of three, which gain nothing here
DISTANCE, LENGTH = (1 << 16) - 1, 16  # of a copy found: mask of the distance, and first bit of the length
_SURE = 8


@device
def place_of_hash(low, next_byte, table):
    """Return the index, in the places at ``table``, of five bytes: ``low``, and the lowest of
    ``next_byte``."""
    mixed = np.int64(low) * 0x1E35A7BD + (np.int64(next_byte) & 255) * 0x05EBCA6B  # below 2^63
    return np.uint32(np.uint32(table) + (np.uint32(mixed & LOW) >> np.uint32(32 - HASH_BITS)))


@device
def hashes(words, at, table):
    """Return place_of_hash of the four places from ``at`` on, a multiple of 4."""
    i = np.uint32(at) >> np.uint32(2)
    w0, w1 = words[i], words[np.uint32(i + np.uint32(1))]
    return (
        place_of_hash(w0, w1, table),
        place_of_hash(permute_bytes(w0, w1, np.uint32(0x4321)), w1 >> np.uint32(8), table),
        place_of_hash(permute_bytes(w0, w1, np.uint32(0x5432)), w1 >> np.uint32(16), table),
        place_of_hash(permute_bytes(w0, w1, np.uint32(0x6543)), w1 >> np.uint32(24), table),
    )


@device
def keep(places, at, h0, h1, h2, h3):
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
    """Return how many of eight bytes are equal, from the differences of each four; 0 below LEAST."""
    n = np.int32(LEAST + (first_bit(high) >> 3)) if high != 0 else np.int32(_SURE)
    return n if low == 0 else np.int32(0)


@device
def _best(words, at, before, low, high, run, room):
    """Return the longest copy to ``at`` of at most ``room`` bytes: length << LENGTH | distance, or 0.

    ``before``: the last place with this hash.  ``low``, ``high``: eight bytes from ``at`` on; ``run``: how
    many of them equal those one place earlier.
    """
    length, distance, away = run, np.int32(1), np.int32(at - before)
    i, begin = np.uint32(before) >> np.uint32(2), four_from(before)
    middle = words[np.uint32(i + np.uint32(1))]
    if away > 0 and away <= REACH and permute_bytes(words[i], middle, begin) == low:
        other_high = permute_bytes(middle, words[np.uint32(i + np.uint32(2))], begin)
        found = _alike(np.uint32(0), np.uint32(other_high ^ high))
        if found > length:
            length, distance = found, away
    length = np.int32(min(length, room))
    return np.int32(length << LENGTH | distance) if length >= LEAST else np.int32(0)


@device
def best_of_four(words, at, p0, p1, p2, p3, stop):
    """Return the longest copies to the four places from ``at`` on, a multiple of 4, up to ``stop``: for each
    length << LENGTH | distance, or 0.  ``p0`` to ``p3``: the last places with their hashes."""
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
def lengthened(words, at, length, distance, stop, lane):
    """Extend the copy to ``at`` that best_of_four found, as far as possible; return its length."""
    most = np.int32(min(LONGEST, stop - at))
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
            length = np.int32(length + WINDOW)
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

N_THREADS, SECTION = 512, 4096  # of a block; bytes
N_SECTIONS, N_COUNTS, COPY = -(-BLOCK // SECTION), N_LITERALS + N_DISTANCES, 1 << 28
UINT16 = np.dtype(np.uint16)  # dtype of an array of the kernel
_BEFORE = 1024  # bytes before a section whose places its warp enters in the table
# Words of shared memory: the bytes and padding, a table of places for each warp, counts.
_TABLES = (BLOCK + LONGEST + WINDOW >> 2) + 4
_COUNTS = _TABLES + (N_THREADS // WARP << (HASH_BITS - 1))
SHARED = 4 * (_COUNTS + N_COUNTS)  # bytes


class PlainBytes(NamedTuple):
    """Data to compress, on the device: ``data`` uint8[n]; ``words`` is a uint32 view of it.

    Block b is BLOCK bytes from ``b * BLOCK`` on; the last block is the remainder.
    """

    data: np.ndarray
    words: np.ndarray


class Tokens(NamedTuple):
    """The tokens of n blocks.

    Section s of block b is number i, ``b * N_SECTIONS + s``: ``n_tokens[i]`` (int32) of the ``tokens`` uint32
    from ``i * SECTION`` on; ``sums`` uint32: its CRC-32, as if surrounded by zeros.  ``counts`` uint32[n *
    N_COUNTS]: how often each literal or length, then each distance, occurs in a block.
    """

    tokens: np.ndarray
    n_tokens: np.ndarray
    sums: np.ndarray
    counts: np.ndarray


@partial(kernel, max_registers=64)  # so that two blocks share a multiprocessor
def tokens_kernel(plain, first, advance, made):
    """Write the Tokens of blocks from ``first`` on to ``made``, by N_THREADS each, with SHARED bytes.

    ``advance``: ADVANCE of crc32_gpu.py.
    """
    own, n_threads, block = thread_in_block(), np.int64(cuda.blockDim.x), np.int64(cuda.blockIdx.x)
    words = cuda.shared.array(0, UINT32)
    places = cuda.shared.array(0, UINT16)
    begin = (first + block) * BLOCK
    n = np.int32(min(plain.data.size - begin, BLOCK))
    for i in range(own, _TABLES, n_threads):
        words[i] = _word(plain, begin, n, i)
    for i in range(own, advance.size, n_threads):
        words[_TABLES + i] = advance[i]
    for i in range(own, N_COUNTS, n_threads):
        words[_COUNTS + i] = 0
    sync_block()
    warp, lane, n_warps = own // WARP, np.int32(own % WARP), n_threads // WARP
    for s in range(warp, N_SECTIONS, n_warps):
        size = min(max(n - s * SECTION, 0), SECTION)
        table, before = words[_TABLES : _TABLES + advance.size], LOW if s == 0 else 0
        check = crc32_of_warp(words, s * SECTION, size, lane, table, before)
        if lane == 0:
            made.sums[block * N_SECTIONS + s] = check
    sync_block()  # the table of places overwrites that of the CRC
    for s in range(warp, N_SECTIONS, n_warps):
        i, start = block * N_SECTIONS + s, np.int32(s * SECTION)
        stop, at = np.int32(min(start + SECTION, n)), np.int32(2 * _TABLES + (warp << HASH_BITS))
        n_tokens, own_tokens = np.int32(0), made.tokens[i * SECTION : (i + 1) * SECTION]
        if start < stop:
            _begin(words, places, at, start, lane)
            n_tokens = _write(words, places, at, start, stop, own_tokens, lane)
        if lane == 0:
            made.n_tokens[i] = n_tokens
    sync_block()
    for i in range(own, N_COUNTS, n_threads):
        made.counts[block * N_COUNTS + i] = words[_COUNTS + i] + np.uint32(1 if i == END_OF_BLOCK else 0)


@device
def _word(plain, begin, n, i):
    """Return the i-th word of a block of n bytes, followed by zeros."""
    word = 0
    if 4 * i + 4 <= n:
        word = np.int64(plain.words[(begin >> 2) + i])
    else:
        for j in range(4 * i, n):
            word |= np.int64(plain.data[begin + j]) << (8 * (j - 4 * i))
    return np.uint32(word)


@device
def _begin(words, places, table, start, lane):
    """Enter the places before a section that begins at ``start`` in its table."""
    for i in range(lane, 1 << HASH_BITS, WARP):
        places[np.uint32(table + i)] = 0
    for window in range(max(start - _BEFORE, 0), start, WINDOW):
        at = np.int32(window + 4 * lane)
        h0, h1, h2, h3 = hashes(words, at, table)
        keep(places, at, h0, h1, h2, h3)
    sync_warp()


@device
def _write(words, places, table, start, stop, tokens, lane):
    """Write the tokens of bytes ``start`` to ``stop`` to ``tokens`` and count them; return their number."""
    n, done, all_four = np.int32(0), start, np.uint32(15)
    for window in range(start, stop, np.int32(WINDOW)):
        at = np.int32(window + 4 * lane)
        h0, h1, h2, h3 = hashes(words, at, table)
        p0, p1, p2, p3 = places[h0], places[h1], places[h2], places[h3]
        b0, b1, b2, b3 = best_of_four(words, at, np.int32(p0), np.int32(p1), np.int32(p2), np.int32(p3), stop)
        keep(places, at, h0, h1, h2, h3)
        b4 = np.int32(take(b0, (lane + 1) & 31))
        starts = _starts(b0, b1, b2, b3, b4 if lane < WARP - 1 else np.int32(0))
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
                found = b0 if j == 0 else b1 if j == 1 else b2 if j == 2 else b3
                told = np.int32(take(np.int32(found << 2 | j & 3), first))
                distance, length = np.int32(told >> 2 & DISTANCE), np.int32(told >> (2 + LENGTH))
                begin = np.int32(window + 4 * first + (told & 3))
                length = lengthened(words, begin, length, distance, stop, lane)
                done = np.int32(begin + length)
                if lane == first:
                    copy = _copy(length, distance), j
                open_at = bits_from32(np.int32(done - at))
                taken = np.uint32(taken | (bits_from32(np.int32(begin - at)) & ~open_at & all_four))
        n = _put(words, at, taken, copy, tokens, n, lane)
    return n


@device
def _starts(b0, b1, b2, b3, b4):
    """Return bits for the first four places that have a copy, unless the next place has a longer one."""
    n0, n1, n2, n3, n4 = b0 >> LENGTH, b1 >> LENGTH, b2 >> LENGTH, b3 >> LENGTH, b4 >> LENGTH
    one = np.uint32(1) if n0 > 0 and n0 >= n1 else np.uint32(0)
    two = np.uint32(2) if n1 > 0 and n1 >= n2 else np.uint32(0)
    three = np.uint32(4) if n2 > 0 and n2 >= n3 else np.uint32(0)
    four = np.uint32(8) if n3 > 0 and n3 >= n4 else np.uint32(0)
    return np.uint32(one | two | three | four)


@device
def _copy(length, distance):
    """Return the token of a copy (int32)."""
    n, d = np.int32(length - 3), np.int32(distance - 1)
    bits = np.int32(max(29 - cuda.clz(np.int32(n | 1)), 0))
    code, extra = np.int32((bits << 2) + (n >> bits)), np.int32(n & ((1 << bits) - 1))
    if length == LONGEST:
        code, extra = np.int32(28), np.int32(0)
    more = np.int32(max(30 - cuda.clz(np.int32(d | 1)), 0))
    far, rest = np.int32((more << 1) + (d >> more)), np.int32(d & ((1 << more) - 1))
    return np.int32(COPY | rest << 15 | far << 10 | extra << 5 | code)


@device
def _put(words, at, taken, found, tokens, n, lane):
    """Write each lane's tokens of its four places from ``at`` on, after ``n`` others; return the new number.

    They are literals where nothing is ``taken`` (bits), and a ``found`` copy, as (token, place), or (0, 0).
    """
    copy, place = found
    own = np.int32(4 - n_bits(taken) + (1 if copy != 0 else 0))
    low, middle, high = ballot(own & 1 != 0), ballot(own & 2 != 0), ballot(own & 4 != 0)
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
