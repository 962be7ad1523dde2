"""Tokens of deflate to bytes by a warp: each lane decodes a segment of the stream.

    scan      where tokens begin is known for the first lane only.  The others begin some bits early: after
              a few tokens, wrong ones give way to right ones.  A lane whose first token does not begin where
              the segment before ends decodes again, until all agree.
    write     prefix sums of bytes determine where each lane's output goes: literals are written, copies
              listed.
    copy      32 copies at a time, in order.  Lanes share their bytes, not the copies: each byte is traced to
              one before these copies, so that no lane waits for another.

After Weissenborn and Schmidt (2018), Massively parallel Huffman decoding on GPUs, and Sitaridi et al. (2016),
Massively-parallel lossless data decompression.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.warp import WARP, any_lane, ballot, device, first_bit, sync_warp, take
from .code_tables_gpu import bits_at, next_token
from .huffman import INVALID, LITERALS, VALUE

if TYPE_CHECKING:
    from .code_tables_gpu import BlockTables

SEGMENT, LEAST, EARLY = 768, 256, 512  # bits: most and fewest of a lane at a time; how much earlier it begins
N_COPIES = 1792  # at a time: a segment has up to SEGMENT / 2 + 1, usually 50
_LENGTH = 9  # bits of a listed copy's length


class TokenStream(NamedTuple):
    """The tokens of a block in ``words`` uint32, which reach to bit ``end``; ``codes``: BlockTables."""

    words: np.ndarray
    end: np.int32
    codes: "BlockTables"


class Listing(NamedTuple):
    """Copies in output order, in shared memory.

    ``places`` uint16[N_COPIES]: where their output begins; ``copies`` int32[N_COPIES]: distance << 9 |
    length.  ``offsets`` int32[32]: bytes of those before, of 32 copies.
    """

    places: np.ndarray
    copies: np.ndarray
    offsets: np.ndarray


@device
def write_tokens(stream, bit, own, n, listing, lane):
    """Write the bytes of a block's tokens, from ``bit`` of a TokenStream on, to ``own[n]`` and after.

    Returns the (bit, n) after them; bit -1 if they are unsound.
    """
    kind, end = np.uint32(VALUE), stream.end
    while kind <= LITERALS:
        size = np.int32(min(max((end - bit + WARP - 1) >> 5, LEAST), SEGMENT))
        begin = np.int32(bit + lane * size)
        limit, early = np.int32(min(begin + size, end)), np.int32(max(begin - EARLY, bit))
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
        n_bytes_up_to, n_copies_up_to = _sums(n_bytes, lane), _sums(n_copies, lane)
        beyond = ballot(n_copies_up_to > N_COPIES)
        if beyond != 0:
            last = np.int32(first_bit(beyond) - 1)
        kind, n_all = np.uint32(take(np.int32(kind), last)), np.int32(take(n_bytes_up_to, last))
        if kind == INVALID or n + n_all > own.size:
            return np.int32(-1), n
        is_sound = True
        if lane <= last:
            at, i = np.int32(n + n_bytes_up_to - n_bytes), np.int32(n_copies_up_to - n_copies)
            is_sound = _write(stream, start, stop, own, at, listing, i)
        if any_lane(not is_sound):
            return np.int32(-1), n
        sync_warp()
        _copy(own, listing, np.int32(take(n_copies_up_to, last)), lane)
        bit, n = np.int32(take(stop, last)), np.int32(n + n_all)
    return bit, n


@device
def _scan(stream, early, begin, limit):
    """Decode from bit ``early`` on up to ``limit``; count from the first token at ``begin`` or after.

    Returns (where this token begins, where the last one ends, its kind, number of bytes, number of copies).
    """
    words, end, codes = stream
    at, start, n_bytes, n_copies = np.int32(min(early, end)), np.int32(-1), np.int32(0), np.int32(0)
    bits, kind = bits_at(words, at), np.uint32(VALUE)
    if begin >= end:  # the stream ends without the end of the block
        start, kind = begin, np.uint32(INVALID)
    while at < limit and kind <= LITERALS:
        if start < 0 and at >= begin:
            start, n_bytes, n_copies = at, np.int32(0), np.int32(0)
        bits, kind, n_taken, n, _ = next_token(words, bits, codes)
        at, n_bytes = np.int32(at + n_taken), np.int32(n_bytes + n)
        n_copies = np.int32(n_copies + (1 if kind == VALUE else 0))
    return at if start < 0 else start, at, kind, n_bytes, n_copies


@device
def _write(stream, start, stop, own, n, listing, i):
    """Write the literals of a segment to ``own[n]`` and after, and its copies to the list from ``i`` on.

    Returns False if a distance is too long.
    """
    at, bits, is_sound = start, bits_at(stream.words, start), True
    while at < stop:
        bits, kind, n_taken, n_more, what = next_token(stream.words, bits, stream.codes)
        if kind == LITERALS:
            own[np.uint32(n)] = np.uint8(what)
        elif kind == VALUE:
            is_sound = is_sound and what <= n
            listing.places[np.uint32(i)] = n
            listing.copies[np.uint32(i)] = what << _LENGTH | n_more
            i = np.int32(i + 1)
        at, n = np.int32(at + n_taken), np.int32(n + n_more)
    return is_sound


@device
def _copy(own, listing, n_copies, lane):
    """Do the first ``n_copies`` copies of a list; all other bytes up to the last copy are there."""
    for first in range(0, n_copies, WARP):
        n, size = np.int32(min(n_copies - first, WARP)), np.int32(0)
        if lane < n:
            size = np.int32(listing.copies[first + lane] & ((1 << _LENGTH) - 1))
        up_to = _sums(size, lane)
        listing.offsets[lane] = up_to - size
        sync_warp()
        most = np.int32(np.int32(take(up_to, WARP - 1)) - 1)
        for i in range(lane, most + 1, 4 * WARP):  # four at a time, so that their loads overlap
            at0, from0 = _origin(listing, first, n, i)
            at1, from1 = _origin(listing, first, n, min(i + WARP, most))
            at2, from2 = _origin(listing, first, n, min(i + 2 * WARP, most))
            at3, from3 = _origin(listing, first, n, min(i + 3 * WARP, most))
            byte0, byte1, byte2, byte3 = own[from0], own[from1], own[from2], own[from3]
            own[at0], own[at1], own[at2], own[at3] = byte0, byte1, byte2, byte3
        sync_warp()


@device
def _origin(listing, first, n, i):
    """Return (place, source) of byte i of n copies from ``first`` on, both uint32.

    While the source of a byte is itself a byte of these copies, its own source takes its place.
    """
    k = _last_up_to(listing.offsets, np.int32(0), np.int32(WARP), np.int32(i))
    place = np.int32(np.int32(listing.places[first + k]) + np.int32(i) - listing.offsets[k])
    source, lowest, k, is_copied = place, np.int32(listing.places[first]), np.int32(first + k), True
    while is_copied:
        begin, copy = np.int32(listing.places[k]), np.uint32(listing.copies[k])
        distance, ahead = np.uint32(copy >> np.uint32(_LENGTH)), np.uint32(source - begin)
        if ahead >= distance:
            ahead = np.uint32(ahead % distance)
        source = np.int32(begin - np.int32(distance) + np.int32(ahead))
        is_copied = bool(source >= lowest)
        if is_copied:
            k = _last_up_to(listing.places, np.int32(first), n, source)
            length = np.int32(listing.copies[k] & ((1 << _LENGTH) - 1))
            is_copied = bool(np.int32(source - np.int32(listing.places[k])) < length)
    return np.uint32(place), np.uint32(source)


@device
def _last_up_to(array, first, n, value):
    """Return the last of n places from ``first`` on, at most 32, whose number is at most ``value``."""
    k, stop = first, np.int32(first + n)
    for step in (16, 8, 4, 2, 1):
        middle = np.int32(k + step)
        if middle < stop and np.int32(array[middle]) <= value:
            k = middle
    return k


@device
def _sums(value, lane):
    """Return the sum of the numbers (int32) of a lane and those before it."""
    for reach in (1, 2, 4, 8, 16):
        before = np.int32(take(value, max(lane - reach, 0)))
        value = np.int32(value + (before if lane >= reach else np.int32(0)))
    return value
