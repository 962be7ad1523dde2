"""A regular file that several threads read, each where it likes."""

import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from isal import igzip, isal_zlib

from ..errors import InputError, named_input
from .bgzf import BGZF_END, LONGEST, MAGIC, block_length, inflate


class RegularFile:
    """An open file of ``size`` bytes, as it was when it was opened; closed when nobody holds it.

    ``descriptor``: of its own, to be read from at offsets.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path, self.descriptor = path, os.dup(descriptor)
        self.size = os.fstat(descriptor).st_size

    def __del__(self) -> None:
        os.close(self.descriptor)

    def read(self, view: Any, offset: int) -> int:
        """Fill ``view`` with bytes from an offset on; fewer at the end.  Raises InputError."""
        want, done = max(0, min(len(view), self.size - offset)), 0
        with named_input(self.path):
            while done < want:
                n = os.preadv(self.descriptor, [view[done:want]], offset + done)
                if n == 0:
                    raise InputError(self.path, "", "became shorter while it was read; start again")
                done += n
        return done

    def bytes(self, n: int, offset: int) -> bytes:
        """n bytes from an offset on; fewer at the end."""
        found = bytearray(max(0, min(n, self.size - offset)))
        self.read(memoryview(found), offset)
        return bytes(found)


class Plain:
    """The bytes of a plain file from an offset on."""

    def __init__(self, file: RegularFile, offset: int) -> None:
        self._file, self._offset = file, offset

    def readinto(self, view: memoryview | np.ndarray) -> int:
        """Fill ``view``, as far as the file goes.  Raises InputError."""
        n = self._file.read(view, self._offset)
        self._offset += n
        return n


# gzip of any kind as a stream, and runs of blocks of BGZF, which can be inflated by themselves.


class Gzip:
    """What a file of gzip holds.  ``raw`` gives its bytes; ``before``: the last of those before them."""

    def __init__(self, path: str, raw: Any, before: bytes = b"") -> None:
        self._path, self._watched = path, _Watched(raw, before)
        self._file = igzip.GzipFile(fileobj=self._watched, mode="rb")

    def readinto(self, view: memoryview | np.ndarray) -> int:
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
def _named(path: str) -> Iterator[None]:
    with named_input(path):
        try:
            yield
        except (EOFError, zlib.error, igzip.BadGzipFile, isal_zlib.IsalError) as error:  # type: ignore[misc]
            what = f"truncated or damaged ({error}); transfer it again"
            raise InputError(path, "gzip stream", what) from error


class _Watched(io.RawIOBase):
    """Bytes on their way to the decompressor; the last are kept, to tell where a BGZF was cut.

    Where members stand before them, an empty one is put first, so that what may follow members may follow.
    """

    def __init__(self, raw: Any, before: bytes) -> None:
        self._raw, self._tail, self._first = raw, before, BGZF_END if before else b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
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
            if at + block_length(tail[at:]) == len(tail):
                return tail[-4:] != bytes(4)
        return False


class Blocks:
    """What blocks of BGZF hold, and all after them: n bytes from the ``skip``-th on, and what follows.

    The blocks are those of ``file`` (RegularFile) from ``start`` on, which end at ``stops``.
    """

    def __init__(self, file: RegularFile, start: int, stops: Sequence[int], skip: int, n: int) -> None:
        self.file, self.start, self.stops, self.skip, self._n = file, start, stops, skip, n
        self._rest: Any = None

    def readinto(self, view: np.ndarray) -> int:
        """Fill ``view`` (uint8), at first with n bytes or more; fewer at the end.  Raises InputError."""
        done = 0
        if self._rest is None:
            self._inflate(view[: self._n])
            self._rest, done = after(self.file, self.stops[-1]), self._n
        return done + self._rest.readinto(view[done:])

    def _inflate(self, view: np.ndarray) -> None:
        packed = np.empty(self.stops[-1] - self.start, np.uint8)
        packed = packed[: self.file.read(packed, self.start)]
        stops = np.array(self.stops) - self.start
        if packed.size < stops[-1] or not inflate(packed, stops, self.skip, view):
            self._tell_why(packed)

    def _tell_why(self, packed: np.ndarray) -> None:
        """Raise what a stream of such blocks raises."""
        with (
            _named(self.file.path),
            igzip.GzipFile(fileobj=io.BytesIO(packed.tobytes()), mode="rb") as inside,
        ):
            while inside.read(LONGEST):
                pass
            raise EOFError("a block of BGZF is not as long as it says")


def after(file: RegularFile, start: int) -> Gzip:
    """What a RegularFile of gzip holds from the end of a member on."""
    first = max(0, start - LONGEST)
    return Gzip(file.path, Plain(file, start), file.bytes(start - first, first))
