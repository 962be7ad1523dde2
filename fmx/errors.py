"""Exceptions of fmx, which cli/main.py turns into exit codes; and helpers to word messages.

No message is longer than MESSAGE characters, whatever it quotes.
"""

import errno
import os
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager

CUDA_EXTRA = "'.[cuda]', or '.[cuda12]' for a driver of CUDA 12, in a clone of fmx"
MESSAGE = 500  # characters of a message
LINE = MESSAGE + 20  # characters of a line on standard error, with the prefix
_PATH, _WHERE, _VALUE = 200, 80, 60  # characters of what a message quotes


class FmxError(Exception):
    """An error reported in one line: what is wrong, where, and what to do."""

    def __init__(self, message: str = "") -> None:
        super().__init__(brief(message, MESSAGE))


class InputError(FmxError):
    """Bad input; names the file and the record or line."""

    def __init__(self, path: str | bytes | os.PathLike, where: str, what: str) -> None:
        self.path, self.where, self.what = str(path), where, what
        place = brief(self.path, _PATH)
        super().__init__(f"{place}: {brief(where, _WHERE)}: {what}" if where else f"{place}: {what}")

    def __reduce__(self) -> tuple:
        return InputError, (self.path, self.where, self.what)


class IndexFileError(FmxError):
    """An index that is missing, damaged, incomplete or of another version."""


class UnsupportedError(FmxError):
    """Something that fmx, this index or this format cannot do."""


class OutputError(FmxError):
    """The output cannot be written."""


class DeviceError(FmxError):
    """A GPU that is missing, does not respond, or lacks memory or a package; states what to install or do."""


class ClusterError(FmxError):
    """A cluster that does not respond, has no workers, or has workers that differ from this machine."""


class LostDeviceError(DeviceError):
    """A GPU that stopped responding: its memory is lost and cannot be freed."""


@contextmanager
def named_input(path: str | bytes | os.PathLike) -> Iterator[None]:
    """Turn system errors while reading an input into InputError."""
    try:
        yield
    except IsADirectoryError as error:
        raise InputError(path, "", f"{error.strerror}: name the files in it") from error
    except OSError as error:
        raise InputError(path, "", error.strerror or str(error)) from error


def cannot_write(path: str | os.PathLike, error: OSError, what: str = "write") -> OutputError:
    """Return the error for an output that the system refuses to ``what``; a missing folder is named."""
    folder, why = os.path.dirname(path), error.strerror or str(error)
    if error.errno == errno.ENOENT and folder and not os.path.isdir(folder):
        why = f"the folder '{folder}' does not exist"
    return OutputError(f"{path}: cannot {what}: {why}")


def shown(text: str) -> str:
    """Return a text as one line of a message, with unprintable characters escaped.

    These are control characters, line ends, direction and zero-width marks, and bytes that are not UTF-8.
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def brief(text: str, most: int = _VALUE) -> str:
    """Return a text as part of a message: escaped, and with its middle left out if longer than ``most``."""
    return _abridged(shown(_abridged(text, most)), most)


def quoted(value: object) -> str:
    """The repr of any value as part of a message; only the beginning of long or deep values is formatted."""
    return brief(_BRIEF.repr(value))


class _Brief(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = _VALUE - 10

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value[: self.maxstring]) + ("..." if len(value) > self.maxstring else "")

    def repr_int(self, value: int, level: int) -> str:
        n = value.bit_length()
        return repr(value) if n < 200 else f"a number of {n:,} bits"  # Python limits the digits it prints


_BRIEF = _Brief()


def _abridged(text: str, most: int) -> str:
    tail = most // 3
    return text if len(text) <= most else f"{text[: most - tail - 5]} ... {text[-tail:]}"


def escaped(data: bytes) -> str:
    """Bytes in quotes with unprintable characters escaped: ``'x'``, ``'\\x1f'``."""
    return repr(data).removeprefix("b")


def n_of(n: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 read``, ``2,000 reads``; ``many``: plural, if not ``one`` with an s."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def size_in_words(n: float) -> str:
    """Return a number of bytes in words: ``900 bytes``, ``1.25 kB``, ``20 MB``, ``1,200 GB``."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if n >= size:
            return f"{n / size:.3g} {unit}" if n < 999.5 * size else f"{n / size:,.0f} {unit}"
    return n_of(int(n), "byte")


def _seen(letter: str) -> str:
    if letter.isprintable():
        return letter
    byte = ord(letter) - 0xDC00  # Python's surrogate for a byte that is not UTF-8
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else letter.encode("unicode_escape").decode()


@contextmanager
def installed(package: str, to_install: str, kind: type[FmxError] = DeviceError) -> Iterator[None]:
    """Turn a failed import of an optional package into ``kind``, with the pip command to install it."""
    try:
        yield
    except Exception as error:  # a broken or incompatible package may raise anything
        said = (str(error).splitlines() or [""])[0]
        raise kind(
            f"{package} cannot be used ({type(error).__name__}: {said}): pip install {to_install}"
        ) from error
