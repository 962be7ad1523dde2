"""Sequences of a Python program as chunks of FASTA, as fast as reading a file.

Many sequences are joined at once: a Python operation per sequence would take longer than its search.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import count as counted
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, quoted
from .chunks import CHUNK_SIZE, Chunk, bytes_of, count, refuse_letters

SOME = 256  # sequences that are joined at once, within a core's cache


class JoinedSequences(NamedTuple):
    """Some sequences, ``letters`` str or bytes, with ``names`` or None, joined as ``lines`` of FASTA.

    The lines lack the first '>' and the last newline.
    """

    letters: list
    names: list | None
    lines: str | bytes


class SequenceSpan:
    """Sequences from number ``first`` on, as a list of JoinedSequences; ``what``: their name in messages."""

    def __init__(self, what: str, first: int, parts: Sequence[JoinedSequences]) -> None:
        self.path, self._what, self._first, self._parts = f"given {what}", what, first, parts
        self.n = sum(len(part.letters) for part in parts)

    def read(self, hold: object = None) -> Chunk:
        """Read them as FASTA.  Raises InputError for a bad sequence, ValueError for non-ASCII characters."""
        text, begin = bytearray(), b">\n" if self._parts[0].names is None else b">"
        for part in self._parts:
            text += begin
            text += bytes_of(part.lines)
            text += b"\n"
        data, n = np.frombuffer(text, np.uint8), self.n
        is_whole = count(data, data.size, True) == 2 * n and count(data, data.size, False) == n - 1
        if not (is_whole and text.isascii()) or any(blank in text for blank in b" \t\r"):
            self._check()
        return Chunk(self.path, data, False, self._first + 1, n)

    def _check(self) -> None:
        """Raise the error for the first sequence or name that is not one line; names may have blanks."""
        sequences = [each for part in self._parts for each in part.letters]
        for i, each in enumerate(sequences, self._first):
            if isinstance(each, str) and not each.isascii():
                raise ValueError(f"{self._what}[{i}] must be ASCII, not {quoted(each)}")
        for i, each in enumerate(sequences, self._first + 1):
            letters = bytes_of(each)
            if any(mark in letters for mark in b" \t\r\n>"):
                refuse_letters(letters, i, self.path)
        names = (name for part in self._parts for name in part.names or ())
        for i, name in enumerate(names, self._first + 1):
            if "\n" in name:
                raise InputError(self.path, f"record {i}", "its name contains a line end")


def plan(
    what: str, sequences: Iterable[Any], size: int = CHUNK_SIZE, is_numbered: bool = False
) -> Generator[SequenceSpan, None, None]:
    """Yield spans of about ``size`` bases of sequences (str or bytes), in order.

    ``sequences``: an iterable, or a Mapping from names to sequences; without names they get none, or numbers
    from 0 if ``is_numbered``.  Raises TypeError, which names the item of ``what`` with another type.
    """
    first, total = 0, 0
    parts: list[JoinedSequences] = []
    for part in _joined(what, sequences, size, is_numbered):
        n = len(part.lines)
        if parts and total + n > size:
            span = SequenceSpan(what, first, parts)
            yield span
            first, parts, total = first + span.n, [], 0
        parts.append(part)
        total += n
    if parts:
        yield SequenceSpan(what, first, parts)


def _joined(what: str, sequences: Iterable[Any], size: int, is_numbered: bool) -> Iterator[JoinedSequences]:
    """Yield sequences, joined SOME at a time; separately if these have more than ``size`` bytes."""
    is_named, first = is_numbered or isinstance(sequences, Mapping), 0
    if isinstance(sequences, Mapping):
        keys, rest = iter(list(sequences)), iter(sequences.values())
    else:
        keys, rest = map(str, counted()), iter(sequences)
    while letters := list(islice(rest, SOME)):
        names = list(islice(keys, len(letters))) if is_named else None
        for name in names or ():
            if not isinstance(name, str):
                raise TypeError(f"{what} must have names (str) as keys, not {quoted(name)}")
        try:
            part = JoinedSequences(letters, names, _lines(letters, names))
        except TypeError:
            for i, each in enumerate(letters, first):
                if not isinstance(each, str | bytes):
                    raise TypeError(f"{what}[{i}] must be str or bytes, not {quoted(each)}") from None
            letters = list(map(bytes_of, letters))
            part = JoinedSequences(letters, names, _lines(letters, names))
        first += len(letters)
        if len(part.lines) <= size:
            yield part
            continue
        for i, each in enumerate(letters):
            name = names and names[i : i + 1]
            yield JoinedSequences([each], name, _lines([each], name))


def _lines(letters: Sequence[Any], names: Sequence[str] | None) -> str | bytes:
    """Join sequences as FASTA.  Raises TypeError unless all are str or all are bytes."""
    is_text = isinstance(letters[0], str)
    if not is_text and not {*map(type, letters)} <= {bytes, np.bytes_}:
        raise TypeError("other types may support the buffer protocol, such as numbers of NumPy")
    if not names:
        return ("\n>\n" if is_text else b"\n>\n").join(letters)
    if is_text:
        return "\n>".join(map("\n".join, zip(names, letters, strict=True)))
    return b"\n>".join(map(b"\n".join, zip(map(bytes_of, names), letters, strict=True)))
