"""Suffix arrays: in buckets or by divsufsort on CPU cores, by radix sort and prefix doubling on a GPU.

On all cores, suffixes are distributed to buckets that fit a cache, and threads sort these:

    scan    the text from its end; a suffix is added, as an item, to the bucket of its first c symbols:
            0 | the next 13 symbols, 2 bits each | symbols before a separator, 31 if more | position, 32 bits
    sort    the items of a bucket by radix.  Suffixes with equal items get new items, from their next 10
            symbols (3 bits each), or are sorted by insertion, by their next 21 symbols
    ties    suffixes that share LIMIT symbols: in rounds that double h, by the rank of the suffix h further on

A separator or the end of the text is padded with A, the smallest symbol; the number of symbols before it
sorts the suffix before longer ones.  The text is scanned for half of the buckets at a time: the items of a
half take the memory that the ranks take later.

On a GPU (stretches of machines/jobs.py):

    passes   sort the suffixes by their first 21 symbols, 3 bits each, in as many passes as memory requires;
             the rank of a suffix is the first row of those with the same symbols so far
    rounds   h = 21, 42, 84 ...: sort tied suffixes by their rank and the rank of the suffix h further on

Rounds touch only tied rows, and write rows and ranks in place (Larsson and Sadakane 2007, "Faster suffix
sorting"), so repeats of m symbols end after log2(m / h) rounds.
"""

import os
from collections.abc import Callable
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple, cast

import numpy as np

from ..compiler.functions import by_type, compiled, inlined
from ..compiler.primitives import at, quotient
from ..compiler.sorting import N_DIGITS, sort, sort_digits, sort_few
from ..errors import DeviceError
from ..machines.gpu import memory_beside
from ..machines.jobs import Array, Backend, Cores, choose, do, run_all, runs, spans, start
from ..machines.progress import Progress
from .bwt import invert

try:
    import pydivsufsort
    from pydivsufsort.dll import libdivsufsort
except ModuleNotFoundError:  # there is no wheel for Python 3.15
    pydivsufsort = libdivsufsort = None


def make_suffix_array(
    backend: Backend,
    text: Array,
    progress: Progress | None = None,
    done: Callable[[float], object] = lambda share: None,
) -> Any:
    """Return the suffix array uint32[n] of a text (uint8[n] codes), both on the backend.  Raises DeviceError.

    ``done`` gets the fraction that is sorted, if it is known.
    """
    if not backend.serial:
        return sort_by_radix(backend, text, backend.memory, progress)[0]
    sa = sort_suffixes(text, backend.n_threads, done=done)
    return suffix_array(text, n_threads=backend.n_threads) if sa is None else sa


# A text with 3 bits per symbol, so that words compare like its suffixes: end 0, separator 1, A C G T 2 to 5.
#
#     word w   bit 63: 0 | symbol 21 w: bits 62 to 60 | ... | symbol 21 w + 20: bits 2 to 0
#
# The text is padded with ends: a suffix that ends sorts before those that continue.

PER_KEY = 21  # symbols per word, and of the longest key


@do.of("text words")
def PackKeys(job, stretch, start, stop):
    """Pack ``text`` uint8[n] (separator 0, A C G T 1 to 4) into ``words`` uint64."""
    for w in range(start, stop):
        word, first = np.uint64(0), PER_KEY * w
        for i in range(first, first + PER_KEY):
            symbol = np.uint64(at(job.text, i)) + np.uint64(1) if i < job.text.size else np.uint64(0)
            word = (word << np.uint64(3)) | symbol
        job.words[w] = word


def _pack_keys(backend: Backend, text: Array) -> Array:
    """Return the words of a text on the backend, and a spare word for ``_key_at``."""
    words = backend.empty(-(-text.size // PER_KEY) + 2, np.uint64)
    backend.run(PackKeys(text, words), words.size)
    return words


@inlined
def _key_at(words, i, k):
    """Return the k symbols (1 to 21) from position i (0 <= i <= n) as a uint64, the first one highest."""
    word = quotient(i, PER_KEY)
    shift = np.uint64(3 * (i - PER_KEY * word))
    high = at(words, word) << shift
    low = at(words, word + 1) >> (np.uint64(63) - shift)
    both = (high | low) & np.uint64(0x7FFFFFFFFFFFFFFF)
    return both >> np.uint64(63 - 3 * k)


# Buckets on CPU cores.

_BUCKET = 1 << 16  # suffixes per bucket: fewer on average, so that they and a copy fit a core's cache
_SCANS = 2
_PARTS = 16  # pieces of work per thread, for load balancing
_TRIED = 8  # one of so many pieces is sorted first, to decide whether to sort the others
_TIED = 1 / 8  # fraction of tied rows up to which a thread is faster than divsufsort
_BUFFERS = 14  # bytes of the buffers of a thread for each suffix of the largest bucket
_LINE = 8  # items of a cache line


@by_type
def _take(into, bucket, item):
    """Add the item of a suffix, in the thread that scans it."""


@_take.of("counts")
def _Count(into, bucket, item):
    """Count the suffixes in each bucket: ``counts`` int64[4^c]."""
    into.counts[bucket] += 1


@_take.of("items first low high")
def _Fill(into, bucket, item):
    """Write ``items`` int64[m] of the buckets from ``low`` up to ``high``, from ``first`` int64[4^c] on.

    ``first`` of the other buckets is a place that is written but never read; this avoids a branch.
    """
    place = np.uint64(at(into.first, bucket))
    into.items[place] = item
    into.first[np.uint64(bucket)] = place + np.uint64((into.low <= bucket) & (bucket < into.high))


def sort_suffixes(
    text: Array,
    n_threads: int,
    c: int | None = None,
    done: Callable[[float], object] = lambda share: None,
    for_buffers: int = 1 << 26,
) -> np.ndarray | None:
    """Return the suffix array of ``text`` (uint8[n] codes, 0 < n < 2^32) as uint32[n], or None.

    None if there is divsufsort, and it is faster: repeats keep many rows tied, or many suffixes start with
    the same ``c`` symbols.  ``done`` gets the fraction that is sorted.  Takes at most 12 bytes per symbol,
    text included, and 200 MB for buffers.  ``for_buffers``: bytes that these may take for any text; beyond
    that, they take one per symbol, or, without divsufsort, what the buffers of one thread take.
    """
    by_bucket = _sort_in_buckets(text, n_threads, c, done, for_buffers)  # which frees its items
    return None if by_bucket is None else _sort_ties(*by_bucket, LIMIT, n_threads)


def _sort_in_buckets(
    text: Array, n_threads: int, c: int | None, done: Callable, for_buffers: int
) -> tuple[np.ndarray, list] | None:
    """Return (suffix array, with tied rows; groups of these, as _sort_ties takes them), or None."""
    n = text.size
    if c is None:  # the smallest for which a bucket has at most _BUCKET suffixes on average
        c = next(c for c in range(1, 17) if n <= _BUCKET << 2 * c)
    cut = spans(n, n_threads)
    counts = np.zeros((len(cut), 4**c), np.int64)
    work = [(text, *span, c, _Count(of_span)) for span, of_span in zip(cut, counts, strict=True)]
    run_all(_scan, work, n_threads)
    starts = np.append(0, np.cumsum(counts.sum(axis=0)))
    largest = int(np.diff(starts).max())
    n_buffers = min(n_threads, max(n, for_buffers) // (_BUFFERS * largest))
    if n_buffers == 0 and pydivsufsort:
        return None
    free: SimpleQueue = SimpleQueue()
    for _ in range(max(1, n_buffers)):
        groups = np.empty((largest // 2 + 1, 3), np.uint32)
        free.put(_SortBuffers(np.empty(largest, np.int64), np.empty(N_DIGITS, np.int64), groups))
    firsts = starts[:-1] + np.cumsum(counts, axis=0) - counts
    result, ties = _Sorted(_pack_keys(Cores(n_threads), text), np.empty(n, np.uint32), starts, c), []
    n_sorted = 0

    def sort_part(first: int, last: int) -> Any:
        """Sort the buckets from ``first`` up to ``last``; return their groups of tied rows."""
        nonlocal n_sorted
        begin, end, buffers = starts[first], starts[last], free.get()
        groups = np.empty(((end - begin) // 2, 2), np.uint32)
        try:
            n_groups = _sort_buckets(result, (first, last), items[begin - base : end - base], buffers, groups)
        finally:
            free.put(buffers)
        n_sorted += end - begin
        done(n_sorted / n)
        return groups[:n_groups].copy()

    for low, high in pairwise(np.searchsorted(starts, np.linspace(0, n, _SCANS + 1))):
        base, m = starts[low], starts[high] - starts[low]
        items, work = np.empty(m + _LINE * len(cut), np.int64), []
        for i, span in enumerate(cut):
            first = np.full(firsts[i].size, m + _LINE * i)
            first[low:high] = firsts[i, low:high] - base
            work.append((text, *span, c, _Fill(items, first, low, high)))
        run_all(_scan, work, n_threads)
        marks = np.linspace(base, starts[high], n_threads * _PARTS + 1)
        parts = [part for part in pairwise(np.searchsorted(starts, marks)) if part[0] < part[1]]
        for some in (parts[::_TRIED], [part for i, part in enumerate(parts) if i % _TRIED]):
            ties += run_all(sort_part, some, n_threads)
            n_tied = sum(int(groups[:, 1].sum()) for groups in ties)
            if pydivsufsort and n_tied > _TIED * n_threads * n_sorted:
                return None
    return result.sa, ties


@compiled
def _scan(text, start, stop, c, into):
    """Take the suffixes [start, stop) of ``text`` (uint8[n]) into _Count or _Fill, the last one first."""
    i = min(stop + c + _SYMBOLS, np.int64(text.size))
    end, first = i, np.uint64(2 * (c + _SYMBOLS - 1))  # the next separator; place of the first symbol
    window = np.uint64(0)  # the c + _SYMBOLS symbols from i on
    while i > start:
        i -= 1
        symbol = np.uint64(at(text, i))
        if symbol == 0:
            end = i
        window = (window >> np.uint64(2)) | ((max(symbol, np.uint64(1)) - np.uint64(1)) << first)
        if i < stop:
            symbols, before = window, end - i
            if before < c + _SYMBOLS:
                behind = np.uint64(2 * (c + _SYMBOLS - before))
                symbols = (symbols >> behind) << behind
            else:
                before = np.int64(_FULL)
            item = (symbols << np.uint64(5) | np.uint64(before)) << np.uint64(32) | np.uint64(i)
            _take(into, np.int64(symbols >> np.uint64(2 * _SYMBOLS)), np.int64(item & np.uint64(2**63 - 1)))


# Suffix arrays on the CPU by divsufsort (pydivsufsort): 5 bytes per symbol below 2^31 symbols, 9 above.


def suffix_array(text: Array, n_threads: int | None = None) -> np.ndarray:
    """Return the suffix array of ``text`` (uint8[n] codes) as uint32[n], by divsufsort or else by buckets.

    The end of the text sorts before every symbol.  From 2^31 symbols on, the 64-bit form of divsufsort is
    used and its result narrowed.  ``n_threads`` None: OpenMP chooses.  No more threads than cores are used,
    because OpenMP ends the process if it cannot start one.
    """
    if pydivsufsort is None:
        return cast(np.ndarray, sort_suffixes(text, n_threads or 1))
    # OpenMP keeps its threads for the thread that called it, and a forked process would wait forever for
    # those of its parent.  So a new thread makes the call, and ends with the sort.
    rows = start(2, _divsufsort, text, n_threads)()
    return rows.view(np.uint32) if rows.dtype == np.int32 else rows.astype(np.uint32)


def _divsufsort(text: Array, n_threads: int | None) -> np.ndarray:
    set_threads = getattr(libdivsufsort, "omp_set_num_threads", None)  # for the thread that calls it
    if n_threads and set_threads:
        set_threads(min(n_threads, os.cpu_count() or 1))
    try:
        return pydivsufsort.divsufsort(text)
    except Exception as error:
        if error.args == ("libdivsufsort error", -2):
            raise MemoryError("not enough memory to sort the suffixes") from error
        raise


# Sorting the suffixes of a bucket by one thread in its own memory.

LIMIT = 100  # symbols by which suffixes are compared before ranks are
_SYMBOLS = 13  # of an item, after those of its bucket
_FULL = 31  # in an item: no separator within its symbols and those of the bucket
_MORE = 10  # symbols of the items of a group
_FEW = 24  # suffixes of a group that is sorted by insertion, 21 symbols at a time
_OF_ITEM = -1


class _Sorted(NamedTuple):
    """``words`` of the text to ``sa`` uint32[n]; buckets of the first c symbols.

    ``starts`` int64[4^c + 1]: their first rows.
    """

    words: Any
    sa: Any
    starts: Any
    c: int


class _SortBuffers(NamedTuple):
    """A thread's memory for up to m items.

    ``spare`` int64[m]; ``counts`` int64[N_DIGITS]; ``groups`` uint32[m / 2 + 1, 3]: first row, number of
    rows, symbols that they share.
    """

    spare: Any
    counts: Any
    groups: Any


@compiled
def _sort_buckets(result, buckets, items, buffers, tied):
    """Sort the buckets from buckets[0] up to buckets[1] into result.sa; ``items`` int64 are all of theirs.

    Writes the groups of rows that share LIMIT symbols to ``tied`` (_sort_ties); returns their number.
    """
    base, n_tied = result.starts[buckets[0]], np.int64(0)
    for bucket in range(buckets[0], buckets[1]):
        start, stop = result.starts[bucket], result.starts[bucket + 1]
        of_bucket = items[start - base : stop - base]
        n_groups = _place(result, start, of_bucket, buffers, 0, _OF_ITEM) if start < stop else 0
        while n_groups > 0:
            n_groups -= 1
            first, m = np.int64(buffers.groups[n_groups, 0]), np.int64(buffers.groups[n_groups, 1])
            alike = np.int64(buffers.groups[n_groups, 2])
            if alike >= LIMIT:
                tied[n_tied, 0], tied[n_tied, 1] = first, m
                n_tied += 1
            elif m <= _FEW:
                keys, rows = buffers.spare[:m], result.sa[first : first + m]
                for j in range(m):
                    keys[j] = _key_at(result.words, np.int64(at(rows, j)) + alike, PER_KEY)
                sort_few(keys, rows, 0, m)
                n_groups = _push_groups(result, first, keys, 0, buffers, n_groups, alike + PER_KEY)
            else:
                for j in range(m):
                    position = np.int64(at(result.sa, first + j))
                    key = np.int64(_key_at(result.words, position + alike, _MORE))
                    of_bucket[j] = key << 33 | position
                n_groups = _place(result, first, of_bucket[:m], buffers, n_groups, alike + _MORE)
    return n_tied


@inlined
def _place(result, first, items, buffers, n_groups, alike):
    """Sort items into the rows from ``first`` on; push groups that share ``alike`` symbols, return their
    number.
    """
    sort_digits(items, buffers.spare, buffers.counts, items.size, 4)
    for j in range(items.size):
        result.sa[first + j] = at(items, j) & 0xFFFFFFFF
    return _push_groups(result, first, items, 32, buffers, n_groups, alike)


@inlined
def _push_groups(result, first, keys, shift, buffers, n_groups, alike):
    """Push the groups of rows from ``first`` on whose ``keys`` are equal from a bit on; return the number.

    They share ``alike`` symbols; if that is _OF_ITEM, the items contain it.
    """
    j = np.int64(0)
    while j < keys.size:
        begin, key = j, at(keys, j) >> shift
        j += 1
        while j < keys.size and at(keys, j) >> shift == key:
            j += 1
        if j - begin > 1:
            shared = alike
            if alike == _OF_ITEM:
                shared = key & _FULL if key & _FULL < _FULL else result.c + _SYMBOLS
            group = buffers.groups[n_groups]
            group[0], group[1], group[2] = first + begin, j - begin, shared
            n_groups += 1
    return n_groups


# Sorting rows that are still tied.  A row's rank is the first row of its group of tied rows.  No thread
# writes ranks while others read them: in a round, the keys of many groups are made before these are sorted.
#
#     rows    0 1 2 3 4 5 6 7
#     rank    0 1 1 3 4 4 4 7     of the suffixes of these rows, in two groups, of rows 1 to 2 and 4 to 6


def _sort_ties(sa: Array, groups: list, h: int, n_threads: int) -> np.ndarray:
    """Finish sorting ``sa`` (uint32[n]), whose rows in ``groups`` share h symbols or more.

    ``groups``: any number of arrays uint32[groups, 2]: first row and number of rows of each.
    """
    groups = [some for some in groups if some.size]
    if not groups:
        return sa
    rank = invert(Cores(n_threads), sa)
    run_all(_share_rank, [(sa, rank, some) for some in groups], n_threads)
    while groups:
        n_rows, left = np.array([some[:, 1].sum(dtype=np.int64) for some in groups]), []
        for run in runs(n_rows, sa.size // 4):  # the keys take 8 bytes per row
            keys = [np.empty(n, np.uint64) for n in n_rows[slice(*run)]]
            work = [(sa, rank, *pair) for pair in zip(groups[slice(*run)], keys, strict=True)]
            run_all(_look_further, [(*arguments, h) for arguments in work], n_threads)
            left += run_all(_sort_groups, work, n_threads)
            del keys, work  # before those of the next run are made
        groups, h = [some for some in left if some.size], 2 * h
    return sa


@compiled
def _share_rank(sa, rank, groups):
    for i in range(groups.shape[0]):
        first = np.int64(groups[i, 0])
        for row in range(first, first + groups[i, 1]):
            rank[at(sa, row)] = first


@compiled
def _look_further(sa, rank, groups, keys, h):
    """Write ``keys`` uint64: of each row, the rank of the suffix h further on, and the position.

    Ranks count from 1; 0 is the rank beyond the end of the text.
    """
    j = np.int64(0)
    for i in range(groups.shape[0]):
        for row in range(groups[i, 0], np.int64(groups[i, 0]) + groups[i, 1]):
            position, further = np.int64(at(sa, row)), np.uint64(0)
            if position + h < sa.size:
                further = np.uint64(at(rank, position + h)) + np.uint64(1)
            keys[j] = further << np.uint64(32) | np.uint64(position)
            j += 1


def _sort_groups(sa: Array, rank: Array, groups: Array, keys: Array) -> np.ndarray:
    """Sort each group by its ``keys``; return the groups of rows that are still tied."""
    left = np.empty((keys.size // 2, 2), np.uint32)
    return left[: _sort_each(sa, rank, groups, keys, left)].copy()


@compiled
def _sort_each(sa, rank, groups, keys, left):
    n_left = begin = np.int64(0)
    for i in range(groups.shape[0]):
        m, first = np.int64(groups[i, 1]), np.int64(groups[i, 0])
        of_group, j = keys[begin : begin + m], np.int64(0)
        sort(of_group, m)
        begin += m
        while j < m:
            start, key = j, at(of_group, j) >> np.uint64(32)
            while j < m and at(of_group, j) >> np.uint64(32) == key:
                position = at(of_group, j) & np.uint64(0xFFFFFFFF)
                sa[first + j], rank[position] = position, first + start
                j += 1
            if j - start > 1:
                left[n_left, 0], left[n_left, 1] = first + start, j - start
                n_left += 1
    return n_left


# Radix sort and prefix doubling.  The tied rows ascend: a sort by rank keeps suffixes in their group.

_SAMPLE = 1 << 16  # suffixes by which the passes are cut
# Bytes per symbol: text, its words, rows, ranks, tied rows before and after a round; per suffix to sort.
_SYMBOL_BYTES, _SUFFIX_BYTES = 1 + 8 / 21 + 4 + 4 + 8, 2 * (8 + 4)


@inlined
def _row_of(job, j):
    """Return row j of ``rows`` uint32, ascending; of those from ``first`` on if there are no ``rows``."""
    return np.int64(at(job.rows, j)) if job.rows.size else job.first + j


@inlined
def _first_like(keys, j):
    """Return the first index with the key of j; keys ascend.  Fast if it is near."""
    key, step = at(keys, j), np.int64(1)
    while step <= j and at(keys, j - step) == key:
        step <<= 1
    high, low = j - (step >> 1), max(j - step, np.int64(-1))
    while high - low > 1:
        middle = (high + low) >> 1
        if at(keys, middle) == key:
            high = middle
        else:
            low = middle
    return high


@choose.of("words low high")
def InRange(choice, i):
    """Choose the suffixes whose first symbols are a key from ``low`` to ``high``, both included (uint64)."""
    key = _key_at(choice.words, i, PER_KEY)
    return i if choice.low <= key and key <= choice.high else np.int64(-1)


@choose.of("keys first rows")
def Tied(choice, j):
    """Choose the rows whose key another row also has."""
    keys = choice.keys
    before = j > 0 and at(keys, j - 1) == at(keys, j)
    after = j + 1 < keys.size and at(keys, j + 1) == at(keys, j)
    return _row_of(choice, j) if before or after else np.int64(-1)


@do.of("words positions keys")
def FirstKeys(job, stretch, start, stop):
    """Set ``keys`` uint64 to the first symbols of suffixes at ``positions`` uint32."""
    for j in range(start, stop):
        job.keys[j] = _key_at(job.words, np.int64(at(job.positions, j)), PER_KEY)


@do.of("rows sa rank h n_bits positions keys")
def RankKeys(job, stretch, start, stop):
    """Make keys of a round: the rank of each row's suffix and of that h further on, ``n_bits`` each."""
    for j in range(start, stop):
        position = np.int64(at(job.sa, np.int64(at(job.rows, j))))
        further = position + job.h
        second = np.uint64(0)  # nothing is left: sorts before all others
        if further < job.sa.size:
            second = np.uint64(at(job.rank, further)) + np.uint64(1)
        job.keys[j] = (np.uint64(at(job.rank, position)) << np.uint64(job.n_bits)) | second
        job.positions[j] = position


@do.of("keys positions first rows sa rank")
def PlaceSorted(job, stretch, start, stop):
    """Write sorted ``keys`` and ``positions`` of some rows to ``sa`` and ``rank``."""
    for j in range(start, stop):
        position = at(job.positions, j)
        job.sa[_row_of(job, j)] = position
        job.rank[position] = _row_of(job, _first_like(job.keys, j))


def plan_passes(n: int, memory: int) -> int:
    """Return how many passes sort n suffixes within ``memory`` bytes.  Raises DeviceError if too few."""
    least = _SUFFIX_BYTES * max(n // 64, 1)
    left = memory_beside(memory, int(_SYMBOL_BYTES * n), least, f"the suffix array of {n} symbols")
    return -(-_SUFFIX_BYTES * n // left)


def _cuts(backend: Backend, words: Array, n: int, n_passes: int) -> list:
    """Return ranges of keys (low, high) with about as many suffixes each, from a sample of the text."""
    everything = np.uint64(1 << 63)
    if n_passes == 1:
        return [(np.uint64(0), everything)]
    chosen = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.uint32)
    keys = backend.empty(chosen.size, np.uint64)
    backend.run(FirstKeys(words, backend.from_host(chosen), keys), chosen.size)
    ascending = np.sort(backend.to_host(keys))
    n_ranges = n_passes + -(-n_passes // 4)  # a margin for the error of the sample
    highs = np.unique(ascending[np.arange(1, n_ranges) * chosen.size // n_ranges])
    return list(zip([np.uint64(0), *(highs + np.uint64(1))], [*highs, everything], strict=True))


def sort_by_radix(backend: Backend, text: Array, memory: int, progress: Progress | None = None) -> tuple:
    """Return (sa uint32[n], number of rounds) of ``text`` (uint8[n] codes, not empty), all on the backend.

    The end of the text sorts before every symbol, as in divsufsort.  ``memory`` in bytes, text included.
    Raises DeviceError if that is too little.
    """
    n = text.size
    n_passes = plan_passes(n, memory)
    limit = min(n, int(memory - _SYMBOL_BYTES * n) // _SUFFIX_BYTES)
    words = _pack_keys(backend, text)
    sa, rank = (backend.empty(n, np.uint32) for _ in range(2))
    keys, spare_keys = (backend.empty(limit, np.uint64) for _ in range(2))
    positions, spare_positions = (backend.empty(limit, np.uint32) for _ in range(2))

    def sort(m: int, n_bits: int, first: int, rows: Array) -> Array:
        """Sort m keys and positions into ``rows``, or the rows from ``first`` on; return the tied rows."""
        spare = spare_keys[:m], spare_positions[:m]
        sorted_keys, by_key = backend.sort_pairs(keys[:m], positions[:m], *spare, n_bits)
        backend.run(PlaceSorted(sorted_keys, by_key, np.int64(first), rows, sa, rank), m)
        return backend.select(Tied(sorted_keys, np.int64(first), rows), m)

    tied, n_sorted = [], 0
    for low, high in _cuts(backend, words, n, n_passes):
        chosen = InRange(words, low, high)
        ends = backend.count(chosen, n)
        m = int(ends[-1])
        if m > limit:
            raise DeviceError(
                f"{m} suffixes begin alike, but only {limit} fit in memory: raise --gpu-memory, or use "
                "--engine cpu"
            )
        if m == 0:
            continue
        backend.pick(chosen, n, ends, positions[:m])
        backend.run(FirstKeys(words, positions[:m], keys[:m]), m)
        tied.append(sort(m, 3 * PER_KEY, n_sorted, positions[:0]))
        n_sorted += m
    del words, chosen
    n_bits, h, n_rounds = n.bit_length(), PER_KEY, 0
    while tied := [rows for rows in tied if rows.size]:
        if progress:
            n_tied = sum(rows.size for rows in tied)
            progress.show(f"suffix array: {n_tied} of {n} suffixes share {h} symbols with another")
        remaining = []
        for rows in tied:
            m, by_rank = rows.size, (rows, sa, rank, np.int64(h), np.int64(n_bits))
            backend.run(RankKeys(*by_rank, positions[:m], keys[:m]), m)
            remaining.append(sort(m, 2 * n_bits, 0, rows))
        tied, h, n_rounds = remaining, 2 * h, n_rounds + 1
    return sa, n_rounds
