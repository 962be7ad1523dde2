"""Collapsing of identical reads: each distinct sequence is mapped once, weighted by its reads.

spans -> reads of a span -> parts of a Collection, by hash -> spans of FASTA, names end in _xN

Workers find the reads of a span and add them to the parts; a part has the reads whose hashes begin with the
same bits. One worker at a time adds to a part, in input order, so a sequence keeps the name of its first
read, whichever worker parsed it. Bases are compared, not only hashes.
"""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import copy_bytes, load_little_endian, prefetch
from ..errors import InputError, bytes_of, n_of
from ..index.plan import available_memory
from ..input import reads
from ..input.chunks import Chunk
from ..input.dna import UPPER
from ..input.reads import WHOLE, trimmed
from ..input.weights import MOST, end_in_numbers, put_weight, weight_of
from ..machines.jobs import runs
from ..machines.pipeline import add_up, run_ordered

if TYPE_CHECKING:
    from ..input import SpanLike
    from ..input.reads import ReadBatch
    from ..machines.progress import Progress
    from .mapping import MapOptions

ALL_READS = "reads, collapsed"  # what messages call them
_WIDEST = 24  # bytes of a FASTA record besides its name and bases
_LOADED = 2  # minimum number of slots per read
_WAITING = 2  # spans per thread that may wait to be added before a worker waits, too
_AHEAD = 8  # reads between the steps of prefetching
_LINE = 64  # bytes of a cache line

# Columns of ReadTable. KEY: hash of the bases, KEY_BITS bits. START, LENGTH: the bases in ``data``, padded
# with 0 to whole words of 8 bytes. NAME: length of the name without weight, which follows. ORDER: number of
# the span * 2^32 + number of the read in it.
KEY, WEIGHT, START, LENGTH, NAME, ORDER = range(6)
WIDTH, KEY_BITS = 6, 63


class ReadTable(NamedTuple):
    """Reads: ``rows`` int64[n, WIDTH], see above; ``data`` uint8: bases, in upper case, and names."""

    rows: np.ndarray
    data: np.ndarray


def collect(source: Generator[Any, None, None], options: "MapOptions", progress: "Progress") -> "Collection":
    """Return the distinct reads of ``source`` (spans), trimmed as MapOptions say, with their weights.

    Closes ``source``. Raises InputError, also if the memory does not suffice.
    """
    trim, kept = options.collapse or WHOLE, Collection(options.n_threads)

    def numbered() -> Iterator[tuple[int, Any]]:
        with closing(source) as spans:
            yield from enumerate(spans)

    def work(_: object, item: "tuple[int, SpanLike]") -> int:
        number, span = item
        return kept.put(number, trimmed(reads.parse(span.read().whole()), trim))

    def say(kept: Collection, _: float) -> str:
        return f"{n_of(kept.total, 'read')}, {kept.n:,} distinct"

    add_up(run_ordered(numbered(), [work] * options.n_threads, None), kept, progress, say)
    progress.say(f"{n_of(kept.total, 'read')}, {kept.n:,} of them distinct")
    if kept.total == kept.n > 1 and all(
        end_in_numbers(data, rows[:, START] + ((rows[:, LENGTH] + 7) & ~7), rows[:, NAME])
        for rows, data in (part.between(0, len(part.marks) - 1) for part in kept.parts)
    ):
        progress.say(
            "hint: all names end in a number and all sequences differ: if these are numbers of copies, write "
            "names as NAME_xN or NAME;size=N"
        )
    return kept


class Collection:
    """A growing set of distinct reads: ``n`` of them, which stand for ``total`` reads.

    ``memory()``: the bytes that are free, checked before more than ``small`` bytes are allocated.
    """

    def __init__(
        self, n_threads: int = 1, memory: Callable[[], float] = available_memory, small: int = 1 << 24
    ) -> None:
        self.total, self._n_threads, self._memory, self._small = 0, n_threads, memory, small
        n_parts = 1 << max((n_threads - 1).bit_length() - 1, 0)  # adding is less than half of the work
        self.parts = [_HashPart(number, self._check_memory) for number in range(n_parts)]
        # Spans by number: reads, their numbers by part, and where those of each part begin, and end.
        self._waiting: dict[int, tuple[ReadTable, np.ndarray, np.ndarray]] = {}

    @property
    def n(self) -> int:
        return sum(part.marks[-1][0] for part in self.parts)

    def put(self, number: int, batch: "ReadBatch") -> int:
        """Add the reads of span ``number``, once all earlier spans were put; return how many they are.

        What a part must leave to a later call, or to a thread that is adding to it, waits.
        """
        parts, n = self.parts, batch.length.size
        table = ReadTable(np.empty((n, WIDTH), np.int64), np.empty(batch.data.size + 7 * n, np.uint8))
        table = table._replace(data=table.data[: _spell(batch, UPPER, number << 32, table)])
        part = (table.rows[:, KEY] >> (KEY_BITS - (len(parts) - 1).bit_length())).astype(np.uint16)
        ends = np.append(0, np.cumsum(np.bincount(part, minlength=len(parts))))
        self._waiting[number] = table, np.argsort(part, kind="stable"), ends
        must_wait = len(self._waiting) > _WAITING * self._n_threads
        for i in range(number, number + len(parts)):
            parts[i % len(parts)].add(self._waiting, must_wait)
        n_added = min(len(part.marks) for part in parts) - 1
        for old in [old for old in tuple(self._waiting) if old < n_added]:
            self._waiting.pop(old, None)
        return int(table.rows[:, WEIGHT].sum())

    def add(self, n: int) -> None:
        """Count the n reads of a span that was put."""
        self.total += n
        if self.total > MOST:
            raise InputError(
                ALL_READS, "", f"the counts (_xN in names) add up to more than {MOST:,}: split the input"
            )

    def _check_memory(self, more: int) -> None:
        """Raise InputError if not all parts could take ``more`` bytes."""
        more *= len(self.parts)
        if more > self._small and more > self._memory():
            size = sum(part.n_bytes for part in self.parts)
            what = f"{self.n:,} distinct reads take {bytes_of(size)}, and no memory is left for more"
            raise InputError(ALL_READS, "", f"{what}: omit --collapse, or collapse fewer reads per run")

    def spans(
        self, size: int, progress: "Progress", first: int = 0, last: int | None = None
    ) -> "Iterator[_Span]":
        """Yield spans of about ``size`` bytes, to be read as Chunks, of reads ``first`` to ``last``.

        ``progress`` follows the position.
        """
        share, last = 0.0, self.n if last is None else last
        progress.follow(lambda: share)
        ends = np.sum([part.marks for part in self.parts], axis=0)  # of the reads, and of ``data``, by span
        for start, stop in runs(np.diff(ends @ (_WIDEST, 1)), size):
            begin, end = ends[start, 0], ends[stop, 0]
            low, high = max(first, begin), min(last, end)
            if low < high:
                share = (high - first) / (last - first)
                tables = [part.between(start, stop) for part in self.parts]
                yield _Span(tables, int(low), slice(low - begin, high - begin))


class _HashPart:
    """The reads of a Collection whose hashes begin with the same bits.

    ``marks``: (number of reads, bytes of ``data``) before the first span and after each span that was added.
    """

    def __init__(self, number: int, check_memory: Callable[[int], None]) -> None:
        self.marks, self._number = [(0, 0)], number
        self._check_memory, self._lock = check_memory, threading.Lock()
        self._kept = ReadTable(np.empty((0, WIDTH), np.int64), np.empty(0, np.uint8))
        self._slots = np.zeros(2, np.uint32)

    @property
    def n_bytes(self) -> int:
        return self._slots.nbytes + sum(array.nbytes for array in self._kept)

    def add(self, waiting: dict, must_wait: bool) -> None:
        """Add the reads of this part of the spans that are next, or leave them to a thread that is adding."""
        while len(self.marks) - 1 in waiting and self._lock.acquire(blocking=must_wait):
            try:
                if span := waiting.get(len(self.marks) - 1):
                    reads, which, ends = span
                    which = which[ends[self._number] : ends[self._number + 1]]
                    n, end = self.marks[-1]
                    self._grow(self._kept.rows, n + which.size)
                    self._grow(self._kept.data, end + reads.data.size)
                    n_slots = _LOADED * (n + which.size)
                    if n_slots > self._slots.size:
                        self._check_memory(4 * n_slots)
                        self._slots = np.zeros(1 << n_slots.bit_length(), np.uint32)
                        _fill_slots(self._kept.rows, n, self._slots)
                    self.marks.append(_add(reads, which, self._kept, self._slots, n, end))
            finally:
                self._lock.release()

    def _grow(self, array: np.ndarray, n: int) -> None:
        """Grow an array in place to at least n items; the kernel moves the pages of a large one."""
        if n > len(array):
            size = max(n, len(array) * 9 // 8)
            self._check_memory((size - len(array)) * array.strides[0])
            array.resize((size, *array.shape[1:]), refcheck=False)

    def between(self, start: int, stop: int) -> ReadTable:
        """Return the reads that first occur in spans ``start`` to ``stop``."""
        (first, begin), (last, end) = self.marks[start], self.marks[stop]
        return ReadTable(self._kept.rows[first:last], self._kept.data[begin:end])


class _Span:
    """Distinct reads as FASTA: those of ``tables``, in the order of the input, which ``chosen`` selects."""

    path, end = ALL_READS, 0

    def __init__(self, tables: list[ReadTable], first: int, chosen: slice) -> None:
        self._tables, self._first, self._chosen = tables, first, chosen

    def read(self, hold: object = None) -> Chunk:
        """Return the FASTA records as a Chunk."""
        rows, data = (np.concatenate(columns) for columns in zip(*self._tables, strict=True))
        sizes = ((rows[:, LENGTH] + 7) & ~7) + rows[:, NAME]
        rows[:, START] = np.cumsum(sizes) - sizes
        chosen = np.argsort(rows[:, ORDER])[self._chosen]
        out = np.empty(sizes[chosen].sum() + chosen.size * _WIDEST, np.uint8)
        out = out[: _write(ReadTable(rows, data), chosen, out)]
        return Chunk(self.path, out, False, self._first + 1, chosen.size)


@compiled
def _spell(batch, upper, order, table):
    """Fill ``table`` and return its number of bytes."""
    at = np.int64(0)
    for r in range(batch.length.size):
        row, length = table.rows[r], batch.length[r]
        for i in range(length):
            table.data[at + i] = upper[batch.data[batch.start[r] + i]]
        end = at + ((length + 7) & ~7)
        for i in range(at + length, end):
            table.data[i] = 0
        key = np.uint64(length)
        for i in range(at, end, 8):
            key = (key ^ load_little_endian(table.data, i)) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(32)
        row[KEY] = key >> np.uint64(64 - KEY_BITS)
        row[WEIGHT], row[NAME] = weight_of(batch, r)
        row[START], row[LENGTH], row[ORDER] = at, length, order + r
        copy_bytes(table.data, end, batch.data, batch.name_start[r], row[NAME])
        at = end + row[NAME]
    return at


@compiled
def _fill_slots(rows, n, slots):
    """Fill ``slots`` uint32[2^j] with the numbers (from 1) of n reads by their keys; 0 marks a free slot."""
    for r in range(n):
        slot = rows[r, KEY] & (slots.size - 1)
        while slots[slot]:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = r + 1


@inlined
def _are_same(reads, r, kept, other):
    """Return whether two reads have the same bases."""
    a, b = reads.rows[r], kept.rows[other]
    if a[KEY] != b[KEY] or a[LENGTH] != b[LENGTH]:
        return False
    for i in range(0, a[LENGTH], 8):
        if load_little_endian(reads.data, a[START] + i) != load_little_endian(kept.data, b[START] + i):
            return False
    return True


@inlined
def _prefetch_bases(reads, r):
    for i in range(reads.rows[r, START], reads.rows[r, START] + reads.rows[r, LENGTH], _LINE):
        prefetch(reads.data, i)


@compiled
def _add(reads, which, kept, slots, n, end):
    """Add reads ``which`` int64[...] to the n reads in ``kept``, which have ``end`` bytes; return both then.

    ``kept`` and ``slots`` have room for all.
    """
    last, mask = which.size - 1, slots.size - 1
    for i in range(which.size):
        # Prefetch what the reads after this one are compared with: slots, then rows, then bases.
        prefetch(reads.rows, which[min(i + 4 * _AHEAD, last)] * WIDTH)
        prefetch(slots, reads.rows[which[min(i + 3 * _AHEAD, last)], KEY] & mask)
        other = np.int64(slots[reads.rows[which[min(i + 2 * _AHEAD, last)], KEY] & mask]) - 1
        if other >= 0:
            prefetch(kept.rows, other * WIDTH)
            prefetch(kept.rows, other * WIDTH + ORDER)
        r = which[min(i + _AHEAD, last)]
        _prefetch_bases(reads, r)
        other = np.int64(slots[reads.rows[r, KEY] & mask]) - 1
        if other >= 0 and kept.rows[other, KEY] == reads.rows[r, KEY]:
            _prefetch_bases(kept, other)
        r = which[i]
        row = reads.rows[r]
        slot = row[KEY] & mask
        while slots[slot] and not _are_same(reads, r, kept, np.int64(slots[slot]) - 1):
            slot = (slot + 1) & mask
        if slots[slot]:
            kept.rows[np.int64(slots[slot]) - 1, WEIGHT] += row[WEIGHT]
            continue
        for column in range(WIDTH):
            kept.rows[n, column] = row[column]
        kept.rows[n, START] = end
        size = ((row[LENGTH] + 7) & ~7) + row[NAME]
        copy_bytes(kept.data, end, reads.data, row[START], size)
        end += size
        n += 1
        slots[slot] = n
    return n, end


@compiled
def _write(reads, chosen, out):
    """Write the ``chosen`` records into ``out`` uint8 and return the number of bytes."""
    at = np.int64(0)
    for i in range(chosen.size):
        row = reads.rows[chosen[i]]
        out[at] = ord(">")
        copy_bytes(out, at + 1, reads.data, row[START] + ((row[LENGTH] + 7) & ~7), row[NAME])
        at = put_weight(out, at + 1 + row[NAME], row[WEIGHT])
        out[at] = 10
        copy_bytes(out, at + 1, reads.data, row[START], row[LENGTH])
        at += row[LENGTH] + 2
        out[at - 1] = 10
    return at
