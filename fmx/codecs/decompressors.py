"""zstd, xz and bzip2 as streams, by decompressors that all do what those of the standard library do.

To add a kind, give it a line in KINDS.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, BinaryIO, NamedTuple

from ..errors import InputError

_AT_ONCE = 1 << 18  # packed bytes


class Kind(NamedTuple):
    """``begins`` tells such a file by its first 6 bytes; ``padding``: what may stand after a stream."""

    name: str
    begins: Callable[[bytes], bool]
    module: str
    decompressor: str
    error: str
    padding: bytes = b""


def _begins_zstd(head: bytes) -> bool:
    """With a frame, or one that is skipped (RFC 8878, section 3.1)."""
    return head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F)


KINDS = (
    Kind("zstd", _begins_zstd, "backports.zstd", "ZstdDecompressor", "ZstdError"),
    Kind("xz", lambda head: head == b"\xfd7zXZ\0", "lzma", "LZMADecompressor", "LZMAError", b"\0"),
    Kind("bzip2", lambda head: head[:3] == b"BZh", "bz2", "BZ2Decompressor", "OSError"),
)


def kind_of(head: bytes) -> Kind | None:
    """What a file is that begins with these bytes; None if it is none of KINDS."""
    return next((kind for kind in KINDS if kind.begins(head[:6])), None)


class Packed:
    """What a file of a Kind holds, one stream after the other; ``raw`` gives its bytes."""

    def __init__(self, path: str, raw: BinaryIO, kind: Kind) -> None:
        module = import_module(kind.module)
        self._path, self._raw, self._kind = path, raw, kind
        self._make: Any = getattr(module, kind.decompressor)
        self._error = getattr(module, kind.error, OSError)
        self._stream, self._ahead = self._make(), b""

    def readinto(self, view: memoryview) -> int:
        """Write into ``view``; the number of bytes, 0 at the end.  Raises InputError."""
        while True:
            try:
                if self._stream is None and not self._begin():
                    return 0
                packed = self._read() if self._stream.needs_input else b""
                found = self._stream.decompress(packed, len(view))
                if not (found or packed or self._stream.eof):
                    raise EOFError("it ends within a stream")
            except (EOFError, self._error) as error:
                what = f"truncated or damaged ({error}); transfer it again"
                raise InputError(self._path, f"{self._kind.name} stream", what) from error
            if self._stream.eof:
                self._ahead, self._stream = self._stream.unused_data, None
            if found:
                view[: len(found)] = found
                return len(found)

    def _read(self) -> bytes:
        """The next bytes of the file; none at its end."""
        ahead, self._ahead = self._ahead, b""
        return ahead or self._raw.read(_AT_ONCE)

    def _begin(self) -> bool:
        """Is there another stream?"""
        n_padding = 0
        while packed := self._read():
            self._ahead = packed.lstrip(self._kind.padding)
            n_padding += len(packed) - len(self._ahead)
            if self._ahead:
                self._stream = self._make()
                break
        if n_padding % 4:  # of xz, which alone has any (The .xz file format, section 2.2)
            raise EOFError("padding that is no multiple of 4 bytes")
        return self._stream is not None
