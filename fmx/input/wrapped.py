"""FASTQ with sequences in several lines, read in order and given as FASTQ with four lines per record."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from . import Reader

_AT_ONCE = 1 << 18  # bytes


class WrappedFastq:
    """The records of a Reader of FASTQ, each in four lines; from damage on, its lines as they are."""

    def __init__(self, reader: "Reader") -> None:
        self._records, self._made = _in_four_lines(io.BufferedReader(_Lines(reader), _AT_ONCE)), bytearray()

    def readinto(self, view: np.ndarray) -> int:
        """Fill ``view`` (uint8 array), as far as the records go; return the number of bytes.

        Raises InputError.
        """
        made = self._made
        while len(made) < view.size and (record := next(self._records, b"")):
            made += record
        n = min(view.size, len(made))
        view[:n] = np.frombuffer(made[:n], np.uint8)
        del made[:n]
        return n


class _Lines(io.RawIOBase):
    """The bytes of a Reader, for a buffer that finds lines."""

    def __init__(self, reader: "Reader") -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._reader.readinto(np.frombuffer(buffer, np.uint8))


def _in_four_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield records in four lines.

    Qualities end with the line that makes them as long as the sequence: a line of them may begin with @.
    """
    for header in lines:
        if not header.startswith(b"@"):
            yield header
            yield from lines
            return
        letters, plus, qualities = [], b"", []
        for plus in lines:
            if plus.startswith(b"+"):
                break
            letters.append(_without_end(plus))
        left = sum(map(len, letters))
        for line in lines:
            qualities.append(_without_end(line))
            left -= len(qualities[-1])
            if left <= 0:
                break
        yield header + b"".join(letters) + b"\n"
        if plus.startswith(b"+"):
            yield plus
        if qualities:
            yield b"".join(qualities) + b"\n"


def _without_end(line: bytes) -> bytes:
    """Return a line without LF, or CR LF."""
    return line.removesuffix(b"\n").removesuffix(b"\r")
