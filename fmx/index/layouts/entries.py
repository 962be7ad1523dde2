"""Bits of entries in indexes: columns (a counter next to a bit vector) and bit planes of k-symbols.

Columns are used by bvSFM and by the marks of the sampled suffix array, planes by the other layouts.  An entry
of a column is w words of 64 bits for d = 64 w - 32 positions (w = 2: d = 96, 16 bytes; w = 4: d = 224, 32
bytes).  The counter is the count before the entry:

    word 0                                  word 1                ...
    | 32-bit counter | positions 0 to 31 |  | positions 32 to 95 |
    bit 0         31   32             63     0                63
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at, bits_from, bits_from32, low_bits, popcount
from ...compiler.sorting import lower_bound
from ...machines.jobs import ONE_CORE, Array, Backend, choose
from ..bwt import fill_layout, kmer_bwt
from ..contracts import NONE, ROW
from . import ArraySpec, Family


@inlined
def column_share(unit, a, b, offset):
    """Return what 16 bytes of an entry (words a, b) add to the counter and the bits before ``offset``."""
    if unit == 0:
        in_a = popcount(np.uint32(a >> np.uint64(32)) & ~bits_from32(offset))
        return np.int64(np.uint32(a)) + in_a + popcount(b & low_bits(offset - 32))
    start = 128 * unit - 32
    return popcount(a & low_bits(offset - start)) + popcount(b & low_bits(offset - start - 64))


@inlined
def count_in_column(entries, first, offset, n_units):
    """Return the counter of the entry at word ``first`` plus the bits set before position ``offset``."""
    total = np.int64(0)
    for unit in range(n_units):
        total += column_share(unit, entries[first + 2 * unit], entries[first + 2 * unit + 1], offset)
    return total


@inlined
def is_set(entries, first, offset):
    """Return the bit of position ``offset`` in the entry at word ``first``."""
    bit = offset + 32
    return (entries[first + (bit >> 6)] >> np.uint64(bit & 63)) & np.uint64(1) != np.uint64(0)


@inlined
def set_bit(entries, first, offset):
    """Set the bit of position ``offset`` in the entry at word ``first``."""
    bit = offset + 32
    entries[first + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)


# Bit planes of k-symbols, arranged so that 16 bytes hold all planes of a run of positions.
#
# A unit (words a and b) holds 64, 32 or 21 positions for k = 1, 2, 3; plane p is bit p of the code:
#
#     k = 1    a | plane 0: 64 positions           |    b | plane 1: 64 positions           |
#     k = 2    a | plane 0: 32 | plane 1: 32       |    b | plane 2: 32 | plane 3: 32       |
#     k = 3    a | plane 0: 21 | 1: 21 | 2: 21 | - |    b | plane 3: 21 | 4: 21 | 5: 21 | - |
#                bit 0                       bit 63
#
# k is a constant wherever these are called, so that its branches and shifts fold.

POSITIONS = (0, 64, 32, 21)  # in a unit, by k


@inlined
def _filled(code, p):
    return np.uint32(np.int32(np.int32(code) << (31 - p)) >> 31)


@inlined
def half_misses(word, code):
    """Return the positions that differ from a 2-bit code (uint32); a word has two planes of 32 positions."""
    low, high = np.uint32(word), np.uint32(word >> np.uint64(32))
    return np.uint32((low ^ _filled(code, 0)) | (high ^ _filled(code, 1)))


@inlined
def _spread(bits):
    """Return a word in which each of the 3 low bits of ``bits`` fills its plane of 21."""
    x = np.uint64(bits)
    planes = (
        (x & np.uint64(1)) | ((x & np.uint64(2)) << np.uint64(20)) | ((x & np.uint64(4)) << np.uint64(40))
    )
    return planes * np.uint64(0x1FFFFF)


@inlined
def misses(k, a, b, c):
    """Return a uint64: bit i is set if position i of a unit is not c; bits from POSITIONS[k] are
    undefined."""
    if k == 1:
        first, second = np.uint64(_filled(c, 0)), np.uint64(_filled(c, 1))
        return (a ^ (first | first << np.uint64(32))) | (b ^ (second | second << np.uint64(32)))
    if k == 2:
        return np.uint64(half_misses(a, c) | half_misses(b, c >> 2))
    x = (a ^ _spread(c)) | (b ^ _spread(c >> 3))
    return x | (x >> np.uint64(21)) | (x >> np.uint64(42))


@inlined
def count_before(k, a, b, c, stop):
    """Count the positions of a unit before ``stop`` that are c; stop may be outside the unit."""
    if k == 2:
        return 32 - popcount(np.uint32(misses(k, a, b, c)) | bits_from32(stop))
    return 64 - popcount(misses(k, a, b, c) | bits_from(stop if k == 1 else min(stop, POSITIONS[k])))


@inlined
def counter(pair, c):
    """Return the counter of c from a word with two, for an even and an odd k-symbol."""
    return np.int64(np.uint32(pair >> np.uint64(32)) if c & 1 else np.uint32(pair))


@inlined
def code_at(k, a, b, position):
    """Return the code at a position of a unit."""
    code = np.int64(0)
    for p in range(k):
        shift = np.uint64(position + p * POSITIONS[k])
        code |= np.int64((a >> shift) & np.uint64(1)) << p
        code |= np.int64((b >> shift) & np.uint64(1)) << (k + p)
    return code


@inlined
def _planes(k, code, position):
    """Return the bits (in words a and b of a unit) of a code at a position."""
    a, b = np.uint64(0), np.uint64(0)
    for p in range(k):
        shift = np.uint64(position + p * POSITIONS[k])
        a |= (np.uint64(code >> p) & np.uint64(1)) << shift
        b |= (np.uint64(code >> (k + p)) & np.uint64(1)) << shift
    return a, b


@inlined
def fill_run(k, codes, run_start, d, entries, word, counts):
    """Write the planes of d rows from ``run_start``, starting at ``word``, and count the codes.

    ``codes`` uint8[n]; codes from 4^k on (rows without a k-symbol) are written as 0 and not counted.
    """
    n_positions = POSITIONS[k]
    for unit_start in range(run_start, min(run_start + d, codes.size), n_positions):
        a, b = np.uint64(0), np.uint64(0)
        for row in range(unit_start, min(unit_start + n_positions, codes.size)):
            code = np.int64(at(codes, row))
            if code < 1 << (2 * k):
                in_a, in_b = _planes(k, code, row - unit_start)
                a |= in_a
                b |= in_b
                counts[code] += 1
        entries[word], entries[word + 1] = a, b
        word += 2


@inlined
def write_counters(counts, first, stop, entries, word):
    """Write the counters of the codes [first, stop) to ``entries``, two per word, starting at ``word``."""
    for c in range(first, stop, 2):
        entries[word] = np.uint64(counts[c]) | np.uint64(counts[c + 1]) << np.uint64(32)
        word += 1


# The rows without a k-symbol: the k symbols before them include a separator.  Bit planes have no code for
# such a row and show it as the k-symbol 0, so a count of 0 subtracts them.  One array of uint32 holds a
# shift, then for each run of 2^shift rows the start of its rows, then the rows:
#
#     shift | start of run 0, of run 1 ... end | row row row ...
#
# There are about as many runs as rows, but at least some thousand: most are empty, which is seen at once.

_BEYOND = ROW + 1  # rows after the last that may be requested: no entry is longer
_MIN_RUNS = 4096


@choose.of("codes")
def WithoutSymbol(choice, row):
    """Choose the rows whose code is NONE."""
    return row if at(choice.codes, row) == NONE else np.int64(-1)


def _starts(rows: Array, n: int, shift: int) -> np.ndarray:
    n_runs = (n + _BEYOND >> shift) + 1
    return np.searchsorted(rows, np.arange(n_runs + 1) << shift) + n_runs + 2


def _form_of_missing(n: int) -> ArraySpec:
    """Return the ArraySpec of the array for a BWT of n rows."""

    def holds(missing: np.ndarray) -> bool:
        shift = int(missing[0]) if missing.size else 64
        n_starts = (n + _BEYOND >> shift) + 2
        if shift > 32 or missing.size < 1 + n_starts:
            return False
        rows = missing[1 + n_starts :].astype(np.int64)
        ascend = bool((np.diff(rows) > 0).all()) and (rows.size == 0 or rows[-1] < n)
        return ascend and np.array_equal(missing[1 : 1 + n_starts], _starts(rows, n, shift))

    return ArraySpec("uint32", (None,), holds=holds)


@inlined
def missing_between(missing, start, stop):
    """Return the number of rows without k-symbol in [start, stop)."""
    shift = np.int64(at(missing, 0))
    first_run, last_run = 1 + (start >> shift), 1 + (stop >> shift)
    if at(missing, first_run) == at(missing, last_run + 1):
        return np.int64(0)
    return _index(missing, last_run, stop) - _index(missing, first_run, start)


@inlined
def _index(missing, run, row):
    return lower_bound(missing, np.int64(at(missing, run)), np.int64(at(missing, run + 1)), row)


@inlined
def or_none(layout, c, row):
    """Return c, the k-symbol that planes show before a row, or -1 if the row has none."""
    return np.int64(-1) if c == 0 and missing_between(layout.missing, row, row + 1) > 0 else c


def family_of_entries(
    types: dict,
    n_words: Callable[[int, int, int], int],
    bytes_per_symbol: Callable[[int, int, int], float],
    runs_together: int = 1,
) -> Family:
    """Return the Family of layouts that register ``fill`` and have ``n_words(k, d, n)`` words of ``entries``.

    ``types``: by (k, d); a type with a field ``missing`` shows rows without k-symbol as the k-symbol 0.
    ``runs_together``: number of runs of d rows that share words.
    """

    def forms(k: int, d: int, n: int) -> dict[str, ArraySpec]:
        of_field = {"entries": ArraySpec("uint64", (n_words(k, d, n),)), "missing": _form_of_missing(n)}
        return {field: of_field[field] for field in types[k, d]._fields if field in of_field}

    def build(text: Array, sa: Array, k: int, d: int, backend: Backend = ONE_CORE) -> NamedTuple:
        codes = kmer_bwt(text, sa, k, backend)
        arrays = {"entries": backend.zeros(n_words(k, d, codes.size), np.uint64)}
        if "missing" in types[k, d]._fields:
            rows = backend.to_host(backend.select(WithoutSymbol(codes), codes.size))
            shift = ((codes.size + _BEYOND) // max(rows.size, _MIN_RUNS)).bit_length()
            parts = [shift], _starts(rows, codes.size, shift), rows
            arrays["missing"] = backend.from_host(np.concatenate(parts).astype(np.uint32))
        layout = types[k, d](**arrays, k=k)
        fill_layout(backend, layout, text, sa, codes, d, runs_together)
        return layout

    return Family(build, forms, bytes_per_symbol, types)
