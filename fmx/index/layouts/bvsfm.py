"""bvSFM: for each k-symbol a counter next to a bit vector (Langarita et al. 2020, sections 2.4 and 2.5).

Rows are cut into runs of d; each run has 4^k entries, one per k-symbol, and C[c] is included in the counters:

    run 0: [AA: counter|bits] [AC: counter|bits] ... [TT: counter|bits]   run 1: ...

An LF mapping reads one entry (entries.py): 16 bytes for d = 96, 32 bytes for d = 224.  For d = 64 it is the
entry of the paper: 16 bytes, a word for the counter and a word of bits.

Size: 4^k * (bytes of an entry) / d bytes per symbol.  For k = 2 that is 4 for d = 64 (12 GB for 3 Gb, section
3.1), 2.67 for d = 96 and 2.29 for d = 224.
"""

import numpy as np

from ...compiler.functions import static_type
from ...compiler.primitives import at, popcount, prefetch, quotient
from ..contracts import NONE, address, fill, preceding, prefetch_extend, share, units
from . import entries as bits
from .entries import family_of_entries, low_bits

# One type per d, a constant of the compiled code.  ``entries`` uint64[ceil((n + 1) / d) * 4^k * w], w words
# per entry.
_BY_D = {d: static_type(f"BvSFM{d}", "entries k", __name__) for d in (96, 224, 64)}
_TYPES = {(k, d): cls for k in (2, 1, 3) for d, cls in _BY_D.items()}


def _bytes(d: int) -> int:
    return 16 if d == 64 else (d + 32) // 8


def _register(cls: type, d: int) -> None:
    n_units, w, head = _bytes(d) // 16, _bytes(d) // 8, 8 * _bytes(d) - d  # head: bits before the vector

    @fill.register(cls)
    def fill_bvsfm(layout, codes, start, stop, counts):
        entries, n_columns = layout.entries, np.int64(1) << (2 * layout.k)
        for run_start in range(start, stop, d):
            first = run_start // d * n_columns * w
            for c in range(n_columns):
                entries[first + c * w] = np.uint64(counts[c])
            for row in range(run_start, min(run_start + d, codes.size)):
                c = np.int64(at(codes, row))
                if c != NONE:
                    bit = row - run_start + head
                    entries[first + c * w + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)
                    counts[c] += 1

    @units.register(cls)
    def units_bvsfm(layout):
        return n_units

    @address.register(cls)
    def address_bvsfm(layout, c, i):
        run = quotient(i, d)
        return 2 * n_units * ((run << (2 * layout.k)) + c), i - run * d, np.int64(0)

    if d == 64:

        @share.register(cls)
        def share_bvsfm64(layout, unit, a, b, c, offset):
            return np.int64(a) + popcount(b & low_bits(offset))

    else:

        @share.register(cls)
        def share_bvsfm(layout, unit, a, b, c, offset):
            return bits.column_share(unit, a, b, offset)

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
FAMILY = family_of_entries(
    _TYPES,
    lambda k, d, n: (n // d + 1) * 4**k * (_bytes(d) // 8),
    lambda k, d, n: 4**k * _bytes(d) / d,
)
