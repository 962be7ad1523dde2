"""Sequences of a Python program as chunks of FASTA, as fast as reading a file.

Many sequences are joined at once: a Python operation per sequence would take longer than its search.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import count as counted
from itertools import islice
from typing import Any

import numpy as np

from ..errors import InputError, quoted
from .chunks import CHUNK_SIZE, Chunk, bytes_of, count, refuse_letters

SOME = 256  # sequences that are joined at once, within a core's cache


class SequenceSpan:
    """Sequences (str or bytes) from number ``first`` on; ``what``: their name in messages.

    ``lines``: them as FASTA in several pieces, without the first '>' and the last newline of each.
    """

    def __init__(self, what: str, first: int, is_named: bool) -> None:
        self.path, self._what, self.first = f"given {what}", what, first
        self.letters: list = []
        self.names: list | None = [] if is_named else None
        self.lines: list[str | bytes] = []

    def read(self, hold: object = None) -> Chunk:
        """Read them as FASTA.  Raises InputError for a bad sequence, ValueError for non-ASCII characters."""
        text, begin = bytearray(), b">\n" if self.names is None else b">"
        for lines in self.lines:
            text += begin
            text += bytes_of(lines)
            text += b"\n"
        data, n = np.frombuffer(text, np.uint8), len(self.letters)
        is_whole = count(data, data.size, True) == 2 * n and count(data, data.size, False) == n - 1
        if not (is_whole and text.isascii()) or any(blank in text for blank in b" \t\r"):
            self._check()
        return Chunk(self.path, data, False, self.first + 1, n)

    def _check(self) -> None:
        """Raise the error for the first sequence or name that is not one line; names may have blanks."""
        for i, each in enumerate(self.letters, self.first):
            if isinstance(each, str) and not each.isascii():
                raise ValueError(f"{self._what}[{i}] must be ASCII, not {quoted(each)}")
        for i, letters in enumerate(map(bytes_of, self.letters), self.first + 1):
            if any(mark in letters for mark in b" \t\r\n>"):
                refuse_letters(letters, i, self.path)
        for i, name in enumerate(self.names or (), self.first + 1):
            if "\n" in name:
                raise InputError(self.path, f"record {i}", "its name contains a line end")


def plan(
    what: str, sequences: Iterable[Any], size: int = CHUNK_SIZE, is_numbered: bool = False
) -> Generator[SequenceSpan, None, None]:
    """Yield spans of about ``size`` bases of sequences (str or bytes), in order.

    ``sequences``: an iterable, or a Mapping from names to sequences; without names they get none, or numbers
    from 0 if ``is_numbered``.  Raises TypeError, which names the item of ``what`` with another type.
    """
    is_named, total = is_numbered or isinstance(sequences, Mapping), 0
    span = SequenceSpan(what, 0, is_named)
    for letters, names, lines in _joined(what, sequences, size, is_named):
        if span.letters and total + len(lines) > size:
            yield span
            span, total = SequenceSpan(what, span.first + len(span.letters), is_named), 0
        span.letters += letters
        if span.names is not None:
            span.names += names
        span.lines.append(lines)
        total += len(lines)
    if span.letters:
        yield span


def _joined(
    what: str, sequences: Iterable[Any], size: int, is_named: bool
) -> Iterator[tuple[list, list, str | bytes]]:
    """Yield (sequences, their names, ``lines``), SOME at a time, or one if these have over ``size`` bytes."""
    first = 0
    if isinstance(sequences, Mapping):
        keys, rest = iter(list(sequences)), iter(sequences.values())
    else:
        keys, rest = map(str, counted()), iter(sequences)
    while letters := list(islice(rest, SOME)):
        names = list(islice(keys, len(letters))) if is_named else []
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"{what} must have names (str) as keys, not {quoted(name)}")
        try:
            lines = _lines(letters, names)
        except TypeError:
            for i, each in enumerate(letters, first):
                if not isinstance(each, str | bytes):
                    raise TypeError(f"{what}[{i}] must be str or bytes, not {quoted(each)}") from None
            letters = list(map(bytes_of, letters))
            lines = _lines(letters, names)
        first += len(letters)
        if len(lines) <= size:
            yield letters, names, lines
            continue
        for i, each in enumerate(letters):
            name = names[i : i + 1]
            yield [each], name, _lines([each], name)


def _lines(letters: Sequence[Any], names: Sequence[str]) -> str | bytes:
    """Join sequences as FASTA.  Raises TypeError unless all are str or all are bytes."""
    is_text = isinstance(letters[0], str)
    if not is_text and not {*map(type, letters)} <= {bytes, np.bytes_}:
        raise TypeError("other types may support the buffer protocol, such as numbers of NumPy")
    if not names:
        return ("\n>\n" if is_text else b"\n>\n").join(letters)
    if is_text:
        return "\n>".join(map("\n".join, zip(names, letters, strict=True)))
    return b"\n>".join(map(b"\n".join, zip(map(bytes_of, names), letters, strict=True)))
