"""Patterns by groups of contigs: whether each occurs there, or how often (``fmx locate --matrix``).

TSV   a line a pattern, a column a group
Rtab  the same as Roary writes genes by strains: 0 and 1, the first column called Gene
npz   what differs from 0, by rows, as scipy.sparse.load_npz reads it (``data``, ``indices``, ``indptr``,
      ``shape``, ``format``), with the names of ``patterns`` and ``groups``
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from ...compiler.functions import compiled
from ...index.contigs import blocks_by_group
from ...index.reference import place_of
from ...input.streams import whole_output
from .. import put
from ..hits import BatchWriter, named_by_letters

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ...index.reference import Reference
    from ...input.reads import ReadBatch

FORMS = "tsv", "rtab", "npz"
_CELLS = 1 << 23  # of the lines of a chunk, about
_PATTERN = 40  # bytes of a short one in FASTA


def chunk_size(reference: "Reference", usual: int) -> int:
    """Bytes of patterns, at most ``usual``, whose lines are not too many at a time."""
    return min(usual, max(1 << 14, _PATTERN * _CELLS // len(reference.groups.names)))  # type: ignore[union-attr]


class Rows(NamedTuple):
    """Some lines of a matrix: ``names`` of patterns; ``size`` int64[n] entries of each, with the number of
    their group in ``indices`` int32 and a number in ``data``."""

    names: list
    size: np.ndarray
    indices: np.ndarray
    data: np.ndarray

    @property
    def nbytes(self) -> int:
        """About so many bytes."""
        return sum(map(len, self.names)) + self.size.nbytes + self.indices.nbytes + self.data.nbytes


class MatrixWriter(BatchWriter):
    """Makes lines of patterns and all of their hits; one instance serves all threads."""

    def __init__(self, reference: "Reference", is_presence: bool, as_text: bool) -> None:
        super().__init__()
        self._as_text = as_text
        self._blocks, self._n = blocks_by_group(reference), len(reference.groups.names)  # type: ignore[union-attr]
        self._most = 1 if is_presence else np.iinfo(np.int64).max

    def format(self, batch: "ReadBatch", hits: Any, start: int, first_hit: int, last_hit: int) -> Any:
        """Lines of patterns ``start`` onwards: all of them with their first hits, then none."""
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
        return Rows([_name(batch, start + i) for i in range(size.size)], size, *(x[:n] for x in entries))


def open_matrix(reference: "Reference", output: Any) -> tuple[MatrixWriter, bytes]:
    """(MatrixWriter, header line)."""
    head = "\t".join(["Gene" if output.kind == "rtab" else "pattern", *reference.groups.names])  # type: ignore[union-attr]
    as_text = output.kind != "npz"
    return MatrixWriter(reference, output.matrix == "presence", as_text), f"{head}\n".encode() * as_text


def open_hits(
    reference: "Reference", output: Any, sam_header: Callable[[Any], bytes]
) -> tuple[BatchWriter, bytes]:
    """The same for Rtab and npz, which hold nothing but a matrix."""
    return open_matrix(reference, output)


def _name(batch: "ReadBatch", r: int) -> str:
    start = batch.name_start[r]
    return batch.data[start : start + batch.name_length[r]].tobytes().decode("latin-1")


@contextmanager
def opened(groups: Sequence[str], is_presence: bool, path: str) -> "Iterator[_AllRows]":
    """What takes Rows, and writes them to ``path`` as npz."""
    with whole_output(path) as file:
        rows = _AllRows()
        yield rows
        rows.write_npz(file, groups, np.uint8 if is_presence else np.int64)


class _AllRows:
    """Rows of a whole matrix, in order."""

    def __init__(self) -> None:
        nothing = np.empty(0, np.int64)
        self._rows = [Rows([], nothing, nothing.astype(np.int32), nothing)]

    def write(self, rows: Any) -> None:
        if rows:
            self._rows.append(rows)

    def write_npz(self, file: BinaryIO, groups: Sequence[str], dtype: "DTypeLike") -> None:
        """Write them with the names of ``groups``; numbers are of ``dtype``."""
        size, indices, data = (
            np.concatenate([getattr(rows, name) for rows in self._rows]) for name in Rows._fields[1:]
        )
        np.savez_compressed(
            file,
            allow_pickle=False,
            format=np.array(b"csr"),
            shape=np.array([size.size, len(groups)]),
            indptr=np.append(0, np.cumsum(size)),
            indices=indices,
            data=data.astype(dtype),
            patterns=np.array([name for rows in self._rows for name in rows.names], str),
            groups=np.array(groups, str),
        )


@compiled
def _lines(batch, hits, start, blocks, most, scratch):
    """Lines of the hits' patterns, ``start`` onwards; bytes in all.

    ``scratch``: zeros int64[n_groups], and room uint8 for the lines.  A number is ``most`` at most.
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
    """The entries of the hits' patterns into ``rows``, (size, indices, data) of Rows; how many they are.

    ``counts``: zeros int64[n_groups].  A number is ``most`` at most.
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
