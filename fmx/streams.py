"""Bytes in and out: plain, gzip (multi-member, bgzf) or standard input; outputs that appear whole."""

import io
import os
import stat
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isal import igzip, isal_zlib

from .errors import InputError, OutputError
from .parallel import available_cores, spans

STANDARD = "-"
N_READERS = min(4, available_cores() // 2)  # one thread copies at a fraction of the memory's speed
_PIECE = 1 << 19  # bytes that are worth a thread


class Pieces:
    """An open plain file, read from its start by several threads at once."""

    def __init__(self, file):
        self._number, self._at, self._pool = file.fileno(), 0, ThreadPoolExecutor(N_READERS)

    def readinto(self, view) -> int:
        """Fill ``view`` from its start; fewer bytes, at least one, are as good, and 0 is the end."""
        parts, done = spans(len(view), min(N_READERS, max(1, len(view) // _PIECE))), 0
        counts = self._pool.map(lambda part: self._read(view[slice(*part)], part[0]), parts)
        for (start, _), n in zip(parts, counts, strict=True):
            done += n if done == start else 0  # what follows a short piece is read again
        self._at += done
        return done

    def _read(self, piece, start) -> int:
        return os.preadv(self._number, [piece], self._at + start)

    def close(self) -> None:
        self._pool.shutdown()


class Source:
    """One input opened for reading: a path, '-', or bytes; errors of disk and gzip become InputError."""

    def __init__(self, path):
        self.path = "standard input" if str(path) == STANDARD else str(path)
        self._is_gzip = False
        try:
            if isinstance(path, bytes):
                self.path = "given sequences"
                self._raw: Any = io.BufferedReader(io.BytesIO(path))
            else:
                self._raw = sys.stdin.buffer if str(path) == STANDARD else open(path, "rb")  # noqa: SIM115
            self._file = self._raw
            if self._raw.peek(2)[:2] == b"\x1f\x8b":
                self._file, self._is_gzip = igzip.GzipFile(fileobj=self._raw, mode="rb"), True
            elif N_READERS > 1 and self._raw is not sys.stdin.buffer and self._is_regular():
                self._file = Pieces(self._raw)
        except OSError as error:
            raise InputError(self.path, "", error.strerror or str(error)) from error

    def size_hint(self) -> int:
        """Bytes to expect: exact for a plain file, a guess otherwise."""
        try:
            size = os.fstat(self._raw.fileno()).st_size
        except OSError:
            return 1 << 20
        return 4 * size if self._is_gzip else size

    def _is_regular(self) -> bool:
        try:
            return stat.S_ISREG(os.fstat(self._raw.fileno()).st_mode)
        except OSError:  # bytes
            return False

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
        if isinstance(self._file, Pieces):
            self._file.close()
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
