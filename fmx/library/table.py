"""Table and Names: NumPy structured arrays with names of reads, contigs or sequences."""

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..compiler.functions import compiled
from ..compiler.primitives import copy_bytes
from ..errors import UnsupportedError, brief, installed, n_of, quoted
from ..input.reads import ReadBatch


class Names(Sequence[str]):
    """Names by number, stored as bytes, which takes less memory than a list of str.

    ``names[7]`` is a str; ``names[array]``, for whole numbers such as ``hits["read"]``, a list of str.  Names
    of a chunk begin with number ``first``; ``len(names)`` is their count.

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
        """Return the names from an iterable of str.  Raises TypeError."""
        if isinstance(names, str):
            raise TypeError(f"names must be a list of str, not {quoted(names)}")
        encoded = []
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"names must be str, not {quoted(name)}")
            encoded.append(name.encode("utf-8", "surrogateescape"))
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return cls(np.frombuffer(bytearray(b"".join(encoded)), np.uint8), ends)

    @classmethod
    def of_batch(cls, batch: ReadBatch) -> "Names":
        """Return the names of the reads of a batch."""
        return cls(*gathered(batch.data, batch.name_start, batch.name_length))

    @classmethod
    def joined(cls, several: Iterable["Names"], first: int = 0) -> "Names":
        """Concatenate several Names, numbered from ``first``."""
        several = list(several)
        lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(names._ends) for names in several)])
        letters = np.concatenate([np.empty(0, np.uint8), *(names._letters for names in several)])
        return cls(letters, np.append(0, np.cumsum(lengths)), first)

    def columns(self, numbers: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return (bytes uint8, ends int64[n + 1]) of the names with these numbers, int[n]."""
        known = numbers
        with suppress(ValueError):  # lists of different lengths
            known = np.asarray(numbers)
        if not isinstance(known, np.ndarray) or (known.dtype.kind not in "iu" and known.size):  # or a mask
            raise TypeError(f"names are indexed by whole numbers, not by {quoted(numbers)}")
        numbers = known.astype(np.int64) - self.first
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise IndexError(f"names have the numbers {self.first} to {self.first + len(self) - 1}")
        start = self._ends[numbers]
        return gathered(self._letters, start, self._ends[numbers + 1] - start)

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
        names = [text[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise(ends)]
        return names[0] if is_one else names

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def __repr__(self) -> str:
        few = ", ".join(map(quoted, self[:3])) + (", ..." if len(self) > 3 else "")
        return f"<{n_of(len(self), 'name')}: {few}>" if few else "<no names>"


class ColumnNames(dict[str, Names]):
    """Names by column, for columns of numbers."""

    def __missing__(self, column: object) -> Names:
        if column in ("read", "pair", "query", "target"):
            what = "sequences in a list have no names; give a file, or a dict of sequences by name"
        else:
            what = f"there are names for {', '.join(self) or 'no column'}"
        raise KeyError(f"no names for {quoted(column)}: {what}")


def gathered(letters: np.ndarray, start: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (bytes uint8, ends int64[n + 1]) of slices of ``letters``; ``start``, ``length`` int64[n]."""
    ends = np.append(0, np.cumsum(length))
    out = np.empty(ends[-1], np.uint8)
    _gather(letters, start, ends, out)
    return out, ends


@compiled
def _gather(letters: np.ndarray, start: np.ndarray, ends: np.ndarray, out: np.ndarray) -> None:
    for i in range(start.size):
        copy_bytes(out, ends[i], letters, start[i], ends[i + 1] - ends[i])


if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

HIT = np.dtype(
    [("read", "i8"), ("contig", "i4"), ("position", "i8"), ("reverse", "?"), ("occurrences", "i8")]
)
NEAR_HIT = np.dtype([*HIT.descr, ("mismatches", "i1")])
MATCH = np.dtype(
    [("query", "i8"), ("query_position", "i8"), ("contig", "i4"), ("position", "i8"), ("length", "i8"),
     ("reverse", "?")]
)  # fmt: skip
PROPER_PAIR = np.dtype(
    [("pair", "i8"), ("contig", "i4"), ("position1", "i8"), ("position2", "i8"), ("reverse1", "?"),
     ("reverse2", "?"), ("insert", "i8"), ("occurrences", "i8")]
)  # fmt: skip
PAIR = np.dtype(
    [("query", "i8"), ("target", "i8"), ("score", "i8"), ("identity", "f8"), ("length", "i8"),
     ("matches", "i8")]
)  # fmt: skip
NEAR_PROPER_PAIR = np.dtype([*PROPER_PAIR.descr, ("mismatches1", "i1"), ("mismatches2", "i1")])

__all__ = ["HIT", "MATCH", "NEAR_HIT", "NEAR_PROPER_PAIR", "PAIR", "PROPER_PAIR", "Table"]

SHOWN = 10  # rows in a repr
WIDEST = 30  # characters of a column in a repr


class Table(np.ndarray[Any, np.dtype[np.void]]):
    """A NumPy structured array whose numbers of reads, contigs or sequences have names.

    It has one dimension and behaves like any structured array: ``hits["position"]`` is a column,
    ``hits[0]`` a row, ``hits[hits["reverse"]]`` a Table of some rows.  ``hits.names`` has the Names of a
    column of numbers, such as ``hits.names["contig"]``; reads from a list have no names.

    ``to_pandas``, ``to_polars`` and ``to_arrow`` convert it, with a column ``read_name`` after ``read`` and
    so on if there are names.  Functions that accept Arrow streams also work, such as ``pyarrow.table(hits)``.

    Examples:
        >>> hits = index.locate({"probe": "GATTACA"})
        >>> for hit in hits:
        ...     print(hits.names["read"][hit["read"]], hits.names["contig"][hit["contig"]], hit["position"])
        probe chr1 2
        probe chr2 6
    """

    names: ColumnNames

    def __array_finalize__(self, other: Any) -> None:
        self.names = getattr(other, "names", None) or ColumnNames()

    @overload  # type: ignore[override]
    def __getitem__(self, key: str) -> np.ndarray: ...
    @overload
    def __getitem__(self, key: int | np.integer) -> np.void: ...
    @overload
    def __getitem__(self, key: "slice | np.ndarray | list") -> "Table": ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and self.dtype.names and key not in self.dtype.names:
            raise ValueError(f"no column {quoted(key)}: the columns are {', '.join(self.dtype.names)}")
        return _plain(super().__getitem__(key))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return _plain(super().__array_wrap__(array, context, return_scalar))

    def __reduce__(self) -> Any:
        return make_table, (np.asarray(self), self.names)

    def __repr__(self) -> str:
        if self.ndim != 1 or self.dtype.names is None:
            return super().__repr__()
        first = self[:SHOWN]._columns().items()
        columns = [[name, *(brief(str(value), WIDEST) for value in column)] for name, column in first]
        widths = [max(map(len, column)) for column in columns]
        rows = ["  ".join(map(str.rjust, row, widths)) for row in zip(*columns, strict=True)]
        more = ["..."] if self.size > SHOWN else []
        return "\n".join([f"<fmx.Table: {n_of(self.size, 'row')}>", *rows, *more])

    __str__ = __repr__

    def to_arrow(self) -> "pyarrow.Table":
        """Convert to a pyarrow Table, with contig names as a dictionary.  Raises UnsupportedError.

        Examples:
            >>> index.locate({"probe": "GATTACA"}).to_arrow()["contig_name"].to_pylist()
            ['chr1', 'chr2']
        """
        with installed("pyarrow", "pyarrow", UnsupportedError):
            import pyarrow

        def strings(letters: np.ndarray, ends: np.ndarray) -> "pyarrow.LargeStringArray":
            return pyarrow.LargeStringArray.from_buffers(
                ends.size - 1, *map(pyarrow.py_buffer, (ends, letters))
            )

        columns: dict[str, Any] = {}
        for name in self.dtype.names or ():
            numbers = np.ascontiguousarray(self[name])
            columns[name] = pyarrow.array(numbers)
            if name == "contig" and name in self.names:
                contigs = strings(self.names[name]._letters, self.names[name]._ends)
                columns["contig_name"] = pyarrow.DictionaryArray.from_arrays(columns[name], contigs)
            elif name in self.names:
                columns[f"{name}_name"] = strings(*self.names[name].columns(numbers))
        return pyarrow.table(columns)

    def to_pandas(self) -> "pandas.DataFrame":
        """Convert to a pandas DataFrame, with contig names as categories.  Raises UnsupportedError."""
        with installed("pandas", "pandas", UnsupportedError):
            import pandas
        if importlib.util.find_spec("pyarrow"):  # ten times as fast with names of reads
            return self.to_arrow().to_pandas()
        columns = self._columns(partial(pandas.Series, dtype=str))
        if "contig" in self.names:
            names = list(self.names["contig"])
            columns["contig_name"] = pandas.Categorical.from_codes(self["contig"], names)
        return pandas.DataFrame(columns)

    def to_polars(self) -> "polars.DataFrame":
        """Convert to a polars DataFrame, with contig names as categories.  Raises UnsupportedError."""
        with installed("polars", "polars", UnsupportedError):
            import polars
        if importlib.util.find_spec("pyarrow"):
            return polars.DataFrame(self.to_arrow())
        columns = self._columns(lambda names: polars.Series(values=names, dtype=polars.String))
        if "contig" in self.names:
            names = polars.Series(list(self.names["contig"]), dtype=polars.Categorical)
            columns["contig_name"] = names.gather(columns["contig"])
        return polars.DataFrame(columns)

    def _columns(self, strings: Callable[[list[str]], Any] = list) -> dict[str, Any]:
        """Columns by name, each column of numbers with names followed by ``strings`` of the names."""
        columns: dict[str, Any] = {}
        for name in self.dtype.names or ():
            columns[name] = np.ascontiguousarray(self[name])
            if name in self.names:
                columns[f"{name}_name"] = strings(self.names[name][columns[name]])
        return columns

    @property
    def arrow(self) -> "pyarrow.Table":
        """The same as to_arrow(), for libraries that take a Table for an array, such as DuckDB."""
        return self.to_arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export all rows as a stream of Arrow's C interface, by pyarrow.  Raises UnsupportedError."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def _plain(result: Any) -> Any:
    """Return a column or the result of arithmetic as a plain array, without names."""
    return result.view(np.ndarray) if isinstance(result, Table) and result.dtype.names is None else result


def make_table(rows: np.ndarray, names: Mapping[str, Names]) -> Table:
    """Return a structured array as a Table; ``names``: {column: Names}."""
    table = rows.view(Table)
    table.names = ColumnNames(names)
    return table
