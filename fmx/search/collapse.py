"""Collapsing of identical reads: each distinct sequence is mapped once, weighted by its reads.

spans -> ReadBatch -> Distinct of a span -> Collection of all spans -> spans of FASTA, names end in _xN

Workers find the distinct reads of a span. The caller's thread adds them to the collection in input order, so
a sequence keeps the name of its first read, whichever worker parsed it. Bases are compared, not only hashes.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import copy_bytes, load_little_endian, prefetch
from ..errors import InputError, bytes_of, n_of
from ..index.plan import available_memory
from ..input import reads
from ..input.chunks import Chunk
from ..input.dna import UPPER
from ..input.reads import MOST, WHOLE, put_weight, trimmed, weight_of
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
_AHEAD = 8  # reads between the steps of prefetching
_LINE = 64  # bytes of a cache line


class Distinct(NamedTuple):
    """Distinct reads, in upper case, and their names without weights.

    ``weight``, ``length``, ``name_length``: int64[n]. ``key`` uint64[n]: hash of the bases of each read.
    ``letters`` uint8: the bases, from ``start`` int64[n] on, padded with 0 to whole words of 8 bytes.
    ``names`` uint8: the names, from ``name_start`` int64[n] on.
    """

    weight: np.ndarray
    length: np.ndarray
    name_length: np.ndarray
    start: np.ndarray
    name_start: np.ndarray
    key: np.ndarray
    letters: np.ndarray
    names: np.ndarray


def collect(source: Iterable[Any], options: "MapOptions", progress: "Progress") -> "Collection":
    """Return the distinct reads of ``source`` (spans), trimmed as MapOptions say, with their weights.

    Raises InputError, also if the memory does not suffice.
    """

    trim = options.collapse or WHOLE

    def work(_: object, span: "SpanLike") -> Distinct:
        own = Collection()
        own.add(_spelled(trimmed(reads.parse(span.read().whole()), trim)))
        return own.distinct()

    def say(kept: Collection, _: float) -> str:
        return f"{n_of(kept.total, 'read')}, {kept.n:,} distinct"

    kept = add_up(run_ordered(source, [work] * options.n_threads, None), Collection(), progress, say)
    progress.say(f"{n_of(kept.total, 'read')}, {kept.n:,} of them distinct")
    return kept


class Collection:
    """A growing set of distinct reads: ``n`` of them, which stand for ``total`` reads.

    ``memory()``: the bytes that are free, checked before more than ``small`` bytes are allocated.
    """

    def __init__(self, memory: Callable[[], float] = available_memory, small: int = 1 << 24) -> None:
        self.n, self.total, self._memory, self._small = 0, 0, memory, small
        self._used = [0] * len(Distinct._fields)
        types = [np.int64] * 5 + [np.uint64] + [np.uint8] * 2
        self._arrays = Distinct(*(np.empty(0, kind) for kind in types))
        self._slots = np.zeros(2, np.uint32)

    def add(self, found: Distinct) -> None:
        """Add reads: a Distinct, or all reads of a batch in that form."""
        self.total += int(found.weight.sum())
        if self.total > MOST:
            raise InputError(
                ALL_READS, "", f"the counts (_xN in names) add up to more than {MOST:,}: split the input"
            )
        self._make_room(found)
        ends = np.array(self._used[-2:])
        self.n = _add(found, self._arrays, self._slots, self.n, ends)
        self._used = [self.n] * 6 + ends.tolist()

    def _make_room(self, found: Distinct) -> None:
        for array, used, more in zip(self._arrays, self._used, found, strict=True):
            wanted = used + more.size
            if wanted > array.size:
                size = max(wanted, array.size * 3 // 2)
                self._check_memory(size * array.itemsize)
                array.resize(size, refcheck=False)  # moves pages, where a copy would take new ones
        wanted = _LOADED * (self.n + found.weight.size)
        if wanted > self._slots.size:
            self._check_memory(4 * wanted)
            self._slots = np.zeros(1 << int(wanted).bit_length(), np.uint32)
            _fill_slots(self._arrays.key, self.n, self._slots)

    def _check_memory(self, n_bytes: int) -> None:
        """Raise InputError if fewer than ``n_bytes`` bytes are free."""
        if n_bytes > self._small and n_bytes > self._memory():
            size = sum(array.nbytes for array in self._arrays) + self._slots.nbytes
            what = f"{self.n:,} distinct reads take {bytes_of(size)}, and no memory is left for more"
            raise InputError(ALL_READS, "", f"{what}: omit --collapse, or collapse fewer reads per run")

    def distinct(self) -> Distinct:
        """Return the reads of the collection."""
        return Distinct(*(array[:n] for array, n in zip(self._arrays, self._used, strict=True)))

    def spans(
        self, size: int, progress: "Progress", first: int = 0, last: int | None = None
    ) -> "Iterator[_Span]":
        """Yield spans of about ``size`` bytes, to be read as Chunks, of reads ``first`` to ``last``.

        ``progress`` follows the position.
        """
        held, share = self.distinct(), 0.0
        last = self.n if last is None else last
        progress.follow(lambda: share)
        sizes = held.length[first:last] + held.name_length[first:last] + _WIDEST
        for start, stop in runs(sizes, size):
            share = stop / (last - first)
            yield _Span(held, first + start, first + stop)


class _Span:
    """Distinct reads ``start`` to ``stop``, as FASTA."""

    path, end = ALL_READS, 0

    def __init__(self, held: Distinct, start: int, stop: int) -> None:
        self._held, self._start, self._stop = held, start, stop

    def read(self, hold: object = None) -> Chunk:
        """Return the FASTA records as a Chunk."""
        own = slice(self._start, self._stop)
        n = self._stop - self._start
        room = self._held.length[own].sum() + self._held.name_length[own].sum() + n * _WIDEST
        data = np.empty(room, np.uint8)
        data = data[: _write(self._held, self._start, self._stop, data)]
        return Chunk(self.path, data, False, self._start + 1, n)


def _spelled(batch: "ReadBatch") -> Distinct:
    """Return all reads of a batch in the form of a Distinct."""
    n = batch.length.size
    padded = (batch.length + 7) & ~7
    ends, name_ends = np.cumsum(padded), np.cumsum(batch.name_length)
    n_letters, n_names = (int(each[-1]) if n else 0 for each in (ends, name_ends))
    made = Distinct(
        np.empty(n, np.int64), batch.length.copy(), np.empty(n, np.int64), ends - padded,
        name_ends - batch.name_length, np.empty(n, np.uint64), np.zeros(n_letters, np.uint8),
        np.empty(n_names, np.uint8),
    )  # fmt: skip
    _spell(batch, UPPER, made)
    return made


@compiled
def _spell(batch, upper, made):
    for r in range(made.weight.size):
        made.weight[r], n = weight_of(batch, r)
        made.name_length[r] = n
        copy_bytes(made.names, made.name_start[r], batch.data, batch.name_start[r], n)
        start, length = made.start[r], made.length[r]
        for i in range(length):
            made.letters[start + i] = upper[batch.data[batch.start[r] + i]]
        key = np.uint64(length)
        for i in range(start, start + length, 8):
            key = (key ^ load_little_endian(made.letters, i)) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(32)
        made.key[r] = key


@inlined
def _find_slot(slots, key):
    """Return the first slot to try for a key; ``slots`` has 2^j slots."""
    return np.int64(key & np.uint64(slots.size - 1))


@compiled
def _fill_slots(key, n, slots):
    """Fill ``slots`` uint32[2^j] with the numbers (from 1) of n reads by their keys; 0 marks a free slot."""
    for r in range(n):
        slot = _find_slot(slots, key[r])
        while slots[slot]:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = r + 1


@inlined
def _are_same(found, r, kept, other):
    """Return whether two reads have the same bases."""
    if found.key[r] != kept.key[other] or found.length[r] != kept.length[other]:
        return False
    a, b = found.start[r], kept.start[other]
    for i in range(0, found.length[r], 8):
        if load_little_endian(found.letters, a + i) != load_little_endian(kept.letters, b + i):
            return False
    return True


@inlined
def _prefetch(found, r, kept, slots):
    """Prefetch what the reads after read r are compared with: slots, then numbers, then bases."""
    last = found.weight.size - 1
    prefetch(slots, _find_slot(slots, found.key[min(r + 3 * _AHEAD, last)]))
    other = np.int64(slots[_find_slot(slots, found.key[min(r + 2 * _AHEAD, last)])]) - 1
    if other >= 0:
        prefetch(kept.key, other)
        prefetch(kept.length, other)
        prefetch(kept.start, other)
        prefetch(kept.weight, other)
    key = found.key[min(r + _AHEAD, last)]
    other = np.int64(slots[_find_slot(slots, key)]) - 1
    if other >= 0 and kept.key[other] == key:
        for i in range(kept.start[other], kept.start[other] + kept.length[other], _LINE):
            prefetch(kept.letters, i)


@compiled
def _add(found, kept, slots, n, ends):
    """Add reads to the n reads in ``kept`` and return their new number.

    ``ends`` int64[2]: ends of the kept bases and names. The arrays of ``kept`` have room for all.
    """
    for r in range(found.weight.size):
        _prefetch(found, r, kept, slots)
        slot = _find_slot(slots, found.key[r])
        while slots[slot] and not _are_same(found, r, kept, np.int64(slots[slot]) - 1):
            slot = (slot + 1) & (slots.size - 1)
        if slots[slot]:
            kept.weight[np.int64(slots[slot]) - 1] += found.weight[r]
            continue
        kept.weight[n], kept.length[n], kept.key[n] = found.weight[r], found.length[r], found.key[r]
        kept.name_length[n] = found.name_length[r]
        kept.start[n], kept.name_start[n] = ends[0], ends[1]
        n_letters = (found.length[r] + 7) & ~7
        copy_bytes(kept.letters, ends[0], found.letters, found.start[r], n_letters)
        copy_bytes(kept.names, ends[1], found.names, found.name_start[r], found.name_length[r])
        ends[0] += n_letters
        ends[1] += found.name_length[r]
        n += 1
        slots[slot] = n
    return n


@compiled
def _write(held, start, stop, out):
    """Write records ``start`` to ``stop`` into ``out`` uint8 and return the number of bytes."""
    at = np.int64(0)
    for r in range(start, stop):
        out[at] = ord(">")
        copy_bytes(out, at + 1, held.names, held.name_start[r], held.name_length[r])
        at = put_weight(out, at + 1 + held.name_length[r], held.weight[r])
        out[at] = 10
        copy_bytes(out, at + 1, held.letters, held.start[r], held.length[r])
        at += held.length[r] + 2
        out[at - 1] = 10
    return at
