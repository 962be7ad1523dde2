"""Formats maximal matches, alignments of pairs, and PCR products."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.functions import by_type, compiled, inlined
from ..index.reference import place_of
from . import put
from .records import REVERSE, Buffers, Record, alone, put_head, put_record, widest

if TYPE_CHECKING:
    from ..input.reads import ReadBatch
    from ..input.tables import Pair
    from ..search.products import Products


class MatchWriter:
    """Formats matches with a form (records.py); one instance serves all threads.

    ``is_sam``: queries must follow SAM's rules, and the bases of each match are written.
    """

    def __init__(self, form: Any, is_sam: bool = False) -> None:
        self.form, self.is_sam, self._widest, self.buffers = form, is_sam, widest(form), Buffers()
        self.written = self.buffers.release

    def format(self, batch: "ReadBatch", strands: Any, matches: Any, rows: tuple[int, int]) -> np.ndarray:
        """Return records of matches, and the heads of ``rows`` (from, to); 2r and 2r + 1 are of query r."""
        n_lines = rows[1] - rows[0] + matches.length.size
        room = n_lines * self._widest + int(_room_of_names(batch, strands, matches, *rows))
        if self.is_sam:
            room += int(matches.length.sum())
        out = self.buffers.take(room)
        return out[: _write_matches(self.form, batch, strands, matches, *rows, out)]


@compiled
def _room_of_names(batch, strands, matches, row, last_row):
    """Return the total bytes of the names of rows and of matches."""
    room = np.int64(0)
    for i in range(row, last_row):
        room += batch.name_length[i >> 1]
    for j in range(matches.length.size):
        room += batch.name_length[strands.row[matches.strand[j]] >> 1]
    return room


@compiled
def _write_matches(form, batch, strands, matches, row, last_row, out):
    at = np.int64(0)
    for j in range(matches.length.size):
        last = strands.row[matches.strand[j]]
        while row <= last:
            at = put_head(form, out, at, batch, row)
            row += 1
        at = put_record(form, out, at, batch, _record(form, batch, strands, matches, j))
    while row < last_row:
        at = put_head(form, out, at, batch, row)
        row += 1
    return at


@inlined
def _record(form, batch, strands, matches, j):
    """Match j, in the coordinates of the query as given, on the plus strand of its contig."""
    i, length = matches.strand[j], matches.length[j]
    query, reverse = strands.row[i] >> 1, strands.row[i] & 1 == 1
    begin = strands.offset[i] + matches.position[j]
    begin = batch.length[query] - begin - length if reverse else begin
    place = place_of(form.blocks, matches.text[j])
    flag, end, zero = REVERSE * reverse, begin + length, 0 * length
    return Record(
        query, begin, end, flag, place.contig, place.position, zero, zero, zero, zero, zero, alone()
    )


# Alignments of pairs of sequences as lines.
#
# The operations of a path are those of SAM: = match, X mismatch, I base of the query only, D of the target
# only.

_OPERATIONS = put.as_bytes("=XID")


@by_type
def put_pair(form, out, at, records, r):
    """Write the fields of record r except its path into ``out`` uint8[n] from ``at`` on; return the end.

    ``records``: align.jobs.Records, with the score in ``h``.
    """


class PairWriter:
    """Formats alignments with a form; one instance serves all threads.

    The form is a NamedTuple with the names of ``queries`` and ``targets``, and ``path``, the bytes before a
    path; its type has a body for ``put_pair``.
    """

    def __init__(self, form: Any, with_path: bool) -> None:
        self._form, self._with_path = form, with_path
        self._lengths = np.diff(form.queries.first), np.diff(form.targets.first)
        first = {field: [0] for field in ("query", "target", "identity", "length", "matches")}
        self._widest = (
            put_pair(form, put.Widest(), 0, SimpleNamespace(h=[-1], **first), 0) + form.path.size + 1
        )

    def format(self, records: Any) -> bytes:
        """Return lines of align.jobs.Records."""
        n_runs = records.runs.size if self._with_path else 0
        room = records.h.size * self._widest + n_runs * (put.DIGITS + 1)
        for lengths, numbers in zip(self._lengths, (records.query, records.target), strict=True):
            room += int(lengths[numbers].sum())
        out = np.empty(room, np.uint8)
        return out[: _write_pairs(self._form, self._with_path, records, out)].tobytes()


@compiled
def _write_pairs(form, with_path, records, out):
    at = np.int64(0)
    for r in range(records.h.size):
        at = put_pair(form, out, at, records, r)
        if with_path:
            at = put.text(out, at, form.path)
            for i in range(records.first_run[r], records.first_run[r + 1]):
                run = records.runs[i]
                at = put.byte(out, put.number(out, at, run >> 2), _OPERATIONS[run & 3])
        at = put.byte(out, at, put.LINE)
    return at


# PCR products as TSV, BED6 or FASTA.

_HEADER = b"pair\tcontig\tstart\tend\tstrand\tsize\tforward_mismatches\treverse_mismatches\tproducts\n"
_COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
KINDS = ("tsv", "bed", "fasta")


def head_of(kind: str) -> bytes:
    """Return the bytes before the first product."""
    return _HEADER if kind == "tsv" else b""


def absent(pair: "Pair") -> bytes:
    """Return the TSV line for a pair without a product."""
    return "\t".join([pair.name, *"*******", "0\n"]).encode()


def lines_of(
    kind: str, pair: "Pair", products: "Products", names: Sequence[str], letters: Callable[..., bytes]
) -> bytes:
    """Return the lines of the products of a pair; FASTA has the strand that the forward primer is on.

    ``names``: of contigs; ``letters(contig, start, end)``: of the reference.
    """
    columns = products.contig, products.start, products.end, products.minus, *products.mismatches
    lines: list[str] = []
    for i, start, end, minus, *off in zip(*(column.tolist() for column in columns), strict=True):
        contig, strand, size = names[i], "-" if minus else "+", end - start
        if kind == "fasta":
            bases = letters(i, start, end)
            bases = bases[::-1].translate(_COMPLEMENT) if minus else bases
            place = f"{contig}:{start + 1}-{end}({strand})"
            lines += [f">{pair.name} {place} size={size} mismatches={off[0]},{off[1]}", bases.decode()]
        elif kind == "bed":
            lines.append(f"{contig}\t{start}\t{end}\t{pair.name}\t{sum(off)}\t{strand}")
        else:
            fields = (pair.name, contig, start, end, strand, size, *off, products.total)
            lines.append("\t".join(map(str, fields)))
    return "".join(f"{line}\n" for line in lines).encode()
