"""What can go wrong, as types; cli/main.py turns them into exit codes, once.

No message is longer than MESSAGE characters, whatever names, values or bytes of files it quotes.
"""

import os
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager

CUDA_EXTRA = "'fmx-mapper[cuda]', or 'fmx-mapper[cuda12]' for a driver of CUDA 12"
MESSAGE = 500  # characters of a message
LINE = MESSAGE + 20  # of one on standard error, after who says it
_PATH, _WHERE, _VALUE = 200, 80, 60  # of what is quoted in one


class FmxError(Exception):
    """An error that a person can mend: one line saying what, where and what to do."""

    def __init__(self, message: str = "") -> None:
        super().__init__(brief(message, MESSAGE))


class InputError(FmxError):
    """Bad data: names the file and the record or line."""

    def __init__(self, path: str | bytes | os.PathLike, where: str, what: str) -> None:
        self.path, self.where, self.what = str(path), where, what
        place = brief(self.path, _PATH)
        super().__init__(f"{place}: {brief(where, _WHERE)}: {what}" if where else f"{place}: {what}")

    def __reduce__(self) -> tuple:
        return InputError, (self.path, self.where, self.what)


class StalledError(FmxError):
    """Work that would never end: a fault of fmx itself.  Names what was worked on."""

    def __init__(self, path: str | os.PathLike, what: str) -> None:
        self.path, self.what = str(path), what
        place = brief(self.path, _PATH)
        super().__init__(f"{place}: {what}: a fault in fmx; please report it with the command")

    def __reduce__(self) -> tuple:
        return StalledError, (self.path, self.what)


class IndexFileError(FmxError):
    """An index that is missing, damaged, of another version or incomplete."""


class UnsupportedError(FmxError):
    """A combination of layout, engine and query that does not exist."""


class OutputError(FmxError):
    """The result could not be written."""


class DeviceError(FmxError):
    """A GPU that is not there, does not answer, or lacks memory or a package: says what to install or do."""


class ClusterError(FmxError):
    """A cluster that does not answer, has no workers, or workers that are not like this machine."""


class LostDeviceError(DeviceError):
    """A GPU that does not answer any more: what was held there is gone, and cannot be freed either."""


@contextmanager
def named_input(path: str | bytes | os.PathLike) -> Iterator[None]:
    """Around the reading of an input: errors of the system become InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(path, "", error.strerror or str(error)) from error


def shown(text: str) -> str:
    """A text as one line of a message: what is no character that can be seen is escaped.

    That is control characters, line ends, marks of direction and of no width, and bytes that are no UTF-8.
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def brief(text: str, most: int = _VALUE) -> str:
    """A text as part of a message: as ``shown``, and without its middle where it is longer than ``most``."""
    return _abridged(shown(_abridged(text, most)), most)


def quoted(value: object) -> str:
    """Any value as part of a message: its repr, of a long or deep one only the beginning is looked at."""
    return brief(_BRIEF.repr(value))


class _Brief(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = _VALUE - 10

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value[: self.maxstring]) + ("..." if len(value) > self.maxstring else "")

    def repr_int(self, value: int, level: int) -> str:
        n = value.bit_length()
        return repr(value) if n < 200 else f"a number of {n:,} bits"  # Python refuses to print the longest


_BRIEF = _Brief()


def _abridged(text: str, most: int) -> str:
    tail = most // 3
    return text if len(text) <= most else f"{text[: most - tail - 5]} ... {text[-tail:]}"


def escaped(data: bytes) -> str:
    """Bytes in quotes, those that are no character that can be seen escaped: ``'x'``, ``'\\x1f'``."""
    return repr(data).removeprefix("b")


def n_of(n: int, one: str, many: str = "") -> str:
    """n things in words: ``1 read``, ``2,000 reads``; ``many`` where it is not ``one`` with an s."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _seen(letter: str) -> str:
    if letter.isprintable():
        return letter
    byte = ord(letter) - 0xDC00  # as Python holds a byte of a file's name that is no UTF-8
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else letter.encode("unicode_escape").decode()


@contextmanager
def installed(package: str, to_install: str, kind: type[FmxError] = DeviceError) -> Iterator[None]:
    """Around imports of what fmx can do without: where they fail, ``kind`` says what pip is to install."""
    try:
        yield
    except Exception as error:  # a package that is broken, or of another version, may raise anything
        said = (str(error).splitlines() or [""])[0]
        raise kind(
            f"{package} cannot be used ({type(error).__name__}: {said}): pip install {to_install}"
        ) from error
