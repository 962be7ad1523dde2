"""What a killed run had finished: a file of records, one a chunk, only ever appended to.

    line 1    fmx pairwise checkpoint 1 <digest of the job and of its output's form>
    record    number, length (uint64 each), CRC-32 of both and the data (uint32), data

A record cut short by a kill fails its length or CRC; it and what follows is dropped and done again.
"""

import os
import struct
import zlib

from ..errors import InputError, OutputError
from ..system.files import lock

_HEAD = struct.Struct("<QQI")
_TITLE = "fmx pairwise checkpoint 1 "


class Checkpoint:
    """Finished chunks of a job, on disk."""

    def __init__(self, path: str, digest: str) -> None:
        self.path = path
        self.done: dict[int, tuple[int, int]] = {}  # chunk number -> (offset, length) of its data
        title = f"{_TITLE}{digest}\n".encode()
        try:
            if os.path.exists(path) and not os.path.isfile(path):
                raise OutputError(f"{path}: a checkpoint is a regular file; name another")
            exists = os.path.exists(path) and os.path.getsize(path) > 0
            self._file = open(path, "r+b" if exists else "w+b")  # noqa: SIM115
            if not lock(self._file.fileno()):
                self._file.close()
                raise OutputError(f"{path}: another run is using it; name another --checkpoint")
            if exists:
                self._read(title)
            else:
                self._file.write(title)
                self._file.flush()
        except OSError as error:
            raise OutputError(f"{path}: cannot keep a checkpoint: {error.strerror or error}") from error

    def _read(self, title: bytes) -> None:
        """What is there, up to the first record that is not whole; all after that is cut off."""
        size, found = os.fstat(self._file.fileno()).st_size, self._file.read(len(title))
        if not title.startswith(found):
            ours = found.startswith(_TITLE.encode())
            what = "belongs to other sequences or options" if ours else "is no checkpoint"
            self._file.close()
            raise InputError(self.path, "", f"{what}; remove it or name another file")
        if found != title:  # killed while it was written
            self._file.seek(0)
            self._file.write(title)
        end = len(title)
        while len(head := self._file.read(_HEAD.size)) == _HEAD.size:
            number, length, check = _HEAD.unpack(head)
            if end + _HEAD.size + length > size:
                break
            if zlib.crc32(self._file.read(length), zlib.crc32(head[:16])) != check:
                break
            self.done[number] = (end + _HEAD.size, length)
            end += _HEAD.size + length
        self._file.truncate(end)
        self._file.seek(end)

    def load(self, number: int) -> bytes:
        """Data of a finished chunk."""
        offset, length = self.done[number]
        self._file.seek(offset)
        data = self._file.read(length)
        self._file.seek(0, os.SEEK_END)
        return data

    def add(self, number: int, data: bytes) -> None:
        """Keep the data of one more chunk; on disk before this returns."""
        head = struct.pack("<QQ", number, len(data))
        try:
            self._file.write(head + struct.pack("<I", zlib.crc32(data, zlib.crc32(head))) + data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(f"{self.path}: cannot write: {error.strerror or error}") from error

    def close(self, finished: bool) -> None:
        """Close it; a finished job's checkpoint is removed."""
        self._file.close()
        if finished:
            os.unlink(self.path)
