"""How many random places of memory a query reads a pattern, and what is read there.

entries            the different entries of each step, one or two
COFI               of each step the pair of offsets, and the different sectors of changes that it looks at
seed and verify    each seed, each sector of rows that it looks at, and each row's text
"""

from typing import NamedTuple

import numpy as np

from ...compiler.warp import WARP, device, kernel, thread_index
from ...index.contracts import address, find, occ, start, units
from ...index.layouts.cofi import HOLE
from ...input.dna import symbols
from ...machines import gpu
from ...measure.gpu_timing import launch
from ...measure.texts import some

SECTOR = 32  # bytes that memory gives at least


class Accesses(NamedTuple):
    """A pattern's accesses: their mean number, and that of the pattern of a warp that has most (all wait for
    it); the bytes of each, how many units of 16 bytes their places are multiples of, and the bytes that they
    are spread over."""

    per_pattern: float
    slowest: float
    entry: int
    apart: int
    n_bytes: int


@kernel
def count_entries_kernel(query, patterns, counts, words):
    """Of a thread's pattern: how many entries (counts int64[n]), the bits of all words that these start at
    (words uint64[n])."""
    i = thread_index()
    if i < patterns.length.size:
        lo, hi, left = start(query, patterns, i)
        k, n, bits = np.int64(query.layout.k), np.int64(0), np.int64(0)
        while left > 0 and lo < hi:
            left -= k
            c = np.int64(symbols(patterns.words, patterns.first[i], left, k))
            lo_word, hi_word = address(query.layout, c, lo)[0], address(query.layout, c, hi)[0]
            n += 1 if lo_word == hi_word else 2
            bits |= lo_word | hi_word
            lo, hi = occ(query.layout, c, lo), occ(query.layout, c, hi)
        counts[i] = n
        words[i] = np.uint64(bits)


@device
def probe(changes, left, right, value, sector):
    """As sorting.lower_bound: (index, the sector looked at last, how many others were looked at)."""
    n = np.int64(0)
    while left < right:
        middle = (left + right) >> 1
        if 4 * middle // SECTOR != sector:
            sector, n = 4 * middle // SECTOR, n + 1
        if np.int64(changes[middle]) < value:
            left = middle + 1
        else:
            right = middle
    return left, sector, n


@kernel
def count_cofi_kernel(query, patterns, counts):
    """Of a thread's pattern: how many pairs of offsets and sectors of changes (counts int64[n])."""
    i = thread_index()
    if i < patterns.length.size:
        lo, hi, left = start(query, patterns, i)
        k, layout, n = np.int64(query.layout.k), query.layout, np.int64(0)
        length = patterns.length[i] - left
        if length > query.prefix.q:  # looked up by the layout: the borders of a shorter string
            c = np.int64(symbols(patterns.words, patterns.first[i], left, length)) << (2 * (k - length))
            for code, value in ((c, HOLE + length), (c + (np.int64(1) << (2 * (k - length))), HOLE)):
                begins = np.int64(layout.offsets[code - 1]) if code > 0 else np.int64(0)
                n += 1 + probe(layout.changes, begins, np.int64(layout.offsets[code]), value, np.int64(-1))[2]
        while left > 0 and lo < hi:
            left -= k
            c = np.int64(symbols(patterns.words, patterns.first[i], left, k))
            begins, ends = np.int64(layout.offsets[c]), np.int64(layout.offsets[c + 1])
            first, sector, n_first = probe(layout.changes, begins, ends, lo, np.int64(-1))
            last, _, n_second = probe(layout.changes, first, min(ends, first + hi - lo), hi, sector)
            lo, hi = first, last
            n += 1 + n_first + n_second
        counts[i] = n


@kernel
def count_places_kernel(query, patterns, counts):
    """Of a thread's pattern: how many places seed and verify reads (counts int64[n])."""
    i = thread_index()
    if i < patterns.length.size:
        counts[i] = find(query, patterns, i)[2]


def count(query, patterns, n_sampled=200_000) -> Accesses:
    """The accesses of a query, from the first patterns."""
    n = min(n_sampled, patterns.length.size)
    patterns = some(patterns, 0, n)
    counts = gpu.zeros(n, np.int64)
    if not hasattr(query, "layout"):
        launch(count_places_kernel, n, query, patterns, counts)
        return Accesses(*means(counts), SECTOR, 2, _bytes_of(query))
    layout = query.layout
    if units(layout) == 0:
        launch(count_cofi_kernel, n, query, patterns, counts)
        return Accesses(*means(counts), SECTOR, 2, layout.changes.nbytes + layout.offsets.nbytes)
    words = gpu.zeros(n, np.uint64)
    launch(count_entries_kernel, n, query, patterns, counts, words)
    bits = int(np.bitwise_or.reduce(gpu.to_host(words)))
    apart = (bits & -bits) // 2 or 16
    return Accesses(*means(counts), 16 * units(layout), apart, layout.entries.nbytes)


def _bytes_of(value) -> int:
    """Bytes of the arrays of a NamedTuple on the GPU."""
    return sum(map(_bytes_of, value)) if isinstance(value, tuple) else getattr(value, "nbytes", 0)


def means(counts) -> tuple[float, float]:
    """The mean of counts, and that of the largest of each 32, as many as a warp has threads."""
    counts = gpu.to_host(counts)
    warps = np.maximum.reduceat(counts, np.arange(0, counts.size, WARP))
    return float(counts.mean()), float(warps.mean())
