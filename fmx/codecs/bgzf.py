"""BGZF on the CPU: blocks of a file found by their headers and trailers, and many blocks coded per call.

A block is a gzip member whose header states its length in an extra field BC (SAM specification, section 4.1);
its last four bytes state its uncompressed size.  htslib writes this field first, so that one read of 26 bytes
gets the size of a block and the length of the next one; from a block with another field first on, a file is
read as plain gzip.
"""

import contextlib
import functools
import gzip
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from isal import isal_zlib

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import address_of, addresses, call_c, copy_bytes, load_little_endian
from ..errors import FmxError
from ..machines.jobs import Pool

if TYPE_CHECKING:
    from ..system import RegularFile

_MAGIC = b"\x1f\x8b\x08\x04"  # gzip with an extra field
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")  # an empty block
LONGEST = 1 << 16  # bytes of a block, compressed or uncompressed
HEAD, TAIL = 18, 8  # bytes before and after a deflate stream: most headers, and CRC-32 and length
_N_SURE = 8  # consecutive blocks that cannot be a coincidence
AT_ONCE = 1 << 10  # blocks


def blocks(
    file: "RegularFile", start: int = 0, end: int | None = None, at_once: int = AT_ONCE
) -> Iterator[tuple[int, int]]:
    """Yield (end in the file, uncompressed bytes) for the BGZF blocks of a RegularFile.

    Blocks are followed from ``start`` as long as each begins where the one before ends, up to ``end``; one
    call of compiled code finds up to ``at_once`` of them.
    """
    ends, sizes = np.empty(at_once, np.int64), np.empty(at_once, np.int64)
    around, stop = np.zeros(TAIL + HEAD + 8, np.uint8), file.size if end is None else end
    while start < stop:
        n = _follow(pread(), file.descriptor, start, min(stop, file.size), around, ends, sizes)
        yield from zip(ends[:n].tolist(), sizes[:n].tolist(), strict=True)
        if n < at_once:
            return
        start = int(ends[-1])


def block_length(data: bytes) -> int:
    """Return the length of the BGZF block whose header is at the start of ``data``, or 0 if there is none."""
    stop = 12 + int.from_bytes(data[10:12], "little")
    if data[:4] == _MAGIC and stop <= len(data):
        i = 12
        while i + 6 <= stop:
            n = int.from_bytes(data[i + 2 : i + 4], "little")
            if data[i : i + 2] == b"BC" and n == 2:
                length = 1 + int.from_bytes(data[i + 4 : i + 6], "little")
                return length if length >= stop + TAIL else 0
            i += 4 + n
    return 0


def last_block(tail: bytes) -> bytes:
    """Return the BGZF block that ends a gzip file; b"" if another member does.  ``tail``: its last bytes."""
    at = len(tail)
    while (at := tail.rfind(_MAGIC, 0, at)) >= 0:
        if at + block_length(tail[at:]) == len(tail):
            return tail[at:]
    return b""


def find_block(file: "RegularFile", start: int) -> int:
    """Return where the first BGZF block from ``start`` begins; the file size if there is none.

    Bytes that look like a block header count if _N_SURE blocks follow each other from there, or all to the
    end.
    """
    while start < file.size:
        data, at = file.bytes(2 * LONGEST, start), -1
        while 0 <= (at := data.find(_MAGIC, at + 1)) < LONGEST:
            ends = [stop for stop, _ in islice(blocks(file, start + at, at_once=_N_SURE), _N_SURE)]
            if len(ends) == _N_SURE or ends[-1:] == [file.size]:
                return start + at
        start += LONGEST
    return file.size


@functools.cache
def pread() -> int:
    """Return the address of the C library's pread."""
    return addresses(None, "pread")[0]


@inlined
def _word(data, at):
    """Return the 4 bytes from ``at`` as a number; four more are read."""
    return np.int64(np.uint32(load_little_endian(data, at)))


@compiled
def _follow(pread, descriptor, start, stop, around, ends, sizes):
    """Store ends and uncompressed sizes of blocks from ``start`` on; return how many, at most as many as fit.

    Stops at ``stop``, and before a header without BC as its first extra field.  ``around`` uint8[34] receives
    the end of one block and the header of the next; ``ends``, ``sizes`` int64[n].
    """
    here, n = address_of(around, 0), 0
    if call_c(pread, descriptor, here + TAIL, HEAD, start) != HEAD:
        return 0
    while n < ends.size and start < stop:
        first, second = _word(around, TAIL), _word(around, TAIL + 12)
        length = 1 + np.int64(around[TAIL + 16]) + 256 * np.int64(around[TAIL + 17])
        least = 12 + np.int64(around[TAIL + 10]) + 256 * np.int64(around[TAIL + 11]) + TAIL
        if first != 0x04088B1F or second != 0x00024342 or length < max(least, HEAD + TAIL):
            return n
        start += length
        n_read = call_c(pread, descriptor, here, TAIL + HEAD, start - TAIL)
        if n_read < TAIL or start > stop or _word(around, 4) > LONGEST:
            return n
        ends[n], sizes[n] = start, _word(around, 4)
        n += 1
        for i in range(n_read, TAIL + HEAD):
            around[i] = 0
    return n


# Deflate and inflate many BGZF blocks per call: compiled code calls isal's C functions without Python's lock.
#
# From Python, each block would need that lock, and 16 threads would spend their time waiting for it.  The
# words of isal's two structs are those of igzip_lib.h, which ISA-L 2 leaves unchanged:
#
#     word      0         1                     2         3                     4           5, 6
#     zstream   next_in   avail_in, total_in    next_out  avail_out, total_out  hufftables  level, buffer
#     state     next_out  avail_out, total_out  next_in   read_in               avail_in, read_in_length

BLOCK = 0xFF00  # uncompressed bytes of a block, the usual size
STORED = 5  # bytes added to a block that does not shrink
HEADER = np.frombuffer(bytes.fromhex("1f8b08040000000000ff0600424302000000"), np.uint8)  # without a length
_STRUCT, _BUFFER = 1 << 15, 282_624 // 8  # words: more than either struct has; what level 1 needs
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
    """Return the functions of the installed isal.  Raises FmxError."""
    names = "deflate_stateless_init", "deflate_stateless", "inflate_init", "inflate_stateless"
    try:
        return Isal(*addresses(isal_zlib.__file__, *(f"isal_{name}" for name in names), "crc32_gzip_refl"))
    except (OSError, AttributeError) as error:
        raise FmxError(f"isal lacks a function ({error}): 'pip install --force-reinstall isal'") from error


@functools.cache
def deflater() -> Isal:
    """Return isal after checking that zlib reads a block it deflated.  Raises FmxError."""
    functions, text, out = isal(), np.arange(250, dtype=np.uint8), np.empty(LONGEST, np.uint8)
    n = _deflate(functions, text, out, np.empty(_STRUCT, np.int64), np.empty(_BUFFER, np.int64), HEADER)
    with contextlib.suppress(OSError, EOFError, zlib.error):
        if n > 0 and gzip.decompress(out[:n].tobytes()) == text.tobytes():
            return functions
    raise FmxError("this version of isal has an unknown data layout: run pip install 'isal<2'")


# Buffers of a thread, reused because the system's kernel clears each page of a new array.
_buffers = Pool(lambda: [np.empty(0, np.uint8), *(np.empty(n, np.int64) for n in (_STRUCT, _BUFFER))])


def deflate(data: np.ndarray) -> bytes:
    """Compress ``data`` (uint8[n]) to BGZF blocks, without the end marker."""
    room = data.size + -(-data.size // BLOCK) * (HEAD + TAIL + STORED)
    out, stream, buffer = _buffers.get()
    if out.size < room:
        out = np.empty(room, np.uint8)
    n = _deflate(deflater(), data, out[:room], stream, buffer, HEADER)
    if n < 0:
        raise FmxError("isal could not deflate a block: install another version of isal")
    blocks = out[:n].tobytes()  # a copy, so that a waiting result takes no more memory than needed
    _buffers.put([out, stream, buffer])
    return blocks


def block_table(packed: np.ndarray, stops: np.ndarray) -> np.ndarray | None:
    """Return int64[5, n]: where each block's deflate stream begins and ends, where its output begins, its
    bytes, and their CRC-32.

    ``packed`` uint8[m] has the BGZF blocks; they end at ``stops`` int64[n].
    Returns None if a header has more than extra fields, or a size is impossible.
    """
    starts, ends = np.append(0, stops)[:-1], stops - TAIL
    begins = starts + 12 + packed[starts + 10] + 256 * packed[starts + 11].astype(np.int64)
    sums, sizes = packed[ends[:, None] + np.arange(TAIL)].view("<u4").astype(np.int64).T
    if (packed[starts + 3] != 4).any() or (begins > ends).any() or (sizes > LONGEST).any():
        return None
    return np.stack([begins, ends, np.cumsum(sizes) - sizes, sizes, sums])


def inflate(packed: np.ndarray, stops: np.ndarray, skip: int, view: np.ndarray) -> bool:
    """Fill ``view`` (uint8[n]) with the uncompressed bytes of BGZF blocks from the ``skip``-th byte on.

    ``packed`` and ``stops`` are those of block_table.  Returns whether the blocks are sound and hold exactly
    that many bytes; ``skip`` is within the first.
    """
    table, spare = block_table(packed, stops), np.empty(LONGEST if skip else 0, np.uint8)
    if table is None or table[3].sum() != skip + view.size or (skip and table[3, 0] < skip):
        return False
    return _inflate(isal(), packed, table, view, np.empty(_STRUCT, np.int64), spare, skip)


@inlined
def _put(out, at, x, n_bytes):
    for j in range(n_bytes):
        out[at + j] = np.uint8((x >> (8 * j)) & 255)


@inlined
def _crc32(isal, data, i, n):
    return np.int64(call_c(isal.crc32, 0, address_of(data, i), n, 0)) & _LOW


@compiled
def _deflate(isal, data, out, stream, buffer, head):
    """Deflate ``data`` to blocks in ``out``, uint8; return bytes, or -1.  ``stream``, ``buffer`` int64."""
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
def _inflate(isal, packed, table, view, state, spare, skip):
    """Inflate blocks of a block_table from ``packed`` to ``view`` (uint8); return whether they are sound.

    ``spare`` uint8 receives the first block if part of it is skipped; ``state`` int64: isal's.
    """
    here = address_of(state, 0)
    call_c(isal.init_inflate, here, 0, 0, 0)
    for b in range(table.shape[1]):
        begin, end, at, n, check = table[0, b], table[1, b], table[2, b] - skip, table[3, b], table[4, b]
        out, to = (spare, 0) if at < 0 else (view, at)
        state[0], state[1] = address_of(out, to), n
        state[2], state[4] = address_of(packed, begin), end - begin
        if call_c(isal.inflate, here, 0, 0, 0) != 0 or state[1] & _LOW or state[4] & _LOW:
            return False
        if _crc32(isal, out, to, n) != check:
            return False
        if at < 0:
            copy_bytes(view, 0, spare, skip, n - skip)
    return True
