"""FASTQ with sequences in several lines, read in order and given as FASTQ with four lines per record."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .dna import LETTERS

if TYPE_CHECKING:
    from . import Reader

_AT_ONCE = 1 << 18  # bytes


def is_wrapped(head: bytes) -> bool:
    """Return whether FASTQ that begins with ``head`` has a record with several lines of sequence there.

    Its qualities must have as many characters as the sequence, and end before a record, or beyond the head.
    """
    lines = [line.removesuffix(b"\r") for line in head.split(b"\n")[:-1]]
    i, n = 0, len(lines)
    while i < n and lines[i].startswith(b"@"):
        plus = next((j for j in range(i + 1, n) if lines[j].startswith(b"+")), n)
        if plus > i + 2:
            sequence = b"".join(lines[i + 1 : plus])
            left, j = len(sequence), plus + 1
            while left > 0 and j < n:
                left, j = left - len(lines[j]), j + 1
            is_record = left == 0 if j < n and lines[j][:1] in (b"@", b"") else left >= 0 and j >= n
            return is_record and all(lines[i + 1 : plus]) and not sequence.translate(None, LETTERS)
        i = plus + 2
    return False


class WrappedFastq:
    """The records of a Reader of FASTQ, each in four lines; from damage on, its lines as they are."""

    def __init__(self, reader: "Reader") -> None:
        self._records, self._ahead = _in_four_lines(_lines_of(reader)), bytearray()

    def readinto(self, view: np.ndarray) -> int:
        """Fill ``view`` (uint8 array), as far as the records go; return the number of bytes.

        Raises InputError.
        """
        ahead = self._ahead
        while len(ahead) < view.size and (record := next(self._records, b"")):
            ahead += record
        n = min(view.size, len(ahead))
        view[:n] = np.frombuffer(ahead[:n], np.uint8)
        del ahead[:n]
        return n


def _lines_of(reader: "Reader") -> Iterator[bytes]:
    """Yield the lines of a Reader with their ends; the last one may have none."""
    data, rest = np.empty(_AT_ONCE, np.uint8), b""
    while n := reader.readinto(data):
        *lines, rest = (rest + data[:n].tobytes()).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


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
