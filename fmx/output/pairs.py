"""Alignments of pairs of sequences as lines of a format.

A path's letters are those of SAM: = match, X mismatch, I letter of the query only, D of the target only.
"""

from types import SimpleNamespace

import numpy as np

from ..compiler.functions import by_type, compiled
from . import put

_OPERATIONS = put.as_bytes("=XID")


@by_type
def put_pair(form, out, at, records, r):
    """The fields of record r but its path, into ``out`` uint8[n] from ``at`` on; the place after them.

    ``records`` as align.records.Records, with the score in ``h``.
    """


class PairWriter:
    """Formats alignments by a form; one instance serves all threads.

    The form is a NamedTuple with the names of ``queries`` and ``targets`` and with ``path``, what precedes a
    path, and has a body for ``put_pair``.
    """

    def __init__(self, form, with_path):
        self._form, self._with_path = form, with_path
        self._lengths = np.diff(form.queries.first), np.diff(form.targets.first)
        first = {field: [0] for field in ("query", "target", "identity", "length", "matches")}
        self._widest = (
            put_pair(form, put.Widest(), 0, SimpleNamespace(h=[-1], **first), 0) + form.path.size + 1
        )

    def format(self, records) -> bytes:
        """Their lines."""
        n_runs = records.runs.size if self._with_path else 0
        room = records.h.size * self._widest + n_runs * (put.DIGITS + 1)
        for lengths, numbers in zip(self._lengths, (records.query, records.target), strict=True):
            room += int(lengths[numbers].sum())
        out = np.empty(room, np.uint8)
        return out[: _write(self._form, self._with_path, records, out)].tobytes()


@compiled
def _write(form, with_path, records, out):
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
