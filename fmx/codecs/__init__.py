"""Readers of files: ranges and blocks for any thread; streams of gzip, zstd, xz and bzip2.

To add a format, add a line to KINDS.
"""

import io
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from isal import igzip, isal_zlib

from ..errors import InputError, named_input
from ..system import RegularFile
from . import bgzf
from .bgzf import BGZF_END, LONGEST


class PlainRange:
    """The bytes of an uncompressed file from an offset on."""

    def __init__(self, file: RegularFile, offset: int) -> None:
        self._file, self._offset = file, offset

    def readinto(self, view: memoryview | np.ndarray) -> int:
        """Fill ``view`` as far as the file goes; return the number of bytes.  Raises InputError."""
        n = self._file.read(view, self._offset)
        self._offset += n
        return n

    def left(self, n: int) -> tuple[int, int, int]:
        """Return (descriptor of the file, offset, how many of the next n bytes it has)."""
        return self._file.descriptor, self._offset, max(0, min(n, self._file.size - self._offset))

    def skip(self, n: int) -> None:
        """Go on after n bytes."""
        self._offset += n


# gzip of any kind as a stream, and runs of BGZF blocks, which can be inflated independently.


class GzipStream:
    """The uncompressed bytes of a gzip file.  ``raw``: its bytes; ``is_rest``: members come before them."""

    def __init__(self, path: str, raw: io.BufferedReader | PlainRange, is_rest: bool = False) -> None:
        self._path, self._watched = path, _Watched(raw, is_rest)
        self._file = igzip.GzipFile(fileobj=self._watched, mode="rb")

    def readinto(self, view: memoryview | np.ndarray) -> int:
        """Fill ``view`` as far as the data go; return the number of bytes.  Raises InputError."""
        done = 0
        with named_gzip(self._path):
            while done < len(view):
                if not (n := self._file.readinto(view[done:])):
                    break
                done += n
        return done

    def tail(self) -> bytes:
        """Return the last compressed bytes that were read, at most LONGEST."""
        return self._watched.tail


@contextmanager
def named_gzip(path: str) -> Iterator[None]:
    with named_input(path):
        try:
            yield
        except (EOFError, zlib.error, igzip.BadGzipFile, isal_zlib.IsalError) as error:  # type: ignore[misc]
            what = f"truncated or damaged ({error}); copy or download it again"
            raise InputError(path, "gzip stream", what) from error


class _Watched(io.RawIOBase):
    """Bytes on their way to the decompressor; ``tail``: the last ones.

    If members come before these bytes, an empty member is put first, so that anything allowed after a member
    is accepted.
    """

    def __init__(self, raw: io.BufferedReader | PlainRange, is_rest: bool) -> None:
        self._raw, self.tail, self._first = raw, b"", BGZF_END if is_rest else b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._first:
            n = min(len(buffer), len(self._first))
            buffer[:n], self._first = self._first[:n], self._first[n:]
            return n
        n = self._raw.readinto(buffer)
        last = bytes(memoryview(buffer)[max(0, n - LONGEST) : n])
        self.tail = (self.tail + last)[-LONGEST:]
        return n


class BgzfBlocks:
    """The uncompressed bytes of BGZF blocks, n from the ``skip``-th on, and of everything after them.

    The blocks are those of ``file`` (RegularFile) from ``start`` on; they end at ``stops``.
    """

    def __init__(self, file: RegularFile, start: int, stops: Sequence[int], skip: int, n: int) -> None:
        self.file, self.start, self.stops, self.skip, self._n = file, start, stops, skip, n
        self._rest: Any = None

    def readinto(self, view: np.ndarray) -> int:
        """Fill ``view`` (uint8), first with n bytes or more; fewer at the end.  Raises InputError."""
        done = 0
        if self._rest is None:
            self._inflate(view[: self._n])
            self._rest, done = after(self.file, self.stops[-1]), self._n
        return done + self._rest.readinto(view[done:])

    def _inflate(self, view: np.ndarray) -> None:
        packed = np.empty(self.stops[-1] - self.start, np.uint8)
        packed = packed[: self.file.read(packed, self.start)]
        stops = np.array(self.stops) - self.start
        if packed.size == stops[-1] and bgzf.inflate(packed, stops, self.skip, view):
            return
        data = io.BytesIO(packed.tobytes())  # a stream of these blocks raises the error
        with named_gzip(self.file.path), igzip.GzipFile(fileobj=data, mode="rb") as inside:
            while inside.read(LONGEST):
                pass
            raise EOFError("the length of a BGZF block differs from its header")


def after(file: RegularFile, start: int) -> GzipStream:
    """Return a stream of a gzip RegularFile from the end of a member on."""
    return GzipStream(file.path, PlainRange(file, start), start > 0)


# zstd, xz and bzip2 as streams; their decompressors have the interface of the standard library.

_AT_ONCE = 1 << 18  # compressed bytes


class Kind(NamedTuple):
    """``begins`` matches the first bytes of a file; ``padding``: bytes that may follow a stream."""

    name: str
    begins: bytes
    module: str
    decompressor: str
    error: str
    padding: bytes = b""


_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
KINDS = (
    # The second pattern is a frame to skip (RFC 8878, section 3.1).
    Kind("zstd", rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", _ZSTD, "ZstdDecompressor", "ZstdError"),
    Kind("xz", rb"\xfd7zXZ\0", "lzma", "LZMADecompressor", "LZMAError", b"\0"),
    Kind("bzip2", b"BZh", "bz2", "BZ2Decompressor", "OSError"),
)


def kind_of(head: bytes) -> Kind | None:
    """Return the Kind of a file that begins with these bytes; None if it is none of KINDS."""
    return next((kind for kind in KINDS if re.match(kind.begins, head)), None)


class CompressedStream:
    """The uncompressed bytes of a file of a Kind, one stream after another; ``raw``: its bytes."""

    def __init__(self, path: str, raw: BinaryIO, kind: Kind) -> None:
        module = import_module(kind.module)
        self._path, self._raw, self._kind = path, raw, kind
        self._make: Any = getattr(module, kind.decompressor)
        self._error = getattr(module, kind.error, OSError)
        self._stream, self._ahead = self._make(), b""

    def readinto(self, view: memoryview) -> int:
        """Fill ``view``; return the number of bytes, 0 at the end.  Raises InputError."""
        while True:
            try:
                if self._stream is None and not self._begin():
                    return 0
                packed = self._read() if self._stream.needs_input else b""
                data = self._stream.decompress(packed, len(view))
                if not (data or packed or self._stream.eof):
                    raise EOFError("the file ends within a stream")
            except (EOFError, self._error) as error:
                what = f"truncated or damaged ({error}); copy or download it again"
                raise InputError(self._path, f"{self._kind.name} stream", what) from error
            if self._stream.eof:
                self._ahead, self._stream = self._stream.unused_data, None
            if data:
                view[: len(data)] = data
                return len(data)

    def _read(self) -> bytes:
        ahead, self._ahead = self._ahead, b""
        return ahead or self._raw.read(_AT_ONCE)

    def _begin(self) -> bool:
        n_padding = 0
        while packed := self._read():
            self._ahead = packed.lstrip(self._kind.padding)
            n_padding += len(packed) - len(self._ahead)
            if self._ahead:
                self._stream = self._make()
                break
        if n_padding % 4:  # only xz has padding (The .xz file format, section 2.2)
            raise EOFError("padding that is not a multiple of 4 bytes")
        return self._stream is not None
