"""bvSFM: for each k-symbol a counter next to a bit vector (Langarita et al. 2020, sections 2.4 and 2.5).

Rows are cut into runs of d; each run has 4^k entries, one a k-symbol, C[c] already added to the counters:

    run 0: [AA: counter|bits] [AC: counter|bits] ... [TT: counter|bits]   run 1: ...

An LF mapping reads one entry (w words, see bitcolumn.py): 16 bytes for d = 96, 32 bytes for d = 224.
Size: 4^k * 8 w / d bytes a symbol; k = 2, d = 96: 2.67.
"""

from typing import NamedTuple

import numpy as np

from .. import bitcolumn
from ..bwt import NONE
from ..contracts import address, extend, lanes, occ, preceding, prefetch_extend, share
from ..jit import compiled, prefetch
from ..parallel import run_all, spans


class BvSFM96(NamedTuple):
    """``entries`` uint64[ceil((n + 1) / 96) * 4^k * 2]."""

    entries: np.ndarray
    k: int


class BvSFM224(NamedTuple):
    """``entries`` uint64[ceil((n + 1) / 224) * 4^k * 4]."""

    entries: np.ndarray
    k: int


TYPES = {96: BvSFM96, 224: BvSFM224}
DEFAULT_D = 96


def build(codes, column_starts, k, d, n_threads=1):
    """The layout of a k-step BWT.

    ``codes`` uint8[n] of bwt.kmer_bwt; ``column_starts`` int64[4^k], the first row of each k-symbol.
    """
    w, n_columns = (d + 32) // 64, 4**k
    entries = np.zeros((codes.size // d + 1) * n_columns * w, np.uint64)
    parts = spans(codes.size, n_threads, d)
    totals = np.zeros((len(parts), 256), np.int64)
    run_all(_count_codes, [(codes, *part, totals[i]) for i, part in enumerate(parts)], n_threads)
    before = np.cumsum([column_starts, *totals[:, :n_columns]], axis=0)
    run_all(
        _fill, [(codes, *part, before[i].copy(), w, d, entries) for i, part in enumerate(parts)], n_threads
    )
    if codes.size % d == 0:
        entries[-n_columns * w :: w] = before[-1]
    return TYPES[d](entries, k)


@compiled
def _count_codes(codes, start, stop, counts):
    for row in range(start, stop):
        counts[codes[row]] += 1


@compiled
def _fill(codes, start, stop, count, w, d, entries):
    n_columns = count.size
    for first_row in range(start, stop, d):
        first = first_row // d * n_columns * w
        for c in range(n_columns):
            entries[first + c * w] = np.uint64(count[c])
        for offset in range(min(d, stop - first_row)):
            c = np.int64(codes[first_row + offset])
            if c != NONE:
                bitcolumn.set_bit(entries, first + c * w, offset)
                count[c] += 1


def _register(cls, d):
    n_lanes = (d + 32) // 128

    @lanes.register(cls)
    def lanes_bvsfm(layout):
        return n_lanes

    @address.register(cls)
    def address_bvsfm(layout, c, i):
        run = i // d
        return (run << (2 * layout.k)) + c, i - run * d

    @share.register(cls)
    def share_bvsfm(layout, lane, a, b, c, offset):
        return bitcolumn.share(lane, a, b, offset)

    @extend.register(cls)
    def extend_bvsfm(layout, c, lo, hi):
        return occ(layout, c, lo), occ(layout, c, hi)

    @prefetch_extend.register(cls)
    def prefetch_extend_bvsfm(layout, c, lo, hi):
        prefetch(layout.entries, 2 * n_lanes * address(layout, c, lo)[0])
        prefetch(layout.entries, 2 * n_lanes * address(layout, c, hi)[0])

    @preceding.register(cls)
    def preceding_bvsfm(layout, row):
        for c in range(np.int64(1) << (2 * layout.k)):
            entry, offset = address(layout, c, row)
            if bitcolumn.is_set(layout.entries, 2 * n_lanes * entry, offset):
                return c
        return np.int64(-1)


for _d, _cls in TYPES.items():
    _register(_cls, _d)
