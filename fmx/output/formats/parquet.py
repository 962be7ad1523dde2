"""Parquet, with the columns of TSV, by pyarrow.

Workers make a table per chunk, and the main thread writes row groups of ROWS rows, so that the file does not
depend on chunks.  Contigs and strands are dictionary-encoded, also in the file.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ...errors import OutputError, installed
from .. import PLAIN, Container, Opening, SamHeader
from ..hits import HitWriter
from ..records import contigs_of
from .tsv import HITS, NEAR, BinaryHits, columns_of, renumbered

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ..files import OutputFile
    from ..search_output import SearchOutput

with installed("pyarrow", "'.[parquet]' in a clone of fmx", OutputError):
    import pyarrow
    from pyarrow import ipc
    from pyarrow import parquet as pq

ROWS = 1 << 20  # per row group
_STRANDS = pyarrow.array(["+", "-"])
_TYPES = {  # others are int64
    **dict.fromkeys(("pattern", "guide", "site", "positions"), pyarrow.large_string()),
    "contig": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    "strand": pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
}


def _schema(columns: Sequence[str]) -> Any:
    """Return the schema of a table with these columns."""
    return pyarrow.schema([(name, _TYPES.get(name, pyarrow.int64())) for name in columns])


def open_hits(reference: "Reference", output: "SearchOutput", sam_header: SamHeader) -> Opening:
    """Return (HitWriter, nothing)."""
    encode = partial(_table_of, _schema(container(reference, output).columns), reference.names)
    return HitWriter(BinaryHits(*contigs_of(reference)), encode=encode), b""


def _table_of(schema: Any, contigs: Sequence[str], records: np.ndarray) -> bytes:
    """Return the records of BinaryHits as an Arrow stream; b"" if there are none."""
    if records.size == 0:
        return b""
    fields, letters, ends = columns_of(records)
    names = pyarrow.LargeStringArray.from_buffers(fields.size, *map(pyarrow.py_buffer, (ends, letters)))
    numbers = [name for name in schema.names if name not in _TYPES]
    columns = {"pattern": names, **{name: pyarrow.array(fields[name].astype(np.int64)) for name in numbers}}
    columns["contig"] = _dictionary(fields["contig"].copy(), contigs)
    columns["strand"] = pyarrow.DictionaryArray.from_arrays(fields["strand"].copy(), _STRANDS)
    return _stream(pyarrow.table(columns, schema))


def _stream(table: Any) -> bytes:
    """Return a table as an Arrow stream."""
    out = pyarrow.BufferOutputStream()
    with ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue().to_pybytes()


def _dictionary(numbers: np.ndarray, strings: Sequence[str]) -> Any:
    """A dictionary column of int32[n] numbers, changed in place; strings are in order of first appearance.

    Uses NumPy, as pyarrow.compute takes 0.2 s to import.
    """
    used = renumbered(numbers, len(strings))
    return pyarrow.DictionaryArray.from_arrays(numbers, pyarrow.array([strings[i] for i in used.tolist()]))


@dataclass(frozen=True)
class ParquetTable(Container):
    """A table with these columns, from pieces of ``_table_of``, or from lines of TSV, which shards store."""

    columns: Sequence[str]
    of_lines: bool = False

    @property
    def part(self) -> Container:
        return PLAIN if self.of_lines else self

    @property
    def schema(self) -> Any:
        """The types of the columns; of lines, a dictionary of strands would be in the order of the lines."""
        schema, at = _schema(self.columns), self.columns.index("strand")
        return schema.set(at, pyarrow.field("strand", pyarrow.string())) if self.of_lines else schema

    @contextmanager
    def opened(self, file: "OutputFile", n_threads: int) -> "Iterator[_Rows]":
        """Write pieces as row groups."""
        counted = _Counted(file.file)
        with pq.ParquetWriter(counted, self.schema, compression="zstd", store_schema=False) as writer:
            rows = _Rows(writer, self.table_of_lines if self.of_lines else _table_in)
            yield rows
            rows.end()

    def pieces(self, path: str) -> Iterator[bytes]:
        with pq.ParquetFile(path, read_dictionary=["contig"]) as file:
            for i in range(file.num_row_groups):
                rows = file.read_row_group(i)
                is_minus = rows["strand"].to_numpy() == "-"
                strand = pyarrow.DictionaryArray.from_arrays(is_minus.astype(np.int8), _STRANDS)
                rows = rows.set_column(rows.column_names.index("strand"), "strand", strand)
                yield _stream(rows.cast(self.schema))

    def table_of_lines(self, lines: bytes) -> Any:
        """Return lines of TSV as a table."""
        from pyarrow import csv

        read = csv.ReadOptions(column_names=list(self.columns), use_threads=False)
        parse = csv.ParseOptions(delimiter="\t", quote_char=False)
        convert = csv.ConvertOptions(column_types=self.schema, null_values=["*"], strings_can_be_null=True)
        return csv.read_csv(pyarrow.py_buffer(lines), read, parse, convert)


def _table_in(stream: bytes) -> Any:
    """Return the table of an Arrow stream."""
    with ipc.open_stream(pyarrow.py_buffer(stream)) as tables:
        return tables.read_all()


def container(reference: "Reference", output: "SearchOutput") -> ParquetTable:
    """Return the container of an output."""
    return ParquetTable((NEAR if output.mismatches else HITS).decode().split())


class _Rows:
    """Writes row groups of ROWS rows from pieces, of which ``table_of`` makes tables."""

    def __init__(self, writer: Any, table_of: Callable[[bytes], Any]) -> None:
        self._writer, self._table_of, self._n = writer, table_of, 0
        self._tables: list = []

    def write(self, piece: bytes) -> None:
        if len(piece) == 0:
            return
        self._tables.append(self._table_of(piece))
        self._n += self._tables[-1].num_rows
        while self._n >= ROWS:
            table = pyarrow.concat_tables(self._tables)
            self._put(table.slice(0, ROWS))
            self._tables, self._n = [table.slice(ROWS)], self._n - ROWS

    def end(self) -> None:
        """Write the remaining rows."""
        if self._n:
            self._put(pyarrow.concat_tables(self._tables))

    def _put(self, table: Any) -> None:
        table = table.combine_chunks()
        contig = table["contig"].chunk(0)  # its dictionary also has contigs of earlier rows
        column = _dictionary(contig.indices.to_numpy().copy(), contig.dictionary.to_pylist())
        table = table.set_column(1, table.schema.field("contig"), column)
        self._writer.write_table(table, row_group_size=ROWS)


class _Counted:
    """A binary file that counts its bytes, for pipes, which have no position."""

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
