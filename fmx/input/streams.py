"""Bytes in and out: plain, gzip (multi-member, bgzf) or standard input; outputs that appear whole."""

import io
import os
import stat
import sys
import zlib
from contextlib import contextmanager
from typing import Any

from isal import igzip, isal_zlib

from ..errors import InputError, OutputError
from ..system.drafts import DraftFile

STANDARD = "-"


class Source:
    """One input opened for reading: a path, '-', or bytes; errors of disk and gzip become InputError."""

    def __init__(self, path):
        self.path = "standard input" if str(path) == STANDARD else str(path)
        try:
            if isinstance(path, bytes):
                self.path = "given sequences"
                self._raw: Any = io.BufferedReader(io.BytesIO(path))
            else:
                self._raw = sys.stdin.buffer if str(path) == STANDARD else open(path, "rb")  # noqa: SIM115
            self._file = self._raw
            if self._raw.peek(2)[:2] == b"\x1f\x8b":
                self._watched = _Watched(self._raw)
                self._file = igzip.GzipFile(fileobj=self._watched, mode="rb")
        except OSError as error:
            raise InputError(self.path, "", error.strerror or str(error)) from error

    def size_hint(self) -> int:
        """Bytes to expect: exact for a plain file, a guess otherwise."""
        try:
            size = os.fstat(self._raw.fileno()).st_size
        except OSError:
            return 1 << 20
        return size if self._file is self._raw else 4 * size

    def readinto(self, buffer) -> int:
        """Fill ``buffer`` (uint8 array) from its start as far as the input goes; 0 at the end."""
        view, done = memoryview(buffer), 0
        try:
            while done < len(view):
                n = self._file.readinto(view[done:])
                if not n:
                    self._check_end()
                    break
                done += n
        except (EOFError, zlib.error, igzip.BadGzipFile, isal_zlib.IsalError) as error:  # type: ignore[misc]
            raise InputError(
                self.path, "gzip stream", f"truncated or damaged ({error}); transfer it again"
            ) from error
        except OSError as error:
            raise InputError(self.path, "", error.strerror or str(error)) from error
        return done

    def _check_end(self) -> None:
        if self._file is not self._raw and self._watched.ends_inside():
            raise EOFError("no end-of-file block of BGZF")

    def close(self) -> None:
        if self._raw is not sys.stdin.buffer:
            self._raw.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Watched(io.RawIOBase):
    """Bytes on their way to the decompressor; the last are kept, to tell where a BGZF was cut."""

    LONGEST = 1 << 16  # a block of BGZF, whose bytes 12 to 17 are "BC", 2, 0 and its length less 1

    def __init__(self, raw):
        self._raw, self._tail = raw, b""

    def readable(self):
        return True

    def readinto(self, buffer) -> int:
        n = self._raw.readinto(buffer)
        last = bytes(memoryview(buffer)[max(0, n - self.LONGEST) : n])
        self._tail = (self._tail + last)[-self.LONGEST :]
        return n

    def ends_inside(self) -> bool:
        """Is the last member a block of BGZF that holds data?  The end of a whole file is an empty one."""
        tail, at = self._tail, len(self._tail)
        while (at := tail.rfind(b"\x1f\x8b\x08\x04", 0, at)) >= 0:
            length = 1 + int.from_bytes(tail[at + 16 : at + 18], "little")
            if tail[at + 12 : at + 16] == b"BC\2\0" and at + length == len(tail):
                return tail[-4:] != bytes(4)
        return False


@contextmanager
def whole_output(path):
    """A binary file for ``path`` ('-' is standard output) that appears only when the work has succeeded.

    Devices, pipes and open descriptors (/dev/stdout) are written directly, regular files as drafts.
    """
    if str(path) == STANDARD:
        with _named("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    with _named(path):
        if is_special(path):
            descriptor = descriptor_of(path)
            with open(path if descriptor is None else os.dup(descriptor), "wb") as file:
                yield file
            return
        with DraftFile(path) as draft:
            yield draft.file
            draft.commit()


def is_special(path) -> bool:
    """Is it there and no regular file, or a name of an open descriptor?  Raises OSError."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode) or descriptor_of(path) is not None
    except FileNotFoundError:
        return False


def descriptor_of(path) -> int | None:
    """The open descriptor that a path such as /dev/stdout or /dev/fd/3 names: where one appends, so do we."""
    while os.path.islink(path):
        folder = os.path.realpath(os.path.dirname(path))
        if folder == f"/proc/{os.getpid()}/fd":
            return int(os.path.basename(path))
        path = os.path.join(folder, os.readlink(path))
    return None


@contextmanager
def _named(path):
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror or error}") from error
