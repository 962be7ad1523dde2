"""The records of one read: what a loop of the CPU and a thread of a GPU write."""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..index.reference import place_of
from ..input.sets import changes_of, peers_of
from .records import Record, put_record, put_unmapped


class Window(NamedTuple):
    """Hits of reads ``start`` onwards of a batch, numbers ``first`` to ``last`` of them."""

    start: int
    first: int
    last: int


@inlined
def room_of_read(batch, hits, i, window, n_widest):
    """Bytes that are enough for its records: n_widest and the name each, letters, qualities once a read."""
    r, n_hits = window.start + i, min(hits.first[i + 1], window.last) - max(hits.first[i], window.first)
    return 2 * batch.length[r] + max(n_hits, 1) * (batch.name_length[r] + n_widest)


@inlined
def put_read(form, out, at, batch, hits, i, window):
    """The records of one read, as far as they are in the Window; the place after them."""
    r, total, first = window.start + i, hits.total[i], hits.first[i]
    if hits.first[i + 1] == first:
        return put_unmapped(form, out, at, batch, r, total)
    for hit in range(max(first, window.first), min(hits.first[i + 1], window.last)):
        place = place_of(form.blocks, hits.position[hit])
        record = Record(
            r, np.int64(0), batch.length[r], hits.reverse[hit], place.contig, place.position,
            hit - first + 1, total, hits.first[i + 1] - first, peers_of(hits, i, hit), changes_of(hits, hit),
        )  # fmt: skip
        at = put_record(form, out, at, batch, record)
    return at
