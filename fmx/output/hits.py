"""Hits of reads as records of a format."""

import numpy as np

from ..compiler.functions import compiled
from ..index.reference import place_of
from .buffers import Buffers
from .records import Record, put_record, put_unmapped, widest


class HitWriter(Buffers):
    """Formats batches by a form (records.py); one instance serves all threads.

    ``is_sam``: reads must keep SAM's rules, and one without a name is *; else its letters name it.
    ``encode`` makes of a run of records what is written, and ``end`` stands after the last one.
    """

    def __init__(self, form, is_sam=False, encode=None, end=b""):
        super().__init__()
        self.form, self.is_sam = form, is_sam
        self._encode, self._end, self._widest = encode, end, widest(form)

    def format(self, batch, hits, start, first_hit, last_hit):
        """Records of reads ``start`` onwards, as far as their hits are first_hit to last_hit."""
        if not self.is_sam:
            batch = _named_by_letters(batch)
        out = self.take(_room(batch, hits, start, first_hit, last_hit, self._widest))
        out = out[: _write(self.form, batch, hits, start, first_hit, last_hit, out)]
        if not self._encode:
            return out
        encoded = self._encode(out)
        super().written(out)
        return encoded

    def written(self, piece) -> None:
        """What ``format`` gave has been written."""
        if not self._encode:
            super().written(piece)

    def end(self) -> bytes:
        return self._end


def _named_by_letters(batch):
    """The batch with letters for names that are not there."""
    nameless = batch.name_length == 0
    return batch._replace(
        name_start=np.where(nameless, batch.start, batch.name_start),
        name_length=np.where(nameless, batch.length, batch.name_length),
    )


@compiled
def _room(batch, hits, start, first_hit, last_hit, n_widest):
    """Bytes that are enough for these records: n_widest and the name each, letters, qualities once a read."""
    room = np.int64(0)
    for i in range(hits.total.size):
        n_hits = min(hits.first[i + 1], last_hit) - max(hits.first[i], first_hit)
        r = start + i
        room += 2 * batch.length[r] + max(n_hits, 1) * (batch.name_length[r] + n_widest)
    return room


@compiled
def _write(form, batch, hits, start, first_hit, last_hit, out):
    at = np.int64(0)
    for i in range(hits.total.size):
        r, total, first = start + i, hits.total[i], hits.first[i]
        if hits.first[i + 1] == first:
            at = put_unmapped(form, out, at, batch, r, total)
        for hit in range(max(first, first_hit), min(hits.first[i + 1], last_hit)):
            place = place_of(form.blocks, hits.position[hit])
            record = Record(
                r, np.int64(0), batch.length[r], hits.reverse[hit], place.contig, place.position,
                hit - first + 1, total,
            )  # fmt: skip
            at = put_record(form, out, at, batch, record)
    return at
