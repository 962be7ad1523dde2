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

_SOME = 256  # sequences that are joined at once, at most: within a core's cache


def plan(
    what: str, sequences: Iterable[Any], size: int = CHUNK_SIZE, is_numbered: bool = False
) -> Generator[Chunk, None, None]:
    """Yield Chunks of about ``size`` bases of sequences (str or bytes), in order.

    ``sequences``: an iterable, or a Mapping from names to sequences; without names they get none, or numbers
    from 0 if ``is_numbered``.  Errors name the item of ``what``: TypeError for one of another type,
    ValueError for one that is not ASCII, InputError for one that is more than a line.
    """
    is_named = is_numbered or isinstance(sequences, Mapping)
    keys: Iterator[Any] = map(str, counted())
    rest = iter(sequences)
    if isinstance(sequences, Mapping):
        keys, rest = iter(list(sequences)), iter(sequences.values())
    first, letters, names, fasta = 0, [], [], bytearray()  # type: tuple[int, list, list, bytearray]
    n = 1  # sequences that are joined next
    while some := list(islice(rest, n)):
        some_names = list(islice(keys, len(some))) if is_named else []
        lines = _joined(what, first + len(letters), some, some_names)
        n = min(2 * n, _SOME) if 2 * len(lines) < size else max(1, n // 2)
        if letters and len(fasta) + len(lines) > size:
            yield _chunk(what, first, letters, names, fasta)
            first, letters, names, fasta = first + len(letters), [], [], bytearray()
        letters += some
        names += some_names
        for piece in (b">" if is_named else b">\n", lines, b"\n"):
            fasta += piece
    if letters:
        yield _chunk(what, first, letters, names, fasta)


def _joined(what: str, first: int, letters: Sequence[Any], names: Sequence[Any]) -> bytes:
    """Return sequences from number ``first`` on as FASTA, without the first '>' and the last newline."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} must have names (str) as keys, not {quoted(name)}")
    kinds, border = {*map(type, letters)}, "\n>" if names else "\n>\n"
    if not all(issubclass(kind, str | bytes) for kind in kinds):
        i, other = next((i, x) for i, x in enumerate(letters, first) if not isinstance(x, str | bytes))
        raise TypeError(f"{what}[{i}] must be str or bytes, not {quoted(other)}")
    rows: Iterable[Any] = letters
    if all(issubclass(kind, str) for kind in kinds):
        if names:
            rows = map("\n".join, zip(names, letters, strict=True))
        return bytes_of(border.join(rows))
    if any(issubclass(kind, str) for kind in kinds):
        rows = map(bytes_of, letters)
    if names:
        rows = map(b"\n".join, zip(map(bytes_of, names), rows, strict=True))
    return border.encode().join(rows)


def _chunk(what: str, first: int, letters: Sequence[Any], names: Sequence[str], fasta: bytearray) -> Chunk:
    """Return the Chunk of sequences from number ``first`` on, unless one is more than a line of ASCII."""
    path, data, n = f"given {what}", np.frombuffer(fasta, np.uint8), len(letters)
    is_whole = count(data, data.size, True) == 2 * n and count(data, data.size, False) == n - 1
    if not (is_whole and fasta.isascii()) or any(blank in fasta for blank in b" \t\r"):
        for i, each in enumerate(letters, first):
            if isinstance(each, str) and not each.isascii():
                raise ValueError(f"{what}[{i}] must be ASCII, not {quoted(each)}")
        for i, each in enumerate(map(bytes_of, letters), first + 1):
            if any(mark in each for mark in b" \t\r\n>"):
                refuse_letters(each, i, path)
        for i, name in enumerate(names, first + 1):
            if "\n" in name:
                raise InputError(path, f"record {i}", "its name contains a line end")
    return Chunk(path, data, False, first + 1, n)
