"""What a block of bytes repeats, found by a warp: LZ77 with a table of places by hash, and no chains.

Each lane looks at four neighbouring places of a window, for a run of one byte and for what stands where the
last five bytes of the same hash began.  A lane compares _SURE bytes; what is longer is compared by the warp.
"""

import numpy as np

from ..compiler.cuda import permute_bytes
from ..compiler.warp import (
    WARP,
    any_lane,
    ballot,
    bytes_from,
    device,
    first_bit,
    four_from,
    sync_warp,
    take,
)  # fmt: skip
from ..input.crc32_gpu import LOW

WINDOW = 4 * WARP
HASH_BITS = 10
REACH, LONGEST, LEAST = 32768, 258, 4  # bytes: RFC 1951 allows copies of three, which gain nothing here
DISTANCE, LENGTH = (1 << 16) - 1, 16  # of a copy found: bits of one, and where the other begins
_SURE = 8


@device
def place_of_hash(low, next_byte, table):
    """Where the table of places from ``table`` on has five bytes: ``low``, the lowest of ``next_byte``."""
    mixed = np.int64(low) * 0x1E35A7BD + (np.int64(next_byte) & 255) * 0x05EBCA6B  # below 2^63
    return np.uint32(np.uint32(table) + (np.uint32(mixed & LOW) >> np.uint32(32 - HASH_BITS)))


@device
def hashes(words, at, table):
    """place_of_hash of the four places from ``at`` on, a multiple of 4."""
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
    """Let ``places`` (uint16) have the last place of each hash; a lane's are ``at`` and the next three.

    Which of several lanes' writes is last is not known, so those that lost to an earlier place write again.
    """
    sync_warp()  # others have read what was there
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
    """How many of eight bytes are alike, by what differs in the first and last four; 0 if less than LEAST."""
    n = np.int32(LEAST + (first_bit(high) >> 3)) if high != 0 else np.int32(_SURE)
    return n if low == 0 else np.int32(0)


@device
def _best(words, at, before, low, high, run, room):
    """The longest copy to ``at``, of ``room`` bytes at most: its length << LENGTH | its distance, or 0.

    ``before``: the last place of this hash.  ``low``, ``high``: eight bytes from ``at`` on; ``run``: how many
    of them are alike those one place earlier.
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
    """The longest copies to the four places from ``at`` on, a multiple of 4, to ``stop`` at most: of each its
    length << LENGTH | its distance, or 0.  ``p0`` to ``p3``: the last places of their hashes."""
    i, one, two, three = (
        np.uint32(at) >> np.uint32(2),
        np.uint32(0x4321),
        np.uint32(0x5432),
        np.uint32(0x6543),
    )
    w0, w1, w2 = words[i], words[np.uint32(i + np.uint32(1))], words[np.uint32(i + np.uint32(2))]
    last = words[np.uint32(max(at - 4, 0)) >> np.uint32(2)]
    last = last if at > 0 else np.uint32(~w0 << np.uint32(24))  # nothing stands before the first
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
    """``length`` of a copy to ``at`` that best_of_four has found, by the warp: as long as it can be."""
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
