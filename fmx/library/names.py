"""Names of reads, contigs or sequences, as bytes one after the other: an object each would take longer."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, overload

import numpy as np

from ..compiler.functions import compiled
from ..compiler.primitives import copy_bytes
from ..errors import n_of, quoted
from ..input.reads import ReadBatch


class Names(Sequence[str]):
    """Names by their number.

    ``names[7]`` is a str; ``names[array]``, with whole numbers as in ``hits["read"]``, a list of str.
    Those of a chunk begin with number ``first``; ``len(names)`` are there.

    Examples:
        >>> names = fmx.Names.of(["chr1", "chr2"])
        >>> names[1], names[[1, 1, 0]]
        ('chr2', ['chr2', 'chr2', 'chr1'])
    """

    def __init__(self, letters: np.ndarray, ends: np.ndarray, first: int = 0) -> None:
        """``letters`` uint8; ``ends`` int64[n + 1]: name i, from 0, is letters[ends[i] : ends[i + 1]]."""
        self._letters, self._ends, self.first = letters, ends, first

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        """Names of str, one or more in a list or another iterable.  Raises TypeError for others."""
        if isinstance(names, str):
            raise TypeError(f"names must be several str, as in a list, not {quoted(names)}")
        encoded = [_encoded(name) for name in names]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return cls(np.frombuffer(bytearray(b"".join(encoded)), np.uint8), ends)

    @classmethod
    def of_batch(cls, batch: ReadBatch) -> "Names":
        """Names of a ReadBatch."""
        return cls(*gathered(batch.data, batch.name_start, batch.name_length))

    @classmethod
    def joined(cls, several: Iterable["Names"]) -> "Names":
        """Names one after the other."""
        several = list(several)
        lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(names._ends) for names in several)])
        letters = np.concatenate([np.empty(0, np.uint8), *(names._letters for names in several)])
        return cls(letters, np.append(0, np.cumsum(lengths)))

    def numbered_from(self, first: int) -> "Names":
        """The same, the first of which is number ``first``."""
        return Names(self._letters, self._ends, first)

    def columns(self, numbers: Any) -> tuple[np.ndarray, np.ndarray]:
        """(letters uint8, ends int64[n + 1]) of the names with these numbers, int[n]."""
        numbers = _whole(numbers) - self.first
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise IndexError(f"names have the numbers {self.first} to {self.first + len(self) - 1}")
        start = self._ends[numbers]
        return gathered(self._letters, start, self._ends[numbers + 1] - start)

    @property
    def texts(self) -> tuple[np.ndarray, np.ndarray]:
        """(letters uint8, ends int64[n + 1]) of all."""
        return self._letters, self._ends

    def __len__(self) -> int:
        return self._ends.size - 1

    @overload
    def __getitem__(self, number: int | np.integer) -> str: ...
    @overload
    def __getitem__(self, number: "slice | Sequence[int] | np.ndarray") -> list[str]: ...
    def __getitem__(self, number: Any) -> str | list[str]:
        if isinstance(number, slice):
            number = np.arange(self.first, self.first + len(self))[number]
        is_one = np.ndim(number) == 0
        letters, ends = self.columns([number] if is_one else number)
        text = letters.tobytes()
        found = [text[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise(ends)]
        return found[0] if is_one else found

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def __repr__(self) -> str:
        few = ", ".join(map(quoted, self[:3])) + (", ..." if len(self) > 3 else "")
        return f"<{n_of(len(self), 'name')}: {few}>" if few else "<no names>"


class ColumnNames(dict[str, Names]):
    """The Names for columns of numbers, by the column's name."""

    def __missing__(self, column: object) -> Names:
        if column in ("read", "pair", "query", "target"):
            what = "sequences in a list have none; give a file, or a dict of sequences by name"
        else:
            what = f"there are names for {', '.join(self) or 'no column'}"
        raise KeyError(f"no names for {quoted(column)}: {what}")


def _encoded(name: object) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"names must be str, not {quoted(name)}")
    return name.encode("utf-8", "surrogateescape")


def _whole(numbers: object) -> np.ndarray:
    """Whole numbers as int64[n]; a mask, which NumPy would take for zeros and ones, is none."""
    with suppress(ValueError):  # lists of different lengths
        array = np.asarray(numbers)
        if array.dtype.kind in "iu" or array.size == 0:
            return array.astype(np.int64)
    raise TypeError(f"names are looked up by whole numbers, not by {quoted(numbers)}")


def gathered(letters: np.ndarray, start: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(letters uint8, ends int64[n + 1]) of stretches of ``letters``; ``start``, ``length`` int64[n]."""
    ends = np.append(0, np.cumsum(length))
    out = np.empty(ends[-1], np.uint8)
    _gather(letters, start, ends, out)
    return out, ends


@compiled
def _gather(letters: np.ndarray, start: np.ndarray, ends: np.ndarray, out: np.ndarray) -> None:
    for i in range(start.size):
        copy_bytes(out, ends[i], letters, start[i], ends[i + 1] - ends[i])
