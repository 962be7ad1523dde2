"""Suffix arrays on all CPU cores: suffixes are distributed to buckets that fit a cache; threads sort these.

    scan    the text from its end; a suffix is added, as an item, to the bucket of its first c symbols:

            0 | the next 13 symbols, 2 bits each | symbols before a separator, 31 if more | position, 32 bits

    sort    the items of a bucket, and suffixes that share more symbols (in_bucket.py)
    ties    suffixes that share their first LIMIT symbols, by ranks (ties.py)

A separator or the end of the text is padded with A, the smallest symbol; the number of symbols before it
sorts the suffix before longer ones.  The text is scanned for half of the buckets at a time: the items of a
half take the memory that the ranks take later.
"""

import os
from collections.abc import Callable
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, cast

import numpy as np

try:
    import pydivsufsort
    from pydivsufsort.dll import libdivsufsort
except ModuleNotFoundError:  # there is no wheel for Python 3.15
    pydivsufsort = libdivsufsort = None

from ....compiler.functions import by_type, compiled
from ....compiler.primitives import at
from ....input import dna
from ....machines.jobs import Array, Cores, run_all, spans, start
from .in_bucket import FULL, LIMIT, SYMBOLS, Sorted, make_buffers, sort_buckets
from .ties import no_ties, sort_ties

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


def symbols_of_bucket(n: int) -> int:
    """Return the smallest c for which 4^c buckets of _BUCKET suffixes hold a text of n symbols."""
    c = 1
    while n > _BUCKET << 2 * c:
        c += 1
    return c


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
    sa, ties = _sort_in_buckets(text, n_threads, c or symbols_of_bucket(text.size), done, for_buffers)
    return None if sa is None else sort_ties(sa, ties, LIMIT, n_threads)


def _sort_in_buckets(text: Array, n_threads: int, c: int, done: Callable, for_buffers: int) -> tuple:
    """Return (suffix array, with tied rows, or None, as sort_suffixes does; the Ties of all rows)."""
    n = text.size
    cut = spans(n, n_threads)
    counts = np.zeros((len(cut), 4**c), np.int64)
    work = [(text, *span, c, Count(of_span)) for span, of_span in zip(cut, counts, strict=True)]
    run_all(_scan, work, n_threads)
    starts = np.append(0, np.cumsum(counts.sum(axis=0)))
    largest = int(np.diff(starts).max())
    n_buffers = min(n_threads, max(n, for_buffers) // (_BUFFERS * largest))
    if n_buffers == 0 and pydivsufsort:
        return None, []
    free: SimpleQueue = SimpleQueue()
    for _ in range(max(1, n_buffers)):
        free.put(make_buffers(largest))
    firsts = starts[:-1] + np.cumsum(counts, axis=0) - counts
    result, ties = Sorted(dna.pack_keys(Cores(n_threads), text), np.empty(n, np.uint32), starts, c), []
    n_sorted = 0

    def sort_part(first: int, last: int) -> Any:
        """Sort the buckets from ``first`` up to ``last``; return their Ties."""
        nonlocal n_sorted
        of_part, buffers = no_ties(starts[first], starts[last]), free.get()
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
                return None, []
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


def suffix_array(text: Array, force64: bool = False, n_threads: int | None = None) -> np.ndarray:
    """Return the suffix array of ``text`` (uint8[n] codes) as uint32[n], without pydivsufsort by buckets.

    The end of the text sorts before every symbol.  From 2^31 symbols on (or with ``force64``) the 64-bit form
    of divsufsort is used and its result narrowed.  ``n_threads`` None: OpenMP chooses.  At most as many
    threads as cores are used, because OpenMP ends the process if it cannot start a thread.
    """
    if pydivsufsort is None:
        return cast(np.ndarray, sort_suffixes(text, n_threads or 1))
    # OpenMP keeps its threads for the thread that called it, and a forked process would wait forever for
    # those of its parent.  So a new thread makes the call, and ends with the sort.
    rows = start(2, _sort, text, force64, n_threads)()
    return rows.view(np.uint32) if rows.dtype == np.int32 else rows.astype(np.uint32)


def _sort(text: Array, force64: bool, n_threads: int | None) -> np.ndarray:
    set_threads = getattr(libdivsufsort, "omp_set_num_threads", None)  # for the thread that calls it
    if n_threads and set_threads:
        set_threads(min(n_threads, os.cpu_count() or 1))
    try:
        return pydivsufsort.divsufsort(text, force64=force64)
    except Exception as error:
        if error.args == ("libdivsufsort error", -2):
            raise MemoryError("not enough memory to sort the suffixes") from error
        raise
