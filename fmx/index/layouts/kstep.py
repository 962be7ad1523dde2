"""The sampled FM-index and its k-step form: counters, then bit planes (Chacon et al. 2015, 2.1 and 2.2).

Rows are cut into runs of d.  An entry has the counts before its run, 4^k counters of 4 bytes with C[c]
included, then the 2k bit planes of the run (entries.py); in units of 16 bytes, for k = 1, d = 192:

    unit 0                    unit 1                        unit 2            unit 3
    | A | C | G | T |         | plane 0, plane 1: 0-63 |    | 64-127 |        | 128-191 |
      counters                  positions of the run

An LF mapping reads one counter and the planes before its row.
Size: (4 * 4^k + 2k d / 8) / d bytes per symbol; for k = 3 two bits of each unit are unused.
"""

import numpy as np

from ...compiler.functions import static_type
from ...compiler.primitives import at, prefetch, quotient
from ..contracts import address, fill, occ, preceding, prefetch_extend, share, units
from . import entries as bits
from .entries import family_of_entries, missing_between, or_none, write_counters

_ONE_STEP = ((1, 64), (1, 192), (1, 448), (1, 960))  # entries of 32, 64, 128, 256 bytes
_MORE_STEPS = ((2, 64), (2, 192), (2, 448), (3, 63), (3, 189), (3, 336))  # 96, 160, 288, 304, 400, 512 bytes
# One type per (k, d), so that both are constants of the compiled code.  ``entries`` uint64, two words per
# unit; ``missing`` uint32, the rows without k-symbol (entries.py).
_TYPES = {
    (k, d): static_type(f"KStep{k}D{d}", "entries missing k", __name__) for k, d in _ONE_STEP + _MORE_STEPS
}


def _register(cls: type, k: int, d: int) -> None:
    n_positions, n_counter_units = bits.POSITIONS[k], 4 ** (k - 1)
    n_units = n_counter_units + d // n_positions

    @fill.register(cls)
    def fill_kstep(layout, codes, start, stop, counts):
        for run_start in range(start, stop, d):
            word = 2 * n_units * (run_start // d)
            write_counters(counts, 0, 4**k, layout.entries, word)
            word += 2 * n_counter_units
            bits.fill_run(k, codes, run_start, d, layout.entries, word, counts)

    @units.register(cls)
    def units_kstep(layout):
        return n_units

    @address.register(cls)
    def address_kstep(layout, c, i):
        run = quotient(i, d)
        offset, surplus = i - run * d, np.int64(0)
        if c == 0:
            surplus = missing_between(layout.missing, i - offset, i)
        return 2 * n_units * run, offset, surplus

    @share.register(cls)
    def share_kstep(layout, unit, a, b, c, offset):
        stop = np.int32(offset - n_positions * (unit - n_counter_units))
        counted = bits.count_before(k, a, b, c, stop)
        counter = bits.counter(b if c & 2 else a, c) if unit == c >> 2 else np.int64(0)
        return counter if unit < n_counter_units else counted

    @occ.register(cls)
    def occ_kstep(layout, c, i):
        # One counter, and only the planes up to the row.
        entries = layout.entries
        word, stop, surplus = address(layout, c, i)
        total = bits.counter(at(entries, word + (c >> 1)), c) - surplus
        word += 2 * n_counter_units
        if n_units > n_counter_units + 1:
            while stop > n_positions:
                total += bits.count_before(k, at(entries, word), at(entries, word + 1), c, n_positions)
                stop -= n_positions
                word += 2
        return total + bits.count_before(k, at(entries, word), at(entries, word + 1), c, stop)

    @prefetch_extend.register(cls)
    def prefetch_extend_kstep(layout, c, lo, hi):
        for i in (lo, hi):
            run = quotient(i, d)
            word = 2 * n_units * run
            prefetch(layout.entries, word + (c >> 1))
            first = word + 2 * n_counter_units
            if n_units > 4:
                last = first + 2 * (quotient(i - run * d, n_positions))
                while first < last:
                    prefetch(layout.entries, first)
                    first += 8  # 64 bytes, a cache line
                prefetch(layout.entries, last)

    @preceding.register(cls)
    def preceding_kstep(layout, row):
        run = row // d
        unit = (row - run * d) // n_positions
        word = 2 * (n_units * run + n_counter_units + unit)
        position = row - run * d - unit * n_positions
        c = bits.code_at(k, at(layout.entries, word), at(layout.entries, word + 1), position)
        return or_none(layout, c, row)


for (_k, _d), _cls in _TYPES.items():
    _register(_cls, _k, _d)


SAMPLED, KSTEP = (
    family_of_entries(
        {p: _TYPES[p] for p in parameters},
        lambda k, d, n: (n // d + 1) * (4**k // 2 + 2 * d // bits.POSITIONS[k]),
        lambda k, d, n: (4 * 4**k + 2 * k * d / 8) / d,
    )
    for parameters in (_ONE_STEP, _MORE_STEPS)
)
