"""Parquet, by pyarrow, with the columns of TSV: made from lines of TSV without a header.

The main thread writes row groups of ROWS rows, so that the file does not depend on chunks.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from ...errors import OutputError, installed
from .. import Container, Opening, SamHeader
from . import tsv
from .tsv import HITS, NEAR

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ..files import OutputFile
    from ..search_output import SearchOutput

with installed("pyarrow", "'.[parquet]' in a clone of fmx", OutputError):
    import pyarrow
    from pyarrow import csv
    from pyarrow import parquet as pq

ROWS = 1 << 20  # per row group
_AHEAD = 4  # pieces that are parsed
_BATCH = 1 << 14  # rows that are read at a time
_TYPES = {  # others are int64
    **dict.fromkeys(("pattern", "guide", "site", "positions"), pyarrow.large_string()),
    **dict.fromkeys(("contig", "strand"), pyarrow.string()),
}


def open_hits(reference: "Reference", output: "SearchOutput", sam_header: SamHeader) -> Opening:
    """Return (HitWriter, nothing)."""
    return tsv.open_hits(reference, replace(output, absent=False), sam_header)[0], b""


def container(reference: "Reference", output: "SearchOutput") -> "ParquetTable":
    """Return the container of an output."""
    return ParquetTable((NEAR if output.mismatches else HITS).decode().split())


@dataclass(frozen=True)
class ParquetTable(Container):
    """A table with these columns, from lines of TSV."""

    columns: Sequence[str]

    @contextmanager
    def opened(self, file: "OutputFile", n_threads: int) -> "Iterator[_Rows]":
        """Write pieces as row groups."""
        schema = pyarrow.schema([(name, _TYPES.get(name, pyarrow.int64())) for name in self.columns])
        options = {"compression": "zstd", "store_schema": False}
        with (
            pq.ParquetWriter(_Counted(file.file), schema, **options) as writer,
            ThreadPoolExecutor(1) as pool,
        ):
            rows = _Rows(writer, schema, pool)
            yield rows
            rows.end()

    def pieces(self, path: str, data: Iterator[bytes], n_head: int) -> Iterator[bytes]:
        from pyarrow import compute  # only for fmx merge

        text = pyarrow.large_string()
        tab, line, nothing = (pyarrow.scalar(x, text) for x in ("\t", "\n", ""))
        nulls = {"null_handling": "replace", "null_replacement": "*"}
        deque(data, 0)
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                columns = (column.cast(text) for column in batch.columns)
                lines = compute.binary_join_element_wise(*columns, tab, **nulls)
                yield compute.binary_join_element_wise(lines, nothing, line).buffers()[2].to_pybytes()


class _Rows:
    """Writes row groups of ROWS rows from pieces of TSV, which a thread of ``pool`` parses."""

    def __init__(self, writer: Any, schema: Any, pool: ThreadPoolExecutor) -> None:
        self._writer, self._schema, self._pool = writer, schema, pool
        self._tables, self._n = [], 0  # type: tuple[list, int]  # and their rows
        self._parsed: deque[Future] = deque()

    def write(self, piece: Any) -> None:
        if len(piece):
            self._parsed.append(self._pool.submit(_table_of, bytes(piece), self._schema))
        if len(self._parsed) > _AHEAD:
            self._add(self._parsed.popleft().result())

    def end(self) -> None:
        """Write the remaining rows."""
        for each in self._parsed:
            self._add(each.result())
        if self._n:
            self._put(pyarrow.concat_tables(self._tables))

    def _add(self, table: Any) -> None:
        self._tables.append(table)
        self._n += table.num_rows
        while self._n >= ROWS:
            table = pyarrow.concat_tables(self._tables)
            self._put(table.slice(0, ROWS))
            self._tables, self._n = [table.slice(ROWS)], self._n - ROWS

    def _put(self, table: Any) -> None:
        self._writer.write_table(table.combine_chunks(), row_group_size=ROWS)


def _table_of(lines: bytes, schema: Any) -> Any:
    """Return lines of TSV as a table."""
    read = csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=schema.names)
    parse = csv.ParseOptions(delimiter="\t", quote_char=False)
    nulls = {"null_values": ["*"], "strings_can_be_null": True} if "positions" in schema.names else {}
    convert = csv.ConvertOptions(column_types=schema, check_utf8=False, **nulls)
    return csv.read_csv(pyarrow.py_buffer(lines), read, parse, convert)


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
