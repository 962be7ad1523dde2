"""Matrices: patterns by groups of contigs (``fmx locate --matrix``), pairs of sequences (``fmx pairwise``).

Patterns by groups, as presence or number of occurrences:

TSV   one line per pattern, one column per group
Rtab  as Roary writes genes by strains: 0 and 1, with a first column named Gene
npz   the non-zero entries by rows, as scipy.sparse.load_npz reads it (``data``, ``indices``, ``indptr``,
      ``shape``, ``format``), with the names of ``patterns`` and ``groups``
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import compiled
from ...errors import UnsupportedError
from ...index.reference import blocks_by_group, place_of
from .. import PLAIN, Container, Opening, SamHeader, put
from ..hits import BatchWriter, named_by_letters

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.reads import ReadBatch
    from ...search.hits import Hits
    from ..files import OutputFile
    from ..search_output import SearchOutput

FORMS = "tsv", "rtab", "npz"
_CELLS = 1 << 23  # of the lines of a chunk, approximately
_PATTERN = 40  # bytes of a short pattern in FASTA


def chunk_size(reference: "Reference", usual: int) -> int:
    """Return the bytes of patterns per chunk, at most ``usual``, so that their lines fit into memory."""
    return min(usual, max(1 << 14, _PATTERN * _CELLS // len(reference.groups.names)))  # type: ignore[union-attr]


class Rows(NamedTuple):
    """Lines of a matrix: ``names`` of patterns, one per line; ``size`` int64[n] entries each, with the number
    of the group in ``indices`` int32 and the value in ``data`` int64."""

    names: bytes
    size: np.ndarray
    indices: np.ndarray
    data: np.ndarray

    def packed(self) -> bytes:
        """Return the rows as bytes."""
        head = np.array([self.size.size, self.indices.size], np.int64)
        return b"".join(x.tobytes() for x in (head, self.size, self.indices, self.data)) + self.names

    @classmethod
    def of(cls, piece: bytes) -> "Rows":
        """Return rows from their ``packed`` bytes."""
        n, n_entries = np.frombuffer(piece, np.int64, 2).tolist()
        a, b, c, names = np.cumsum([16, 8 * n, 4 * n_entries, 8 * n_entries]).tolist()
        columns = (a, np.int64, n), (b, np.int32, n_entries), (c, np.int64, n_entries)
        return cls(piece[names:], *(np.frombuffer(piece, kind, size, begin) for begin, kind, size in columns))


class MatrixWriter(BatchWriter):
    """Formats all hits of patterns as lines of a matrix; one instance serves all threads."""

    def __init__(self, reference: "Reference", is_presence: bool, as_text: bool) -> None:
        super().__init__()
        self._as_text = as_text
        self._blocks, self._n = blocks_by_group(reference), len(reference.groups.names)  # type: ignore[union-attr]
        self._most = 1 if is_presence else np.iinfo(np.int64).max

    def format(self, batch: "ReadBatch", hits: "Hits", start: int, first_hit: int, last_hit: int) -> Any:
        """Return the lines of the patterns from ``start`` on, all with their first hits; else nothing."""
        if first_hit > 0:
            return b""
        batch, counts = named_by_letters(batch), np.zeros(self._n, np.int64)
        if self._as_text:
            width = 1 if self._most == 1 else len(str(hits.total.max(initial=0)))
            names = batch.name_length[start : start + hits.total.size]
            out = np.empty(names.sum() + hits.total.size * (2 + self._n * (1 + width)) + put.DIGITS, np.uint8)
            return out[: _lines(batch, hits, start, self._blocks, self._most, (counts, out))].tobytes()
        size = np.zeros(hits.total.size, np.int64)
        entries = np.empty(hits.position.size, np.int32), np.empty(hits.position.size, np.int64)
        n = _entries(hits, self._blocks, self._most, counts, (size, *entries))
        lines = b"".join(_name(batch, start + i) + b"\n" for i in range(size.size))
        return Rows(lines, size, *(x[:n] for x in entries)).packed()


def open_matrix(reference: "Reference", output: "SearchOutput") -> tuple[MatrixWriter, bytes]:
    """Return (MatrixWriter, header line)."""
    head = "\t".join(["Gene" if output.kind == "rtab" else "pattern", *reference.groups.names])  # type: ignore[union-attr]
    as_text = output.kind != "npz"
    return MatrixWriter(reference, output.matrix == "presence", as_text), f"{head}\n".encode() * as_text


def open_hits(reference: "Reference", output: "SearchOutput", sam_header: SamHeader) -> Opening:
    """Return (MatrixWriter, header line) for Rtab and npz."""
    return open_matrix(reference, output)


def _name(batch: "ReadBatch", r: int) -> bytes:
    start = batch.name_start[r]
    return batch.data[start : start + batch.name_length[r]].tobytes()


@dataclass(frozen=True)
class SparseMatrix(Container):
    """An npz file of Rows, with the names of ``groups``."""

    groups: Sequence[str]
    is_presence: bool

    @contextmanager
    def opened(self, file: "OutputFile", n_threads: int) -> Iterator[Any]:
        """Collect packed Rows in order."""
        pieces, nothing = _Pieces([]), np.empty(0, np.int64)
        yield pieces
        rows = [Rows(b"", nothing, nothing.astype(np.int32), nothing), *map(Rows.of, pieces.collected)]
        size, indices, data = (
            np.concatenate([getattr(each, name) for each in rows]) for name in Rows._fields[1:]
        )
        names = b"".join(each.names for each in rows).decode("latin-1").split("\n")[:-1]
        np.savez_compressed(
            file.file,
            allow_pickle=False,
            format=np.array(b"csr"),
            shape=np.array([size.size, len(self.groups)]),
            indptr=np.append(0, np.cumsum(size)),
            indices=indices,
            data=data.astype(np.uint8 if self.is_presence else np.int64),
            patterns=np.array(names, str),
            groups=np.array(self.groups, str),
        )

    def pieces(self, path: str, data: Iterator[bytes], n_head: int) -> Iterator[bytes]:
        deque(data, 0)
        with np.load(path, allow_pickle=False) as arrays:
            names = "".join(f"{name}\n" for name in arrays["patterns"].tolist()).encode("latin-1")
            indices, values = arrays["indices"].astype(np.int32), arrays["data"].astype(np.int64)
            yield Rows(names, np.diff(arrays["indptr"]), indices, values).packed()


class _Pieces(NamedTuple):
    """Collects pieces that are not empty."""

    collected: list

    def write(self, piece: bytes) -> None:
        if len(piece):
            self.collected.append(piece)


def container(reference: "Reference", output: "SearchOutput") -> Container:
    """Return the container of an Rtab or npz file."""
    if output.kind == "rtab":
        return PLAIN
    return SparseMatrix(list(reference.groups.names), output.matrix == "presence")  # type: ignore[union-attr]


# Matrices of pairs of sequences: npz with arrays ``queries``, ``targets`` (names) and ``values``; or PHYLIP,
# a square matrix: the number of sequences, then one line each with name and values.


@dataclass(frozen=True)
class PairMatrix(Container):
    """``kind`` npz or phylip, with ``values`` score or identity; ``queries``, ``targets``: names of
    sequences, equal with ``is_half``.

    Pieces are the values of query after query; with ``is_half`` only those with targets from the query itself
    on.  A shard has queries ``first`` to ``end``, and all targets, with ``is_half`` those from ``first`` on.
    """

    kind: str
    values: str
    queries: Sequence[str]
    targets: Sequence[str]
    is_half: bool
    first: int = 0
    end: int | None = None

    @property
    def whole(self) -> "PairMatrix":
        return replace(self, first=0, end=None)

    @contextmanager
    def opened(self, file: "OutputFile", n_threads: int) -> Iterator["_Values"]:
        """Collect the pieces."""
        queries, dtype = self.queries[self.first : self.end], _dtype_of(self.values)
        targets = self.targets[self.first if self.is_half else 0 :]
        try:
            matrix = np.zeros((len(queries), len(targets)), dtype)
        except (MemoryError, ValueError) as error:
            raise UnsupportedError(
                f"a matrix of {len(queries)} x {len(targets)} does not fit into memory: write a table instead"
            ) from error
        yield _Values(matrix, self.is_half)
        if self.kind == "npz":
            names = {"queries": np.array(queries, str), "targets": np.array(targets, str)}
            np.savez(file.file, allow_pickle=False, **names, values=_narrow(matrix))
            return
        file.write(f"{len(queries)}\n".encode())
        for name, row in zip(queries, matrix.tolist(), strict=True):
            cells = (str(x) for x in row) if dtype.kind == "i" else (f"{x:.6f}" for x in row)
            file.write(f"{name} {' '.join(cells)}\n".encode())

    def pieces(self, path: str, data: Iterator[bytes], n_head: int) -> Iterator[bytes]:
        text, rows = b"".join(data), ()  # type: tuple[bytes, Any]
        if self.kind == "npz":
            with np.load(path, allow_pickle=False) as arrays:
                rows = arrays["values"]
        else:
            rows = (line.split(b" ")[1:] for line in text.splitlines()[1:])
        for i, row in enumerate(rows):
            yield np.array(row, _dtype_of(self.values))[i if self.is_half else 0 :].tobytes()


def _dtype_of(values: str) -> np.dtype:
    """Return the dtype of scores or of identities."""
    return np.dtype(np.int64 if values == "score" else np.float64)


class _Values:
    """A ``matrix``, filled in by pieces."""

    def __init__(self, matrix: np.ndarray, is_half: bool) -> None:
        self._matrix, self._is_half, self._query = matrix, is_half, 0

    def write(self, piece: bytes) -> None:
        values, query = np.frombuffer(piece, self._matrix.dtype), self._query
        while values.size:
            row, begin = self._matrix[query], 0
            if self._is_half:
                begin = query
                row[:begin] = self._matrix[:begin, query]  # of the earlier queries
            row[begin:], values = values[: row.size - begin], values[row.size - begin :]
            query += 1
        self._query = query


def _narrow(values: np.ndarray) -> np.ndarray:
    """Return the scores as int32 if they fit, which halves the size."""
    if values.dtype == np.int64 and values.size and abs(values).max() < 2**31:
        return values.astype(np.int32)
    return values


@compiled
def _lines(batch, hits, start, blocks, most, scratch):
    """Write the lines of the patterns from ``start`` on; return the bytes.

    ``scratch``: zeros int64[n_groups], and room uint8 for the lines.  Values are at most ``most``.
    """
    counts, out = scratch
    at = np.int64(0)
    for i in range(hits.total.size):
        for hit in range(hits.first[i], hits.first[i + 1]):
            counts[place_of(blocks, hits.position[hit]).contig] += 1
        at = put.query(out, at, batch, start + i)
        for group in range(counts.size):
            at = put.field(out, at, min(counts[group], most))
            counts[group] = 0
        at = put.byte(out, at, put.LINE)
    return at


@compiled
def _entries(hits, blocks, most, counts, rows):
    """Write the entries of the patterns into ``rows``, (size, indices, data); return their number.

    ``counts``: zeros int64[n_groups].  Values are at most ``most``.
    """
    size, indices, data = rows
    n = np.int64(0)
    for i in range(hits.total.size):
        begin = n
        for hit in range(hits.first[i], hits.first[i + 1]):
            counts[place_of(blocks, hits.position[hit]).contig] += 1
        for group in range(counts.size):
            if counts[group] > 0:
                indices[n], data[n] = group, min(counts[group], most)
                counts[group] = 0
                n += 1
        size[i] = n - begin
    return n
