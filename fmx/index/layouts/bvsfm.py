"""bvSFM: for each k-symbol a counter next to a bit vector (Langarita et al. 2020, sections 2.4 and 2.5).

Rows are cut into runs of d; each run has 4^k entries, one a k-symbol, C[c] already added to the counters:

    run 0: [AA: counter|bits] [AC: counter|bits] ... [TT: counter|bits]   run 1: ...

An LF mapping reads one entry: 16 bytes for d = 96, 32 bytes for d = 224 (bitcolumn.py), and for d = 64 the
paper's 16 bytes, a word of counter and a word of bits.
Size: 4^k * (entry) / d bytes a symbol; k = 2: 4 for d = 64 (12 GB of 3 Gb, section 3.1), 2.67, 2.29.
"""

from typing import NamedTuple

import numpy as np

from ...compiler.primitives import at, popcount, prefetch, quotient
from ...machines.jobs import ONE_CORE
from .. import bitcolumn
from ..bitcolumn import low_bits
from ..building.bwt import NONE, fill_layout, kmer_bwt
from ..contracts import address, fill, lanes, preceding, prefetch_extend, share
from ..family import Family
from ..form import Form


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


def _n_words(k, d, n):
    return (n // d + 1) * 4**k * (_bytes(d) // 8)


def forms(k, d, n):
    return {"entries": Form("uint64", (_n_words(k, d, n),))}


def build(text, sa, k, d, machine=ONE_CORE):
    """The layout of a text (uint8[n]: separator 0, A C G T 1 to 4) and its suffix array (uint32[n])."""
    codes = kmer_bwt(text, sa, k, machine)
    layout = TYPES[k, d](machine.zeros(_n_words(k, d, codes.size), np.uint64), k)
    fill_layout(machine, layout, text, sa, codes, d)
    return layout


def _register(cls, d):
    n_lanes, w, head = _bytes(d) // 16, _bytes(d) // 8, 8 * _bytes(d) - d  # head: bits before the vector

    @fill.register(cls)
    def fill_bvsfm(layout, codes, start, stop, counts, part):
        entries, n_columns = layout.entries, np.int64(1) << (2 * layout.k)
        for run_start in range(start, stop, d):
            first = run_start // d * n_columns * w
            for c in range(n_columns):
                entries[first + c * w] = np.uint64(counts[part, c])
            for row in range(run_start, min(run_start + d, codes.size)):
                c = np.int64(at(codes, row))
                if c != NONE:
                    bit = row - run_start + head
                    entries[first + c * w + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)
                    counts[part, c] += 1

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
FAMILY = Family(build, forms, bytes_per_symbol, TYPES, cpu_share=0.45)
