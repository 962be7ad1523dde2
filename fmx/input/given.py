"""Sequences that a program gives -> chunks of FASTA, as fast as a file is read.

Whoever takes some of them joins them; what Python did for each by itself would take longer than its search.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count as counted
from itertools import islice

import numpy as np

from ..errors import InputError
from .chunks import CHUNK_SIZE, GIVEN, NEWLINE, Chunk, bytes_of, count, refuse_letters

SOME = 256  # sequences that are looked at together
_HEAD = np.frombuffer(b">\n", np.uint8)  # of a record without a name


class Listed:
    """Some sequences, str or bytes, from number ``first`` on; ``names``, one each, or nothing.

    ``what``: how messages call them.
    """

    path, end = GIVEN, 0

    def __init__(self, what, first, letters, names=()):
        self._what, self._first, self._letters, self._names = what, first, letters, names

    def read(self, hold=None) -> Chunk:
        """Them as FASTA.  Raises InputError for what is no sequence, ValueError for letters beyond ASCII."""
        letters, n = self._letters, len(self._letters)
        try:
            lines = joined = _joined(letters)
        except UnicodeEncodeError:
            bad = next(i for i, each in enumerate(letters) if isinstance(each, str) and not each.isascii())
            must = f"{self._what}[{self._first + bad}] must hold letters of ASCII"
            raise ValueError(f"{must}, not {letters[bad]!r:.60}") from None
        if self._names:
            records = zip(self._names, letters, strict=True)
            lines = b"\n>".join([b"%s\n%s" % (bytes_of(name), bytes_of(each)) for name, each in records])
        begin = _HEAD[: 1 if self._names else 2]
        data = np.empty(begin.size + len(lines) + 1, np.uint8)
        data[: begin.size], data[begin.size : -1], data[-1] = begin, np.frombuffer(lines, np.uint8), NEWLINE
        is_in_lines = count(data, data.size, True) == 2 * n and count(data, data.size, False) == n - 1
        if not is_in_lines or any(blank in joined for blank in (b" ", b"\t", b"\r")):
            self._refuse()
        return Chunk(GIVEN, data, False, self._first + 1, n)

    def _refuse(self):
        """Raise InputError for the first sequence, or name, that is not one line."""
        for i, each in enumerate(self._letters, self._first + 1):
            refuse_letters(bytes_of(each), i)
        bad = next(i for i, name in enumerate(self._names, self._first + 1) if "\n" in name)
        raise InputError(GIVEN, f"record {bad}", "its name holds a line end")


def _joined(letters) -> bytes:
    """Sequences with what stands between them in FASTA without names.  Raises UnicodeEncodeError."""
    with suppress(TypeError):
        return "\n>\n".join(letters).encode("ascii")
    with suppress(TypeError):
        return b"\n>\n".join(letters)
    return b"\n>\n".join(each.encode("ascii") if isinstance(each, str) else each for each in letters)


def plan(what, sequences, size=CHUNK_SIZE, is_numbered=False) -> Iterator[Listed]:
    """Yield what can be ``read`` to Chunks, each of about ``size`` letters, of str or bytes in order.

    ``sequences``: an iterable of them, or a Mapping of names to them; others have no name, or their number
    from 0 where ``is_numbered``.  Raises TypeError that says which of ``what`` is of another type.
    """
    if isinstance(sequences, Mapping):
        names = iter([_name(what, name) for name in sequences])
        sequences = sequences.values()
    else:
        names = map(str, counted()) if is_numbered else iter(())
    first, total = 0, 0
    held: list = []
    for some in _some(what, sequences):
        n = sum(map(len, some))
        for more in [some] if n <= size else [[each] for each in some]:
            if held and total + n > size:
                yield Listed(what, first, held, list(islice(names, len(held))))
                first, held, total = first + len(held), [], 0
            held += more
            total += n
    if held:
        yield Listed(what, first, held, list(islice(names, len(held))))


def _some(what, sequences):
    """Yield lists of SOME sequences."""
    sequences, first = iter(sequences), 0
    while some := list(islice(sequences, SOME)):
        if not set(map(type, some)) <= {str, bytes}:
            some = [_sequence(f"{what}[{i}]", each) for i, each in enumerate(some, first)]
        yield some
        first += len(some)


def _sequence(name, value):
    """A str or bytes, of that very type."""
    if not isinstance(value, str | bytes):
        raise TypeError(f"{name} must be str or bytes, not {value!r:.60}")
    return str(value) if isinstance(value, str) else bytes(value)


def _name(what, value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must have names (str) as keys, not {value!r:.60}")
    return str(value)
