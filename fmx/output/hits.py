"""Hits of reads as records of a format."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..compiler.functions import compiled
from .records import Buffers, Window, put_read, room_of_read, widest

if TYPE_CHECKING:
    from ..input.reads import ReadBatch
    from .hits_gpu import GpuHitWriter


class BatchWriter:
    """What all that writes hits of batches has: a RecordWriter whose pieces are not used again, and that
    has nothing to write at the end.  ``takers``: of reads.py, if reads are also written as they came.
    """

    on_gpu = False
    takers: tuple = ()

    def __init__(self, is_sam: bool = False) -> None:
        self.is_sam = is_sam

    def allow(self, changes: int) -> None:
        """Let hits have so many changes, at most (input/sets.py): nothing depends on it."""

    def split(self, batches: "tuple[ReadBatch, ...]", is_hit: np.ndarray) -> Iterator:
        """Yield pieces for the other outputs: reads as they came, by whether each has a reported hit."""
        from .reads import split  # of no use without takers

        return split(self.takers, batches, is_hit)

    def of(self, span: Any) -> Self:
        """What writes the reads of a span: itself."""
        return self

    def refusals(self) -> set:
        """Why GPUs do not deflate the records that they make, as they should: sentences."""
        return set()

    def owns(self, piece: Any) -> bool:
        """Is a piece the beginning of an array of this writer?"""
        return False

    def written(self, piece: Any) -> None:
        """A piece has been written."""

    def end(self) -> bytes:
        """What stands after the last record."""
        return b""


class HitWriter(BatchWriter, Buffers):
    """Formats batches by a form (records.py); one instance serves all threads.

    ``is_sam``: reads must keep SAM's rules, and one without a name is *; else its letters name it.
    ``encode`` makes of a run of records what is written, and ``end`` stands after the last one.
    """

    on_gpu = True

    def __init__(
        self,
        form: Any,
        is_sam: bool = False,
        encode: Callable[[np.ndarray], bytes] | None = None,
        end: bytes = b"",
    ) -> None:
        BatchWriter.__init__(self, is_sam)
        Buffers.__init__(self)
        self.form = form
        self._on_gpus: list[GpuHitWriter] = []
        self.encode, self._end, self.widest = encode, end, widest(form)

    def allow(self, changes: int) -> None:
        """Let hits have so many changes, at most (input/sets.py)."""
        self.widest = widest(self.form, changes)

    def format(
        self, batch: "ReadBatch", hits: Any, start: int, first_hit: int, last_hit: int
    ) -> bytes | np.ndarray:
        """Records of reads ``start`` onwards, as far as their hits are first_hit to last_hit."""
        if not self.is_sam:
            batch = named_by_letters(batch)
        window = Window(start, first_hit, last_hit)
        out = self.take(_room(batch, hits, window, self.widest))
        return self.encoded(out[: _write(self.form, batch, hits, window, out)])

    def encoded(self, records: np.ndarray) -> bytes | np.ndarray:
        """What is written of records, the beginning of an array that was taken."""
        if not self.encode:
            return records
        encoded = self.encode(records)
        self._give_back(records)
        return encoded

    def owns(self, piece: bytes | np.ndarray) -> bool:
        """Is a piece the beginning of an array of this writer, or of what it made on GPUs?"""
        if isinstance(piece, bytes):
            return False
        return Buffers.owns(self, piece) or any(made.buffers.owns(piece) for made in self._on_gpus)

    def made_on_gpu(self) -> "GpuHitWriter":
        """What has the GPU that this thread uses make the records: a GpuHitWriter."""
        from .hits_gpu import GpuHitWriter

        made = GpuHitWriter(self)
        self._on_gpus = [*self._on_gpus, made]
        return made

    def refusals(self) -> set:
        """Why GPUs that make its records do not deflate them, as they should: sentences."""
        return {made.refusal for made in self._on_gpus if made.refusal}

    def written(self, piece: bytes | np.ndarray) -> None:
        """What ``encoded`` or ``split`` gave has been written."""
        if not isinstance(piece, bytes):
            self._give_back(piece)

    def _give_back(self, records: np.ndarray) -> None:
        of_gpus = (made.buffers for made in self._on_gpus)
        owner = next((its for its in of_gpus if its.owns(records)), None)
        if owner is None:
            Buffers.written(self, records)
        else:
            owner.written(records)

    def end(self) -> bytes:
        return self._end


def named_by_letters(batch: "ReadBatch") -> "ReadBatch":
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


# Writers of one output, one for each read group.


class Writers:
    """HitWriters by the paths of the files whose reads they write; all alike but for what they add."""

    def __init__(self, of_path: dict) -> None:
        self._of_path, self._all = of_path, list(dict.fromkeys(of_path.values()))
        self.is_sam, self.takers, self.end = self._all[0].is_sam, self._all[0].takers, self._all[0].end
        self.on_gpu = self._all[0].on_gpu

    def of(self, span: Any) -> HitWriter:
        """That of a span's file; any one for reads that are nobody's."""
        return self._of_path.get(span.path, self._all[0])

    def refusals(self) -> set:
        """Why GPUs do not deflate what they make: sentences."""
        return set().union(*(writer.refusals() for writer in self._all))

    def written(self, piece: bytes | np.ndarray) -> None:
        """What one of them gave has been written."""
        owner = next((writer for writer in self._all if writer.owns(piece)), self._all[0])
        owner.written(piece)
