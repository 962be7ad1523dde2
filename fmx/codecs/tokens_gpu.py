"""Tokens of deflate to bytes by a warp: each lane decodes a section of the stream.

    scan      where tokens begin is known for the first lane only.  The others begin some bits early: after
              a few tokens, wrong ones give way to right ones.  A lane whose first token does not begin where
              the section before ends decodes again, until all agree.
    write     prefix sums of bytes determine where each lane's output goes: literals are written, copies
              listed.
    copy      32 copies at a time, in order.  Lanes share their bytes, 128 at a time: each byte is traced to
              one before these, so that no lane waits for another.

After Weissenborn and Schmidt (2018), Massively parallel Huffman decoding on GPUs, and Sitaridi et al. (2016),
Massively-parallel lossless data decompression.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.warp import WARP, any_lane, ballot, device, first_bit, sync_warp, take
from .bgzf import LONGEST
from .code_tables_gpu import bits_at, next_token
from .huffman import INVALID, LITERALS, VALUE

if TYPE_CHECKING:
    from .code_tables_gpu import BlockTables

SECTION, LEAST, EARLY = 512, 256, 512  # bits: most and fewest of a lane at a time; how much earlier it begins
N_COPIES = 1216  # at a time: a section has up to SECTION / 2 + 1, usually 25
_LENGTH = 9  # bits of a listed copy's length


class TokenStream(NamedTuple):
    """The tokens of a block in ``words`` uint32, which reach to bit ``end``; ``codes``: BlockTables."""

    words: np.ndarray
    end: np.int32
    codes: "BlockTables"


class Listing(NamedTuple):
    """Copies in output order, in shared memory.

    ``places`` uint16[N_COPIES]: where their output begins; ``copies`` int32[N_COPIES]: distance << 9 |
    length.  Of a group of 32, int32[32]: ``offsets``, bytes of those before; ``begins``, their places;
    ``group``, their copies.
    """

    places: np.ndarray
    copies: np.ndarray
    offsets: np.ndarray
    begins: np.ndarray
    group: np.ndarray


@device
def write_tokens(stream, bit, own, n, listing, lane):
    """Write the bytes of a block's tokens, from ``bit`` of a TokenStream on, to ``own[n]`` and after.

    Returns the (bit, n) after them; bit -1 if they are unsound.
    """
    kind, end = np.uint32(VALUE), stream.end
    while kind <= LITERALS:
        size = np.int32(min(max((end - bit + WARP - 1) >> 5, LEAST), SECTION))
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
    """Write the literals of a section to ``own[n]`` and after, and its copies to the list from ``i`` on.

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
        begin, copy = np.int32(LONGEST), np.int32(1 << _LENGTH)  # no copy: behind all, of no bytes
        if first + lane < n_copies:
            begin, copy = np.int32(listing.places[first + lane]), np.int32(listing.copies[first + lane])
        size = np.int32(copy & ((1 << _LENGTH) - 1))
        up_to = _sums(size, lane)
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
            byte0, byte1 = own[np.uint32(from0)], own[np.uint32(from1)]
            byte2, byte3 = own[np.uint32(from2)], own[np.uint32(from3)]
            own[np.uint32(at0)], own[np.uint32(at1)] = byte0, byte1
            own[np.uint32(at2)], own[np.uint32(at3)] = byte2, byte3
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
def _sums(value, lane):
    """Return the sum of the numbers (int32) of a lane and those before it."""
    for reach in (1, 2, 4, 8, 16):
        before = np.int32(take(value, max(lane - reach, 0)))
        value = np.int32(value + (before if lane >= reach else np.int32(0)))
    return value
