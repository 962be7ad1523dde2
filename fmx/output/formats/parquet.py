"""Parquet: the columns of TSV, by pyarrow.

A worker makes a table of its lines of TSV, and the main thread writes tables of ROWS rows, whatever the
chunks were, so that the bytes depend on nothing else.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np

from ...errors import OutputError, installed
from ...input.streams import whole_output
from ..hits import HitWriter
from ..records import contigs_of
from .tsv import form_of

if TYPE_CHECKING:
    from ...index.reference import Reference

with installed("pyarrow", "'fmx-mapper[parquet]'", OutputError):
    import pyarrow
    from pyarrow import csv, ipc
    from pyarrow import parquet as pq

ROWS = 1 << 20  # of a row group
_NUMBERS = "start", "end", "occurrences", "mismatches"
_PARSE = csv.ParseOptions(delimiter="\t", quote_char=False)


def _schema(columns: Sequence[str]) -> Any:
    """The types of columns that TSV has."""
    return pyarrow.schema(
        [(name, pyarrow.int64() if name in _NUMBERS else pyarrow.string()) for name in columns]
    )


def open_hits(
    reference: "Reference", output: Any, sam_header: Callable[[Any], bytes]
) -> tuple[HitWriter, bytes]:
    """(HitWriter, nothing)."""
    schema = _schema(container(output).columns)
    return HitWriter(
        form_of(output)[0](*contigs_of(reference), False), encode=partial(_table_of, schema)
    ), b""


def _table_of(schema: Any, lines: np.ndarray) -> bytes:
    """Lines of TSV (uint8[n]) as a stream of Arrow; nothing of none."""
    if lines.size == 0:
        return b""
    how = csv.ReadOptions(use_threads=False, column_names=schema.names), _PARSE
    types = csv.ConvertOptions(column_types=schema)
    table = csv.read_csv(pyarrow.py_buffer(np.ascontiguousarray(lines)), *how, types)
    out = pyarrow.BufferOutputStream()
    with ipc.new_stream(out, schema) as stream:
        stream.write_table(table)
    return out.getvalue().to_pybytes()


@dataclass(frozen=True)
class ParquetTable:
    """A table with these columns, of pieces as ``_table_of`` gives them."""

    columns: Sequence[str]
    is_framed: ClassVar[bool] = True

    @contextmanager
    def opened(self, path: str, n_threads: int) -> "Iterator[_Rows]":
        """What takes the pieces."""
        schema = _schema(self.columns)
        with (
            whole_output(path) as file,
            pq.ParquetWriter(_Counted(file), schema, compression="zstd") as writer,
        ):
            rows = _Rows(writer)
            yield rows
            rows.end()


def container(output: Any) -> ParquetTable:
    """What the pieces of an Output become."""
    return ParquetTable(form_of(output)[1].decode().split())


class _Rows:
    """Takes streams of Arrow, and writes row groups of ROWS rows."""

    def __init__(self, writer: Any) -> None:
        self._writer, self._n = writer, 0
        self._tables: list = []

    def write(self, piece: bytes) -> None:
        if len(piece) == 0:
            return
        with ipc.open_stream(pyarrow.py_buffer(piece)) as stream:
            self._tables.append(stream.read_all())
        self._n += self._tables[-1].num_rows
        while self._n >= ROWS:
            table = pyarrow.concat_tables(self._tables)
            self._put(table.slice(0, ROWS))
            self._tables, self._n = [table.slice(ROWS)], self._n - ROWS

    def end(self) -> None:
        """Write what is left."""
        if self._n:
            self._put(pyarrow.concat_tables(self._tables))

    def _put(self, table: Any) -> None:
        self._writer.write_table(table.combine_chunks(), row_group_size=ROWS)


class _Counted:
    """A binary file that knows how much was written, as a pipe does not."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._n = file, 0

    def write(self, piece: bytes) -> None:
        self._file.write(piece)
        self._n += len(piece)

    def tell(self) -> int:
        return self._n

    def flush(self) -> None:
        self._file.flush()
