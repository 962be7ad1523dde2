"""Deflate, many blocks of BGZF a call: isal's C functions, called by compiled code without Python's lock.

From Python each block would ask for that lock, and 16 threads would spend their time with waiting for it.
The words of isal's two structs are those of igzip_lib.h, which ISA-L 2 keeps as they are:

    word      0         1                     2         3                     4                         5, 6
    zstream   next_in   avail_in, total_in    next_out  avail_out, total_out  hufftables        level, buffer
    state     next_out  avail_out, total_out  next_in   read_in               avail_in, read_in_length
"""

import functools
from collections import deque
from typing import NamedTuple

import numpy as np
from isal import isal_zlib

from ..compiler.foreign import address_of, addresses, call_c
from ..compiler.functions import compiled, inlined
from ..compiler.primitives import copy_bytes
from ..errors import FmxError
from .bgzf import HEAD, LONGEST, TAIL, word

BLOCK = 0xFF00  # bytes that a block of BGZF holds, as others write it
STORED = 5  # and of one that does not shrink
HEADER = np.frombuffer(
    bytes.fromhex("1f8b08040000000000ff0600424302000000"), np.uint8
)  # of a block, without its length
_STRUCT, _BUFFER = 1 << 15, 282_624 // 8  # words: more than either struct has, and what level 1 asks for
_LEVEL = 1
_LOW = (1 << 32) - 1


class Isal(NamedTuple):
    """Addresses of isal's functions."""

    init_deflate: int
    deflate: int
    init_inflate: int
    inflate: int
    crc32: int


@functools.cache
def isal() -> Isal:
    """Those of the isal that is installed.  Raises FmxError."""
    names = "deflate_stateless_init", "deflate_stateless", "inflate_init", "inflate_stateless"
    try:
        return Isal(*addresses(isal_zlib.__file__, *(f"isal_{name}" for name in names), "crc32_gzip_refl"))
    except (OSError, AttributeError) as error:
        raise FmxError(f"isal lacks a function ({error}): install it anew by 'pip install isal'") from error


class _Room:
    """What one thread at a time deflates with: used again, for the kernel clears each page of a new array."""

    def __init__(self):
        self.out, self.stream = np.empty(0, np.uint8), np.empty(_STRUCT, np.int64)
        self.buffer = np.empty(_BUFFER, np.int64)


_rooms: deque = deque()  # that nobody uses


def deflate(data) -> bytes:
    """``data`` (uint8[n]) as blocks of BGZF, without the end marker."""
    room = data.size + -(-data.size // BLOCK) * (HEAD + TAIL + STORED)
    try:
        own = _rooms.pop()
    except IndexError:
        own = _Room()
    if own.out.size < room:
        own.out = np.empty(room, np.uint8)
    n = _deflate(isal(), data, own.out[:room], own.stream, own.buffer, HEADER)
    if n < 0:
        raise FmxError("isal could not deflate a block: install another version of it")
    blocks = own.out[:n].tobytes()  # what waits for its turn takes no more room than it must
    _rooms.append(own)
    return blocks


def inflate(packed, stops, skip, view) -> bool:
    """Fill ``view`` (uint8[n]) with what blocks of BGZF hold from their ``skip``-th byte on.

    ``packed`` uint8[m]: the blocks; ``stops`` int64[n_blocks]: where each ends.  True if they are sound and
    hold just that much.
    """
    spare = np.empty(LONGEST if skip else 0, np.uint8)
    return _inflate(isal(), packed, stops, view, np.empty(_STRUCT, np.int64), spare, skip)


@inlined
def _put(out, at, x, n_bytes):
    for j in range(n_bytes):
        out[at + j] = np.uint8((x >> (8 * j)) & 255)


@inlined
def _crc32(isal, data, i, n):
    return np.int64(call_c(isal.crc32, 0, address_of(data, i), n, 0)) & _LOW


@compiled
def _deflate(isal, data, out, stream, buffer, head):
    """Blocks of ``data`` into ``out``: how many bytes, or -1; ``stream`` and ``buffer`` int64 are isal's."""
    here, at = address_of(stream, 0), 0
    call_c(isal.init_deflate, here, 0, 0, 0)
    stream[5] = _LEVEL | np.int64(8 * buffer.size) << 32
    stream[6] = address_of(buffer, 0)
    for start in range(0, data.size, BLOCK):
        n = min(BLOCK, data.size - start)
        room = min(out.size - at - HEAD - TAIL, LONGEST - HEAD - TAIL)
        stream[0], stream[1] = address_of(data, start), n
        stream[2], stream[3] = address_of(out, at + HEAD), room
        if call_c(isal.deflate, here, 0, 0, 0) != 0:
            return -1
        size = room - (stream[3] & _LOW)
        copy_bytes(out, at, head, 0, HEAD)
        _put(out, at + 16, HEAD + size + TAIL - 1, 2)
        at += HEAD + size
        _put(out, at, _crc32(isal, data, start, n), 4)
        _put(out, at + 4, n, 4)
        at += TAIL
    return at


@compiled
def _inflate(isal, packed, stops, view, state, spare, skip):
    """``inflate``; ``spare`` takes what the first block holds, where some is skipped."""
    here, start, at = address_of(state, 0), 0, 0
    call_c(isal.init_inflate, here, 0, 0, 0)
    for b in range(stops.size):
        body, stop = start + 12 + packed[start + 10] + 256 * np.int64(packed[start + 11]), stops[b] - TAIL
        n, left = word(packed, stop + 4), skip if b == 0 else 0
        if packed[start + 3] != 4 or body > stop or n < left or at + n - left > view.size:
            return False
        out, to = (spare, 0) if left else (view, at)
        state[0], state[1] = address_of(out, to), n
        state[2], state[4] = address_of(packed, body), stop - body
        if call_c(isal.inflate, here, 0, 0, 0) != 0 or state[1] & _LOW or state[4] & _LOW:
            return False
        if _crc32(isal, out, to, n) != word(packed, stop):
            return False
        if left:
            copy_bytes(view, 0, spare, left, n - left)
        start, at = stops[b], at + n - left
    return at == view.size
