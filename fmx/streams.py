"""Bytes in and out: plain, gzip (multi-member, bgzf) or standard input; outputs that appear whole."""

import io
import os
import stat
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isal import igzip, isal_zlib

from .errors import InputError, OutputError

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
                self._file = igzip.GzipFile(fileobj=self._raw, mode="rb")
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
                    break
                done += n
        except (EOFError, zlib.error, igzip.BadGzipFile, isal_zlib.IsalError) as error:  # type: ignore[misc]
            raise InputError(
                self.path, "gzip stream", f"truncated or damaged ({error}); transfer it again"
            ) from error
        except OSError as error:
            raise InputError(self.path, "", error.strerror or str(error)) from error
        return done

    def close(self) -> None:
        if self._raw is not sys.stdin.buffer:
            self._raw.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@contextmanager
def whole_output(path):
    """A binary file for ``path`` ('-' is standard output) that appears only when the work has succeeded.

    Devices and pipes are written directly, regular files under a temporary name that is then renamed.
    """
    if str(path) == STANDARD:
        with _named("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    path = Path(path)
    special = path.exists() and not stat.S_ISREG(path.stat().st_mode)
    partial = path if special else path.with_name(f".{path.name}.{os.getpid()}.partial")
    with _named(path):
        try:
            with open(partial, "wb") as file:
                yield file
            if not special:
                partial.replace(path)
        finally:
            if not special:
                partial.unlink(missing_ok=True)


@contextmanager
def _named(path):
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror or error}") from error
