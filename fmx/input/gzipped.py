"""gzip of any kind as a stream, and the blocks of BGZF, which each can be inflated by itself.

A block of BGZF is a member of gzip whose header tells its length in an extra field BC (SAM specification,
section 4.1).
"""

import io
import zlib
from contextlib import contextmanager
from itertools import islice

import numpy as np
from isal import igzip, isal_zlib

from ..errors import InputError, named_input
from .deflate import LONGEST, inflate
from .regular import Plain

MAGIC = b"\x1f\x8b\x08\x04"  # gzip with an extra field
N_SURE = 8  # blocks that follow each other by no chance
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")  # an empty block


class Gzip:
    """What a file of gzip holds.  ``raw`` gives its bytes; ``before``: the last of those before them."""

    def __init__(self, path, raw, before=b""):
        self._path, self._watched = path, _Watched(raw, before)
        self._file = igzip.GzipFile(fileobj=self._watched, mode="rb")

    def readinto(self, view) -> int:
        """Fill ``view``, as far as it goes.  Raises InputError."""
        done = 0
        with _named(self._path):
            while done < len(view):
                n = self._file.readinto(view[done:])
                if not n:
                    if self._watched.ends_inside():
                        raise EOFError("no end-of-file block of BGZF")
                    break
                done += n
        return done


@contextmanager
def _named(path):
    with named_input(path):
        try:
            yield
        except (EOFError, zlib.error, igzip.BadGzipFile, isal_zlib.IsalError) as error:
            what = f"truncated or damaged ({error}); transfer it again"
            raise InputError(path, "gzip stream", what) from error


class _Watched(io.RawIOBase):
    """Bytes on their way to the decompressor; the last are kept, to tell where a BGZF was cut.

    Where members stand before them, an empty one is put first, so that what may follow members may follow.
    """

    def __init__(self, raw, before):
        self._raw, self._tail, self._first = raw, before, BGZF_END if before else b""

    def readable(self):
        return True

    def readinto(self, buffer) -> int:
        if self._first:
            n = min(len(buffer), len(self._first))
            buffer[:n], self._first = self._first[:n], self._first[n:]
            return n
        n = self._raw.readinto(buffer)
        last = bytes(memoryview(buffer)[max(0, n - LONGEST) : n])
        self._tail = (self._tail + last)[-LONGEST:]
        return n

    def ends_inside(self) -> bool:
        """Is the last member a block of BGZF that holds data?  The end of a whole file is an empty one."""
        tail, at = self._tail, len(self._tail)
        while (at := tail.rfind(MAGIC, 0, at)) >= 0:
            if at + _block_length(tail[at:]) == len(tail):
                return tail[-4:] != bytes(4)
        return False


def _block_length(data) -> int:
    """Bytes of the block of BGZF whose header stands first in ``data``, or 0."""
    stop = 12 + int.from_bytes(data[10:12], "little")
    if data[:4] == MAGIC and stop <= len(data):
        i = 12
        while i + 6 <= stop:
            n = int.from_bytes(data[i + 2 : i + 4], "little")
            if data[i : i + 2] == b"BC" and n == 2:
                length = 1 + int.from_bytes(data[i + 4 : i + 6], "little")
                return length if length >= stop + 8 else 0
            i += 4 + n
    return 0


def blocks(file, start=0, end=None):
    """Yield (where it ends, bytes that it holds) for the blocks of BGZF that lie in a RegularFile.

    From ``start`` on, as long as one follows the other, to ``end`` at most.
    """
    stop = start
    while stop != end and (length := _length_at(file, stop)):
        stop += length
        n = int.from_bytes(file.bytes(4, stop - 4), "little")
        if stop > file.size or n > LONGEST:
            return
        yield stop, n


def _length_at(file, start) -> int:
    """Bytes of the block of BGZF that begins there, or 0."""
    return _block_length(file.bytes(18, start)) or _block_length(file.bytes(LONGEST, start))


def find_block(file, start) -> int:
    """Where the first block of BGZF from ``start`` on begins; the size of the file if there is none.

    What looks like the header of a block is one if N_SURE blocks follow each other from there, or to the end.
    """
    while start < file.size:
        data, at = file.bytes(2 * LONGEST, start), -1
        while 0 <= (at := data.find(MAGIC, at + 1)) < LONGEST:
            ends = [stop for stop, _ in islice(blocks(file, start + at), N_SURE)]
            if len(ends) == N_SURE or ends[-1:] == [file.size]:
                return start + at
        start += LONGEST
    return file.size


class Blocks:
    """What blocks of BGZF hold, and all after them: n bytes from the ``skip``-th on, and what follows.

    The blocks are those of a RegularFile from ``start`` on, which end at ``stops``.
    """

    def __init__(self, file, start, stops, skip, n):
        self._file, self._start, self._stops, self._skip, self._n = file, start, stops, skip, n
        self._rest = None

    def readinto(self, view) -> int:
        """Fill ``view`` (uint8), at first with n bytes or more; fewer at the end.  Raises InputError."""
        done = 0
        if self._rest is None:
            self._inflate(view[: self._n])
            self._rest, done = after(self._file, self._stops[-1]), self._n
        return done + self._rest.readinto(view[done:])

    def _inflate(self, view):
        packed = np.empty(self._stops[-1] - self._start, np.uint8)
        packed = packed[: self._file.read(packed, self._start)]
        stops = np.array(self._stops) - self._start
        if packed.size < stops[-1] or not inflate(packed, stops, self._skip, view):
            self._tell_why(packed)

    def _tell_why(self, packed):
        """Raise what a stream of such blocks raises."""
        with _named(self._file.path), igzip.GzipFile(fileobj=io.BytesIO(packed), mode="rb") as inside:
            while inside.read(LONGEST):
                pass
            raise EOFError("a block of BGZF is not as long as it says")


def after(file, start) -> Gzip:
    """What a RegularFile of gzip holds from the end of a member on."""
    first = max(0, start - LONGEST)
    return Gzip(file.path, Plain(file, start), file.bytes(start - first, first))
