"""Hits as columns: a binary form of records (records.py), and the arrays made from them."""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, static_type
from ..compiler.primitives import copy_bytes
from ..input.sets import n_changes
from . import put
from .records import LINED, put_record

# Fields of a record, followed by the name of its query; ``contig`` is a number, ``strand`` 1 if reverse.
FIELDS = np.dtype(
    [("length", "<u4"), ("contig", "<i4"), ("start", "<i8"), ("end", "<i8"), ("occurrences", "<i8"),
     ("strand", "i1"), ("mismatches", "i1")]
)  # fmt: skip
_SIZE = FIELDS.itemsize

BinaryHits = static_type("BinaryHits", LINED, __name__)


@put_record.register(BinaryHits)
def _put_hit(form, out, at, batch, record):
    at = put.integer(out, at, max(1, batch.name_length[record.query]), 4)
    at = put.integer(out, put.integer(out, at, record.contig, 4), record.start, 8)
    at = put.integer(out, at, record.start + record.end - record.begin, 8)
    at = put.byte(out, put.integer(out, at, record.total, 8), np.uint8(record.reverse))
    return put.query(out, put.byte(out, at, n_changes(record.changes)), batch, record.query)


class HitColumns(NamedTuple):
    """Hits: ``fields`` FIELDS[n]; names of queries in ``letters`` uint8, name i from ``ends[i]`` to
    ``ends[i + 1]``, int64[n + 1]."""

    fields: np.ndarray
    letters: np.ndarray
    ends: np.ndarray


def columns_of(records: np.ndarray) -> HitColumns:
    """Return the hits of records of BinaryHits, uint8[n]."""
    most = records.size // _SIZE
    fields, ends = np.empty(most * _SIZE, np.uint8), np.zeros(most + 1, np.int64)
    letters = np.empty(records.size, np.uint8)
    n = _split(records, fields, letters, ends)
    return HitColumns(fields[: n * _SIZE].view(FIELDS), letters[: ends[n]], ends[: n + 1])


@compiled
def _split(records, fields, letters, ends):
    """Copy fields and names of records into separate arrays; return the number of records."""
    n = at = np.int64(0)
    while at < records.size:
        copy_bytes(fields, n * _SIZE, records, at, _SIZE)
        length = np.int64(0)
        for j in range(4):
            length |= np.int64(records[at + j]) << (8 * j)
        copy_bytes(letters, ends[n], records, at + _SIZE, length)
        ends[n + 1] = ends[n] + length
        at += _SIZE + length
        n += 1
    return n


def renumbered(numbers: np.ndarray, n_all: int) -> np.ndarray:
    """Replace ``numbers`` int32[n], below n_all, by ranks of first appearance; return those that appear."""
    ranks, found = np.full(n_all, -1, np.int32), np.empty(min(n_all, numbers.size), np.int32)
    return found[: _renumber(numbers, ranks, found)]


@compiled
def _renumber(numbers, ranks, found):
    n = np.int64(0)
    for i in range(numbers.size):
        x = numbers[i]
        if ranks[x] < 0:
            ranks[x], found[n] = n, x
            n += 1
        numbers[i] = ranks[x]
    return n
