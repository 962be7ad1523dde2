"""bvSFM: for each k-symbol a counter next to a bit vector (Langarita et al. 2020, sections 2.4 and 2.5).

Rows are cut into runs of d; each run has 4^k entries, one a k-symbol, C[c] already added to the counters:

    run 0: [AA: counter|bits] [AC: counter|bits] ... [TT: counter|bits]   run 1: ...

An LF mapping reads one entry: 16 bytes for d = 96, 32 bytes for d = 224 (bitcolumn.py), and for d = 64 the
paper's 16 bytes, a word of counter and a word of bits.
Size: 4^k * (entry) / d bytes a symbol; k = 2: 4 for d = 64 (12 GB of 3 Gb, section 3.1), 2.67, 2.29.
"""

from typing import NamedTuple

import numpy as np

from .. import bitcolumn
from ..bitcolumn import low_bits
from ..bwt import NONE, counts_before, kmer_bwt
from ..contracts import address, lanes, preceding, prefetch_extend, share
from ..jit import compiled, popcount, prefetch, quotient
from ..parallel import run_all, spans


class BvSFM64(NamedTuple):
    """``entries`` uint64[ceil((n + 1) / 64) * 4^k * 2]."""

    entries: np.ndarray
    k: int


class BvSFM96(NamedTuple):
    """``entries`` uint64[ceil((n + 1) / 96) * 4^k * 2]."""

    entries: np.ndarray
    k: int


class BvSFM224(NamedTuple):
    """``entries`` uint64[ceil((n + 1) / 224) * 4^k * 4]."""

    entries: np.ndarray
    k: int


_BY_D = {96: BvSFM96, 224: BvSFM224, 64: BvSFM64}
TYPES = {(k, d): cls for k in (2, 1, 3) for d, cls in _BY_D.items()}


def _bytes(d):
    return 16 if d == 64 else (d + 32) // 8


def bytes_per_symbol(k, d, n):
    return 4**k * _bytes(d) / d


def build(text, sa, k, d, n_threads=1):
    """The layout of a text (uint8[n]: separator 0, A C G T 1 to 4) and its suffix array (uint32[n])."""
    codes = kmer_bwt(text, sa, k, n_threads)
    w, n_columns = _bytes(d) // 8, 4**k
    entries = np.zeros((codes.size // d + 1) * n_columns * w, np.uint64)
    parts = spans(codes.size, n_threads, d)
    before = counts_before(text, codes, k, parts, n_threads)
    run_all(_fill, [(codes, *part, before[i], w, d, entries) for i, part in enumerate(parts)], n_threads)
    if codes.size % d == 0:
        entries[-n_columns * w :: w] = before[-1]
    return TYPES[k, d](entries, k)


@compiled
def _fill(codes, start, stop, count, w, d, entries):
    n_columns = count.size
    head = 64 * w - d  # bits of the entry before its bit vector
    for first_row in range(start, stop, d):
        first = first_row // d * n_columns * w
        for c in range(n_columns):
            entries[first + c * w] = np.uint64(count[c])
        for offset in range(min(d, stop - first_row)):
            c = np.int64(codes[first_row + offset])
            if c != NONE:
                bit = offset + head
                entries[first + c * w + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)
                count[c] += 1


def _register(cls, d):
    n_lanes, head = _bytes(d) // 16, 8 * _bytes(d) - d

    @lanes.register(cls)
    def lanes_bvsfm(layout):
        return n_lanes

    @address.register(cls)
    def address_bvsfm(layout, c, i):
        run = quotient(i, d)
        return 2 * n_lanes * ((run << (2 * layout.k)) + c), i - run * d, np.int64(0)

    if d == 64:

        @share.register(cls)
        def share_bvsfm64(layout, lane, a, b, c, offset):
            return np.int64(a) + popcount(b & low_bits(offset))

    else:

        @share.register(cls)
        def share_bvsfm(layout, lane, a, b, c, offset):
            return bitcolumn.share(lane, a, b, offset)

    @prefetch_extend.register(cls)
    def prefetch_extend_bvsfm(layout, c, lo, hi):
        prefetch(layout.entries, address(layout, c, lo)[0])
        prefetch(layout.entries, address(layout, c, hi)[0])

    @preceding.register(cls)
    def preceding_bvsfm(layout, row):
        for c in range(np.int64(1) << (2 * layout.k)):
            word, offset, _ = address(layout, c, row)
            bit = offset + head
            if (layout.entries[word + (bit >> 6)] >> np.uint64(bit & 63)) & np.uint64(1) != np.uint64(0):
                return c
        return np.int64(-1)


for _d, _cls in _BY_D.items():
    _register(_cls, _d)
