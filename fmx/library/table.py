"""Table: what the library gives back, a NumPy structured array that also knows names; its kinds of rows."""

from typing import Any

import numpy as np

from ..align.output import PAIR
from ..errors import quoted
from .names import ColumnNames, Names

HIT = np.dtype(
    [("read", "i8"), ("contig", "i4"), ("position", "i8"), ("reverse", "?"), ("occurrences", "i8")]
)
NEAR_HIT = np.dtype([*((name, HIT[name]) for name in HIT.names or ()), ("mismatches", "i1")])
MATCH = np.dtype(
    [("query", "i8"), ("query_position", "i8"), ("contig", "i4"), ("position", "i8"), ("length", "i8"),
     ("reverse", "?")]
)  # fmt: skip
PROPER_PAIR = np.dtype(
    [("pair", "i8"), ("contig", "i4"), ("position1", "i8"), ("position2", "i8"), ("reverse1", "?"),
     ("reverse2", "?"), ("insert", "i8"), ("occurrences", "i8")]
)  # fmt: skip

__all__ = ["HIT", "MATCH", "NEAR_HIT", "PAIR", "PROPER_PAIR", "Table"]


class Table(np.ndarray):
    """A NumPy structured array whose numbers of reads, contigs or sequences have names.

    All that NumPy does with structured arrays works: ``hits["position"]`` is a column, ``hits[0]`` a row,
    ``hits[hits["reverse"]]`` a Table of some rows.  ``hits.names`` has the Names for a column of numbers, as
    ``hits.names["contig"]``; reads that were given without names have none.

    For Arrow it is a table, with a column ``read_name`` behind ``read`` where there are names, and so on:

        pyarrow.table(hits)
        pandas.DataFrame.from_arrow(hits)
        polars.DataFrame(hits.arrow)        # where arrays of NumPy are taken for such

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

    def __getitem__(self, key):
        if isinstance(key, str) and self.dtype.names and key not in self.dtype.names:
            raise ValueError(f"no column {quoted(key)}: there are {', '.join(self.dtype.names)}")
        return _plain(super().__getitem__(key))

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return _plain(super().__array_wrap__(array, context, return_scalar))

    def __reduce__(self):
        return make_table, (np.asarray(self), self.names)

    @property
    def arrow(self) -> "ArrowTable":
        """The same table for libraries that would see no more in it than an array, as polars does."""
        return ArrowTable(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows as a stream of Arrow's C interface, in a capsule; what schema is requested is not asked.

        int64, int32, int8, float64, bool and large_string; no column has nulls.
        """
        from .arrow import stream  # which few ask for

        columns: dict = {}
        for name in self.dtype.names or ():
            columns[name] = np.ascontiguousarray(self[name])
            if name in self.names:
                columns[f"{name}_name"] = self.names[name].columns(columns[name])
        return stream(columns, self.size)


class ArrowTable:
    """A Table that is nothing but a stream of Arrow."""

    def __init__(self, table: Table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """That of the Table."""
        return self._table.__arrow_c_stream__(requested_schema)


def _plain(found):
    """What is a column, or a result of arithmetic, as an array that knows no names."""
    return found.view(np.ndarray) if isinstance(found, Table) and found.dtype.names is None else found


def make_table(rows, names) -> Table:
    """A structured array as a Table; ``names``: {column: Names}."""
    table = rows.view(Table)
    table.names = ColumnNames(names)
    return table


def joined(dtype, tables) -> Table:
    """Tables of chunks, in order, as one."""
    tables = list(tables)
    rows = np.concatenate([np.empty(0, dtype), *map(np.asarray, tables)])
    names = {}
    for column in getattr(tables[0], "names", ()) if tables else ():
        several = [table.names[column] for table in tables]
        names[column] = several[0] if column == "contig" else Names.joined(several)
    return make_table(rows, names)
