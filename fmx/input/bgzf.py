"""The blocks of BGZF in a file, found by their headers and ends alone: what lies between is not read.

A block is a member of gzip whose header tells its length in an extra field BC (SAM specification, section
4.1); its last four bytes tell how many it holds.  Most headers have this field first, and so one reading
of 26 bytes tells what a block holds and how long the next one is.
"""

import functools
from itertools import islice

import numpy as np

from ..compiler.foreign import address_of, addresses, call_c
from ..compiler.functions import compiled, inlined

MAGIC = b"\x1f\x8b\x08\x04"  # gzip with an extra field
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")  # an empty block
LONGEST = 1 << 16  # bytes of a block, and of what it holds
HEAD, TAIL = 18, 8  # bytes around a deflate stream: of most headers, and of CRC-32 and length
N_SURE = 8  # blocks that follow each other by no chance
AT_ONCE = 1 << 10  # blocks


def blocks(file, start=0, end=None, at_once=AT_ONCE):
    """Yield (where it ends, bytes that it holds) for the blocks of BGZF that lie in a RegularFile.

    From ``start`` on, as long as one follows the other, to ``end`` at most; ``at_once`` of them are found
    by one call of compiled code.
    """
    ends, sizes = np.empty(at_once, np.int64), np.empty(at_once, np.int64)
    around, stop = np.empty(TAIL + HEAD, np.uint8), file.size if end is None else end
    while start < stop:
        n = _follow(_pread(), file.descriptor, start, min(stop, file.size), around, ends, sizes)
        yield from zip(ends[:n].tolist(), sizes[:n].tolist(), strict=True)
        if n == at_once:
            start = int(ends[-1])
            continue
        start = int(ends[n - 1]) if n else start
        if start < stop:
            length = block_length(file.bytes(LONGEST, start))
            start += length
            if not length or start > file.size or (size := _held(file, start)) > LONGEST:
                return
            yield start, size


def _held(file, end) -> int:
    """Bytes that a block holds, by where it ends."""
    return int.from_bytes(file.bytes(4, end - 4), "little")


def block_length(data) -> int:
    """Bytes of the block of BGZF whose header stands first in ``data``, or 0."""
    stop = 12 + int.from_bytes(data[10:12], "little")
    if data[:4] == MAGIC and stop <= len(data):
        i = 12
        while i + 6 <= stop:
            n = int.from_bytes(data[i + 2 : i + 4], "little")
            if data[i : i + 2] == b"BC" and n == 2:
                length = 1 + int.from_bytes(data[i + 4 : i + 6], "little")
                return length if length >= stop + TAIL else 0
            i += 4 + n
    return 0


def find_block(file, start) -> int:
    """Where the first block of BGZF from ``start`` on begins; the size of the file if there is none.

    What looks like the header of a block is one if N_SURE blocks follow each other from there, or to the end.
    """
    while start < file.size:
        data, at = file.bytes(2 * LONGEST, start), -1
        while 0 <= (at := data.find(MAGIC, at + 1)) < LONGEST:
            ends = [stop for stop, _ in islice(blocks(file, start + at, at_once=N_SURE), N_SURE)]
            if len(ends) == N_SURE or ends[-1:] == [file.size]:
                return start + at
        start += LONGEST
    return file.size


@functools.cache
def _pread() -> int:
    """The address of the C library's function."""
    return addresses(None, "pread")[0]


@inlined
def word(data, at):
    """The 4 bytes from ``at`` on as a number."""
    return (
        np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16
        | np.int64(data[at + 3]) << 24
    )  # fmt: skip


@inlined
def _length(data, at):
    """Bytes of the block whose header stands at ``at``, if the field BC is first and long enough; else 0."""
    is_usual = word(data, at) == 0x04088B1F and data[at + 12] == ord("B") and data[at + 13] == ord("C")
    is_usual = is_usual and data[at + 14] == 2 and data[at + 15] == 0
    length = 1 + np.int64(data[at + 16]) + 256 * np.int64(data[at + 17])
    least = 12 + np.int64(data[at + 10]) + 256 * np.int64(data[at + 11]) + TAIL
    return length if is_usual and length >= max(least, HEAD + TAIL) else 0


@compiled
def _follow(pread, descriptor, start, stop, around, ends, sizes):
    """Note where blocks end and what they hold, from the one at ``start`` on: how many, or as many as fit.

    Up to ``stop``, or before one with an unusual header, or that is none.  ``around`` uint8[26] takes the
    end of one block and the header of the next; ``ends``, ``sizes`` int64[n].
    """
    here, n = address_of(around, 0), 0
    if call_c(pread, descriptor, here + TAIL, HEAD, start) != HEAD:
        return 0
    while n < ends.size and start < stop:
        length = _length(around, TAIL)
        if length == 0:
            return n
        start += length
        found = call_c(pread, descriptor, here, TAIL + HEAD, start - TAIL)
        if found < TAIL or start > stop or word(around, 4) > LONGEST:
            return n
        ends[n], sizes[n] = start, word(around, 4)
        n += 1
        for i in range(found, TAIL + HEAD):
            around[i] = 0
    return n
