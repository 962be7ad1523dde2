"""Formats hits of reads as records."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from ..compiler.functions import compiled
from ..search import FormatsHits, WritesHits
from .records import COMMENTS, Buffers, Window, put_read, room_of_read, widest

if TYPE_CHECKING:
    from ..input import SpanLike
    from ..input.reads import ReadBatch
    from ..search.hits import Hits
    from .hits_gpu import GpuHitWriter


class OutputWriter(WritesHits, Protocol):
    """The writer of an output: a RecordWriter, a MateWriter, or Writers of several read groups."""

    def refusals(self) -> set:
        """Return why GPUs do not compress the records that they make, although they should: sentences."""

    def end(self) -> bytes:
        """Return the bytes after the last record."""


class RecordWriter(OutputWriter, FormatsHits, Protocol):
    """Formats hits; one instance serves all threads.

    To add one, derive from BatchWriter and write ``format``, or give HitWriter a form (records.py), whose
    records a GPU can make as well.  ``on_gpu`` states whether it can; if so, there is ``made_on_gpu``.
    tests/output/test_writer_protocol.py tests all of them.
    """

    def allow(self, changes: int) -> None:
        """Let hits have up to this many changes (input/sets.py)."""

    def owns(self, piece: Any) -> bool:
        """Return whether a piece is the beginning of an array of this writer."""


class BatchWriter:
    """Base of RecordWriters whose pieces are not reused, and that write nothing at the end.

    ``reads_files``: for unchanged reads (search_output.py); ``comments``: whether reads have SAM tags to be
    copied.
    """

    on_gpu = False
    reads_files: tuple = ()
    comments = False

    def __init__(self, is_sam: bool = False) -> None:
        self.is_sam = is_sam

    def allow(self, changes: int) -> None:
        """Let hits have up to this many changes (input/sets.py); this writer does not depend on it."""

    def split(self, batches: "tuple[ReadBatch, ...]", is_hit: np.ndarray) -> Iterator:
        """Yield pieces for --al and --un: unchanged reads, by whether each has a reported hit."""
        from .reads import split  # not needed without reads_files

        return split(self.reads_files, batches, is_hit)

    def of(self, span: "SpanLike") -> Self:
        """Return the writer for the reads of a span: this one."""
        return self

    def refusals(self) -> set:
        """Return why GPUs do not compress the records that they make, although they should: sentences."""
        return set()

    def owns(self, piece: Any) -> bool:
        """Return whether a piece is the beginning of an array of this writer."""
        return False

    def written(self, piece: Any) -> None:
        """Release a piece that has been written."""

    def end(self) -> bytes:
        """Return the bytes after the last record."""
        return b""


class HitWriter(BatchWriter, Buffers):
    """Formats batches with a form (records.py); one instance serves all threads.

    ``is_sam``: reads must follow SAM's rules, and * stands for a missing name; else the sequence does.
    ``encode`` turns records into the bytes to write, and ``end`` follows the last record.
    """

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
        self.comments = bool(getattr(form, "tags", 0) & COMMENTS)
        self.on_gpu = not self.comments
        self._on_gpus: list[GpuHitWriter] = []
        self.encode, self._end, self.widest = encode, end, widest(form)

    def allow(self, changes: int) -> None:
        """Let hits have up to this many changes (input/sets.py)."""
        self.widest = widest(self.form, changes)

    def format(
        self, batch: "ReadBatch", hits: "Hits", start: int, first_hit: int, last_hit: int
    ) -> bytes | np.ndarray:
        """Return the format the records of reads from ``start`` on, for hits first_hit to last_hit."""
        if not self.is_sam:
            batch = named_by_letters(batch)
        window = Window(start, first_hit, last_hit)
        sized = batch
        if self.comments:
            from ..input.comments import with_comments  # only for -C

            sized = with_comments(batch)
        out = self.take(_room(sized, hits, window, self.widest))
        return self.encoded(out[: _write(self.form, batch, hits, window, out)])

    def encoded(self, records: np.ndarray) -> bytes | np.ndarray:
        """Return the bytes to write for records, which are the beginning of an array from ``take``."""
        if not self.encode:
            return records
        encoded = self.encode(records)
        self._give_back(records)
        return encoded

    def owns(self, piece: bytes | np.ndarray) -> bool:
        """Return whether a piece is the beginning of an array of this writer, or of its GPU writers."""
        if not isinstance(piece, np.ndarray):
            return False
        return Buffers.owns(self, piece) or any(made.buffers.owns(piece) for made in self._on_gpus)

    def made_on_gpu(self) -> "GpuHitWriter":
        """Return a GpuHitWriter, which makes the records on the GPU of this thread."""
        from .hits_gpu import GpuHitWriter

        made = GpuHitWriter(self)
        self._on_gpus = [*self._on_gpus, made]
        return made

    def refusals(self) -> set:
        """Return why GPUs do not compress the records that they make, although they should: sentences."""
        return {made.refusal for made in self._on_gpus if made.refusal}

    def written(self, piece: bytes | np.ndarray) -> None:
        """Release a piece of ``encoded`` or ``split`` that has been written."""
        if isinstance(piece, np.ndarray):
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
    """Return the batch with sequences instead of missing names."""
    nameless = batch.name_length == 0
    return batch._replace(
        name_start=np.where(nameless, batch.start, batch.name_start),
        name_length=np.where(nameless, batch.length, batch.name_length),
    )


@compiled
def _room(batch, hits, window, n_widest):
    """Return an upper bound of the bytes of the records of a Window."""
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


# Writers of one output, one per read group.


class Writers:
    """HitWriters by path of the files whose reads they write; they differ only in the read group."""

    def __init__(self, of_path: dict) -> None:
        self._of_path, self._all = of_path, list(dict.fromkeys(of_path.values()))
        self.is_sam, self.reads_files, self.end = (
            self._all[0].is_sam,
            self._all[0].reads_files,
            self._all[0].end,
        )
        self.on_gpu, self.comments = self._all[0].on_gpu, self._all[0].comments

    def of(self, span: "SpanLike") -> HitWriter:
        """Return the writer for a span's file; any one for reads without a file."""
        return self._of_path.get(span.path, self._all[0])

    def refusals(self) -> set:
        """Return why GPUs do not compress the records that they make, although they should: sentences."""
        return set().union(*(writer.refusals() for writer in self._all))

    def written(self, piece: bytes | np.ndarray) -> None:
        """Release a piece of one of them that has been written."""
        owner = next((writer for writer in self._all if writer.owns(piece)), self._all[0])
        owner.written(piece)
