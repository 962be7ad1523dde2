"""The writers of hits: records of reads and of pairs in any format, or nothing."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.functions import compiled
from ..input.reads import ReadBatch
from ..limits import ALL
from .records import (
    COMMENTS,
    FIRST,
    SECOND,
    Buffers,
    Pairs,
    Side,
    SingleReads,
    n_items,
    put_records,
    room_of,
    widest,
)

if TYPE_CHECKING:
    from ..input.mates import Mates
    from ..search.hits import Hits
    from ..search.pairs import PairHits
    from .hits_gpu import GpuHitWriter


class BatchWriter:
    """Base of what makes pieces of output from hits, and a writer of nothing; one serves all threads.

    To add one, derive from it and write ``format``, or give HitWriter a form (records.py), whose records a
    GPU can make as well.  ``is_sam``: reads must follow SAM's rules; ``on_gpu``: whether there is a
    ``gpu_writer``; ``reads_files``: those for unchanged reads (files.py); ``comments``: whether
    reads have SAM tags to be copied; ``refusals``: why GPUs do not compress the records, although they
    should, as sentences.
    """

    on_gpu = comments = False
    reads_files: tuple = ()

    def __init__(self, is_sam: bool = False) -> None:
        self.is_sam, self.buffers = is_sam, Buffers()
        self.refusals: set[str] = set()

    def prepare(self, changes: int, in_pairs: bool) -> None:
        """Let hits have up to this many changes (input/sets.py); ``in_pairs``: they are those of pairs."""

    def format(self, batch: Any, hits: Any, start: int, first: int, last: int) -> Any:
        """Return the records of hits ``first`` to ``last`` of the reads from ``start`` on."""
        return b""

    def split(self, batches: tuple[ReadBatch, ...], read: np.ndarray, number: np.ndarray) -> Iterator:
        """Yield pieces for --al and --un: unchanged reads, by their destinations (reads.split)."""
        from .reads import split  # not needed without reads_files

        return split(self.reads_files, batches, read, number)

    def written(self, piece: Any) -> None:
        """Release a piece that has been written."""
        self.buffers.release(piece)

    def end(self) -> bytes:
        """Return the bytes after the last record."""
        return b""


def open_hits(reference: object, output: object, sam_header: object) -> tuple[BatchWriter, bytes]:
    """Return a writer of nothing, for runs that only count or separate reads, and no bytes."""
    return BatchWriter(), b""


class HitWriter(BatchWriter):
    """Formats hits with a form (records.py).

    ``is_sam``: * stands for a missing name; else the sequence does.  ``encode`` turns records into the bytes
    to write, and ``end`` follows the last record.
    """

    def __init__(
        self,
        form: Any,
        is_sam: bool = False,
        encode: Callable[[np.ndarray], bytes] | None = None,
        end: bytes = b"",
    ) -> None:
        super().__init__(is_sam)
        self.form, self.encode, self._end = form, encode, end
        self.comments = bool(getattr(form, "tags", 0) & COMMENTS)
        self.on_gpu = not self.comments
        self.prepare(0, False)

    def prepare(self, changes: int, in_pairs: bool) -> None:
        """Let hits have up to this many changes (input/sets.py); ``in_pairs``: they are those of pairs."""
        self.in_pairs, self.widest = in_pairs, widest(self.form, changes, in_pairs)

    def format(
        self, batch: "ReadBatch | Mates", hits: "Hits | PairHits", start: int, first: int, last: int
    ) -> bytes | np.ndarray:
        """Return the records of reads, or pairs, from ``start`` on: of hits ``first`` to ``last`` of them.

        Several pairs are not cut: all their records are returned.
        """
        batches: Any = batch[:2] if self.in_pairs else (batch,)
        if not self.is_sam:
            batches = map(named_by_letters, batches)
        batches = tuple(batches)
        work = partial(self._work, hits=hits, start=start, first=first, last=last)
        sized = batches
        if self.comments:  # names up to the sequences, so that there is room for what follows them
            sized = tuple(batch._replace(name_length=batch.start - batch.name_start) for batch in batches)
        out = self.buffers.take(_room(work(sized), self.widest))
        return self.encoded(out[: _write(self.form, work(batches), out)])

    def _work(self, batches: tuple[ReadBatch, ...], hits: Any, start: int, first: int, last: int) -> Any:
        if not self.in_pairs:
            return SingleReads(batches[0], hits, start, first, last)
        one, two, proper = batches[0], batches[1], hits.proper
        window = (first, last) if proper.total.size == 1 else (0, ALL)
        return Pairs(Side(one, hits.one, FIRST, start), Side(two, hits.two, SECOND, start), proper, *window)

    def encoded(self, records: np.ndarray) -> bytes | np.ndarray:
        """Return the bytes to write for records, which are the beginning of a buffer."""
        if not self.encode:
            return records
        encoded = self.encode(records)
        self.buffers.release(records)
        return encoded

    def gpu_writer(self) -> "GpuHitWriter":
        """Return a GpuHitWriter, which makes the records on the GPU of this thread."""
        from .hits_gpu import GpuHitWriter

        return GpuHitWriter(self)

    def end(self) -> bytes:
        return self._end


def named_by_letters(batch: ReadBatch) -> ReadBatch:
    """Return the batch with sequences instead of missing names."""
    nameless = batch.name_length == 0
    return batch._replace(
        name_start=np.where(nameless, batch.start, batch.name_start),
        name_length=np.where(nameless, batch.length, batch.name_length),
    )


@compiled
def _room(work, n_widest):
    """Return an upper bound of the bytes of the records of single reads or pairs."""
    room = np.int64(0)
    for i in range(n_items(work)):
        room += room_of(work, i, n_widest, False)
    return room


@compiled
def _write(form, work, out):
    """Write the records of single reads or pairs into ``out`` uint8[n]; return the position after them."""
    at = np.int64(0)
    for i in range(n_items(work)):
        at = put_records(work, form, out, at, i)
    return at
