"""Hits of reads as records of a format."""

from collections.abc import Sequence

import numpy as np

from ..compiler.functions import compiled
from .buffers import Buffers
from .of_read import Window, put_read, room_of_read
from .reads import split
from .records import widest


class HitWriter(Buffers):
    """Formats batches by a form (records.py); one instance serves all threads.

    ``is_sam``: reads must keep SAM's rules, and one without a name is *; else its letters name it.
    ``encode`` makes of a run of records what is written, and ``end`` stands after the last one.  ``takers``:
    of reads.py, if reads are also written as they came.
    """

    takers: tuple = ()
    _on_gpus: Sequence = ()

    def __init__(self, form, is_sam=False, encode=None, end=b""):
        super().__init__()
        self.form, self.is_sam, self._on_gpus = form, is_sam, []
        self.encode, self._end, self.widest = encode, end, widest(form)

    def allow(self, changes) -> None:
        """Let hits have so many changes, at most (input/sets.py)."""
        self.widest = widest(self.form, changes)

    def format(self, batch, hits, start, first_hit, last_hit):
        """Records of reads ``start`` onwards, as far as their hits are first_hit to last_hit."""
        if not self.is_sam:
            batch = named_by_letters(batch)
        window = Window(start, first_hit, last_hit)
        out = self.take(_room(batch, hits, window, self.widest))
        return self.encoded(out[: _write(self.form, batch, hits, window, out)])

    def encoded(self, records):
        """What is written of records, the beginning of an array that was taken."""
        if not self.encode:
            return records
        encoded = self.encode(records)
        self._give_back(records)
        return encoded

    def split(self, batches, is_hit):
        """Yield pieces for the other outputs: reads as they came, by whether each has a reported hit."""
        return split(self.takers, batches, is_hit)

    def of(self, span):
        """What writes the reads of a span: itself."""
        return self

    def owns(self, piece) -> bool:
        """Is a piece the beginning of an array of this writer, or of what it made on GPUs?"""
        if isinstance(piece, bytes):
            return False
        return super().owns(piece) or any(made.buffers.owns(piece) for made in self._on_gpus)

    def made_on_gpu(self):
        """What has the GPU that this thread uses make the records: a GpuHitWriter."""
        from .hits_gpu import GpuHitWriter

        made = GpuHitWriter(self)
        self._on_gpus.append(made)
        return made

    def refusals(self) -> set:
        """Why GPUs that make its records do not deflate them, as they should: sentences."""
        return {made.refusal for made in self._on_gpus if made.refusal}

    def written(self, piece) -> None:
        """What ``encoded`` or ``split`` gave has been written."""
        if not isinstance(piece, bytes):
            self._give_back(piece)

    def _give_back(self, records):
        of_gpus = (made.buffers for made in self._on_gpus)
        next((its for its in of_gpus if its.owns(records)), super()).written(records)

    def end(self) -> bytes:
        return self._end


def named_by_letters(batch):
    """The batch with letters for names that are not there."""
    nameless = batch.name_length == 0
    return batch._replace(
        name_start=np.where(nameless, batch.start, batch.name_start),
        name_length=np.where(nameless, batch.length, batch.name_length),
    )


@compiled
def _room(batch, hits, window, n_widest):
    """Bytes that are enough for the records of a Window."""
    room = np.int64(0)
    for i in range(hits.total.size):
        room += room_of_read(batch, hits, i, window, n_widest)
    return room


@compiled
def _write(form, batch, hits, window, out):
    at = np.int64(0)
    for i in range(hits.total.size):
        at = put_read(form, out, at, batch, hits, i, window)
    return at
