"""Collapsing of identical reads: each distinct sequence is mapped once, weighted by its reads.

spans -> reads of a span, with their hashes -> a Collection -> spans of FASTA, names end in _xN

Workers find the reads of spans. One thread adds them to the collection, in input order, so a sequence keeps
the name of its first read. Bases are compared, not only hashes.
"""

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import copy_bytes, load_little_endian, prefetch
from ..dna import UPPER
from ..errors import InputError, n_of, size_in_words
from ..index.plan import available_memory
from ..input import reads
from ..input.chunks import Chunk
from ..input.reads import WHOLE, trimmed
from ..input.weights import MOST, end_in_numbers, put_weight, weight_of
from ..machines.pipeline import add_up, run_ordered

if TYPE_CHECKING:
    from ..input.reads import ReadBatch
    from ..machines.progress import Progress
    from .mapping import MapOptions

_ALL_READS = "reads, collapsed"  # what messages call them
_WIDEST = 24  # bytes of a FASTA record besides its name and bases
_LOADED = 2  # minimum number of slots per read
_WAITING = 2  # spans per thread whose reads may wait to be added
_AHEAD = 8  # reads between the steps of prefetching
_LINE = 64  # bytes of a cache line

# Columns of ReadTable. _KEY: hash of the bases, _KEY_BITS bits. _START, _LENGTH: bases in ``data``, padded
# with 0 to whole words of 8 bytes. _NAME: length of the name without weight, which follows.
_KEY, _WEIGHT, _START, _LENGTH, _NAME = range(5)
_WIDTH, _KEY_BITS = 5, 63


class ReadTable(NamedTuple):
    """Reads: ``rows`` int64[n, _WIDTH], see above; ``data`` uint8: bases, in upper case, and names."""

    rows: np.ndarray
    data: np.ndarray


def collect(source: Generator[Any, None, None], options: "MapOptions", progress: "Progress") -> "Collection":
    """Return the distinct reads of ``source`` (spans), trimmed as MapOptions say, with their weights.

    Closes ``source``. Raises InputError, also if the memory does not suffice.
    """
    trim, kept, n_threads = options.collapse or WHOLE, Collection(), options.n_threads

    def work(_: object, span: Any) -> ReadTable:
        return read_table(trimmed(reads.parse(span.read().whole()), trim))

    def say(kept: Collection, _: float) -> str:
        return f"{n_of(kept.total, 'read')}, {kept.n:,} distinct"

    add_up(run_ordered(source, [work] * n_threads, None, ahead=_WAITING * n_threads), kept, progress, say)
    progress.say(f"{n_of(kept.total, 'read')}, {kept.n:,} of them distinct")
    if kept.total == kept.n > 1:
        rows, data = kept.table
        names = rows[:, _START] + ((rows[:, _LENGTH] + 7) & ~7)
        if end_in_numbers(data, names, rows[:, _NAME]):
            progress.say(
                "hint: all names end in a number and all sequences differ: if these are numbers of copies, "
                "write names as NAME_xN or NAME;size=N"
            )
    return kept


def read_table(batch: "ReadBatch") -> ReadTable:
    """Return the reads of a batch, equal ones among them."""
    n = batch.length.size
    table = ReadTable(np.empty((n, _WIDTH), np.int64), np.empty(batch.data.size + 7 * n, np.uint8))
    return table._replace(data=table.data[: _spell(batch, UPPER, table)])


class Collection:
    """A growing set of distinct reads: ``n`` of them, which stand for ``total`` reads.

    ``memory()``: the bytes that are free, checked before more than ``small`` bytes are allocated.
    """

    def __init__(self, memory: Callable[[], float] = available_memory, small: int = 1 << 24) -> None:
        self.n, self.total, self._end, self._memory, self._small = 0, 0, 0, memory, small
        self._rows, self._data = np.empty((0, _WIDTH), np.int64), np.empty(0, np.uint8)
        self._slots = np.zeros(2, np.uint32)

    @property
    def table(self) -> ReadTable:
        """The distinct reads, in the order of the first of each in the input."""
        return ReadTable(self._rows[: self.n], self._data[: self._end])

    def add(self, reads: ReadTable) -> None:
        """Add reads. Raises InputError if memory does not suffice, or a sum of weights is too large."""
        n_rows = self.n + len(reads.rows)
        self._grow(self._rows, n_rows)
        self._grow(self._data, self._end + reads.data.size)
        if _LOADED * n_rows > self._slots.size:
            self._check_memory(4 * _LOADED * n_rows)
            self._slots = np.zeros(1 << (_LOADED * n_rows).bit_length(), np.uint32)
            _fill_slots(self._rows, self.n, self._slots)
        kept = ReadTable(self._rows, self._data)
        self.n, self._end = _add(reads, kept, self._slots, self.n, self._end)
        self.total += int(reads.rows[:, _WEIGHT].sum())
        if self.total > MOST:
            raise InputError(
                _ALL_READS, "", f"the counts (_xN in names) add up to more than {MOST:,}: split the input"
            )

    def _grow(self, array: np.ndarray, n: int) -> None:
        """Grow an array in place to at least n items; the kernel moves the pages of a large one."""
        if n > len(array):
            size = max(n, len(array) * 9 // 8)
            self._check_memory((size - len(array)) * array.strides[0])
            array.resize((size, *array.shape[1:]), refcheck=False)

    def _check_memory(self, more: int) -> None:
        """Raise InputError if there are not ``more`` bytes."""
        if more > self._small and more > self._memory():
            size = self._rows.nbytes + self._data.nbytes + self._slots.nbytes
            what = f"{self.n:,} distinct reads take {size_in_words(size)}, and no memory is left for more"
            raise InputError(_ALL_READS, "", f"{what}: omit --collapse, or collapse fewer reads per run")

    def spans(
        self, size: int, progress: "Progress", first: int = 0, last: int | None = None
    ) -> "Iterator[_Span]":
        """Yield spans of about ``size`` bytes, to be read as Chunks, of reads ``first`` to ``last``.

        ``progress`` follows the position.
        """
        share, begin, last = 0.0, first, self.n if last is None else last
        progress.follow(lambda: share)
        while first < last:
            starts = self._rows[first : min(last, first + size // _WIDEST + 1), _START]
            stop = first + max(1, int(np.searchsorted(starts, starts[0] + size)))
            share = (stop - begin) / (last - begin)
            yield _Span(ReadTable(self._rows[first:stop], self._data), first)
            first = stop


class _Span:
    """Distinct reads as FASTA: those of ``table``, from number ``first`` on."""

    path, end = _ALL_READS, 0

    def __init__(self, table: ReadTable, first: int) -> None:
        self._table, self._first = table, first

    def read(self, hold: object = None) -> Chunk:
        """Return the FASTA records as a Chunk."""
        rows = self._table.rows
        out = np.empty(rows[:, _LENGTH].sum() + rows[:, _NAME].sum() + len(rows) * _WIDEST, np.uint8)
        out = out[: _write(self._table, out)]
        return Chunk(self.path, out, False, self._first + 1, len(rows))


@compiled
def _spell(batch, upper, table):
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
        row[_KEY] = key >> np.uint64(64 - _KEY_BITS)
        row[_WEIGHT], row[_NAME] = weight_of(batch, r)
        row[_START], row[_LENGTH] = at, length
        copy_bytes(table.data, end, batch.data, batch.name_start[r], row[_NAME])
        at = end + row[_NAME]
    return at


@compiled
def _fill_slots(rows, n, slots):
    """Fill ``slots`` uint32[2^j] with the numbers (from 1) of n reads by their keys; 0 marks a free slot."""
    for r in range(n):
        slot = rows[r, _KEY] & (slots.size - 1)
        while slots[slot]:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = r + 1


@inlined
def _are_same(reads, r, kept, other):
    """Return whether two reads have the same bases."""
    a, b = reads.rows[r], kept.rows[other]
    if a[_KEY] != b[_KEY] or a[_LENGTH] != b[_LENGTH]:
        return False
    for i in range(0, a[_LENGTH], 8):
        if load_little_endian(reads.data, a[_START] + i) != load_little_endian(kept.data, b[_START] + i):
            return False
    return True


@compiled
def _add(reads, kept, slots, n, end):
    """Add reads to the n reads in ``kept``, which have ``end`` bytes; return both then.

    ``kept`` and ``slots`` have room for all.
    """
    rows, last, mask = reads.rows, reads.rows.shape[0] - 1, slots.size - 1
    for r in range(last + 1):
        # Prefetch what the reads after this one are compared with: slots, then rows, then bases.
        prefetch(slots, rows[min(r + 3 * _AHEAD, last), _KEY] & mask)
        other = np.int64(slots[rows[min(r + 2 * _AHEAD, last), _KEY] & mask]) - 1
        if other >= 0:
            prefetch(kept.rows, other * _WIDTH)
            prefetch(kept.rows, other * _WIDTH + _WIDTH - 1)
        key = rows[min(r + _AHEAD, last), _KEY]
        other = np.int64(slots[key & mask]) - 1
        if other >= 0 and kept.rows[other, _KEY] == key:
            for i in range(0, kept.rows[other, _LENGTH], _LINE):
                prefetch(kept.data, kept.rows[other, _START] + i)
        row = rows[r]
        slot = row[_KEY] & mask
        while slots[slot] and not _are_same(reads, r, kept, np.int64(slots[slot]) - 1):
            slot = (slot + 1) & mask
        if slots[slot]:
            kept.rows[np.int64(slots[slot]) - 1, _WEIGHT] += row[_WEIGHT]
            continue
        for column in range(_WIDTH):
            kept.rows[n, column] = row[column]
        kept.rows[n, _START] = end
        size = ((row[_LENGTH] + 7) & ~7) + row[_NAME]
        copy_bytes(kept.data, end, reads.data, row[_START], size)
        end += size
        n += 1
        slots[slot] = n
    return n, end


@compiled
def _write(reads, out):
    """Write reads as FASTA records into ``out`` uint8 and return the number of bytes."""
    at = np.int64(0)
    for r in range(reads.rows.shape[0]):
        row = reads.rows[r]
        out[at] = ord(">")
        copy_bytes(out, at + 1, reads.data, row[_START] + ((row[_LENGTH] + 7) & ~7), row[_NAME])
        at = put_weight(out, at + 1 + row[_NAME], row[_WEIGHT])
        out[at] = 10
        copy_bytes(out, at + 1, reads.data, row[_START], row[_LENGTH])
        at += row[_LENGTH] + 2
        out[at - 1] = 10
    return at
