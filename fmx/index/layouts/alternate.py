"""Alternate counters: half of the counters in every other entry (Chacon et al. 2015, section 2.3).

Rows are cut into runs of d.  The even borders between runs have the counters of the lower half of the
k-symbols, the odd ones those of the upper half; so each run has the counter of any k-symbol at one of its
ends, and an LF mapping counts the planes from there: forwards, or backwards from the border after the run.
Either way it reads one entry of a few units, which starts or ends with the counters.  k = 2, d = 64:

    [low][low][0-31][32-63]  [high][high][0-31][32-63]  [low][low] ...
     border 0  run 0          border 1    run 1          border 2

      An entry is 4 units: run 0 with border 0 or border 1, run 1 with border 1 or border 2.

k = 1 has only 8 bytes of counters at a border, which share their unit with 32 positions of an even run (word:
plane 0 in the low half, plane 1 in the high).  d = 64:

    [A C counters | 0-31]  [32-63 | G T counters]  [0-63]  [A C counters | 0-31] ...
     border 0, run 0        run 0, border 1        run 1    border 2, run 2

Size: (2 * 4^k + 2k d / 8) / d bytes per symbol.
"""

from typing import Any

import numpy as np

from ...compiler.functions import inlined, static_type
from ...compiler.primitives import at, bits_from, bits_from32, popcount, prefetch, quotient
from ..contracts import NONE, ROW, address, fill, occ, preceding, prefetch_extend, share, units
from . import entries as bits
from .entries import family_of_entries, missing_between, or_none, write_counters

# ``entries`` uint64, two words per unit; ``missing`` uint32, the rows without k-symbol (entries.py).
_TYPES = {
    (k, d): static_type(f"Alternate{k}D{d}", "entries missing k", __name__)
    for k, d in ((2, 64), (2, 192), (2, 448), (1, 64), (1, 192), (1, 448), (1, 960))
}

# Flags that address packs into the offset with the row within the run: counted backwards; in an odd run.
_BACKWARD, _ODD = ROW + 1, 2 * (ROW + 1)


def _n_words(k: int, d: int, n: int) -> int:
    # Whole runs, or pairs of them, and the border after the last one.
    n_runs = n // d + 1
    return n_runs * (4 + d // 16) + 4 if k == 2 else (n_runs + 1) // 2 * 2 * (d // 32 + 1) + 2


@inlined
def _plane_bits(row, d):
    """Return, for k = 1, the bits of ``entries`` that are planes 0 and 1 of a row."""
    pair = row // (2 * d)
    bit, i = pair * 128 * (d // 32 + 1), row - pair * 2 * d
    if i < 32:
        return bit + 64 + i, bit + 96 + i
    if d - 32 <= i < d:
        return bit + i + d + 32, bit + i + d + 64
    i += 32 if i < d else 64
    bit += (i >> 6 << 7) + (i & 63)
    return bit, bit + 64


@inlined
def _count_last_run(codes, stop, d, counts):
    """Count the padding of the last run (planes 0) if it ends at ``stop``; return whether it does."""
    if stop != (codes.size // d + 1) * d:
        return False
    counts[0] += stop - codes.size
    return True


@inlined
def _counted(misses, after, n, offset):
    """Return what n positions add: those on the counter's side of the row, less the misses.

    ``after``: bits of the positions from the row on.
    """
    backward = np.int32((offset & _BACKWARD) != 0)
    others = misses | (after ^ np.uint64(np.int64(-backward)))
    counted = n - popcount(np.uint32(others) if n == 32 else others)
    return -counted if backward else counted


def _register(cls: type, k: int, d: int) -> None:
    n_units = 2 + d // 32 if k == 2 else 1 + d // 64

    @units.register(cls)
    def units_alternate(layout):
        return n_units

    @prefetch_extend.register(cls)
    def prefetch_extend_alternate(layout, c, lo, hi):
        for i in (lo, hi):
            word = entry(c, i)[0]
            for line in range(0, 2 * n_units, 8):
                prefetch(layout.entries, word + line)
            prefetch(layout.entries, word + 2 * n_units - 1)

    @address.register(cls)
    def address_alternate(layout, c, i):
        word, row, backward, odd = entry(c, i)
        offset, surplus = row | _BACKWARD if backward else row, np.int64(0)
        if c == 0:  # the subtracted positions may include rows without k-symbol
            start, stop = (i, i - row + d) if backward else (i - row, i)
            surplus = missing_between(layout.missing, start, stop)
            surplus = -surplus if backward else surplus
        return word, offset | _ODD if odd else offset, surplus

    entry = _register_two_step(cls, d) if k == 2 else _register_one_step(cls, d)


def _register_two_step(cls: type, d: int) -> Any:
    n_plane_units = d // 32
    n_units = n_plane_units + 2

    @inlined
    def entry(c, i):
        run = quotient(i, d)
        backward = (c >> 3) != (run & 1)
        return 2 * (n_units * run + (2 if backward else 0)), i - run * d, backward, False

    @inlined
    def write_border(counts, run, entries):
        first = 8 * (run & 1)
        write_counters(counts, first, first + 8, entries, 2 * n_units * run)

    @fill.register(cls)
    def fill_two_step(layout, codes, start, stop, counts):
        for run_start in range(start, stop, d):
            run = run_start // d
            write_border(counts, run, layout.entries)
            word = 2 * n_units * run + 4
            bits.fill_run(2, codes, run_start, d, layout.entries, word, counts)
        if _count_last_run(codes, stop, d, counts):
            write_border(counts, stop // d, layout.entries)

    @inlined
    def counted_two_step(a, b, c, unit, offset):
        misses = np.uint32(bits.misses(2, a, b, c))
        return _counted(misses, bits_from32((offset & ROW) - 32 * unit), 32, offset)

    @occ.register(cls)
    def occ_two_step(layout, c, i):
        # One counter, and only the planes on its side of the row.
        entries = layout.entries
        word, offset, surplus = address(layout, c, i)
        first, stop = 0, ((offset & ROW) >> 5) + 1
        counter_word, planes = word, word + 4
        if offset & _BACKWARD:
            first, stop = (offset & ROW) >> 5, n_plane_units
            counter_word, planes = word + 2 * n_plane_units, word
        total = bits.counter(at(entries, counter_word + (c >> 1 & 3)), c) - surplus
        if d == 64:
            first, stop = 0, 2
        for unit in range(first, stop):
            a, b = at(entries, planes + 2 * unit), at(entries, planes + 2 * unit + 1)
            total += counted_two_step(a, b, c, unit, offset)
        return total

    @share.register(cls)
    def share_two_step(layout, unit, a, b, c, offset):
        first = np.int32(0 if offset & _BACKWARD else 2)  # of the units of planes
        counted = counted_two_step(a, b, c, unit - first, offset)
        holder = np.int32((c >> 2 & 1) + (n_plane_units if offset & _BACKWARD else 0))
        counter = bits.counter(b if c & 2 else a, c) if unit == holder else np.int64(0)
        return counted if first <= unit < first + n_plane_units else counter

    @preceding.register(cls)
    def preceding_two_step(layout, row):
        run = row // d
        word = 2 * (n_units * run + 2 + (row - run * d) // 32)
        c = bits.code_at(2, layout.entries[word], layout.entries[word + 1], (row - run * d) % 32)
        return or_none(layout, c, row)

    return entry


def _register_one_step(cls: type, d: int) -> Any:
    m = d // 64
    n_pair_units = 2 * m + 1

    @inlined
    def entry(c, i):
        pair = quotient(i, 2 * d)
        row = i - pair * 2 * d
        odd = row >= d
        backward = (c >= 2) != odd
        first = (m + 1 if backward else m) if odd else 0
        return 2 * (n_pair_units * pair + first), (row - d if odd else row), backward, odd

    @inlined
    def write_border(counts, run, entries):
        odd = run & 1
        write_counters(counts, 2 * odd, 2 * odd + 2, entries, n_pair_units * run)

    @fill.register(cls)
    def fill_one_step(layout, codes, start, stop, counts):
        for run_start in range(start, stop, d):
            write_border(counts, run_start // d, layout.entries)
            for row in range(run_start, min(run_start + d, codes.size)):
                code = np.int64(at(codes, row))
                if code != NONE:
                    low, high = _plane_bits(row, d)
                    layout.entries[low >> 6] |= np.uint64(code & 1) << np.uint64(low & 63)
                    layout.entries[high >> 6] |= np.uint64(code >> 1) << np.uint64(high & 63)
                    counts[code] += 1
        if _count_last_run(codes, stop, d, counts):
            write_border(counts, stop // d, layout.entries)

    @share.register(cls)
    def share_one_step(layout, unit, a, b, c, offset):
        # An end unit: the counter in one word, 32 positions in the other; both belong to an even run.
        row, backward = offset & ROW, (offset & _BACKWARD) != 0
        start = 64 * unit
        if offset & _ODD:
            if unit == (m if backward else 0):
                return bits.counter(a if backward else b, c)
            start -= 0 if backward else 64
        else:
            if unit == 0 or unit == m:
                misses = bits.half_misses(b if unit == 0 else a, c)
                total = _counted(misses, bits_from32(row - (0 if unit == 0 else d - 32)), 32, offset)
                counter = bits.counter(a if unit == 0 else b, c)
                return total + counter if (unit == m) == backward else total
            start -= 32
        return _counted(bits.misses(1, a, b, c), bits_from(row - start), 64, offset)

    @preceding.register(cls)
    def preceding_one_step(layout, row):
        low, high = _plane_bits(row, d)
        c = np.int64((layout.entries[low >> 6] >> np.uint64(low & 63)) & np.uint64(1))
        c += np.int64((layout.entries[high >> 6] >> np.uint64(high & 63)) & np.uint64(1)) * 2
        return or_none(layout, c, row)

    return entry


for (_k, _d), _cls in _TYPES.items():
    _register(_cls, _k, _d)
FAMILY = family_of_entries(_TYPES, _n_words, lambda k, d, n: (2 * 4**k + 2 * k * d / 8) / d, runs_together=2)
