"""Sequences of a Python program as chunks of FASTA, as fast as reading a file.

Many sequences are joined at once: a Python operation per sequence would take longer than its search.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count as counted
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, quoted
from .chunks import CHUNK_SIZE, NEWLINE, Chunk, bytes_of, count, refuse_letters
from .streams import given

SOME = 256  # sequences that are joined at once, within a core's cache
_HEAD = np.frombuffer(b">\n", np.uint8)  # of a record without a name


class JoinedSequences(NamedTuple):
    """Some sequences, ``letters`` str or bytes, with ``names`` or None, joined as ``lines`` of FASTA.

    The lines lack the first '>' and the last newline.
    """

    letters: list
    names: list | None
    lines: str | bytes


class SequenceSpan:
    """Sequences from number ``first`` on, as a list of JoinedSequences; ``what``: their name in messages."""

    end = 0

    def __init__(self, what: str, first: int, parts: Sequence[JoinedSequences]) -> None:
        self.path, self._what, self._first, self._parts = given(what), what, first, parts
        self.n = sum(len(part.letters) for part in parts)

    def read(self, hold: object = None) -> Chunk:
        """Read them as FASTA.  Raises InputError for a bad sequence, ValueError for non-ASCII characters."""
        head = _HEAD[: 1 if self._parts[0].names else 2]
        data, at, n = np.empty(self._size(head), np.uint8), 0, self.n
        for part in self._parts:
            lines = self._bytes(part)
            stop = at + head.size + len(lines)
            data[at : at + head.size], data[at + head.size : stop], data[stop] = head, lines, NEWLINE
            at = stop + 1
        data = data[:at]
        if count(data, at, True) != 2 * n or count(data, at, False) != n - 1:
            self._refuse()
        return Chunk(self.path, data, False, self._first + 1, n)

    def _size(self, head: np.ndarray) -> int:
        """Return an upper bound of the bytes of FASTA: four per character if names are not ASCII."""
        return sum(
            (len(part.lines) if part.lines.isascii() else 4 * len(part.lines)) + head.size + 1
            for part in self._parts
        )

    def _bytes(self, part: JoinedSequences) -> np.ndarray:
        """Return the lines of JoinedSequences, uint8."""
        lines = bytes_of(part.lines)
        if not lines.isascii():
            self._refuse_beyond_ascii()
        if any(blank in lines for blank in (b" ", b"\t", b"\r")) and (
            part.names is None or _has_blanks(part)
        ):
            self._refuse()
        return np.frombuffer(lines, np.uint8)

    def _letters(self) -> Iterator[str | bytes]:
        """Yield each sequence."""
        return (each for part in self._parts for each in part.letters)

    def _refuse_beyond_ascii(self) -> None:
        """Raise ValueError for the first sequence with non-ASCII characters, if there is one."""
        for i, each in enumerate(self._letters(), self._first):
            if isinstance(each, str) and not each.isascii():
                raise ValueError(f"{self._what}[{i}] must be ASCII, not {quoted(each)}")

    def _refuse(self) -> None:
        """Raise InputError for the first sequence or name that is not one line."""
        for i, each in enumerate(self._letters(), self._first + 1):
            refuse_letters(bytes_of(each), i, self.path)
        names = (name for part in self._parts for name in part.names or ())
        bad = next(i for i, name in enumerate(names, self._first + 1) if "\n" in name)
        raise InputError(self.path, f"record {bad}", "its name contains a line end")


def _has_blanks(part: JoinedSequences) -> bool:
    return any(blank in bytes_of(each) for each in part.letters for blank in (b" ", b"\t", b"\r"))


def plan(
    what: str, sequences: Iterable[Any], size: int = CHUNK_SIZE, is_numbered: bool = False
) -> Generator[SequenceSpan, None, None]:
    """Yield spans of about ``size`` bases of sequences (str or bytes), in order.

    ``sequences``: an iterable, or a Mapping from names to sequences; without names they get none, or numbers
    from 0 if ``is_numbered``.  Raises TypeError, which names the item of ``what`` with another type.
    """
    first, total = 0, 0
    held: list = []
    for some in _joined(what, sequences, is_numbered):
        n = len(some.lines)
        for part in [some] if n <= size else _each(some):
            if held and total + n > size:
                listed = SequenceSpan(what, first, held)
                yield listed
                first, held, total = first + listed.n, [], 0
            held.append(part)
            total += n
    if held:
        yield SequenceSpan(what, first, held)


def _joined(what: str, sequences: Iterable[Any], is_numbered: bool) -> Iterator[JoinedSequences]:
    """Yield sequences, joined SOME at a time."""
    names, is_named = map(str, counted()), is_numbered or isinstance(sequences, Mapping)
    if isinstance(sequences, Mapping):
        names, sequences = map(partial(_name, what), list(sequences)), sequences.values()
    rest, first = iter(sequences), 0
    while letters := list(islice(rest, SOME)):
        own = list(islice(names, len(letters))) if is_named else None
        try:
            lines = _lines(letters, own)
        except TypeError:
            letters = [_sequence(f"{what}[{i}]", each) for i, each in enumerate(letters, first)]
            lines = _lines(letters, own)
        yield JoinedSequences(letters, own, lines)
        first += len(letters)


def _each(some: JoinedSequences) -> Iterator[JoinedSequences]:
    """Yield each sequence separately."""
    for i, each in enumerate(some.letters):
        names = some.names and some.names[i : i + 1]
        yield JoinedSequences([each], names, _lines([each], names))


def _lines(letters: Sequence[Any], names: Sequence[str] | None) -> str | bytes:
    """Join sequences as FASTA.  Raises TypeError unless all are str or all are bytes."""
    is_text = isinstance(letters[0], str)
    if not is_text and not {*map(type, letters)} <= {bytes, np.bytes_}:
        raise TypeError("other types may support the buffer protocol, such as numbers of NumPy")
    if names:
        if is_text:
            return "\n>".join(map("\n".join, zip(names, letters, strict=True)))
        return b"\n>".join(map(b"\n".join, zip(map(bytes_of, names), letters, strict=True)))
    return ("\n>\n" if is_text else b"\n>\n").join(letters)


def _sequence(name: str, value: object) -> bytes:
    """Return a str or bytes as bytes."""
    if not isinstance(value, str | bytes):
        raise TypeError(f"{name} must be str or bytes, not {quoted(value)}")
    return bytes_of(value)


def _name(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must have names (str) as keys, not {quoted(value)}")
    return str(value)
