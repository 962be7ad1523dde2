"""Suffix arrays: in buckets or by divsufsort on CPU cores, by radix sort and prefix doubling on a GPU.

On all cores, suffixes are distributed to buckets that fit a cache, and threads sort these:

    scan    the text from its end; a suffix is added, as an item, to the bucket of its first c symbols:
            0 | the next 13 symbols, 2 bits each | symbols before a separator, 31 if more | position, 32 bits
    sort    the items of a bucket by radix.  Suffixes with equal items get new items, from their next 10
            symbols (3 bits each, input/dna.py), or are sorted by insertion, by their next 21 symbols
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
from ..compiler.primitives import at, prefetch, trailing_zeros
from ..compiler.sorting import sort
from ..errors import DeviceError
from ..input import dna
from ..input.dna import PER_KEY, key_at
from ..machines.gpu import memory_beside
from ..machines.jobs import Array, Backend, Cores, choose, do, run_all, spans, start
from ..machines.progress import Progress

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


_BUCKET = 1 << 16  # suffixes per bucket: fewer on average, so that they and a copy fit a core's cache
_SCANS = 2
_PARTS = 16  # pieces of work per thread, for load balancing
_TRIED = 8  # one of so many pieces is sorted first, to decide whether to sort the others
_TIED = 1 / 8  # fraction of tied rows up to which a thread is faster than divsufsort
_BUFFERS = 14  # bytes of the buffers of a thread for each suffix of the largest bucket
_LINE = 8  # items of a cache line


@by_type
def take(into, bucket, item):
    """Add the item of a suffix, in the thread that scans it."""


@take.of("counts")
def Count(into, bucket, item):
    """Count the suffixes in each bucket: ``counts`` int64[4^c]."""
    into.counts[bucket] += 1


@take.of("items first low high")
def Fill(into, bucket, item):
    """Write ``items`` uint64[m] of the buckets from ``low`` up to ``high``, from ``first`` int64[4^c] on.

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
    return None if by_bucket is None else sort_ties(*by_bucket, LIMIT, n_threads)


def _sort_in_buckets(
    text: Array, n_threads: int, c: int | None, done: Callable, for_buffers: int
) -> tuple[np.ndarray, list] | None:
    """Return (suffix array, with tied rows; the Ties of all rows), or None, as sort_suffixes does."""
    n = text.size
    if c is None:  # the smallest for which a bucket has at most _BUCKET suffixes on average
        c = next(c for c in range(1, 17) if n <= _BUCKET << 2 * c)
    cut = spans(n, n_threads)
    counts = np.zeros((len(cut), 4**c), np.int64)
    work = [(text, *span, c, Count(of_span)) for span, of_span in zip(cut, counts, strict=True)]
    run_all(_scan, work, n_threads)
    starts = np.append(0, np.cumsum(counts.sum(axis=0)))
    largest = int(np.diff(starts).max())
    n_buffers = min(n_threads, max(n, for_buffers) // (_BUFFERS * largest))
    if n_buffers == 0 and pydivsufsort:
        return None
    free: SimpleQueue = SimpleQueue()
    for _ in range(max(1, n_buffers)):
        digits = np.empty((len(_SHIFTS), _N_DIGITS), np.int64)
        groups = np.empty((largest // 2 + 1, 3), np.uint32)
        free.put(SortBuffers(np.empty(largest, np.uint64), digits, groups))
    firsts = starts[:-1] + np.cumsum(counts, axis=0) - counts
    result, ties = Sorted(dna.pack_keys(Cores(n_threads), text), np.empty(n, np.uint32), starts, c), []
    n_sorted = 0

    def sort_part(first: int, last: int) -> Any:
        """Sort the buckets from ``first`` up to ``last``; return their Ties."""
        nonlocal n_sorted
        bits, buffers = np.zeros((starts[last] - starts[first]) // 64 + 1, np.uint64), free.get()
        of_part = Ties(starts[first], starts[last], bits)
        try:
            span = slice(of_part.start - base, of_part.stop - base)
            n_tied = sort_buckets(result, (first, last), items[span], buffers, of_part)
        finally:
            free.put(buffers)
        n_sorted += of_part.stop - of_part.start
        done(n_sorted / n)
        return of_part._replace(n=n_tied)

    for low, high in pairwise(np.searchsorted(starts, np.linspace(0, n, _SCANS + 1))):
        base, m = starts[low], starts[high] - starts[low]
        items, work = np.empty(m + _LINE * len(cut), np.uint64), []
        for i, span in enumerate(cut):
            first = np.full(firsts[i].size, m + _LINE * i)
            first[low:high] = firsts[i, low:high] - base
            work.append((text, *span, c, Fill(items, first, low, high)))
        run_all(_scan, work, n_threads)
        marks = np.linspace(base, starts[high], n_threads * _PARTS + 1)
        parts = [part for part in pairwise(np.searchsorted(starts, marks)) if part[0] < part[1]]
        for some in (parts[::_TRIED], [part for i, part in enumerate(parts) if i % _TRIED]):
            ties += run_all(sort_part, some, n_threads)
            n_rows = sum(of_part.stop - of_part.start for of_part in ties)
            if pydivsufsort and sum(of_part.n for of_part in ties) > _TIED * n_threads * n_rows:
                return None
    return result.sa, ties


@compiled
def _scan(text, start, stop, c, into):
    """Take the suffixes [start, stop) of ``text`` (uint8[n]) into Count or Fill, the last one first."""
    i = min(stop + c + SYMBOLS, np.int64(text.size))
    end, first = i, np.uint64(2 * (c + SYMBOLS - 1))  # the next separator; place of the first symbol
    window = np.uint64(0)  # the c + SYMBOLS symbols from i on
    while i > start:
        i -= 1
        symbol = np.uint64(at(text, i))
        if symbol == 0:
            end = i
        window = (window >> np.uint64(2)) | ((max(symbol, np.uint64(1)) - np.uint64(1)) << first)
        if i < stop:
            symbols, before = window, end - i
            if before < c + SYMBOLS:
                behind = np.uint64(2 * (c + SYMBOLS - before))
                symbols = (symbols >> behind) << behind
            else:
                before = np.int64(FULL)
            item = (symbols << np.uint64(5) | np.uint64(before)) << np.uint64(32) | np.uint64(i)
            take(into, np.int64(symbols >> np.uint64(2 * SYMBOLS)), item & np.uint64(0x7FFFFFFFFFFFFFFF))


# Suffix arrays on the CPU by divsufsort (pydivsufsort): 5 bytes per symbol below 2^31 symbols, 9 above.


def suffix_array(text: Array, n_threads: int | None = None) -> np.ndarray:
    """Return the suffix array of ``text`` (uint8[n] codes) as uint32[n], without pydivsufsort by buckets.

    The end of the text sorts before every symbol.  From 2^31 symbols on, the 64-bit form of divsufsort is
    used and its result narrowed.  ``n_threads`` None: OpenMP chooses.  At most as many
    threads as cores are used, because OpenMP ends the process if it cannot start a thread.
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

LIMIT = 100  # symbols by which suffixes are compared before ranks are result
SYMBOLS = 13  # of an item, after those of its bucket
FULL = 31  # in an item: no separator within its symbols and those of the bucket
_MORE = 10  # symbols of the items of a group
_FEW = 24  # suffixes of a group that is sorted by insertion, 21 symbols at a time
_FEW_ITEMS = 60  # items that are sorted by comparison
_SHIFTS = (31, 39, 47, 55)  # first bits of the passes of a radix sort; the first has one bit of the position
_N_DIGITS = 256
_OF_ITEM = -1


class Sorted(NamedTuple):
    """``words`` of the text (input/dna.py) to ``sa`` uint32[n]; buckets of the first c symbols.

    ``starts`` int64[4^c + 1]: their first rows.
    """

    words: Any
    sa: Any
    starts: Any
    c: int


class SortBuffers(NamedTuple):
    """A thread's memory for up to m items.

    ``spare`` uint64[m]; ``counts`` int64[4, 256]; ``groups`` uint32[m / 2 + 1, 3]: first row, number of rows,
    symbols that they share.
    """

    spare: Any
    counts: Any
    groups: Any


@compiled
def sort_buckets(result, buckets, items, buffers, ties):
    """Sort the buckets from buckets[0] up to buckets[1] into result.sa; ``items`` uint64 are all of theirs.

    Marks rows that share LIMIT symbols in ``ties`` (Ties); returns their number.
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
                for row in range(first + 1, first + m):
                    bit = np.uint64(row - ties.start)
                    ties.bits[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
                n_tied += m
            elif m <= _FEW:
                n_groups = _place_few(result, first, m, alike, buffers, n_groups)
            else:
                for j in range(m):
                    position = np.int64(at(result.sa, first + j))
                    key = key_at(result.words, position + alike, _MORE)
                    of_bucket[j] = key << np.uint64(33) | np.uint64(position)
                n_groups = _place(result, first, of_bucket[:m], buffers, n_groups, alike + _MORE)
    return n_tied


@inlined
def _place(result, first, items, buffers, n_groups, alike):
    """Sort items into the rows from ``first`` on; push groups that share ``alike`` symbols.

    If ``alike`` is _OF_ITEM, the items contain it.  Returns the number of groups.
    """
    _sort_items(items, buffers)
    j = np.int64(0)
    while j < items.size:
        begin, like = j, at(items, j) >> np.uint64(32)
        while j < items.size and at(items, j) >> np.uint64(32) == like:
            result.sa[first + j] = at(items, j) & np.uint64(0xFFFFFFFF)
            j += 1
        if j - begin > 1:
            if alike == _OF_ITEM:
                before = np.int64(like & np.uint64(FULL))
                shared = result.c + SYMBOLS if before == FULL else before
            else:
                shared = alike
            n_groups = _push(buffers, n_groups, first + begin, j - begin, shared)
    return n_groups


@inlined
def _place_few(result, first, m, alike, buffers, n_groups):
    """Sort m rows from ``first`` on by their next 21 symbols; push groups, and return their number."""
    keys = buffers.spare
    for j in range(m):
        position, i = at(result.sa, first + j), j
        key = key_at(result.words, np.int64(position) + alike, PER_KEY)
        while i > 0 and at(keys, i - 1) > key:
            keys[i], result.sa[first + i] = at(keys, i - 1), at(result.sa, first + i - 1)
            i -= 1
        keys[i], result.sa[first + i] = key, position
    j = np.int64(0)
    while j < m:
        begin = j
        while j < m and at(keys, j) == at(keys, begin):
            j += 1
        if j - begin > 1:
            n_groups = _push(buffers, n_groups, first + begin, j - begin, alike + PER_KEY)
    return n_groups


@inlined
def _push(buffers, n_groups, first, m, alike):
    group = buffers.groups[n_groups]
    group[0], group[1], group[2] = first, m, alike
    return n_groups + 1


@inlined
def _sort_items(items, buffers):
    """Sort items by their bits from 32 on."""
    if items.size <= _FEW_ITEMS:
        sort(items, items.size)
        return
    counts = buffers.counts
    counts[:] = 0
    for j in range(items.size):
        for i in range(len(_SHIFTS)):
            counts[i, _digit(at(items, j), i)] += 1
    spare = buffers.spare[: items.size]
    is_back = True
    for i in range(len(_SHIFTS)):
        if counts[i, _digit(items[0], i)] < items.size:  # otherwise the pass would change nothing
            if is_back:
                _pass(items, spare, counts[i], i)
            else:
                _pass(spare, items, counts[i], i)
            is_back = not is_back
    if not is_back:
        for j in range(items.size):
            items[j] = at(spare, j)


@inlined
def _digit(item, i):
    return np.int64((item >> np.uint64(_SHIFTS[i])) & np.uint64(_N_DIGITS - 1))


@inlined
def _pass(source, target, counts, i):
    """Do pass i of a radix sort; ``counts`` int64[256]: how often each digit occurs, then where it goes."""
    total = np.int64(0)
    for digit in range(_N_DIGITS):
        counts[digit], total = total, total + counts[digit]
    for j in range(source.size):
        digit = _digit(at(source, j), i)
        target[np.uint64(counts[digit])] = at(source, j)
        counts[digit] += 1


# Sorting rows that are still tied.  A row's rank is the first row of its group of tied rows.  No thread
# writes ranks while others read them: in a round, the keys of many groups are made before these are sorted.
#
#     rows    0 1 2 3 4 5 6 7
#     bits    0 0 1 0 0 1 1 0     tied with the row before: two groups, rows 1 to 2 and 4 to 6
#     rank    0 1 1 3 4 4 4 7     of the suffixes of these rows

_AHEAD = 32  # rows between prefetching a rank and writing it


class Ties(NamedTuple):
    """Which of the rows from ``start`` to ``stop`` are tied with the row before: ``bits`` uint64, low first.

    Groups end within these rows; ``n`` rows are in groups.
    """

    start: int
    stop: int
    bits: Array
    n: int = 0


class Ranked(NamedTuple):
    """``sa`` and ``rank`` uint32[n]: for each position, the rank of its suffix."""

    sa: Array
    rank: Array


def sort_ties(sa: Array, ties: Array, h: int, n_threads: int) -> np.ndarray:
    """Finish sorting ``sa`` (uint32[n]); the rows in ``ties`` share h symbols or more."""
    if not any(some.n for some in ties):
        return sa
    ranked = Ranked(sa, np.empty(sa.size, np.uint32))
    run_all(_rank, [(ranked, some) for some in ties], n_threads)
    while ties := [some for some in ties if some.n]:
        batches: list = [[]]  # of about a quarter of the rows: their keys take 8 bytes each
        for some in ties:
            if sum(other.n for other in batches[-1]) >= sa.size // 4:
                batches.append([])
            batches[-1].append(some)
        ties = []
        for batch in batches:
            keys = [np.empty(some.n, np.uint64) for some in batch]
            work = [(ranked, *pair) for pair in zip(batch, keys, strict=True)]
            run_all(_look_further, [(*arguments, h) for arguments in work], n_threads)
            left = run_all(_sort_groups, work, n_threads)
            ties += [some._replace(n=n) for some, n in zip(batch, left, strict=True)]
            del keys, work  # before those of the next batch are made
        h *= 2
    return sa


@inlined
def _is_tied(ties, row):
    """Return whether a row, or the one after the last, is tied with the one before."""
    i = np.uint64(row - ties.start)
    return (at(ties.bits, i >> np.uint64(6)) >> (i & np.uint64(63))) & np.uint64(1) != 0


@inlined
def _next_group(ties, row):
    """Return (first row, row after the last) of the first group from a row on; (stop, stop) if none."""
    i = row - ties.start
    word = i >> 6
    bits = (at(ties.bits, word) >> np.uint64(i & 63)) << np.uint64(i & 63)
    while bits == 0:
        word += 1
        if word >= ties.bits.size:
            return ties.stop, ties.stop
        bits = at(ties.bits, word)
    second = ties.start + (word << 6) + trailing_zeros(bits)
    stop = second + 1
    while _is_tied(ties, stop):
        stop += 1
    return second - 1, stop


@compiled
def _rank(ranked, ties):
    first = ties.start
    for row in range(ties.start, ties.stop):
        if row + _AHEAD < ties.stop:
            prefetch(ranked.rank, np.int64(at(ranked.sa, row + _AHEAD)))
        if not _is_tied(ties, row):
            first = row
        ranked.rank[at(ranked.sa, row)] = first


@compiled
def _look_further(ranked, ties, keys, h):
    """Write ``keys`` uint64: for each row in a group the rank of the suffix h further on, and its position.

    Ranks count from 1; 0 is the rank beyond the end of the text.
    """
    j = np.int64(0)
    row, stop = _next_group(ties, ties.start)
    while row < ties.stop:
        for tied in range(row, stop):
            position = np.int64(at(ranked.sa, tied))
            further = np.uint64(0)
            if position + h < ranked.sa.size:
                further = np.uint64(at(ranked.rank, position + h)) + np.uint64(1)
            keys[j] = further << np.uint64(32) | np.uint64(position)
            j += 1
        row, stop = _next_group(ties, stop)


@compiled
def _sort_groups(ranked, ties, keys):
    """Sort each group by its ``keys``; return the number of rows that are still in groups."""
    n_tied = j = np.int64(0)
    row, stop = _next_group(ties, ties.start)
    while row < ties.stop:
        m = stop - row
        of_group = keys[j : j + m]
        sort(of_group, m)
        first = row
        for i in range(m):
            position = at(of_group, i) & np.uint64(0xFFFFFFFF)
            if i > 0 and at(of_group, i) >> np.uint64(32) != at(of_group, i - 1) >> np.uint64(32):
                bit = np.uint64(row + i - ties.start)
                ties.bits[bit >> np.uint64(6)] &= ~(np.uint64(1) << (bit & np.uint64(63)))
                n_tied += row + i - first if row + i - first > 1 else 0
                first = row + i
            ranked.sa[row + i] = position
            ranked.rank[position] = first
        n_tied += stop - first if stop - first > 1 else 0
        j += m
        row, stop = _next_group(ties, stop)
    return n_tied


# Radix sort and prefix doubling.  The tied rows ascend: a sort by rank keeps suffixes in their group.

_SAMPLE = 1 << 16  # suffixes by which the passes are cut
# Bytes per symbol: text, its words, rows, ranks, tied rows before and after a round; per suffix to sort.
_SYMBOL_BYTES, _SUFFIX_BYTES = 1 + 8 / 21 + 4 + 4 + 8, 2 * (8 + 4)


@by_type
def row_of(rows, j):
    """Return row j of a RowRange or a RowList."""


@row_of.of("first")
def RowRange(rows, j):
    """Return row j of those from ``first`` on."""
    return rows.first + j


@row_of.of("rows")
def RowList(rows, j):
    """Return row j of a list, ``rows`` uint32 in ascending order."""
    return np.int64(at(rows.rows, j))


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
    key = key_at(choice.words, i, PER_KEY)
    return i if choice.low <= key and key <= choice.high else np.int64(-1)


@choose.of("keys rows")
def Tied(choice, j):
    """Choose the rows whose key another row also has."""
    keys = choice.keys
    before = j > 0 and at(keys, j - 1) == at(keys, j)
    after = j + 1 < keys.size and at(keys, j + 1) == at(keys, j)
    return row_of(choice.rows, j) if before or after else np.int64(-1)


@do.of("words positions keys")
def FirstKeys(job, stretch, start, stop):
    """Set ``keys`` uint64 to the first symbols of suffixes at ``positions`` uint32."""
    for j in range(start, stop):
        job.keys[j] = key_at(job.words, np.int64(at(job.positions, j)), PER_KEY)


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


@do.of("keys positions rows sa rank")
def PlaceSorted(job, stretch, start, stop):
    """Write sorted ``keys`` and ``positions`` of some rows to ``sa`` and ``rank``."""
    for j in range(start, stop):
        position = at(job.positions, j)
        job.sa[row_of(job.rows, j)] = position
        job.rank[position] = row_of(job.rows, _first_like(job.keys, j))


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
    words = dna.pack_keys(backend, text)
    sa, rank = (backend.empty(n, np.uint32) for _ in range(2))
    keys, spare_keys = (backend.empty(limit, np.uint64) for _ in range(2))
    positions, spare_positions = (backend.empty(limit, np.uint32) for _ in range(2))

    def sort(m: int, n_bits: int, rows: Array) -> Array:
        """Sort m keys and positions into ``rows`` (RowRange, RowList); return the tied rows."""
        spare = spare_keys[:m], spare_positions[:m]
        sorted_keys, by_key = backend.sort_pairs(keys[:m], positions[:m], *spare, n_bits)
        backend.run(PlaceSorted(sorted_keys, by_key, rows, sa, rank), m)
        return backend.select(Tied(sorted_keys, rows), m)

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
        tied.append(sort(m, 3 * PER_KEY, RowRange(np.int64(n_sorted))))
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
            remaining.append(sort(m, 2 * n_bits, RowList(rows)))
        tied, h, n_rounds = remaining, 2 * h, n_rounds + 1
    return sa, n_rounds
