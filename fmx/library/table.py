"""Tables of the library: NumPy structured arrays, with names of reads, contigs or sequences."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..errors import UnsupportedError, brief, installed, n_of, quoted
from ..index.reference import Names


class ColumnNames(dict[str, Names]):
    """The Names of what the numbers in a column are, by column."""

    def __missing__(self, column: object) -> Names:
        what = "sequences in a list have no names; give a file, or a dict of sequences by name"
        raise KeyError(f"no names for {quoted(column)}, only for {', '.join(self) or 'no column'}: {what}")


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
PAIR = np.dtype(  # of fmx.pairwise
    [("query", "i8"), ("target", "i8"), ("score", "i8"), ("identity", "f8"), ("length", "i8"),
     ("matches", "i8")]
)  # fmt: skip
NEAR_PROPER_PAIR = np.dtype([*PROPER_PAIR.descr, ("mismatches1", "i1"), ("mismatches2", "i1")])

_SHOWN = 10  # rows in a repr
_WIDEST = 30  # characters of a column in a repr


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
        columns = []
        for name in self.dtype.names:
            numbers = self[:_SHOWN][name]
            columns.append([name, *(brief(str(number), _WIDEST) for number in numbers)])
            if name in self.names:
                names = self.names[name][numbers]
                columns.append([f"{name}_name", *(brief(each, _WIDEST) for each in names)])
        widths = [max(map(len, column)) for column in columns]
        rows = ["  ".join(map(str.rjust, row, widths)) for row in zip(*columns, strict=True)]
        more = ["..."] if self.size > _SHOWN else []
        return "\n".join([f"<fmx.Table: {n_of(self.size, 'row')}>", *rows, *more])

    __str__ = __repr__

    def to_arrow(self) -> "pyarrow.Table":
        """Convert to a pyarrow Table, with contig names as a dictionary.  Raises UnsupportedError."""
        with installed("pyarrow", "pyarrow", UnsupportedError):
            import pyarrow

        def strings(letters: np.ndarray, ends: np.ndarray) -> "pyarrow.LargeStringArray":
            buffers = map(pyarrow.py_buffer, (ends, letters))
            return pyarrow.LargeStringArray.from_buffers(ends.size - 1, *buffers)

        columns: dict[str, Any] = {}
        for name in self.dtype.names or ():
            numbers = np.ascontiguousarray(self[name])
            columns[name] = pyarrow.array(numbers)
            if name == "contig" and name in self.names:
                contigs = strings(*self.names[name].columns(np.arange(len(self.names[name]))))
                columns["contig_name"] = pyarrow.DictionaryArray.from_arrays(columns[name], contigs)
            elif name in self.names:
                columns[f"{name}_name"] = strings(*self.names[name].columns(numbers))
        return pyarrow.table(columns)

    def to_pandas(self) -> "pandas.DataFrame":
        """Convert to a pandas DataFrame, with contig names as categories.  Raises UnsupportedError."""
        with installed("pandas", "pandas", UnsupportedError):
            import pandas  # noqa: F401
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """Convert to a polars DataFrame, with contig names as categories.  Raises UnsupportedError."""
        with installed("polars", "polars", UnsupportedError):
            import polars
        return polars.DataFrame(self.to_arrow())

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
