"""Readers of files: ranges of plain files and blocks of BGZF, which any thread can read; compressed streams.

To add a format, add a line to _KINDS.
"""

import io
import re
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from isal.igzip_lib import DECOMP_GZIP

from ..errors import InputError
from ..system import RegularFile
from . import bgzf
from .bgzf import LONGEST


class PlainRange:
    """The bytes of an uncompressed file from an offset on."""

    def __init__(self, file: RegularFile, offset: int) -> None:
        self._file, self._offset = file, offset

    def readinto(self, view: memoryview | np.ndarray) -> int:
        """Fill ``view`` as far as the file goes; return the number of bytes.  Raises InputError."""
        n = self._file.read(view, self._offset)
        self._offset += n
        return n

    def read(self, n: int) -> bytes:
        """Return the next n bytes; fewer at the end.  Raises InputError."""
        data = self._file.bytes(n, self._offset)
        self._offset += len(data)
        return data

    def left(self, n: int) -> tuple[int, int, int]:
        """Return (descriptor of the file, offset, how many of the next n bytes it has)."""
        return self._file.descriptor, self._offset, max(0, min(n, self._file.size - self._offset))

    def skip(self, n: int) -> None:
        """Skip the next n bytes."""
        self._offset += n


# gzip, zstd, xz and bzip2 as streams; their decompressors have the interface of the standard library.

_AT_ONCE = 1 << 18  # bytes


class Kind(NamedTuple):
    """``begins`` matches the first bytes of a file; ``arguments``: those of the decompressor.

    ``padding``: zero bytes may follow a stream, a multiple of so many; 0: none may.
    """

    name: str
    begins: bytes
    module: str
    decompressor: str
    error: str
    padding: int = 0
    arguments: tuple = ()


_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
GZIP = Kind("gzip", rb"\x1f\x8b", "isal.igzip_lib", "IgzipDecompressor", "IsalError", 1, (DECOMP_GZIP,))
_KINDS = (
    GZIP,
    # The second pattern is a frame to skip (RFC 8878, section 3.1).
    Kind("zstd", rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", _ZSTD, "ZstdDecompressor", "ZstdError"),
    # The .xz file format, section 2.2.
    Kind("xz", rb"\xfd7zXZ\0", "lzma", "LZMADecompressor", "LZMAError", 4),
    Kind("bzip2", b"BZh", "bz2", "BZ2Decompressor", "OSError"),
)


def kind_of(head: bytes) -> Kind | None:
    """Return the Kind of a file that begins with these bytes; None if it is none of _KINDS."""
    return next((kind for kind in _KINDS if re.match(kind.begins, head)), None)


def damaged(path: str, kind: Kind, why: object) -> InputError:
    """Return the error for a file of a Kind that cannot be decompressed."""
    what = f"truncated or damaged ({why}); copy or download it again"
    return InputError(path, f"{kind.name} stream", what)


class CompressedStream:
    """The uncompressed bytes of a file of a Kind, one stream after another; ``raw``: its bytes."""

    def __init__(self, path: str, raw: io.BufferedReader | io.BytesIO | PlainRange, kind: Kind) -> None:
        module = import_module(kind.module)
        self._path, self._raw, self._kind = path, raw, kind
        self._make: Any = partial(getattr(module, kind.decompressor), *kind.arguments)
        self._error = getattr(module, kind.error, OSError)
        self._stream: Any = None
        self._ahead, self._last = b"", (b"", b"")  # bytes read ahead, and the last two reads

    def readinto(self, view: Any) -> int:
        """Fill ``view`` as far as the data go; return the number of bytes.  Raises InputError."""
        view, done = memoryview(view), 0
        try:
            while done < len(view) and (self._stream or self._begin()):
                packed = self._read() if self._stream.needs_input else b""
                data = self._stream.decompress(packed, min(len(view) - done, _AT_ONCE))
                if not (data or packed or self._stream.eof):
                    raise EOFError("the file ends within a stream")
                view[done : done + len(data)] = data
                done += len(data)
                if self._stream.eof:
                    self._ahead, self._stream = self._stream.unused_data, None
        except (EOFError, self._error) as error:
            raise damaged(self._path, self._kind, error) from error
        return done

    def _read(self) -> bytes:
        packed, self._ahead = self._ahead, b""
        if not packed and (packed := self._raw.read(_AT_ONCE)):
            self._last = self._last[-1], packed
        return packed

    def tail(self) -> bytes:
        """Return the last compressed bytes that were read, at most LONGEST."""
        return b"".join(self._last)[-LONGEST:]

    def _begin(self) -> bool:
        n_padding, multiple = 0, self._kind.padding
        while packed := self._read():
            self._ahead = packed.lstrip(b"\0") if multiple else packed
            n_padding += len(packed) - len(self._ahead)
            if self._ahead:
                self._stream = self._make()
                break
        if n_padding % (multiple or 1):
            raise EOFError(f"padding that is not a multiple of {multiple} bytes")
        return self._stream is not None


def gzip_from(file: RegularFile, start: int) -> CompressedStream:
    """Return a stream of a gzip RegularFile from ``start`` on, where a member begins."""
    return CompressedStream(file.path, PlainRange(file, start), GZIP)


class BgzfBlocks:
    """Inflated bytes of a file from byte ``skip`` of some BGZF blocks on: n of these, then all after them.

    The blocks are those of ``file`` from ``start`` on and end at ``stops``; input/reads_gpu.py uses these.
    """

    def __init__(self, file: RegularFile, start: int, stops: Sequence[int], skip: int, n: int) -> None:
        self.file, self.start, self.stops, self.skip, self._n = file, start, stops, skip, n
        self._rest: Any = None

    def readinto(self, view: np.ndarray) -> int:
        """Fill ``view`` (uint8, at first n bytes or more); return the number of bytes.  Raises InputError."""
        done = 0
        if self._rest is None:
            self._inflate(view[: self._n])
            self._rest, done = gzip_from(self.file, self.stops[-1]), self._n
        return done + self._rest.readinto(view[done:])

    def _inflate(self, view: np.ndarray) -> None:
        packed = np.empty(self.stops[-1] - self.start, np.uint8)
        packed = packed[: self.file.read(packed, self.start)]
        stops = np.array(self.stops) - self.start
        if packed.size == stops[-1] and bgzf.inflate(packed, stops, self.skip, view):
            return
        stream = CompressedStream(self.file.path, io.BytesIO(packed.tobytes()), GZIP)
        while stream.readinto(view):  # raises the error
            pass
        raise damaged(self.file.path, GZIP, "the length of a BGZF block differs from its header")
